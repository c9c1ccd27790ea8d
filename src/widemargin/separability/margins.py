"""Measure the largest margin as a narrowing bracket, with evidence for both ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.certificate import Bracket, Evidence
from widemargin.data.rows import Rows, frozen
from widemargin.loops.separability.search import accurate_dots
from widemargin.separability.ascent import ascend
from widemargin.separability.nearest_point import HullPoints, HullStep, approach, two_groups

#: A few units of rounding per operation: more than the verifier allows for, so that it accepts.
_SLACK = 4.0 * 2.0**-52
# The other constants were chosen by hand; benchmarks/RESULTS.md (section "separability") gives
# times measured with them. Every bracket is proved, so they affect only the time and the digits.
#: Combinations of at most this many values are added up in fractions.
_FEW_VALUES = 50_000
#: An active set is fast with at most the first number of support vectors. It may start with at most
#: the second, because it needs the square of that in memory (200 MB).
_FEW_SUPPORT, _MUCH_SUPPORT = 300, 5000
#: A dual ascent is fast if at most this fraction of the values is not zero.
_SPARSE = 0.25


class Measured(NamedTuple):
    """A bracket around the margin, its evidence, and the support."""

    bracket: Bracket
    evidence: Evidence | None
    support: np.ndarray


NOTHING = Measured(Bracket(-math.inf, math.inf), None, np.empty(0, np.int64))


def radius(rows: Rows, gram: bool) -> float:
    """Return the length of the longest example with its constant feature, rounded up."""
    if gram:
        largest = float(np.max(rows.to_matrix().diagonal()))
    else:
        bare = HullPoints(without_bias(rows), np.ones(rows.n))
        largest = float(np.max(bare.squares()))
    square = (max(largest, 0.0) + rows.bias**2) * (1.0 + _SLACK * (rows.width + 8))
    return math.nextafter(math.sqrt(square + 2.0**-1000), math.inf)


def without_bias(rows: Rows) -> Rows:
    """Return the same rows without their constant feature."""
    return Rows(rows.stored._replace(bias=0.0), rows.n, rows.width)


def measure(
    rows: Rows,
    signs: np.ndarray,
    extended: bool,
    gram: bool,
    R: float,
    enough: Callable[[Bracket], bool],
    hint: Evidence | None = None,
) -> Measured:
    """Narrow the bracket around the largest margin until it is narrow enough.

    Parameters
    ----------
    rows : Rows
        The examples, in float64, with their constant feature.
    signs : array of +1 and -1
    extended : bool
        Whether the weight of the constant feature is part of w. Otherwise, if there is a constant
        feature, the bias is free.
    gram : bool
        Whether the rows are those of a Gram matrix.
    R : float
        A length that no example exceeds.
    enough : callable
        Called with the bracket each time all examples have been scored; returns True to stop.
    hint : Evidence, optional
        The evidence of a margin that should be nearly the same.
    """
    free = bool(rows.bias) and not extended
    if free and np.all(signs == signs[0]):
        return Measured(Bracket(math.inf, math.inf), None, np.empty(0, np.int64))
    points = HullPoints(without_bias(rows) if free else rows, signs, gram)
    largest = float(np.max(points.squares()))
    if not 1e-280 < largest < 1e280:
        return NOTHING  # squares of such lengths overflow or underflow
    # Scale by a power of two to lengths of about 1, which the tolerances of `approach` assume.
    factor = math.ldexp(1.0, -math.frexp(math.sqrt(largest))[1])
    points.factors = np.full(rows.n, factor)
    low, high, best = -math.inf, math.inf, NOTHING
    for step in _steps(points, free, hint):
        length = math.sqrt(step.point.square)
        if length == 0.0:
            w, b, reached = step.point.vector * 0.0, 0.0, -math.inf
        else:
            w, b, reached = _reach(points, step, length, factor, free, R)
        cap = _cap(points, step, length / factor, free, R)
        evidence = best.evidence or Evidence(w[:-1], b, step.which, step.weights)
        if reached > low:
            low, evidence = reached, evidence._replace(w=w[:-1], b=b)
        if cap < high:
            high, evidence = cap, evidence._replace(examples=step.which, shares=step.weights)
        best = Measured(Bracket(low, high), evidence, np.sort(step.which))
        if enough(best.bracket):
            break
    return best


def _steps(points: HullPoints, free: bool, hint: Evidence | None) -> Iterator[HullStep]:
    """Yield steps of an ascent where the support may be large, then those of an active set."""
    groups = two_groups(points.signs) if free else None
    near = last = None
    if _is_for_ascent(points):
        start = None
        if hint is not None:
            start = np.zeros(points.rows.n)
            start[hint.examples] = hint.shares
        for near in ascend(points, free, start):
            yield near
    if near is not None:
        if len(near.which) > _MUCH_SUPPORT:
            return  # a few more digits are not worth the memory
        for last in approach(points, near.which, near.weights, groups=groups):
            yield last
    if last is None:
        one_each = np.array([np.argmax(points.signs > 0), np.argmax(points.signs < 0)])
        yield from approach(points, one_each if free else np.zeros(1, int), groups=groups)


def _is_for_ascent(points: HullPoints) -> bool:
    """Whether the support may be large, and the examples are sparse enough for a fast ascent."""
    rows = points.rows
    few = rows.stored_values <= _SPARSE * rows.n * rows.width
    wide = min(rows.n, rows.width) > _FEW_SUPPORT and 2 * rows.width >= rows.n
    return rows.is_sparse and few and wide and not points.gram


def _reach(
    points: HullPoints, step: HullStep, length: float, factor: float, free: bool, R: float
) -> tuple[np.ndarray, float, float]:
    """Return a hyperplane with unit normal, and a lower bound on its distance to all examples."""
    w = step.point.vector / length
    scores = step.scores / (length * factor)
    if free:
        plus, minus = np.min(scores[points.signs > 0]), np.min(scores[points.signs < 0])
        b, least = float(minus - plus) / 2.0, float(plus + minus) / 2.0
    else:
        b, least = float(w[-1] * points.constant), float(np.min(scores))
    size = math.sqrt(points.rows.n) * R if points.gram else 1.0
    terms = min(points.rows.width, points.rows.stored_values) + 8
    least -= _SLACK * terms * (R * size + abs(b)) + terms * 2.0**-1000
    return w, b, least * (1.0 - _SLACK * terms * (size if least > 0.0 else -size))


def _cap(points: HullPoints, step: HullStep, length: float, free: bool, R: float) -> float:
    """Return an upper bound on the length of the combination of examples."""
    k = len(step.which) + 8
    if points.gram:
        cap = math.sqrt(length * length + _SLACK * k * 4.0 * R * R)
    else:
        cap = (length + _SLACK * k * 2.0 * R) * (1.0 + _SLACK * (points.rows.width + 8))
    return cap / 2.0 if free else cap


def at_least_zero(measured: Measured, known: tuple[np.ndarray, float | Fraction]) -> Measured:
    """Return a bracket that does not begin below zero, given a hyperplane that separates."""
    if measured.evidence is None or measured.bracket.low >= 0.0:
        return measured
    evidence = measured.evidence._replace(w=known[0], b=known[1])
    return measured._replace(bracket=Bracket(0.0, measured.bracket.high), evidence=evidence)


def sharpen(
    measured: Measured,
    rows: Rows,
    signs: np.ndarray,
    extended: bool,
    known: tuple[np.ndarray, float | Fraction],
) -> Measured:
    """Narrow a bracket beyond the precision of floats, given a hyperplane that separates."""
    found = at_least_zero(measured, known)
    (low, high), evidence = found.bracket, found.evidence
    if evidence is None or measured.evidence is None:
        return measured
    measured_one = (measured.evidence.w, measured.evidence.b)
    candidates = [
        (w, b) for w, b in (known, measured_one) if w.dtype != object and isinstance(b, float)
    ]
    if len(measured.support) * rows.width <= _FEW_VALUES:
        candidates.append(_level(rows, signs, measured.support, *measured_one, extended))
    for w, b in candidates:
        last = b / rows.bias if rows.bias else 0.0
        places = np.empty(rows.n)
        accurate_dots(rows.stored, frozen(signs), np.append(w, last), places)
        length = math.hypot(math.hypot(*w.tolist()), last if extended else 0.0)
        reached = float(np.min(places)) / length * (1.0 - 1e-12) if length else 0.0
        if reached > low:
            low, evidence = reached, evidence._replace(w=w, b=b)
    if len(evidence.examples) * rows.width <= _FEW_VALUES:
        high = min(high, _exact_cap(rows, signs, evidence, extended))
    return Measured(Bracket(low, high), evidence, measured.support)


def _level(
    rows: Rows, signs: np.ndarray, support: np.ndarray, w: np.ndarray, b: Any, extended: bool
) -> tuple[np.ndarray, float]:
    """Return nearly the same hyperplane, equally far from all examples of the support.

    A normal computed as a combination of examples suffers from the rounding of the weights.
    Corrected as an independent vector, it is accurate to the last digit.
    """
    part = rows.take(support.astype(np.uint64))
    matrix = part.to_matrix().toarray() if rows.is_sparse else part.to_matrix()
    sides = signs[support]
    columns = [np.full(len(support), rows.bias)] if rows.bias else []
    system = np.column_stack([matrix, *columns]) * sides[:, None]
    weights = np.append(np.asarray(w, np.float64), float(b) / rows.bias if rows.bias else 0.0)
    places = np.empty(len(support))
    for _ in range(3):
        accurate_dots(part.stored, frozen(sides), weights, places)
        correction = np.linalg.lstsq(system, np.mean(places) - places, rcond=None)[0]
        weights[: len(correction)] += correction
    return weights[:-1], float(weights[-1] * rows.bias)


def _exact_cap(rows: Rows, signs: np.ndarray, evidence: Evidence, extended: bool) -> float:
    """Return the length of the combination, computed in fractions and rounded up."""
    matrix = rows.to_matrix()[evidence.examples]
    part = matrix.toarray() if rows.is_sparse else matrix
    sides = signs[evidence.examples].tolist()
    shares = [Fraction(share) for share in evidence.shares.tolist()]
    free = bool(rows.bias) and not extended
    total = {
        side: sum(a for a, s in zip(shares, sides, strict=True) if s == side) for side in (1, -1)
    }
    whole = sum(shares)
    weights = [
        int(s) * a / (2 * total[s] if free else whole) for a, s in zip(shares, sides, strict=True)
    ]
    square = Fraction(0)
    for column in part.T.tolist():
        square += (
            sum((a * Fraction(x) for a, x in zip(weights, column, strict=True) if x), Fraction(0))
            ** 2
        )
    if not free:
        square += (sum(weights) * Fraction(rows.bias)) ** 2
    # The square may be far too small for a float, but its root is not.
    exponent = (square.denominator.bit_length() - square.numerator.bit_length()) // 2
    root = math.sqrt(float(square * Fraction(4) ** exponent))
    return math.nextafter(math.ldexp(root, -exponent) * (1.0 + 1e-15), math.inf)
