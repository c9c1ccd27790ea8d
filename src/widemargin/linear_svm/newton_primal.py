"""Newton steps for the weights themselves: many examples of few features in a few steps.

Coordinate descent soon knows which examples will end at a bound, and then creeps because those in
between compete. With few features their competition is a small matrix. So the corner of the hinge
is rounded off (see `widemargin.loops.svm.primal`), by as much as the gap allows, and

    min over w of  1/2 w.w + sum_i c_i rounded loss(1 - y_i w.x_i)

is solved by Newton steps with a search along each. Only examples on the rounded corner have a part
in the matrix. How they pull are dual values with a gap, so the answer is of the kind that
coordinate descent gives, and it can go on from there. See O. Chapelle (2007), Training a support
vector machine in the primal, Neural Computation 19.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from widemargin.data.rows import Rows, frozen
from widemargin.loops.svm.dual import combine
from widemargin.loops.svm.primal import (
    Corner,
    add_curvature_sparse,
    move_margins,
    signed_scores,
    slope_along,
)

#: Steps at the most, steps to reckon with (often 10 will do), and what one costs at least.
_STEPS, _RECKONED, _STEP = 60, 20, 2e5
#: How wide the corner is at first, what part of that a step may leave, a bold one, and the part of
#: the gap that is the corner's in the end.
_WIDE, _SHARPEN, _SHARPEST, _ROUNDED = 1.0, 0.35, 0.01, 0.8
#: Examples on the corner that determine the weights, as a multiple of the features; and how far
#: from the best w may be before the corner becomes sharper, as a multiple of the corner's gap.
_DETERMINED, _SETTLED = 5, 1.0
#: Points looked at along a step, and the part of the slope that may be left.
_TRIALS, _FLAT = 40, 0.1
#: Rows of a dense matrix that are copied at once.
_TOGETHER = 2048
#: Added to the diagonal, as a part of it, so that columns which depend on each other do no harm.
_RIDGE = 1e-14


class Smooth(NamedTuple):
    """What to solve: examples, what their errors cost, and the bounds of their dual values."""

    rows: Rows
    y: np.ndarray
    costs: np.ndarray
    caps: np.ndarray
    squared: bool
    free_bias: bool = False  # the weight of the constant feature costs nothing


class Pulls:
    """Weights w, how the examples pull at them, and the weights v that this would make.

    A free bias is a weight that costs nothing: where w is best the last of v is 0.
    """

    def __init__(
        self, problem: Smooth, alpha: np.ndarray, v: np.ndarray, bias: float = 0.0
    ) -> None:
        self.problem, self.alpha, self.v, self.w = problem, alpha.copy(), v.copy(), v.copy()
        self.price = np.ones(len(v))  # what half the square of every weight costs
        if problem.free_bias:
            self.w[-1], self.price[-1] = bias, 0.0
        n = problem.rows.n
        self.m, self.t, self.inside = np.empty(n), np.zeros(n), np.empty(n, np.uint64)
        signed_scores(problem.rows.stored, problem.y, frozen(self.w), self.m)
        self.part = _SHARPEN
        self.round_off(_WIDE)

    def round_off(self, h: float, tau: float = 0.0) -> None:
        """Let all examples pull anew, tau times t further, the corner (if there is one) so wide."""
        self.h = h
        self.corner = Corner(1.0, 2.0, True)
        if not self.problem.squared:
            self.corner = Corner(1.0 + h, 0.5 / h, False)
        rows, y, costs, caps, *_ = self.problem
        how = (frozen(self.t), tau, costs, caps)
        self.pull = move_margins(
            rows.stored, y, self.corner, *how, self.m, self.alpha, self.v, self.inside
        )

    @property
    def primal(self) -> float:
        """What the weights cost, the corner not rounded."""
        return 0.5 * float(self.price @ self.w**2) + self.pull.loss

    @property
    def slope(self) -> np.ndarray:
        """The first derivative."""
        return self.price * self.w - self.v

    @property
    def gap(self) -> float:
        """The duality gap between the weights w and the dual values."""
        g = self.slope
        lost = 0.0 if self.price[-1] else abs(float(self.w[-1] * self.v[-1]))
        return self.pull.excess + 0.5 * float(self.price @ g**2) + lost

    def gap_of_v(self) -> float:
        """The duality gap between the weights v (a free bias is that of w) and the dual values."""
        rows, y, costs, _, squared, _ = self.problem
        v = np.where(self.price > 0.0, self.v, self.w)
        signed_scores(rows.stored, y, frozen(v), self.t)
        short = np.maximum(0.0, 1.0 - self.t)
        primal = 0.5 * float(self.price @ v**2)
        primal += float(costs @ (short * short if squared else short))
        return self.gap + primal - self.primal

    def sharpen(self, H: np.ndarray, part: float) -> bool:
        """Make the corner a part of its width, and go to where the same examples are on it.

        They pull as before if their margins move along with it: a Newton step for the new corner,
        from the examples on the old one. H, the bend of the old one, is changed.
        """
        rows, y, costs, *_ = self.problem
        which = frozen(self.inside[: self.pull.inside])
        faster = 0.5 / self.h * (1.0 / part - 1.0)
        amounts = faster * costs[which] * (1.0 - self.m[which]) * y[which]
        right = -self.slope
        combine(rows.stored, which, amounts, right)
        H /= part
        H.flat[:: len(H) + 1] += self.price * (1.0 - 1.0 / part)
        d = solved(H, right)
        if d is None:
            return False
        signed_scores(rows.stored, y, frozen(d), self.t)
        self.w += d
        self.round_off(part * self.h, 1.0)
        return True

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite ends the steps
    def go_on(self, allowed: float) -> bool:
        """One step; False if there is none.

        The corner is wide at first and becomes sharper from step to step until its part of the gap
        is less than is allowed: a sharp one from the start takes more steps. Where so few examples
        are on it that they do not determine the weights, it becomes sharper only when w is nearly
        the best; then the next steps are bold as long as that stays so.
        """
        g, H, excess = self.slope, self.bend(), self.pull.excess
        wanted = min(1.0, _ROUNDED * allowed / excess) if excess > 0.0 else 1.0
        if wanted < 1.0 and float(g @ (H @ g)) < _SETTLED * excess:
            # Sharper than wanted costs nothing here.
            part, self.part = max(self.part, 0.1 * wanted), max(_SHARPEST, self.part**2)
            return self.sharpen(H, part)
        self.part = _SHARPEN
        enough = self.pull.inside > _DETERMINED * len(g)
        d = solved(H, -g)
        # The corner's part of the gap grows with the square of its width.
        return d is not None and self.step(d, max(_SHARPEN, math.sqrt(wanted)) if enough else 1.0)

    def bend(self) -> np.ndarray:
        """The second derivative: what weights cost, and x x' of every example on the corner."""
        rows, which = self.problem.rows, self.inside[: self.pull.inside]
        theta = self.corner.rate * self.problem.costs[which]
        H = np.zeros((len(self.w), len(self.w)))
        if rows.is_sparse:
            x = rows.stored
            add_curvature_sparse(x.values, x.indices, x.starts, x.bias, frozen(which), theta, H)
            H += H.T
            H.flat[:: len(H) + 1] *= 0.5
        else:
            root = np.sqrt(theta)
            for begin in range(0, len(which), _TOGETHER):
                part = slice(begin, begin + _TOGETHER)
                X = np.full((len(which[part]), len(H)), rows.bias)
                X[:, :-1] = rows.stored.values[which[part]]
                X *= root[part, None]
                H += X.T @ X
        H.flat[:: len(H) + 1] += self.price
        if H[-1, -1] == 0.0:  # nothing on the corner holds a free bias
            H[-1, -1] = 1.0
        return H

    def step(self, d: np.ndarray, sharper: float = 1.0) -> bool:
        """Go along d to where the slope is nearly zero; False if it never falls.

        There the corner becomes `sharper` times as wide.
        """
        rows, y, costs, caps, *_ = self.problem
        signed_scores(rows.stored, y, frozen(d), self.t)
        ahead, square = float((self.price * self.w) @ d), float(self.price @ d**2)

        def look(tau: float) -> tuple[float, float]:
            slope, bend = slope_along(self.corner, self.m, self.t, tau, costs, caps)
            return slope + ahead + tau * square, bend + square

        first = float(d @ self.slope)
        if not first < 0.0:
            return False
        tau, low, high = 1.0, 0.0, math.inf
        for _ in range(_TRIALS):
            slope, bend = look(tau)
            if abs(slope) <= -_FLAT * first:
                break
            low, high = (tau, high) if slope < 0.0 else (low, tau)
            tau -= slope / bend
            if not low < tau < high:
                tau = 0.5 * (low + high) if math.isfinite(high) else 2.0 * low
        self.w += tau * d
        self.round_off(sharper * self.h, tau)
        return True


