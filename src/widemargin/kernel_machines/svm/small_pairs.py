"""Solve pairs of small classes one by one, each in one compiled call.

Where a pair has few examples, what surrounds the steps of SMO (working sets, caches, rounds) takes
longer than the steps. So SMO runs on the whole pair, and computes a kernel row when a step first
needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin.data.rows import frozen
from widemargin.kernel_machines.svm.memory_plan import MemoryPlan
from widemargin.kernel_machines.svm.pair_problem import PairProblem, PairState
from widemargin.kernel_machines.svm.pair_solver import HardMarginCheck
from widemargin.kernel_machines.svm.problem import KernelSVMProblem, TwoClassMachine
from widemargin.kernel_machines.svm.row_cache import Buffers, refuse_not_finite
from widemargin.kernels.blocks import block
from widemargin.loops.svm.pairs import DISTANCES, LINEAR, POWERS, Form, PairRows, solve_pair
from widemargin.loops.svm.smo import LANES

#: Pairs of at most this many examples are solved this way: a step looks at all of them. Chosen by
#: hand; benchmarks/kernel_small.py measures the times, and only these depend on it.
_MOST_EXAMPLES = 2048
#: The steps of one compiled call: about a tenth of a second, so that deadlines are kept.
_STEPS = 20_000
#: A solver gives up after this many steps: kernel values are then so large that rounding decides.
#: As in `pair_solver`, far above what converging fits need.
_MOST_STEPS = 1_000_000
#: The longest step of two dual values, times the largest diagonal: beyond it rounding decides.
_LONGEST_STEP = 1e14
_KINDS = {"linear": LINEAR, "poly": POWERS, "rbf": DISTANCES}


class SmallPairs:
    """The examples of all classes as the compiled loop reads them."""

    def __init__(self, problem: KernelSVMProblem) -> None:
        points, kernel = problem.points, problem.kernel
        assert points.dense is not None
        self.problem = problem
        self.X = frozen(np.ascontiguousarray(points.dense))
        self.columns = frozen(np.ascontiguousarray(points.dense.T))
        self.squares = frozen(points.squares)
        degree = int(kernel.degree) if kernel.name == "poly" else 1
        self.form = Form(_KINDS[kernel.name], float(kernel.gamma), float(kernel.coef0), degree)

    def rows(self, machine: TwoClassMachine) -> PairRows:
        """Return the examples of a pair."""
        assert machine.second is not None
        one, other = self.problem.span(machine.first), self.problem.span(machine.second)
        sizes = one.stop - one.start, other.stop - other.start
        return PairRows(
            self.X, self.columns, self.squares, one.start, sizes[0], other.start, sizes[1]
        )


def small_pairs(problem: KernelSVMProblem, plan: MemoryPlan) -> SmallPairs | None:
    """Return the examples for this way of solving, or None if it does not suit them."""
    points, sizes = problem.points, np.sort(problem.sizes)
    if not problem.pairs:  # a single machine has nothing around its steps that would count
        return None
    if problem.kernel.name not in _KINDS or not math.isfinite(problem.C) or plan.kind != "full":
        return None
    if int(np.sum(sizes[-2:])) > _MOST_EXAMPLES or points.dense is None:
        return None
    return SmallPairs(problem)


class SmallPairSolver:
    """Solves one pair; has the attributes of `pair_solver.PairSolver`."""

    def __init__(
        self, pair: PairProblem, examples: SmallPairs, machine: TwoClassMachine, buffers: Buffers
    ) -> None:
        self.problem, self.examples, self.machine = pair, examples, machine
        self.state, self.check = PairState(pair), HardMarginCheck()
        self.violation, self.steps, self.stopped = math.inf, 0, ""
        self._buffers = buffers

    def solve(self, stop: Callable[[Any], bool]) -> None:
        """Go on until no violation is larger than the tolerance, or `stop` returns True."""
        pair, n = self.problem, self.problem.n
        # Never a power of two: rows at such distances compete for few lines of the cache.
        width = -(-n // LANES) * LANES
        K = self._buffers.get("pair", n, width + LANES)
        known = np.zeros(width, np.uint8)
        arrays = np.zeros((5, width))
        whole = (pair.diagonal, self.state.errors, self.state.beta, pair.low, pair.high)
        for part, values in zip(arrays, whole, strict=True):
            part[:n] = values
        work = np.empty((6, width), np.float32)
        longest = _LONGEST_STEP / max(float(np.max(pair.diagonal)), 1e-300)
        rows = self.examples.rows(self.machine)
        largest, smallest = self.state.extremes()
        self.violation = max(0.0, largest - smallest)
        self.stopped = "stopped" if stop(self) else ""
        solve: Any = solve_pair
        while not self.stopped:
            taken, violation, _ = solve(
                rows, self.examples.form, K, known, *arrays, pair.tol, _STEPS, longest, work
            )
            self.steps += int(taken)
            self.violation = max(0.0, float(violation))
            if not np.all(np.isfinite(arrays[1])):
                self._refuse()
            if self.violation <= pair.tol:
                self.stopped = "converged"
            elif self.steps > _MOST_STEPS or taken == 0:
                self.stopped = "no progress"
            elif stop(self):
                self.stopped = "stopped"
        self.state.errors[:], self.state.beta[:] = arrays[1, :n], arrays[2, :n]

    def _refuse(self) -> None:
        """Raise an error that names the examples whose kernel value is too large."""
        problem = self.examples.problem
        points = problem.points.take(problem.examples(self.machine))
        refuse_not_finite(problem.kernel, block(problem.kernel, points, points), points, points)
