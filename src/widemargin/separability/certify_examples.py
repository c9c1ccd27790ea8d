"""Whether a hyperplane separates two classes, with proof, and how wide its margin can be."""

from __future__ import annotations

import itertools
import math
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
    RunCertificate,
)
from widemargin.certificates.verifier import NOT_SEPARABLE, SEPARABLE, UNDECIDED, require_exact
from widemargin.data.encode.labels import encode_labels
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernels.gram import gram_matrix
from widemargin.models.kernel import KernelModel
from widemargin.models.linear import LinearModel
from widemargin.parameters import check_choice, check_constant, check_not_negative
from widemargin.separability.cascade import Problem, decide
from widemargin.separability.kernel_trainings import inspect_kernel_run
from widemargin.separability.margins import Measured, measure, radius, sharpen
from widemargin.separability.trainings import inspect_run

#: More points than this have more labellings than anyone can wait for.
_MOST_POINTS = 20
#: Sparse examples with so large a part of values that are not zero, and so many of them at the
#: most, are taken as dense.
_FILLED, _DENSE = 0.3, 10_000_000


def certify(
    X: Any,
    y: Any,
    labels: Any = None,
    *,
    bias: bool | float | None = None,
    tol: float | None = 1e-6,
    margin: float | None = None,
    multiclass: str = "pairs",
    gram: bool = False,
    kernel: Any = None,
    max_seconds: float | None = None,
    **params: Any,
) -> Certificate | CertificateTable | RunCertificate:
    """Decide whether a hyperplane separates the classes, and prove it.

        separable       w.z > 0 for all z = y (x, 1), for some w
        not separable   a convex combination of the z is zero (Gordan)

    Exactly one of the two is true. The answer is "undecided" rather than wrong.

    `certify(model, X, y)` with a trained perceptron, linear or kernel, says what is known of its
    training on these examples: see `RunCertificate`.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (n, d)
        The examples; or with `gram=True` their Gram matrix, of shape (n, n).
    y : array of n labels
        Several classes are taken two at a time, or each against the rest.
    bias : bool or float
        Whether the hyperplane may miss the origin. A number is the constant feature of the
        extended margin. By default it may, but not in the feature space of a kernel, where the
        kernel perceptron has no bias either.
    tol : float or None
        Measure the margin until its bracket is so narrow, as a part of the margin; None leaves
        it as the proof of separability found it.
    margin : float, optional
        Ask for a hyperplane that keeps at least this distance from all examples.
    multiclass : {"pairs", "rest"}
        What to do with several classes.
    gram : bool
        Whether X is a Gram matrix K of a kernel. What is proved is about the numbers in it: that
        K, whose rows are then the features, separates, or cannot. Margins take for granted that
        K is positive semi-definite.
    kernel : str or callable, optional
        Ask in the feature space of this kernel (L26): its Gram matrix is computed, as
        `widemargin.gram_matrix` does, and all else is as with `gram=True`. The certificate is
        verified with that matrix.
    **params
        The kernel's numbers: degree, gamma, coef0, sigma.
    max_seconds : float, optional
        Give up after about this time.

    Returns
    -------
    Certificate, or CertificateTable for several classes; RunCertificate for a model

    Examples
    --------
    >>> from widemargin import certify
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> certify(X, [0, 1, 1, 1])
    separable (4 examples, 2 features; by perceptron)
    margin 0.353553
    extended margin 0.333333, R 1.73205
    a perceptron makes at most 27 mistakes
    support: 0, 1, 2
    >>> certify(X, [0, 1, 1, 0])
    not separable (4 examples, 2 features; by repeated weights)
    the hulls of the classes meet: 0 (0.25), 1 (0.25), 2 (0.25), 3 (0.25)

    References
    ----------
    P. Gordan (1873); A. Novikoff, On convergence proofs for perceptrons (1962).
    """
    if labels is not None:
        return _certify_run(X, y, labels, max_seconds)
    if params and kernel is None:
        raise TypeError(f"{next(iter(params))!r} is a number of a kernel: give kernel=, too")
    if kernel is not None:
        X, gram = gram_matrix(X, kernel, **params), True
    bias = kernel is None if bias is None else bias
    if tol is not None:
        check_not_negative("tol", tol, infinite=True, other="None")
    if margin is not None:
        check_not_negative("margin", margin, other="None")
    check_constant("bias", bias)
    check_choice("multiclass", multiclass, ("pairs", "rest"))
    rows = _rows(X, float(bias), gram)
    classes, codes = encode_labels(y)
    if len(codes) != rows.n:
        raise DataError(f"there are {rows.n} rows but {len(codes)} labels")
    if not rows.n:
        raise DataError("there are no examples")
    seconds = math.inf if max_seconds is None else max_seconds
    wanted = _Wanted(tol, margin or None, gram, time.monotonic() + seconds)
    if len(classes) <= 2:
        return _certify(rows, classes, codes == len(classes) - 1, wanted)
    parts: dict[Any, Certificate] = {}
    for name, which, positive in _parts(classes, codes, multiclass):
        part = rows if len(which) == rows.n else _take(rows, which, gram)
        labels = np.array(name) if multiclass == "pairs" else np.array([False, True])
        parts[name] = _certify(part, labels, positive, wanted)
    verdicts = {part.verdict for part in parts.values()}
    worst = NOT_SEPARABLE if NOT_SEPARABLE in verdicts else UNDECIDED
    return CertificateTable(SEPARABLE if verdicts == {SEPARABLE} else worst, parts)


