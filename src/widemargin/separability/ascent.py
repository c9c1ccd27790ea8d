"""Climbs the dual of the hard-margin SVM: margins of sparse examples, with thousands of support.

With z = y (x, constant) the largest margin is 1 / |w| for

    max over a >= 0 of  sum_i a_i - 1/2 w.w,    w = sum_i a_i z_i

and a, divided by its sum, are the weights of the point of the hull that is nearest to the origin.
An active set (`nearest_point.py`) takes up the support one example at a time, which is
exact, and slow if it is large. Here passes of coordinate ascent say which a are zero, all at once,
and conjugate gradients go to the top of the quadratic that is left. Nothing but products with the
examples is needed.

A free bias b is held while a adapts to it; meanwhile a constant feature pulls sum y a towards 0,
and its weight says where b should go (the method of multipliers).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.loops.separability.search import hard_margin_pass
from widemargin.separability.nearest_point import Points, Step

#: Passes of coordinate ascent in a round.
_PASSES = 10
#: Rounds at the most, and rounds that may bring nothing.
_ROUNDS, _IN_VAIN = 200, 15
#: Conjugate gradients make the residual this part of what it was, in so many steps at the most; or
#: in so few as long as some example violates optimality by more than this.
_ENOUGH, _GRADIENTS, _FEW_GRADIENTS, _FAR = 1e-2, 200, 30, 0.1
#: A step is halved so often before it is given up.
_HALVINGS = 12
#: A curvature that is this small beside the diagonal's is taken for none.
_FLAT = 1e-13


def ascend(points: Points, free: bool, start: np.ndarray | None = None) -> Iterator[Step]:
    """Go towards the nearest point of the hull, or of the difference of two; yields now and then.

    Parameters
    ----------
    points : Points
        Examples, all with the same factor, not stretched, and no Gram matrix.
    free : bool
        Whether the bias is free: then the hulls of the two classes are meant.
    start : array, optional
        Weights to begin with, one for every example, none negative.
    """
    climb = _Climb.of(points, free, start)
    least, idle = math.inf, 0
    for _ in range(_ROUNDS):
        climb.pass_over()
        step = climb.look(points) if np.all(np.isfinite(climb.w)) else None
        if step is None:
            return
        yield step
        worst = climb.violation()
        idle = 0 if worst < 0.9 * least else idle + 1
        least = min(least, worst)
        if idle > _IN_VAIN:
            return
        climb.leap(_FEW_GRADIENTS if worst > _FAR else _GRADIENTS)


class _Face(NamedTuple):
    """The examples whose weights are not zero, or would not stay so."""

    which: np.ndarray
    matrix: Any
    signs: np.ndarray
    squares: np.ndarray


class _Climb:
    """The weights a, and what they make."""

    def __init__(self, rows: Rows, signs: np.ndarray, free: bool) -> None:
        self.rows, self.matrix, self.constant = rows, rows.to_matrix(), rows.bias
        self.signs, self.free = frozen(signs), free
        self.a, self.w, self.b = np.zeros(rows.n), np.zeros(rows.width + 1), 0.0
        self.squares = np.maximum(Points(rows, signs).squares(), np.finfo(np.float64).tiny)
        self.rng = np.random.default_rng(0)

    @classmethod
    def of(cls, points: Points, free: bool, start: np.ndarray | None) -> _Climb:
        factor = float(points.factors[0])
        rows = Rows.of(points.matrix * factor, bias=points.constant * factor)
        if free:  # as long as the examples usually are, so that neither pulls much harder
            squares = Points(rows, points.signs).squares()
            rows = rows.with_bias(math.sqrt(float(np.mean(squares))) or 1.0)
        climb = cls(rows, points.signs, free)
        if start is not None:
            w = climb.combine(start)
            square = float(w @ w)
            if square > 0.0:  # the best multiple
                climb.move(start * (float(np.sum(start)) / square))
        return climb

    def combine(self, a: np.ndarray) -> np.ndarray:
        """The weights w that a makes."""
        signed = a * self.signs
        return np.append(self.matrix.T @ signed, self.constant * float(np.sum(signed)))

    def slopes(self) -> np.ndarray:
        """By how much the dual grows with each a."""
        scores = self.matrix @ self.w[:-1] + (self.constant * self.w[-1] + self.b)
        return 1.0 - self.signs * scores

    def objective(self, a: np.ndarray, w: np.ndarray) -> float:
        """The dual, for this b."""
        return float(np.sum(a)) - self.b * float(a @ self.signs) - 0.5 * float(w @ w)

    def violation(self) -> float:
        """How far the worst example is from what optimality asks of it."""
        slopes = self.slopes()
        return float(np.max(np.where(self.a > 0.0, np.abs(slopes), np.maximum(slopes, 0.0))))

    def move(self, a: np.ndarray) -> None:
        """Take over other weights."""
        self.a, self.w = a, self.combine(a)
        self.shift()

    def shift(self) -> None:
        """Move a free bias to where the weight of the constant feature pulls it."""
        if self.free:
            self.b += self.constant * float(self.w[-1])

    @np.errstate(over="ignore", invalid="ignore")  # no margin: the weights grow without end
    def pass_over(self) -> None:
        """A few passes of coordinate ascent."""
        for _ in range(_PASSES):
            order = frozen(self.rng.permutation(self.rows.n).astype(np.uint64))
            hard_margin_pass(
                self.rows.stored, self.signs, order, frozen(self.squares), self.b, self.w, self.a
            )
            self.shift()
        self.w = self.combine(self.a)  # without what rounding has left

    def look(self, points: Points) -> Step | None:
        """The point of the hull that these weights stand for; None if a class has none."""
        weights = self.a.copy()
        for side in (self.signs > 0.0, self.signs < 0.0) if self.free else (slice(None),):
            total = float(np.sum(weights[side]))
            if not total > 0.0:
                return None
            weights[side] /= total
        which = np.flatnonzero(weights > 0.0)
        point = points.combine(which, weights[which])
        return Step(which, weights[which], point, points.scores(point), False)

    @np.errstate(over="ignore", invalid="ignore")
    def leap(self, steps: int) -> None:
        """Go towards the top of the quadratic over the weights that are not held at zero."""
        slopes = self.slopes()
        which = np.flatnonzero((self.a > 0.0) | (slopes > 0.0))
        face = _Face(which, self.matrix[which], self.signs[which], self.squares[which])
        direction = self._gradients(face, slopes[which], steps)
        now, length = self.objective(self.a, self.w), 1.0
        for _ in range(_HALVINGS):
            a = self.a.copy()
            a[which] = np.maximum(a[which] + length * direction, 0.0)
            if self.objective(a, self.combine(a)) > now:
                self.move(a)
                return
            length /= 2.0
        self.shift()

    def _gradients(self, face: _Face, slopes: np.ndarray, steps: int) -> np.ndarray:
        """Solve (the products of the face's examples) p = slopes by conjugate gradients."""
        p, rest = np.zeros(len(slopes)), slopes.copy()
        along = scaled = rest / face.squares
        size = first = float(rest @ scaled)
        for _ in range(steps):
            signed = along * face.signs
            w = face.matrix.T @ signed
            last = self.constant * self.constant * float(np.sum(signed))
            turned = face.signs * (face.matrix @ w + last)
            curvature = float(along @ turned)
            if not curvature > _FLAT * float(along @ (face.squares * along)):
                break
            p += (size / curvature) * along
            rest -= (size / curvature) * turned
            scaled = rest / face.squares
            size, before = float(rest @ scaled), size
            if size <= _ENOUGH * _ENOUGH * first:
                break
            along = scaled + (size / before) * along
        return p
