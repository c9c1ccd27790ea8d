"""Dual ascent for the hard-margin SVM, used where thousands of sparse examples hold the margin.

With z = y (x, constant) the largest margin is 1 / |w| for

    max over a >= 0 of  sum_i a_i - 1/2 w.w,    w = sum_i a_i z_i

and a, divided by its sum, gives the weights of the hull's point nearest to the origin. An active
set (`nearest_point.py`) adds support vectors one at a time, which is exact but slow if there are
many. Here passes of coordinate ascent find all the zeros of a at once, and conjugate gradients
maximise the quadratic in the remaining values. Only products with the examples are needed.

A free bias b is held fixed while a adapts to it. Meanwhile a constant feature pulls sum y a towards
0, and its weight shows where b should move (the method of multipliers).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.loops.separability.search import hard_margin_pass
from widemargin.separability.nearest_point import HullPoints, HullStep

# Chosen by hand; benchmarks/RESULTS.md (section "separability") gives times measured with them. The
# active set continues from where the ascent ends, and margins are proved, so these constants affect
# only the time.

#: Passes of coordinate ascent per round.
_PASSES = 10
#: The largest number of rounds, and of consecutive rounds without progress.
_ROUNDS, _ROUNDS_IN_VAIN = 200, 15
#: A round makes progress if the violation falls below this fraction of the smallest so far.
_PROGRESS = 0.9
#: Conjugate gradients stop when the residual is this fraction of the first, or after this many
#: iterations; fewer while some example violates optimality by more than `_FAR`.
_RESIDUAL, _ITERATIONS, _FEW_ITERATIONS, _FAR = 1e-2, 200, 30, 0.1
#: How often a step is halved before it is abandoned.
_HALVINGS = 12
#: A curvature below this fraction of the diagonal's is rounding error and treated as zero.
_FLAT = 1e-13


def ascend(points: HullPoints, free: bool, start: np.ndarray | None = None) -> Iterator[HullStep]:
    """Approach the nearest point of the hull, or of the difference of two; yield after each round.

    Parameters
    ----------
    points : HullPoints
        Examples, all with the same factor, not stretched, and not a Gram matrix.
    free : bool
        Whether the bias is free: then the hulls are those of the two classes.
    start : array, optional
        Initial weights, one for every example, none negative.
    """
    ascent = _HardMarginAscent.of(points, free, start)
    least, idle = math.inf, 0
    for _ in range(_ROUNDS):
        ascent.run_passes()
        step = ascent.hull_step(points) if np.all(np.isfinite(ascent.w)) else None
        if step is None:
            return
        yield step
        worst = ascent.violation()
        idle = 0 if worst < _PROGRESS * least else idle + 1
        least = min(least, worst)
        if idle > _ROUNDS_IN_VAIN:
            return
        ascent.maximise_free(_FEW_ITERATIONS if worst > _FAR else _ITERATIONS)


class _FreeExamples(NamedTuple):
    """The examples whose weights are not fixed at zero."""

    which: np.ndarray
    matrix: Any
    signs: np.ndarray
    squares: np.ndarray


class _HardMarginAscent:
    """The dual values a and the weights w computed from them."""

    def __init__(self, rows: Rows, signs: np.ndarray, free: bool) -> None:
        self.rows, self.matrix, self.constant = rows, rows.to_matrix(), rows.bias
        self.signs, self.free = frozen(signs), free
        self.a, self.w, self.b = np.zeros(rows.n), np.zeros(rows.width + 1), 0.0
        self.squares = np.maximum(HullPoints(rows, signs).squares(), np.finfo(np.float64).tiny)
        self.rng = np.random.default_rng(0)

    @classmethod
    def of(cls, points: HullPoints, free: bool, start: np.ndarray | None) -> _HardMarginAscent:
        """Start from the given weights, or from zeros."""
        factor = float(points.factors[0])
        rows = Rows.of(points.matrix * factor, bias=points.constant * factor)
        if free:  # a constant as long as a typical example, so that neither dominates
            squares = HullPoints(rows, points.signs).squares()
            rows = rows.with_bias(math.sqrt(float(np.mean(squares))) or 1.0)
        ascent = cls(rows, points.signs, free)
        if start is not None:
            w = ascent.combine(start)
            square = float(w @ w)
            if square > 0.0:  # the best multiple
                ascent.become(start * (float(np.sum(start)) / square))
        return ascent

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Return the weights w for these dual values."""
        signed = a * self.signs
        return np.append(self.matrix.T @ signed, self.constant * float(np.sum(signed)))

    def slopes(self) -> np.ndarray:
        """Return the gradient of the dual."""
        scores = self.matrix @ self.w[:-1] + (self.constant * self.w[-1] + self.b)
        return 1.0 - self.signs * scores

    def objective(self, a: np.ndarray, w: np.ndarray) -> float:
        """Return the dual objective for the current b."""
        return float(np.sum(a)) - self.b * float(a @ self.signs) - 0.5 * float(w @ w)

    def violation(self) -> float:
        """Return the largest violation of the optimality conditions by any example."""
        slopes = self.slopes()
        return float(np.max(np.where(self.a > 0.0, np.abs(slopes), np.maximum(slopes, 0.0))))

    def become(self, a: np.ndarray) -> None:
        """Replace the dual values."""
        self.a, self.w = a, self.combine(a)
        self.shift_bias()

    def shift_bias(self) -> None:
        """Move a free bias to where the constant feature pulls it."""
        if self.free:
            self.b += self.constant * float(self.w[-1])

    @np.errstate(over="ignore", invalid="ignore")  # without a margin the weights grow without bound
    def run_passes(self) -> None:
        """Run a few passes of coordinate ascent."""
        for _ in range(_PASSES):
            order = frozen(self.rng.permutation(self.rows.n).astype(np.uint64))
            hard_margin_pass(
                self.rows.stored, self.signs, order, frozen(self.squares), self.b, self.w, self.a
            )
            self.shift_bias()
        self.w = self.combine(self.a)  # free of rounding errors

    def hull_step(self, points: HullPoints) -> HullStep | None:
        """Return the point of the hull with these weights; None if a class has no weight."""
        weights = self.a.copy()
        for side in (self.signs > 0.0, self.signs < 0.0) if self.free else (slice(None),):
            total = float(np.sum(weights[side]))
            if not total > 0.0:
                return None
            weights[side] /= total
        which = np.flatnonzero(weights > 0.0)
        point = points.combine(which, weights[which])
        return HullStep(which, weights[which], point, points.scores(point), False)

    @np.errstate(over="ignore", invalid="ignore")
    def maximise_free(self, iterations: int) -> None:
        """Step towards the maximum of the dual over the values that are not fixed at zero."""
        slopes = self.slopes()
        which = np.flatnonzero((self.a > 0.0) | (slopes > 0.0))
        free = _FreeExamples(which, self.matrix[which], self.signs[which], self.squares[which])
        direction = self._conjugate_gradients(free, slopes[which], iterations)
        now, length = self.objective(self.a, self.w), 1.0
        for _ in range(_HALVINGS):
            a = self.a.copy()
            a[which] = np.maximum(a[which] + length * direction, 0.0)
            if self.objective(a, self.combine(a)) > now:
                self.become(a)
                return
            length /= 2.0
        self.shift_bias()

    def _conjugate_gradients(
        self, free: _FreeExamples, slopes: np.ndarray, iterations: int
    ) -> np.ndarray:
        """Solve K p = slopes for the free examples' products K, preconditioned by its diagonal."""
        p, rest = np.zeros(len(slopes)), slopes.copy()
        along = scaled = rest / free.squares
        size = first = float(rest @ scaled)
        for _ in range(iterations):
            signed = along * free.signs
            w = free.matrix.T @ signed
            last = self.constant * self.constant * float(np.sum(signed))
            turned = free.signs * (free.matrix @ w + last)
            curvature = float(along @ turned)
            if not curvature > _FLAT * float(along @ (free.squares * along)):
                break
            p += (size / curvature) * along
            rest -= (size / curvature) * turned
            scaled = rest / free.squares
            size, before = float(rest @ scaled), size
            if size <= _RESIDUAL * _RESIDUAL * first:
                break
            along = scaled + (size / before) * along
        return p
