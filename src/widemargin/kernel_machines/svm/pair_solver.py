"""Solve one two-class problem of a kernel SVM by rounds of SMO on a working set that grows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from widemargin.kernel_machines.svm.pair_problem import PairProblem, PairState
from widemargin.kernel_machines.svm.row_cache import Buffers
from widemargin.kernel_machines.svm.working_set import WorkingSet

#: A solver gives up after this many steps, or this many per example if that is more: kernel values
#: are then so large that rounding decides. Chosen by hand, far above what converging fits need.
_MOST_STEPS, _STEPS_PER_EXAMPLE = 1_000_000, 1000
#: It also gives up after this many rounds in which the dual grew by less than this fraction: such a
#: gain is rounding (some 500 units in the last place).
_IDLE_ROUNDS, _ROUNDING = 5, 1e-13
#: With a hard margin, no margin below this fraction of the longest example is looked for. Chosen by
#: hand, well above the rounding of float32 kernel values.
_SMALLEST_MARGIN = 1e-6
#: Below this fraction, and at every tenth of it, a proof is looked for that nothing separates.
#: Chosen by hand; only the time depends on it.
_DOUBTFUL_MARGIN = 1e-2


class HardMarginCheck:
    """Notices that no separator has a margin worth looking for, and looks for a proof of it.

    Any unit separator u has gamma sum alpha <= u.w <= |w|, which bounds the margin gamma.
    """

    def __init__(self) -> None:
        self.doubtful = _DOUBTFUL_MARGIN
        self.proved = False

    def is_hopeless(self, state: PairState) -> bool:
        """Whether to give up; always False if errors are allowed."""
        problem, beta = state.problem, state.beta
        if np.isfinite(problem.cost[0]):
            return False
        total = float(np.abs(beta).sum())
        length = math.sqrt(max(0.0, float(beta @ (problem.y - state.errors))))
        bound = length / (math.sqrt(float(np.max(problem.diagonal))) * max(total, 1e-300))
        if total > 0.0 and bound < self.doubtful and problem.prove is not None:
            self.doubtful = bound / 10.0
            self.proved = problem.prove(np.argsort(-np.abs(beta), kind="stable"))
        return self.proved or (total > 0.0 and bound < _SMALLEST_MARGIN)


class PairSolver:
    """Solves a two-class problem.

    Parameters
    ----------
    problem : PairProblem
        What to solve.
    joining : int
        The violators of each sign that join the working set in a round.
    most : int
        The largest number of members of the working set.
    buffers : Buffers
        Memory for the working set.

    Attributes
    ----------
    state : PairState
        The dual values and errors.
    violation : float
        The violation of the optimality conditions at the last look.
    steps : int
        Steps of SMO so far.
    stopped : str
        Why the solver stopped.
    """

    def __init__(self, problem: PairProblem, joining: int, most: int, buffers: Buffers) -> None:
        self.problem = problem
        self.state = PairState(problem)
        self.check = HardMarginCheck()
        self.working_set = WorkingSet(self.state, joining, most, buffers)
        self.violation, self.steps, self.stopped = math.inf, 0, ""

    def start_from(self, beta: np.ndarray) -> None:
        """Start from given dual values, within their bounds and of sum zero."""
        self.state.start_from(beta, at_once=self.working_set.most)

    def solve(self, stop: Callable[[PairSolver], bool]) -> None:
        """Go on until no violation is larger than the tolerance, or `stop` returns True.

        repeat:
            add the worst violators to the working set
            run SMO on it, ten times as exactly as the whole is solved so far
            update the errors of all examples
        """
        best, idle = -math.inf, 0
        while True:
            largest, smallest = self.state.extremes()
            self.violation = max(0.0, largest - smallest)
            dual = self.state.dual()
            idle = 0 if dual > best + _ROUNDING * abs(best) else idle + 1
            best = max(best, dual)
            self.stopped = self._reason_to_stop(dual, idle) or ("stopped" if stop(self) else "")
            if self.stopped:
                return
            self.working_set.join(largest, smallest)
            self.steps += self.working_set.optimise(self.violation)

    def _reason_to_stop(self, dual: float, idle: int) -> str:
        """Return why to stop, or an empty string."""
        if self.violation <= self.problem.tol:
            return "converged"
        if self.check.is_hopeless(self.state):
            return "not separable"
        tired = self.steps > max(_MOST_STEPS, _STEPS_PER_EXAMPLE * self.problem.n)
        if tired or idle > _IDLE_ROUNDS or not math.isfinite(dual):
            return "no progress"
        return ""
