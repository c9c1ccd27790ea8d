"""One two-class SVM: passes of dual coordinate descent until the duality gap is small enough."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from widemargin.certificates.gap import GapCertificate, weights_of
from widemargin.data.rows import Rows
from widemargin.linear_svm.dual_ascent import Climb
from widemargin.linear_svm.problem import Orders, Problem, Report


@dataclass
class Solution:
    """The weights (bias last), the dual values, and what they are worth."""

    w: np.ndarray
    alpha: np.ndarray
    certificate: GapCertificate
    reached: bool


#: With no errors allowed, a margin below so much of the largest value is not looked for.
_SMALLEST_MARGIN = 1e-7

Solver = Generator[Report, None, Solution]


def solve(
    problem: Problem, rng: np.random.Generator, orders: Orders, start: np.ndarray | None = None
) -> Solver:
    """Solve a problem slice by slice; a deadline leaves what was found, with its true gap.

        repeat:
            one pass of dual coordinate descent over the examples that are awake
            if the estimate of the gap is small enough:
                measure the gap; if it is small enough too, stop; wake everybody up
            if another way on looks cheaper than more passes, take it

    Parameters
    ----------
    problem : Problem
        What to solve.
    rng : numpy Generator
        Where the orders of the passes come from.
    orders : Orders
        Looked at after every slice.
    start : array, optional
        Dual values to begin with, within their bounds.
    """
    climb = Climb(problem, rng, start)
    landed = False
    while True:
        if not landed:
            yield from climb.epoch(orders)
        stuck = climb.idle and climb.all_awake
        last = orders.stop or stuck or climb.epochs >= problem.epochs
        if last or landed or climb.idle or climb.due:
            w, b, found = climb.measure()
            reached = found.gap <= problem.tol
            if last or reached or _hopeless(found, problem.rows):
                w[-1] = b if problem.free_bias else w[-1]
                return Solution(w, climb.alpha, found, reached)
            climb.doubt(found.gap)
        else:
            climb.shrink()
        landed = yield from climb.leap(orders)


def _hopeless(found: GapCertificate, rows: Rows) -> bool:
    """Whether no separator can have a margin worth looking for."""
    if found.margin is None or found.separates:
        return False
    values = rows.stored.values
    longest = float(np.max(np.abs(values), initial=rows.bias))
    return found.margin[1] < _SMALLEST_MARGIN * longest


def carried(problem: Problem, alpha: np.ndarray) -> np.ndarray:
    """Dual values of the same problem with another C, made fit for this one.

    They are multiplied by what makes the dual largest, and no more than keeps them within bounds.
    """
    costs = problem.costs
    used = (alpha > 0.0) & (costs > 0.0)
    w = weights_of(problem.rows, np.where(used, alpha, 0.0) * problem.y)
    resistance = float(w @ w)
    room = math.inf
    if problem.rule.soft > 0.0:
        resistance += float(np.sum(0.5 * alpha[used] ** 2 / costs[used]))
    else:
        room = float(np.min(costs[used] / alpha[used], initial=math.inf))
    best = float(np.sum(alpha[used])) / resistance if resistance > 0.0 else 1.0
    carried = np.where(used, min(best, room) * alpha, 0.0)
    return carried if problem.rule.soft > 0.0 else np.minimum(carried, costs)
