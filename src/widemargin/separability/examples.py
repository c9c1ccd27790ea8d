"""Certify examples: whether a hyperplane separates the classes, and how wide its margin can be."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.certificate import (
    Bracket,
    Certificate,
    CertificateTable,
    Evidence,
)
from widemargin.certificates.verifier import NOT_SEPARABLE, SEPARABLE, UNDECIDED, require_exact
from widemargin.data.encode.labels import check_label_count, encode_labels
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernels.gram import gram_matrix
from widemargin.loops.background_compiling import compile_ahead
from widemargin.parameters.values import (
    check_choice,
    check_constant,
    check_not_negative,
    seconds_limit,
)
from widemargin.separability.cascade import decide
from widemargin.separability.margins import Measured, at_least_zero, measure, radius, sharpen
from widemargin.separability.problem import SeparationProblem

#: Sparse examples are copied into a dense array if at least this fraction of their values is not
#: zero and there are at most this many of them (80 MB). Chosen by hand: dense loops are faster per
#: value, and this affects only the time.
_DENSE_FRACTION, _DENSE_VALUES = 0.3, 10_000_000


def certify_examples(
    X: Any,
    y: Any,
    *,
    bias: bool | float | None = None,
    tol: float | None = 1e-6,
    margin: float | None = None,
    multiclass: str = "pairs",
    gram: bool = False,
    kernel: Any = None,
    max_seconds: float | None = None,
    **params: Any,
) -> Certificate | CertificateTable:
    """Decide whether a hyperplane separates the classes, and prove it.

    The parameters are those of `widemargin.certify`.
    """
    if params and kernel is None:
        raise TypeError(f"{next(iter(params))!r} is a parameter of a kernel: give kernel= too")
    if kernel is not None:
        X, gram = gram_matrix(X, kernel, **params), True
    bias = kernel is None if bias is None else bias
    _check_parameters(bias, tol, margin, multiclass, max_seconds)
    if not hasattr(X, "tocsr"):
        compile_ahead("certify")
    rows = _rows(X, float(bias), gram)
    classes, codes = encode_labels(y)
    check_label_count(rows.n, len(codes))
    if not rows.n:
        raise DataError("there are no examples: X has no rows")
    wanted = _Wanted(tol, margin or None, gram, time.monotonic() + seconds_limit(max_seconds))
    if len(classes) <= 2:
        return _certify_two_classes(rows, classes, codes == len(classes) - 1, wanted)
    parts: dict[Any, Certificate] = {}
    for name, which, positive in _parts(classes, codes, multiclass):
        part = rows if len(which) == rows.n else _take(rows, which, gram)
        labels = np.array(name) if multiclass == "pairs" else np.array([False, True])
        parts[name] = _certify_two_classes(part, labels, positive, wanted)
    verdicts = {part.verdict for part in parts.values()}
    worst = NOT_SEPARABLE if NOT_SEPARABLE in verdicts else UNDECIDED
    return CertificateTable(SEPARABLE if verdicts == {SEPARABLE} else worst, parts)


def _check_parameters(
    bias: bool | float,
    tol: float | None,
    margin: float | None,
    multiclass: str,
    max_seconds: float | None,
) -> None:
    """Raise an error that names the first invalid parameter."""
    if tol is not None:
        check_not_negative("tol", tol, infinite=True, other="None")
    if margin is not None:
        check_not_negative("margin", margin, other="None")
    if max_seconds is not None:
        check_not_negative("max_seconds", max_seconds, infinite=True, other="None")
    check_constant("bias", bias)
    check_choice("multiclass", multiclass, ("pairs", "rest"))


class _Wanted(NamedTuple):
    """What the user requested."""

    tol: float | None
    margin: float | None
    gram: bool
    deadline: float


def _rows(X: Any, bias: float, gram: bool) -> Rows:
    """Return the examples in float64; raise an error if it cannot hold them exactly."""
    if not hasattr(X, "tocsr"):
        X = np.asarray(X)
    require_exact(X.data if hasattr(X, "tocsr") else X)
    rows = Rows.of(X, bias=bias, dtype=np.float64)
    # The matrix may already know that it has no duplicates.
    rows = replace(rows, distinct=bool(getattr(X, "has_canonical_format", False)))
    rows = rows.without_duplicates()
    if gram:
        matrix = rows.to_matrix()
        if rows.n != rows.width or abs(matrix - matrix.T).max() > 0.0:
            raise DataError("with gram=True X must be square and symmetric; give a Gram matrix")
    return rows


def _take(rows: Rows, which: np.ndarray, gram: bool) -> Rows:
    """Return some examples; of a Gram matrix, only the columns that belong to them."""
    part = rows.to_matrix()[which]
    return Rows.of(part[:, which] if gram else part, bias=rows.bias)


def _parts(
    classes: np.ndarray, codes: np.ndarray, multiclass: str
) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """Yield the two-class problems: a name, the rows, and which of the rows are positive."""
    if multiclass == "rest":
        for code, label in enumerate(classes.tolist()):
            yield label, np.arange(len(codes)), codes == code
        return
    for first, second in itertools.combinations(range(len(classes)), 2):
        which = np.flatnonzero((codes == first) | (codes == second))
        yield (*classes[[first, second]].tolist(),), which, codes[which] == second


def _certify_two_classes(
    rows: Rows, labels: np.ndarray, positive: np.ndarray, wanted: _Wanted
) -> Certificate:
    """Decide about two classes, and measure the margin."""
    began = time.monotonic()
    if (
        rows.is_sparse
        and _DENSE_FRACTION * rows.n * rows.width <= rows.stored_values <= _DENSE_VALUES
    ):
        rows = Rows.of(rows.to_matrix().toarray(), bias=rows.bias)
    R = radius(rows, wanted.gram)
    blank = Certificate(
        verdict=UNDECIDED,
        classes=labels,
        n=rows.n,
        width=rows.width,
        constant=rows.bias,
        R=R,
        gram=wanted.gram,
        found_by="no step",
    )
    signs = np.where(positive, 1.0, -1.0)
    y = labels[np.where(positive, len(labels) - 1, 0)]
    problem = SeparationProblem(rows, signs, blank, rows.to_matrix(), y, wanted.deadline)
    found = decide(problem)
    if found.verdict == SEPARABLE and wanted.margin is not None:
        found = _ask(problem, found, wanted.margin)
    elif wanted.margin is not None:
        found = replace(found, asked=wanted.margin)
    if found.verdict != NOT_SEPARABLE and wanted.tol is not None:
        found = _add_margins(problem, found, wanted.tol)
    return replace(found, seconds=time.monotonic() - began)


def _add_margins(problem: SeparationProblem, found: Certificate, tol: float) -> Certificate:
    """Return the same verdict with both margins measured as far as they can be proved."""

    def enough(bracket: Bracket) -> bool:
        return bracket.gap <= tol or problem.out_of_time

    def measured(extended: bool, hint: Evidence | None = None) -> Measured:
        margin = _measure(problem, extended, enough, hint)
        if found.w is None or margin.bracket.gap <= tol:
            return margin
        if found.gram:
            return at_least_zero(margin, (found.w, found.b))
        return sharpen(margin, problem.rows, problem.signs, extended, (found.w, found.b))

    wide = measured(extended=False)
    claims: dict[str, Any] = {"margin": wide.bracket, "margin_evidence": wide.evidence}
    if wide.bracket.low > 0.0 and wide.evidence is not None and found.verdict == SEPARABLE:
        claims |= {"w": wide.evidence.w, "b": wide.evidence.b, "support": wide.support}
    found = _prove_more(found, problem, claims) or found
    bounding = measured(extended=True, hint=wide.evidence) if problem.rows.bias else wide
    claims = {"extended": bounding.bracket, "extended_evidence": bounding.evidence}
    return _prove_more(found, problem, claims) or found


def _measure(
    problem: SeparationProblem,
    extended: bool,
    enough: Callable[[Bracket], bool],
    hint: Evidence | None = None,
) -> Measured:
    """Measure a margin of the problem until its bracket is narrow enough."""
    blank = problem.blank
    return measure(problem.rows, problem.signs, extended, blank.gram, blank.R, enough, hint)


def _prove_more(
    found: Certificate, problem: SeparationProblem, claims: dict[str, Any]
) -> Certificate | None:
    """Return the certificate with more claims if they hold, else None."""
    return replace(problem, blank=found).prove(**claims)


def _ask(problem: SeparationProblem, found: Certificate, least: float) -> Certificate:
    """Decide whether some hyperplane keeps at least this distance, given one that separates."""

    def enough(bracket: Bracket) -> bool:
        return bracket.low >= least or bracket.high < least or problem.out_of_time

    wide = _measure(problem, extended=False, enough=enough)
    known = {"asked": least, "margin": wide.bracket, "margin_evidence": wide.evidence}
    if wide.evidence is None:  # only one class: every distance can be kept
        return _prove_more(found, problem, {"asked": least}) or problem.blank
    w, b, which, shares = wide.evidence
    answers: list[dict[str, Any]] = []
    if wide.bracket.high >= least:  # the exact checks decide if the margin is nearly the requested
        answers.append({"w": w, "b": b, "support": wide.support})
        if not found.gram:  # floats cannot always have length 1
            w, b = _as_combination(problem, wide.evidence)
            answers.append({"w": w, "b": b, "support": wide.support})
    exact = _halves(shares, problem.signs[which], bool(problem.rows.bias))
    none = {"verdict": NOT_SEPARABLE, "w": None, "b": 0.0, "examples": which, "shares": exact}
    for claims in (*answers, none):
        if (answer := _prove_more(found, problem, known | claims)) is not None:
            return answer
    return replace(found, verdict=UNDECIDED, w=None, b=0.0, asked=least)


def _as_combination(
    problem: SeparationProblem, evidence: Evidence
) -> tuple[np.ndarray, float | Fraction]:
    """Return the hyperplane of a convex combination of examples, without rounding the bias."""
    _, _, which, shares = evidence
    signs, free = problem.signs[which], bool(problem.rows.bias)
    exact = np.array([float(share) for share in _halves(shares, signs, free)])
    matrix = problem.rows.to_matrix()[which]
    part = matrix.toarray() if problem.rows.is_sparse else matrix
    w = (signs * exact) @ part
    # With a bias, half of the sum over both classes is halfway between them.
    middle = [Fraction(x) for x in (exact @ part).tolist()]
    along = sum((Fraction(a) * x for a, x in zip(w.tolist(), middle, strict=True)), Fraction(0))
    if not free:
        return w, 0.0
    return w, -float(along) if float(along) == along else -along


def _halves(shares: np.ndarray, signs: np.ndarray, free: bool) -> tuple[Fraction, ...]:
    """Return exact weights that add up to 1 and, with a free bias, to 1/2 in each class."""
    exact = [Fraction(share) for share in shares.tolist()]
    sides = signs.tolist() if free else [1.0] * len(exact)
    total = {
        side: sum(e for e, s in zip(exact, sides, strict=True) if s == side) for side in set(sides)
    }
    return tuple(e / total[s] / len(total) for e, s in zip(exact, sides, strict=True))
