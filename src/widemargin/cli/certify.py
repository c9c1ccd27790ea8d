"""`widemargin certify`: whether a hyperplane separates the classes of a file, and the proof."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from widemargin.certificates.certificate import Certificate, CertificateTable
from widemargin.cli import options
from widemargin.cli.data_checks import check_labels
from widemargin.data.datasets import Classes, Encoded, make_encoder, read_all
from widemargin.data.readers.files import Files
from widemargin.errors import DataError
from widemargin.kernels.gram import gram_matrix
from widemargin.kernels.kernel import make_kernel, uses_of_kernel
from widemargin.markup.words import several
from widemargin.models.text_defaults import WHOLE
from widemargin.separability.examples import certify_examples

#: The largest number of examples that are listed.
_SHOWN = 10


def certify(patterns: Sequence[str], given: Mapping[str, Any]) -> None:
    """Read the examples, decide, and print the verdict."""
    params = options.kernel_params(given)
    if params and "kernel" not in params:
        raise click.UsageError(f"--{next(iter(params))} has no effect without --kernel")
    if params and given["no_bias"]:
        raise click.UsageError(
            "--no-bias has no effect with --kernel: such hyperplanes go through the origin"
        )
    options.refuse_unused(uses_of_kernel(params.get("kernel", "")), options.typed_options())
    files = Files(patterns, options.read_options({**given, "double": True}))
    options.check_meaning(given, files.format)
    encoding = options.encode_options(given, files.format, WHOLE.idf)
    classes = Classes()
    data = read_all(files, make_encoder(files, encoding), classes, learn=True)
    assert data is not None
    if len(classes.values) < 2:
        raise DataError(f"{', '.join(patterns)}: only one class is present, nothing to separate")
    for suspicion in check_labels(data):
        click.echo(f"warning: {suspicion}", err=True)
    X, y = data.rows.to_matrix(), classes.values[data.codes]
    places = _Places(data, y)
    kernel = None
    if params:
        kernel = make_kernel(**params, rows=data.rows.with_bias(0.0))
        X = gram_matrix(X, kernel)
    found = certify_examples(
        X,
        y,
        gram=kernel is not None,
        bias=kernel is None and not given["no_bias"],
        tol=given["tol"],
        margin=given["margin"],
        multiclass=given["multiclass"],
        max_seconds=given["max_seconds"],
    )
    if given["verify"]:
        found.verify(X, y)
    if given["as_json"]:
        more = {"kernel": None if kernel is None else str(kernel), "verified": given["verify"]}
        click.echo(json.dumps({**_figures(found, places), **more}))
        return
    if kernel is not None:
        click.echo(f"in the feature space of {kernel}, without bias:")
    if isinstance(found, CertificateTable):
        click.echo(f"{found.verdict}: {len(found):,} questions")
        for which, part in found.parts.items():
            click.echo(f"\n{' or '.join(map(str, which)) if isinstance(which, tuple) else which}")
            _print_certificate(part, places.of(which))
    else:
        assert isinstance(found, Certificate)
        _print_certificate(found, places)
    if given["verify"]:
        click.echo("verified in exact arithmetic")


def _print_certificate(found: Certificate, places: _Places) -> None:
    """Print one verdict in words."""
    plane = "hyperplane" if found.constant else "hyperplane through the origin"
    if found.verdict == "separable":
        click.echo(
            f"separable: a {plane} separates the {found.n:,} examples of"
            f" {found.classes[0]} and {found.classes[1]}"
        )
        if found.margin is not None:
            click.echo(f"largest margin of a hyperplane: {found.margin}")
        if found.bound_in_words:
            click.echo(f"{found.bound_in_words}, in any order")
        if len(found.support):
            click.echo(f"on the margin: {places.listed(found.support)}")
    elif found.verdict == "not separable":
        asked = f" with a margin of {found.asked:g}" if found.asked else ""
        click.echo(
            f"not separable: no {plane} separates the {found.n:,} examples of {found.classes[0]}"
            f" and {found.classes[1]}{asked}"
        )
        click.echo(
            f"the proof: {found.proof_in_words}, as {several(len(found.examples), 'example')} show:"
            f" {places.listed(found.examples)}"
        )
    else:
        click.echo("undecided: neither a hyperplane nor a proof against one was found")
        if found.margin is not None:
            click.echo(f"the margin, if there is one, is in {found.margin}")
    click.echo(f"found by {found.found_by or '-'} in {found.seconds:.3f} s")


class _Places:
    """The positions of examples in the files."""

    def __init__(self, data: Encoded, y: np.ndarray, which: np.ndarray | None = None) -> None:
        self._data, self._y = data, y
        self._which = np.arange(len(y)) if which is None else which

    def of(self, question: Any) -> _Places:
        """The positions of the examples of one question: those of two classes, or all."""
        if not isinstance(question, tuple):
            return self
        return _Places(self._data, self._y, np.flatnonzero(np.isin(self._y, question)))

    def all(self, examples: np.ndarray) -> list[str]:
        """The position of each example, as file:line."""
        return [f"{source}:{line}" for source, line in map(self._place, examples.tolist())]

    def listed(self, examples: np.ndarray) -> str:
        """The first few positions in words, by file."""
        lines: dict[str, list[str]] = {}
        for source, line in map(self._place, sorted(examples.tolist())[:_SHOWN]):
            lines.setdefault(source, []).append(str(line))
        shown = "; ".join(f"{source} lines {', '.join(some)}" for source, some in lines.items())
        return shown + (f" and {len(examples) - _SHOWN:,} more" if len(examples) > _SHOWN else "")

    def _place(self, example: int) -> tuple[str, int]:
        row, before = int(self._which[example]), 0
        for source, rows in self._data.sources:
            if row < before + rows:
                return source, int(self._data.lines[row])
            before += rows
        raise IndexError(row)


def _figures(found: Any, places: _Places) -> dict[str, Any]:
    """The result for JSON; with several classes, a list of questions.

    A question is a pair of classes, or the class that is to be separated from the rest.
    """
    if isinstance(found, CertificateTable):
        parts = [
            {"question": _plain(which), **_figures(part, places.of(which))}
            for which, part in found.parts.items()
        ]
        return {"verdict": found.verdict, "parts": parts}
    return {
        "verdict": found.verdict,
        "classes": found.classes.tolist(),
        "rows": found.n,
        "features": found.width,
        "margin": None if found.margin is None else [_finite(end) for end in found.margin],
        "bound": _finite(found.bound),
        "examples": places.all(found.examples),
        "shares": [str(share) for share in found.shares],
        "support": places.all(found.support),
        "found_by": found.found_by,
        "seconds": found.seconds,
    }


def _finite(value: float) -> float | None:
    """A number for JSON, which has no infinity."""
    return value if math.isfinite(value) else None


def _plain(which: Any) -> Any:
    """A label, or a pair of labels, for JSON."""
    return np.array(which).tolist()
