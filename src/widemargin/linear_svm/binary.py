"""Solve one two-class SVM by dual ascent until the duality gap is small enough."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from widemargin.certificates.gap import GapCertificate, weights_of
from widemargin.data.rows import Rows
from widemargin.linear_svm.dual_ascent import DualAscent
from widemargin.linear_svm.policy import StepPolicy
from widemargin.linear_svm.problem import BinarySVM, Reports, SolverReport, StopSignal


@dataclass
class Solution:
    """The weights (with the bias last), the dual values, and their certificate."""

    w: np.ndarray
    alpha: np.ndarray
    certificate: GapCertificate
    reached: bool


#: With a hard margin the search ends once any separator must have a margin below this fraction of
#: the largest value. Chosen by hand, well above the rounding of float64; `certify` decides such
#: cases.
_SMALLEST_MARGIN = 1e-7

Solver = Generator[SolverReport | Reports, None, Solution]


def solve(
    problem: BinarySVM,
    rng: np.random.Generator,
    signal: StopSignal,
    start: np.ndarray | None = None,
    own: np.ndarray | None = None,
) -> Solver:
    """Solve a problem slice by slice; at a deadline, return the best so far with its true gap.

        repeat:
            a pass of dual coordinate descent over the active examples, or several short ones
            if the estimate of the gap is small enough:
                measure the gap; stop if it is small enough, else make all examples active
            if another step looks cheaper than more passes, take it

    Parameters
    ----------
    problem : BinarySVM
        The problem.
    rng : numpy Generator
        Draws the random orders of the passes.
    signal : StopSignal
        Checked after every slice.
    start : array, optional
        Dual values to start from, within their bounds.
    own : array, optional
        Weights that may be better than those computed from the dual values.
    """
    ascent, policy = DualAscent(problem, rng, start, own), StepPolicy(problem)
    seems_solved = False
    while True:
        if not seems_solved and ascent.epochs < problem.epochs:  # steps count, too
            yield from policy.run_passes(ascent, signal)
        last = signal.stop or ascent.stuck or ascent.epochs >= problem.epochs
        if last or seems_solved or ascent.should_measure():
            w, b, found = ascent.measure()
            # With a hard margin the latest bound on the margin is the best, whatever the gap.
            if last and math.isfinite(problem.C) and ascent.best is not None:
                w, b, found = ascent.best
            reached = found.gap <= problem.tol
            if last or reached or _is_hopeless(found, problem.rows):
                w[-1] = b if problem.free_bias else w[-1]
                assert found.alpha is not None
                return Solution(w, found.alpha, found, reached)
            ascent.resume(found.gap)
        else:
            ascent.shrinking.advance(ascent.epochs)
        seems_solved = yield from policy.replace_passes(ascent, signal)


def report_each(solver: Solver) -> Generator[SolverReport, None, Solution]:
    """Run a solver, with its reports one by one."""
    while True:
        try:
            report = next(solver)
        except StopIteration as end:
            solution: Solution = end.value
            return solution
        yield from report.each if isinstance(report, Reports) else (report,)


def _is_hopeless(found: GapCertificate, rows: Rows) -> bool:
    """Whether no separator can have a useful margin."""
    if found.margin is None or found.separates:
        return False
    values = rows.stored.values
    largest = float(np.max(np.abs(values), initial=rows.bias))
    return found.margin[1] < _SMALLEST_MARGIN * largest


def rescale_start(problem: BinarySVM, alpha: np.ndarray) -> np.ndarray:
    """Turn dual values of the same problem with another C into a start for this one.

    They are multiplied by the factor that maximises the dual, or by the largest one that keeps them
    within their bounds.
    """
    costs = problem.costs
    used = (alpha > 0.0) & (costs > 0.0)
    w = weights_of(problem.rows, np.where(used, alpha, 0.0) * problem.y)
    curvature = float(w @ w)
    most = math.inf
    if problem.rule.soft > 0.0:
        curvature += float(np.sum(0.5 * alpha[used] ** 2 / costs[used]))
    else:
        most = float(np.min(costs[used] / alpha[used], initial=math.inf))
    best = float(np.sum(alpha[used])) / curvature if curvature > 0.0 else 1.0
    scaled = np.where(used, min(best, most) * alpha, 0.0)
    return scaled if problem.rule.soft > 0.0 else np.minimum(scaled, costs)