def descent_cost(rows: Rows, squared: bool) -> float:
    """What the steps cost usually, in multiplications of coordinate descent, roughly."""
    n, width, per_row = rows.n, rows.width + 1, rows.stored_values / rows.n + 1.0
    inside = n * (0.6 if squared else 0.1)
    bend = inside * per_row**2 * (0.6 if rows.is_sparse else 0.1)
    look = n * (1.2 * per_row + 15.0)
    return _RECKONED * (_STEP + look + bend + 6.0 * width**2 + 0.05 * width**3)


def newton_steps(pulls: Pulls, tol: float) -> Iterator[float]:
    """Yield the relative gap after every step, until it is at most `tol` or no step helps.

    It is the gap between w and the dual values; where that is small enough, the gap between v, the
    weights which the dual values make, and them. What changes is in `pulls`.
    """
    steps, moved = 0, True
    while True:
        gap, primal = pulls.gap, pulls.primal
        if gap <= tol * primal:
            gap = pulls.gap_of_v()
        yield gap / primal
        if gap <= tol * primal or steps == _STEPS or not moved:
            return
        # Where nobody pulls anew, rounding is all that is left.
        steps, moved = steps + 1, pulls.go_on(tol * primal) and pulls.pull.updates > 0


def solved(H: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Solve H d = right, every column scaled to length one; None if it cannot be. Changes H."""
    scale = 1.0 / np.sqrt(np.diag(H))
    H *= scale[:, None]
    H *= scale
    H.flat[:: len(H) + 1] += _RIDGE * len(H)
    _, d, trouble = dposv(H.T, scale * right, overwrite_a=True)
    return None if trouble or not np.all(np.isfinite(d)) else scale * d