def _certify_run(model: Any, X: Any, y: Any, max_seconds: float | None) -> RunCertificate:
    """What is known of a model's training on these examples."""
    model = getattr(model, "model_", model)
    found: Any = None
    if isinstance(model, KernelModel):
        if len(model.classes) == 2:
            found = certify(X, y, kernel=model.kernel, max_seconds=max_seconds)
        return inspect_kernel_run(model, X, y, found)
    if not isinstance(model, LinearModel):
        raise TypeError(
            f"certify(model, X, y) takes a linear model or a kernel perceptron, not {type(model)}"
        )
    if len(model.classes) == 2:
        found = certify(X, y, bias=model.bias, max_seconds=max_seconds)
    return inspect_run(model, X, y, found if isinstance(found, Certificate) else None)


class _Wanted(NamedTuple):
    """What was asked for."""

    tol: float | None
    margin: float | None
    gram: bool
    ends: float


def _rows(X: Any, bias: float, gram: bool) -> Rows:
    """The examples in float64, if that holds them exactly."""
    if not hasattr(X, "tocsr"):
        X = np.asarray(X)
    require_exact(X.data if hasattr(X, "tocsr") else X)
    rows = Rows.of(X, bias=bias, dtype=np.float64)
    # What the matrix knows of itself need not be found out again.
    rows = replace(rows, distinct=bool(getattr(X, "has_canonical_format", False)))
    rows = rows.without_duplicates()
    if gram:
        matrix = rows.to_matrix()
        if rows.n != rows.width or abs(matrix - matrix.T).max() > 0.0:
            raise DataError("a Gram matrix must be square and symmetric")
    return rows


def _take(rows: Rows, which: np.ndarray, gram: bool) -> Rows:
    part = rows.to_matrix()[which]
    return Rows.of(part[:, which] if gram else part, bias=rows.bias)


def _parts(
    classes: np.ndarray, codes: np.ndarray, multiclass: str
) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """The problems with two classes: a name, the rows, and which of these are positive."""
    if multiclass == "rest":
        for code, label in enumerate(classes.tolist()):
            yield label, np.arange(len(codes)), codes == code
        return
    for first, second in itertools.combinations(range(len(classes)), 2):
        which = np.flatnonzero((codes == first) | (codes == second))
        yield (*classes[[first, second]].tolist(),), which, codes[which] == second


def _certify(rows: Rows, labels: np.ndarray, positive: np.ndarray, wanted: _Wanted) -> Certificate:
    """Decide for two classes, and measure the margin."""
    began = time.monotonic()
    if rows.is_sparse and _FILLED * rows.n * rows.width <= rows.stored_values <= _DENSE:
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
    problem = Problem(rows, signs, blank, rows.to_matrix(), y, wanted.ends)
    found = decide(problem)
    if found.verdict == SEPARABLE and wanted.margin is not None:
        found = _ask(problem, found, wanted.margin)
    elif wanted.margin is not None:
        found = replace(found, asked=wanted.margin)
    if found.verdict != NOT_SEPARABLE and wanted.tol is not None:
        found = _add_margins(problem, found, wanted.tol)
    return replace(found, seconds=time.monotonic() - began)


