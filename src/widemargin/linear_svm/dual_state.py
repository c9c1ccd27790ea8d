"""The dual values of a two-class SVM and the weights computed from them."""

from __future__ import annotations

import math

import numpy as np

from widemargin.certificates.gap import (
    BinaryObjective,
    GapCertificate,
    measure_binary,
    scores_of,
    weights_of,
)
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.newton_primal import find_root
from widemargin.linear_svm.problem import BinarySVM
from widemargin.loops.svm.primal import Corner, slope_along

# Chosen by hand. The objective of the multiple is measured, so they affect only the time.

#: Half the width of the smoothed corner of the hinge when a multiple of the weights is sought: it
#: makes the multiple larger than necessary by as much.
_CORNER = 1e-6
#: The slope that counts as zero there, relative to the squared length of the weights.
_FLAT = 1e-6


class DualState:
    """A point of the dual of an SVM.

        D(alpha) = sum_i alpha_i (1 - y_i b) - 1/2 w.w - 1/2 sum_i soft_i alpha_i^2
        w = sum_i alpha_i y_i x_i,    0 <= alpha_i <= cap_i

    A free bias is held fixed at b while the dual values adapt to it. Meanwhile a constant feature
    pulls sum y alpha towards 0, and its weight shows where b should move (the method of
    multipliers).

    Attributes
    ----------
    problem, rows, costs, caps, soft
        The problem, and its rows with the constant feature used for a free bias. Never changed.
    counted : array of uint64
        The examples with nonzero weight. Never changed.
    alpha, w, b, dual
        The point, its weights (with that of the constant feature last), the bias, the objective.
    squared_norms : array
        x_i.x_i, or -1 until a pass has computed it.
    """

    def __init__(self, problem: BinarySVM, start: np.ndarray | None) -> None:
        self.problem = problem
        self.rows = problem.rows
        if problem.free_bias:
            self.rows = problem.rows.with_bias(_typical_length(problem.rows))
        n = self.rows.n
        self.counted = self.rows.everything
        if len(problem.price):
            self.counted = frozen(np.flatnonzero(problem.price > 0.0).astype(np.uint64))
        self.costs = problem.costs
        self.caps, self.soft = self.costs, np.zeros(n)
        if problem.rule.soft > 0.0:
            self.caps = np.full(n, np.inf)
            np.divide(0.5, self.costs, out=self.soft, where=self.costs > 0.0)
        self.alpha = np.zeros(n) if start is None else np.array(start, np.float64)
        self.w, self.b, self.dual = np.zeros(self.rows.width + 1), 0.0, 0.0
        self.squared_norms = np.full(n, -1.0)
        if start is not None:
            self.rebuild()

    def rebuild(self) -> None:
        """Compute the weights and the objective from the dual values, free of rounding errors."""
        self.w[:] = weights_of(self.rows, self.alpha * self.problem.y)
        self.dual = self.objective(self.alpha, self.w)

    def objective(self, alpha: np.ndarray, w: np.ndarray) -> float:
        """The dual objective of some dual values and the weights computed from them."""
        return (
            float(alpha.sum())
            - self.b * float(alpha @ self.problem.y)
            - 0.5 * float(w @ w + self.soft @ alpha**2)
        )

    def become(self, alpha: np.ndarray, w: np.ndarray, b: float) -> None:
        """Replace the dual values, the weights computed from them, and the bias."""
        self.alpha[:], self.w[:], self.b = alpha, w, b
        self.dual = self.objective(self.alpha, self.w)

    def shift_bias(self) -> bool:
        """Move the free bias to where the constant feature pulls it; return whether it moved."""
        pull = float(self.w[-1])
        before, self.b = self.b, self.b + self.rows.bias * pull
        self.dual -= pull * pull
        return self.b != before

    def between_bounds(self, which: np.ndarray) -> np.ndarray:
        """The ones among some examples whose dual values are at neither bound."""
        which = which.astype(np.int64)
        alpha = self.alpha[which]
        return which[(alpha > 0.0) & (alpha < self.caps[which])]

    def measure(
        self, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, float, GapCertificate]:
        """Return the weights and free bias to deploy, and their true gap, computed from scratch.

        The weights are the given ones, or those computed from the dual values. With a free bias
        this balances the dual values first; call `rebuild` before continuing from them.
        """
        problem = self.problem
        if problem.free_bias:
            self.alpha = balanced(self.alpha, problem.y, self.caps)
        binary = BinaryObjective(
            problem.rows, problem.y, self.costs, problem.squared, problem.free_bias
        )
        return measure_binary(binary, self.alpha.copy(), weights)

    @property
    def scalable(self) -> bool:
        """Whether a multiple of the weights has a finite objective that needs no other bias."""
        return math.isfinite(self.problem.C) and not self.problem.free_bias

    def best_multiple(self, w: np.ndarray) -> np.ndarray:
        """Return the multiple of some weights whose objective is lowest, up to rounding.

        With a large C, weights whose margins are all slightly below 1 are worth little, although
        they are nearly optimal; a slightly larger multiple has no loss.
        """
        problem, corner = self.problem, Corner(1.0, 2.0, True)
        if not problem.squared:
            corner = Corner(1.0 + _CORNER, 0.5 / _CORNER, False)
        margins, none = problem.y * scores_of(problem.rows, w), np.zeros(problem.rows.n)
        square = float(w @ w)

        def look(s: float) -> tuple[float, float]:
            slope, bend = slope_along(corner, none, margins, s, self.costs, self.caps)
            return slope + s * square, bend + square

        return find_root(look, _FLAT * square) * w


def balanced(alpha: np.ndarray, y: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Return dual values with sum y alpha = 0.

    The class with the larger sum is scaled down, values between bounds first.
    """
    alpha = alpha.copy()
    for _ in range(3):  # repeated to remove what rounding leaves
        excess = float(alpha @ y)
        if excess == 0.0:
            break
        heavier = (y * excess > 0.0) & (alpha > 0.0)
        scaled = heavier & (alpha < caps)
        if float(alpha[scaled].sum()) < 2.0 * abs(excess):
            scaled = heavier
        alpha[scaled] *= 1.0 - min(1.0, abs(excess) / float(alpha[scaled].sum()))
    return alpha


def _typical_length(rows: Rows) -> float:
    """Return the root of the mean squared length of a row."""
    values = rows.stored.values.ravel()
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return 1.0
    return largest * math.sqrt(
        float(np.sum(np.square(values / largest, dtype=np.float64))) / rows.n
    )
