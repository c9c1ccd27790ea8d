"""Solve one two-class problem of a kernel SVM by rounds of SMO on a growing working set."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from widemargin.kernel_machines.svm.pair_problem import PairProblem, PairState
from widemargin.kernel_machines.svm.row_cache import Buffers
from widemargin.kernel_machines.svm.working_set import WorkingSet

#: A solver gives up after this many steps, or this many per example if that is more: kernel values
#: are then so large that rounding dominates. Chosen by hand, far above what converging fits need.
_MOST_STEPS, _STEPS_PER_EXAMPLE = 1_000_000, 1000
#: It also gives up after this many rounds in which the dual grew by less than this fraction: such a
#: gain is rounding error (some 500 units in the last place).
_IDLE_ROUNDS, _ROUNDING = 5, 1e-13
#: With a hard margin, the search stops at margins below this fraction of the longest example.
#: Chosen by hand, well above the rounding of float32 kernel values.
_SMALLEST_MARGIN = 1e-6
#: Below this fraction, and each time the margin falls to a tenth, try to prove that nothing
#: separates. Chosen by hand; it affects only the time.
_DOUBTFUL_MARGIN = 1e-2


class HardMarginCheck:
    """Detects that no separator can have a useful margin, and tries to prove that there is none.

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
        reach = math.sqrt(float(np.max(problem.diagonal))) * total
        bound = length / reach if reach > 0.0 else 0.0  # without any length there is no margin
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
        The number of violators of each sign that join the working set in a round.
    most : int
        The largest size of the working set.
    buffers : Buffers
        Memory for the working set.

    Attributes
    ----------
    state : PairState
        The dual values and errors.
    violation : float
        The violation of the optimality conditions when last computed.
    steps : int
        The number of SMO steps so far.
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
        """Start from given dual values, within their bounds and with sum zero."""
        self.state.start_from(beta, at_once=self.working_set.most)

    def solve(self, stop: Callable[[PairSolver], bool]) -> None:
        """Iterate until no violation exceeds the tolerance, or `stop` returns True.

        repeat:
            add the worst violators to the working set
            run SMO on it until its violation is a tenth of that of all examples
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
        # First, because rounding can hide the violations of endlessly growing dual values.
        if self.check.is_hopeless(self.state):
            return "not separable"
        if self.violation <= self.problem.tol:
            return "converged"
        tired = self.steps > max(_MOST_STEPS, _STEPS_PER_EXAMPLE * self.problem.n)
        if tired or idle > _IDLE_ROUNDS or not math.isfinite(dual):
            return "no progress"
        return ""
