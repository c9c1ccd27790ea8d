"""Newton steps in the primal, which solve an SVM with many examples and few features quickly.

Coordinate descent soon finds out which examples will end at a bound, but is then slow because those
in between compete. With few features, a small matrix describes their competition. So the corner of
the hinge is smoothed (see `widemargin.loops.svm.primal`) by as much as the gap allows, and

    min over w of  1/2 w.w + sum_i c_i smoothed loss(1 - y_i w.x_i)

is solved by Newton steps with a line search. Only examples on the smoothed corner add to the
Hessian. The slopes of the losses are dual values with a gap, so the result is of the same kind as
that of coordinate descent, which can continue from there. See O. Chapelle (2007), Training a
support vector machine in the primal, Neural Computation 19.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from widemargin.data.rows import Rows, frozen
from widemargin.loops.svm.dual import combine
from widemargin.loops.svm.primal import (
    Corner,
    add_curvature_sparse,
    move_margins,
    next_trial,
    signed_scores,
    slope_along,
)

# The constants below were chosen by hand. docs/decisions.md gives times measured with them (18 data
# sets, both losses, C from 0.01 to 100, gaps of 1e-3 and 1e-6). The gap at the end is measured, so
# they affect the time but not the quality of the result.

#: The largest number of steps.
_STEPS = 60
#: For the cost estimate: the number of steps (10 are often enough, for example on a9a; the squared
#: hinge has no corner to sharpen, and takes 6 to 8 on ijcnn1, a9a and w8a), and the minimum cost of
#: a step, in multiplications.
_USUAL_STEPS, _USUAL_SQUARED_STEPS, _LEAST_STEP = 20, 10, 2e5
#: Half the initial width of the smoothed corner, in units of the margin.
_FIRST_WIDTH = 1.0
#: A step may shrink the corner's width to the first fraction; while w stays nearly optimal the
#: fraction is squared from step to step, down to the second.
_SHARPEN, _SHARPEST = 0.35, 0.01
#: The fraction of the allowed gap that smoothing may take up in the end.
_SMOOTHING_SHARE = 0.8
#: The examples on the corner determine the weights if there are more of them than this many times
#: the features.
_DETERMINED = 5
#: Otherwise the corner becomes sharper when w is nearly optimal: when the squared gradient, in the
#: norm of the Hessian, is below this many times the corner's share of the gap.
_NEARLY_OPTIMAL = 1.0
#: The most points tried in a line search, and the fraction of the slope that may remain.
_TRIALS, _FLAT = 40, 0.1
#: Number of rows of a dense matrix copied at once: 2048 rows of 123 features are 2 MB.
_ROWS_AT_ONCE = 2048
#: Added to the scaled diagonal per column, so that linearly dependent columns can be factorised.
#: Some fifty times the rounding of float64.
_RIDGE = 1e-14


class SmoothedSVM(NamedTuple):
    """The problem: the examples, the costs of their errors, the bounds of their dual values."""

    rows: Rows
    y: np.ndarray
    costs: np.ndarray
    caps: np.ndarray
    squared: bool
    free_bias: bool = False  # the weight of the constant feature is not regularised


class PrimalIterate:
    """Weights w, dual values (the slopes of the losses), and the weights v computed from these.

    At the optimum w = v. With a free bias the last weight is not regularised, and where w is
    optimal the last of v is 0.

    Attributes
    ----------
    problem : SmoothedSVM
        The problem.
    w, alpha, v
        The weights, the dual values, and the weights computed from these.
    penalty : array
        The coefficient of each squared weight: 1, or 0 for a free bias.
    margins, shifts : arrays
        y_i w.x_i, and y_i d.x_i for the direction of the last step.
    corner, half_width
        The smoothed corner in the form that the loops use, and half its width.
    on_corner : array
        The examples on the corner; only the first `pull.inside` entries are used.
    pull : Pull
        The sums that the loop computed over all examples.
    sharpen_by : float
        The fraction of the corner's width that the next bold step leaves.
    """

    def __init__(
        self, problem: SmoothedSVM, alpha: np.ndarray, v: np.ndarray, bias: float = 0.0
    ) -> None:
        self.problem, self.alpha, self.v, self.w = problem, alpha.copy(), v.copy(), v.copy()
        self.penalty = np.ones(len(v))
        if problem.free_bias:
            self.w[-1], self.penalty[-1] = bias, 0.0
        n = problem.rows.n
        self.margins, self.shifts = np.empty(n), np.zeros(n)
        self._scratch, self.on_corner = np.empty(n), np.empty(n, np.uint64)
        signed_scores(problem.rows.stored, problem.y, frozen(self.w), self.margins)
        self.sharpen_by = _SHARPEN
        self.smooth(_FIRST_WIDTH)

    def smooth(self, half_width: float, tau: float = 0.0) -> None:
        """Move the margins by tau times the shifts, and compute all slopes for this corner."""
        self.half_width = half_width
        self.corner = Corner(1.0, 2.0, True)
        if not self.problem.squared:
            self.corner = Corner(1.0 + half_width, 0.5 / half_width, False)
        rows, y, costs, caps, *_ = self.problem
        how = (frozen(self.shifts), tau, costs, caps)
        changed = (self.margins, self.alpha, self.v, self._scratch, self.on_corner)
        self.pull = move_margins(rows.stored, y, self.corner, *how, *changed)

    @property
    def primal(self) -> float:
        """The primal objective, with the loss not smoothed."""
        return 0.5 * float(self.penalty @ self.w**2) + self.pull.loss

    @property
    def gradient(self) -> np.ndarray:
        """The gradient of the smoothed objective."""
        return self.penalty * self.w - self.v

    @property
    def gap(self) -> float:
        """The duality gap between the weights w and the dual values."""
        g = self.gradient
        lost = 0.0 if self.penalty[-1] else abs(float(self.w[-1] * self.v[-1]))
        return self.pull.excess + 0.5 * float(self.penalty @ g**2) + lost

    def gap_of_dual(self) -> float:
        """Return the duality gap between the weights v (with w's free bias) and the dual."""
        rows, y, costs, _, squared, _ = self.problem
        v = np.where(self.penalty > 0.0, self.v, self.w)
        signed_scores(rows.stored, y, frozen(v), self.shifts)
        short = np.maximum(0.0, 1.0 - self.shifts)
        primal = 0.5 * float(self.penalty @ v**2)
        primal += float(costs @ (short * short if squared else short))
        return self.gap + primal - self.primal

    @np.errstate(over="ignore", invalid="ignore")  # a step that is not finite ends the iteration
    def step(self, allowed: float) -> bool:
        """Take one Newton step; return False if there is none.

        The corner is wide at first, because starting with a sharp one takes more steps, and becomes
        sharper from step to step until its share of the gap is below what is allowed. Where too few
        examples are on it to determine the weights, it becomes sharper only when w is nearly
        optimal; the following steps are then bold as long as w stays so.
        """
        g, H, excess = self.gradient, self.hessian(), self.pull.excess
        wanted = min(1.0, _SMOOTHING_SHARE * allowed / excess) if excess > 0.0 else 1.0
        if wanted < 1.0 and float(g @ (H @ g)) < _NEARLY_OPTIMAL * excess:
            # A sharper corner than necessary costs nothing here.
            part = max(self.sharpen_by, 0.1 * wanted)
            self.sharpen_by = max(_SHARPEST, self.sharpen_by**2)
            return self.sharpen(H, part)
        self.sharpen_by = _SHARPEN
        determined = self.pull.inside > _DETERMINED * len(g)
        d = solve_scaled(H, -g)
        # The corner's share of the gap grows with the square of its width.
        part = max(_SHARPEN, math.sqrt(wanted)) if determined else 1.0
        return d is not None and self.search_along(d, part)

    def sharpen(self, H: np.ndarray, part: float) -> bool:
        """Make the corner narrower, and move w so that the same examples stay on it.

        Their slopes stay the same if their margins move along with the corner. This is a Newton
        step for the new corner with the examples on the old one. Changes H, the Hessian of the
        old corner.
        """
        rows, y, costs, *_ = self.problem
        which = frozen(self.on_corner[: self.pull.inside])
        steeper = 0.5 / self.half_width * (1.0 / part - 1.0)
        amounts = steeper * costs[which] * (1.0 - self.margins[which]) * y[which]
        right = -self.gradient
        combine(rows.stored, which, amounts, right)
        H /= part
        H.flat[:: len(H) + 1] += self.penalty * (1.0 - 1.0 / part)
        d = solve_scaled(H, right)
        if d is None:
            return False
        signed_scores(rows.stored, y, frozen(d), self.shifts)
        self.w += d
        self.smooth(part * self.half_width, 1.0)
        return True

    def hessian(self) -> np.ndarray:
        """Return the Hessian: the penalty, plus theta x x' for the examples on the corner."""
        rows, which = self.problem.rows, self.on_corner[: self.pull.inside]
        theta = self.corner.rate * self.problem.costs[which]
        H = np.zeros((len(self.w), len(self.w)))
        if rows.is_sparse:
            x = rows.stored
            add_curvature_sparse(x.values, x.indices, x.starts, x.bias, frozen(which), theta, H)
            H += H.T
            H.flat[:: len(H) + 1] *= 0.5
        else:
            root = np.sqrt(theta)
            for begin in range(0, len(which), _ROWS_AT_ONCE):
                part = slice(begin, begin + _ROWS_AT_ONCE)
                X = np.full((len(which[part]), len(H)), rows.bias)
                X[:, :-1] = rows.stored.values[which[part]]
                X *= root[part, None]
                H += X.T @ X
        H.flat[:: len(H) + 1] += self.penalty
        if H[-1, -1] == 0.0:  # no example on the corner determines a free bias
            H[-1, -1] = 1.0
        return H

    def search_along(self, d: np.ndarray, narrower: float = 1.0) -> bool:
        """Move along d to where the slope is nearly zero; return False if it never falls.

        There the corner's width is multiplied by `narrower`.
        """
        rows, y, costs, caps, *_ = self.problem
        signed_scores(rows.stored, y, frozen(d), self.shifts)
        linear, square = float((self.penalty * self.w) @ d), float(self.penalty @ d**2)

        def look(tau: float) -> tuple[float, float]:
            slope, bend = slope_along(self.corner, self.margins, self.shifts, tau, costs, caps)
            return slope + linear + tau * square, bend + square

        first = float(d @ self.gradient)
        if not first < 0.0:
            return False
        tau = find_root(look, -_FLAT * first)
        self.w += tau * d
        self.smooth(narrower * self.half_width, tau)
        return True


def find_root(look: Callable[[float], tuple[float, float]], flat: float) -> float:
    """Find where an increasing slope is nearly zero, by Newton's method within a bracket.

    Parameters
    ----------
    look : callable
        Returns the slope and its derivative at a point; the slope at 0 is negative.
    flat : float
        The slope that counts as nearly zero.
    """
    tau, low, high = 1.0, 0.0, math.inf
    for _ in range(_TRIALS):
        slope, bend = look(tau)
        if abs(slope) <= flat:
            break
        tau, low, high = next_trial(tau, low, high, slope, bend)
    return tau


def newton_cost(rows: Rows, squared: bool) -> float:
    """Estimate the cost of all steps, in multiplications of coordinate descent.

    The factors were chosen by hand. They express how fast each part runs relative to coordinate
    descent, and how many examples are on the corner: for the squared hinge, all with a loss.
    """
    n, width, per_row = rows.n, rows.width + 1, rows.values_per_row
    on_corner = n * (0.6 if squared else 0.1)
    hessian = on_corner * per_row**2 * (0.6 if rows.is_sparse else 0.1)
    margins = n * (1.2 * per_row + 15.0)
    steps = _USUAL_SQUARED_STEPS if squared else _USUAL_STEPS
    return steps * (_LEAST_STEP + margins + hessian + 6.0 * width**2 + 0.05 * width**3)


def iterate(point: PrimalIterate, tol: float) -> Iterator[float]:
    """Yield the relative gap after every step, until it is at most `tol` or no step helps.

    This is the gap between w and the dual values or, once that is small enough, the gap between the
    dual values and the weights v computed from them. Changes `point`.
    """
    steps, moved = 0, True
    while True:
        gap, primal = point.gap, point.primal
        if gap <= tol * primal:
            gap = point.gap_of_dual()
        yield gap / primal if primal > 0.0 else 0.0
        if gap <= tol * primal or steps == _STEPS or not moved:
            return
        # If no dual value changes, only rounding errors are left.
        steps, moved = steps + 1, point.step(tol * primal) and point.pull.updates > 0


def solve_scaled(H: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Solve H d = right with every column scaled to unit length; None if impossible. Changes H.

    If `right` has several rows, it is solved for each of them.
    """
    scale = 1.0 / np.sqrt(np.diag(H))
    H *= scale[:, None]
    H *= scale
    H.flat[:: len(H) + 1] += _RIDGE * len(H)
    _, d, trouble = dposv(H.T, (scale * right).T, overwrite_a=True)
    return None if trouble or not np.all(np.isfinite(d)) else scale * d.T
