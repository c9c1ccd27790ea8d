"""Solve pairs of small classes one by one, each in one compiled call.

If a pair has few examples, the work around the SMO steps (rounds, caches, certificates) would take
longer than the steps if it were done in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.kernel_gap import KernelCertificate, certificate_of
from widemargin.data.rows import frozen
from widemargin.kernel_machines.svm.memory_plan import MemoryPlan
from widemargin.kernel_machines.svm.problem import KernelSVMProblem, TwoClassMachine
from widemargin.kernel_machines.svm.row_cache import refuse_not_finite
from widemargin.kernels.blocks import block
from widemargin.loops.svm.pairs import (
    DISTANCES,
    LINEAR,
    POWERS,
    Form,
    PairFigures,
    PairRows,
    PairState,
    solve_pair,
)
from widemargin.loops.svm.smo import LANES

#: Pairs of at most this many examples are solved this way. Chosen by hand;
#: benchmarks/kernel_small.py measures the times, which are all that it affects.
_MOST_EXAMPLES = 2560
#: The steps of one compiled call: about a tenth of a second, so that deadlines are met.
_STEPS = 20_000
#: A solver gives up after this many steps: kernel values are then so large that rounding dominates.
#: As in `pair_solver`, far above what converging fits need.
_MOST_STEPS = 1_000_000
#: The longest step of two dual values, times the largest diagonal: beyond it rounding dominates.
_LONGEST_STEP = 1e14
_KINDS = {"linear": LINEAR, "poly": POWERS, "rbf": DISTANCES}


class _Room(NamedTuple):
    """Memory that one worker reuses for every pair."""

    numbers: np.ndarray  # (5, most examples)
    held: np.ndarray
    members: np.ndarray
    joined: np.ndarray
    K: np.ndarray
    block: np.ndarray
    smo: tuple[np.ndarray, np.ndarray, np.ndarray]


class SmallPairs:
    """The examples of all classes in the compiled loop's form, and memory for every worker."""

    def __init__(self, problem: KernelSVMProblem, workers: int) -> None:
        points, kernel = problem.points, problem.kernel
        assert points.dense is not None
        self.problem = problem
        self.X = frozen(np.ascontiguousarray(points.dense))
        self.columns = frozen(np.ascontiguousarray(points.dense.T))
        self.squares = frozen(points.squares)
        self.costs, self.diagonal = frozen(problem.costs), frozen(problem.diagonal)
        self.longest = _LONGEST_STEP / max(float(np.max(problem.diagonal)), 1e-300)
        self.own = np.empty((points.n, int(np.max(problem.sizes))), self.X.dtype)
        self.known = np.zeros(points.n, np.uint8)
        degree = int(kernel.degree) if kernel.name == "poly" else 1
        self.form = Form(_KINDS[kernel.name], float(kernel.gamma), float(kernel.coef0), degree)
        self.rooms = [self._room() for _ in range(workers)]

    def _room(self) -> _Room:
        most = int(np.sum(np.sort(self.problem.sizes)[-2:]))
        # Never a power of two: such strides make rows compete for a few cache lines.
        width = -(-most // LANES) * LANES
        return _Room(
            np.empty((5, most)),
            np.empty(most, np.uint8),
            np.empty(most, np.uint64),
            np.zeros(1, np.int64),
            np.empty((most, width + LANES), self.X.dtype),
            np.empty((most, width + LANES), self.X.dtype),
            (np.empty((5, width)), np.empty(6 * width, np.float32), np.ones(width, np.uint8)),
        )

    def rows(self, machine: TwoClassMachine) -> PairRows:
        """Return the examples of a pair."""
        assert machine.second is not None
        one, other = self.problem.span(machine.first), self.problem.span(machine.second)
        return PairRows(
            self.X,
            self.columns,
            self.squares,
            self.own,
            self.known,
            one.start,
            one.stop - one.start,
            other.start,
            other.stop - other.start,
        )


def small_pairs(problem: KernelSVMProblem, plan: MemoryPlan) -> SmallPairs | None:
    """Return the examples for this method, or None if it does not suit them."""
    points, sizes = problem.points, np.sort(problem.sizes)
    if not problem.pairs:  # with a single machine the work around the steps is negligible
        return None
    if problem.kernel.name not in _KINDS or not math.isfinite(problem.C) or plan.kind != "full":
        return None
    if int(np.sum(sizes[-2:])) > _MOST_EXAMPLES or points.dense is None:
        return None
    return SmallPairs(problem, plan.workers)


class SmallPairSolver:
    """Solves one pair.

    Attributes
    ----------
    violation, steps, stopped
        As in `pair_solver.PairSolver`.
    beta : array
        The signed dual values; overwritten when the worker solves its next pair.
    """

    def __init__(self, examples: SmallPairs, machine: TwoClassMachine, worker: int) -> None:
        self.examples, self.machine = examples, machine
        self.rows, self.room = examples.rows(machine), examples.rooms[worker]
        n = self.rows.size + self.rows.rest
        room = self.room
        q, E, beta, low, high = (part[:n] for part in room.numbers)
        self.state = PairState(
            q,
            E,
            beta,
            low,
            high,
            room.held[:n],
            room.members,
            room.joined,
            room.K,
            room.block,
        )
        self.beta = self.state.beta
        # At first every example has the largest possible error: 1, with the sign of its class.
        self.violation, self.steps, self.stopped = 2.0, 0, ""
        self.figures: PairFigures | None = None

    def solve(self, stop: Callable[[Any], bool]) -> None:
        """Iterate until no violation exceeds the tolerance, or `stop` returns True."""
        examples, room, tol = self.examples, self.room, self.examples.problem.tol
        go_on: Any = solve_pair
        most = 0 if stop(self) else _STEPS
        while not self.stopped:
            self.figures = found = PairFigures(
                *go_on(
                    self.rows, examples.form, examples.costs, examples.diagonal, self.state,
                    self.figures is None, tol, most, examples.longest, room.smo,
                )
            )  # fmt: skip
            self.steps += found.steps
            if not found.finite:
                self._refuse()
            self.violation = max(0.0, found.violation)
            if self.violation <= tol:
                self.stopped = "converged"
            elif most == 0 or (found.steps > 0 and stop(self)):
                self.stopped = "stopped"
            elif self.steps > _MOST_STEPS or found.steps == 0:
                self._refuse()
                self.stopped = "no progress"

    def measure(self, labels: tuple[Any, ...]) -> tuple[float, KernelCertificate]:
        """Return the bias and the certificate."""
        assert self.figures is not None
        *_, bias, length, total, loss, support, bounded = self.figures
        found = certificate_of(length, total, loss, support, bounded, self.violation, labels)
        return bias, found

    def _refuse(self) -> None:
        """Raise an error naming the examples whose kernel value is too large, if any is."""
        problem = self.examples.problem
        points = problem.points.take(problem.examples(self.machine))
        refuse_not_finite(problem.kernel, block(problem.kernel, points, points), points, points)