def _add_margins(problem: Problem, found: Certificate, tol: float) -> Certificate:
    """The same verdict with both margins measured, as far as they can be proved."""

    def enough(bracket: Bracket) -> bool:
        return bracket.gap <= tol or problem.late

    def measured(extended: bool, hint: Evidence | None = None) -> Measured:
        margin = _measure(problem, extended, enough, hint)
        if found.w is not None and margin.bracket.gap > tol and not found.gram:
            margin = sharpen(margin, problem.rows, problem.signs, extended, (found.w, found.b))
        return margin

    wide = measured(extended=False)
    claims: dict[str, Any] = {"margin": wide.bracket, "margin_evidence": wide.evidence}
    if wide.bracket.low > 0.0 and wide.evidence is not None and found.verdict == SEPARABLE:
        claims |= {"w": wide.evidence.w, "b": wide.evidence.b, "support": wide.support}
    found = _proved(found, problem, claims) or found
    bounding = measured(extended=True, hint=wide.evidence) if problem.rows.bias else wide
    claims = {"extended": bounding.bracket, "extended_evidence": bounding.evidence}
    return _proved(found, problem, claims) or found


def _measure(
    problem: Problem,
    extended: bool,
    enough: Callable[[Bracket], bool],
    hint: Evidence | None = None,
) -> Measured:
    blank = problem.blank
    return measure(problem.rows, problem.signs, extended, blank.gram, blank.R, enough, hint)


def _proved(found: Certificate, problem: Problem, claims: dict[str, Any]) -> Certificate | None:
    """The certificate with more claims, if they hold."""
    return replace(problem, blank=found).proved(**claims)


def _ask(problem: Problem, found: Certificate, least: float) -> Certificate:
    """Whether some hyperplane keeps at least this distance, given that one separates."""

    def enough(bracket: Bracket) -> bool:
        return bracket.low >= least or bracket.high < least or problem.late

    wide = _measure(problem, extended=False, enough=enough)
    known = {"asked": least, "margin": wide.bracket, "margin_evidence": wide.evidence}
    if wide.evidence is None:  # one class only: any distance will do
        return _proved(found, problem, {"asked": least}) or problem.blank
    w, b, which, shares = wide.evidence
    if wide.bracket.high < least:
        exact = _halves(shares, problem.signs[which], bool(problem.rows.bias))
        claims = {"verdict": NOT_SEPARABLE, "w": None, "b": 0.0, "examples": which, "shares": exact}
        answer = _proved(found, problem, known | claims)
    else:  # also if it is exactly this wide, which only the exact check can tell
        answer = _proved(found, problem, known | {"w": w, "b": b, "support": wide.support})
    return answer or replace(found, verdict=UNDECIDED, w=None, b=0.0, asked=least)


def _halves(shares: np.ndarray, signs: np.ndarray, free: bool) -> tuple[Fraction, ...]:
    """Exact weights that add up to 1, and with a free bias to 1/2 in either class."""
    exact = [Fraction(share) for share in shares.tolist()]
    sides = signs.tolist() if free else [1.0] * len(exact)
    total = {
        side: sum(e for e, s in zip(exact, sides, strict=True) if s == side) for side in set(sides)
    }
    return tuple(e / total[s] / len(total) for e, s in zip(exact, sides, strict=True))


def shattered(points: Any, margin: float = 0.0, bias: bool = True) -> bool:
    """Whether every labelling of the points is separated by some hyperplane (L24), by trying all.

    Parameters
    ----------
    points : array (n, d)
        A few points: there are 2^(n - 1) labellings to try, up to a swap of the labels.
    margin : float
        The distance that hyperplanes must keep from all points.
    bias : bool
        Whether hyperplanes may miss the origin.

    Examples
    --------
    >>> from widemargin import shattered
    >>> triangle = [[0, 0], [1, 0], [0, 1]]
    >>> shattered(triangle), shattered(triangle, bias=False)
    (True, False)
    >>> shattered([*triangle, [1, 1]])
    False
    """
    points = np.asarray(points)
    if points.ndim != 2 or not len(points):
        raise DataError("points must form a matrix with at least one row")
    if len(points) > _MOST_POINTS:
        raise DataError(
            f"{len(points)} points have too many labellings; {_MOST_POINTS} at the most"
        )
    for signs in itertools.product((1, -1), repeat=len(points) - 1):
        labels = np.array([1, *signs])
        found = certify(points, labels, bias=bias, margin=margin, tol=None)
        if not isinstance(found, Certificate) or found.verdict == UNDECIDED:
            raise DataError(f"the labelling {labels.tolist()} is too close to the margin to tell")
        if found.verdict == NOT_SEPARABLE:
            return False
    return True
