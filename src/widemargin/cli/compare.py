"""`widemargin compare`: several learners on the examples of files.

This is the one command that needs scikit-learn, for its folds and its logistic regression. It calls
`widemargin.compare` as any user would; no other command imports it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

import widemargin
from widemargin.cli import options
from widemargin.cli.examples import read_examples
from widemargin.cli.targets import PAGE, check_output
from widemargin.comparison.names import uses_of
from widemargin.data.reading import matrix_of
from widemargin.errors import DataError
from widemargin.markup.words import several
from widemargin.models.text_defaults import WHOLE


def compare(patterns: Sequence[str], given: Mapping[str, Any]) -> None:
    """Read the examples, compare the learners, and print the result."""
    if given["page"] is not None:
        check_output(given["page"], PAGE)
    some = given["learners"]
    learners = None if some is None else [name.strip() for name in re.split("[;,]", some)]
    uses = uses_of(learners)
    options.refuse_unused(uses, options.typed_options())
    data, classes, encoder = read_examples(patterns, given)
    if len(classes.values) < 2:
        raise DataError(f"{', '.join(patterns)}: only one class is present, nothing to learn")
    quiet = given["as_json"] or not sys.stderr.isatty()
    found = widemargin.compare(
        matrix_of(data.rows),
        classes.values[data.codes],
        learners=learners,
        folds=given["folds"],
        repeats=given["repeats"],
        C=_cost(given["C"], encoder) if uses["C"].here else None,
        epochs=given["epochs"],
        random_state=given["seed"],
        watch=None if quiet else _progress,
    )
    if given["page"]:
        found.report(given["page"], data=", ".join(patterns))
    if given["as_json"]:
        click.echo(json.dumps(found.to_dict()))
        return
    size = several(found.rows, "row"), several(found.features, "feature")
    click.echo(f"{', '.join(patterns)}: {', '.join(size)}\n")
    click.echo(str(found))
    if given["page"]:
        click.echo(f"\nreport written to {given['page']}")


def _cost(given: float | None, encoder: Any) -> float | None:
    """C: that of `train` if there are only texts, and otherwise the default of `compare`."""
    texts = encoder.kind == "text" or getattr(encoder, "only_texts", False)
    return WHOLE.parameters["C"] if given is None and texts else given


def _progress(done: int, of: int, name: str) -> None:
    """Show progress on one line, which is overwritten each time."""
    end = "\n" if done == of else ""
    click.echo(f"\r\033[K{done}/{of} {name}{end}", err=True, nl=False)
