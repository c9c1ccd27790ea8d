"""Train all machines of a kernel SVM."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.kernel_gap import KernelCertificate, add_up, measure_machine
from widemargin.kernel_machines.svm.memory_plan import MemoryPlan, RowCaches
from widemargin.kernel_machines.svm.pair_problem import PairProblem
from widemargin.kernel_machines.svm.pair_solver import PairSolver
from widemargin.kernel_machines.svm.pairs import order_pairs, run_pairs
from widemargin.kernel_machines.svm.problem import KernelSVMProblem, Solved, TwoClassMachine
from widemargin.kernel_machines.svm.small_pairs import SmallPairs, SmallPairSolver, small_pairs
from widemargin.kernels.blocks import block
from widemargin.markup.reprs import brief_repr
from widemargin.separability.examples import certify_examples
from widemargin.training.history import History
from widemargin.training.run import Moment, Watch

#: The number of violators of each sign that join a working set in a round: one in this many
#: examples, but within these bounds. Chosen by hand; benchmarks/RESULTS.md (section "kernel_svm")
#: gives times measured with these values, which affect only the time.
_JOINING_PART, _FEWEST_JOIN, _MOST_JOIN = 64, 64, 256
#: A proof that nothing separates is sought among this many examples, for this many seconds. Chosen
#: by hand: exact arithmetic on more takes too long to be worthwhile. Without a proof the fit still
#: ends, and reports only that the margin is small.
_PROOF_EXAMPLES, _PROOF_SECONDS = 60, 1.0


class KernelDualStart(NamedTuple):
    """Signed dual values (examples, machines) to start from, and the C they were found with."""

    beta: np.ndarray
    C: float

    def __repr__(self) -> str:
        return brief_repr(self)


@dataclass
class Clock:
    """Decides when to stop, for solvers on any thread."""

    deadline: float
    watch: Watch | None
    machines: int
    done: int = 0
    reason: str = ""
    _lock: Any = field(default_factory=threading.Lock, repr=False)
    # One for all calls, as another history means another stage; there are no epochs to record.
    _history: History = field(default_factory=History, repr=False)

    def stop(self, solver: PairSolver | SmallPairSolver) -> bool:
        """Whether a solver must stop."""
        with self._lock:
            if not self.reason and time.monotonic() > self.deadline:
                self.reason = "deadline"
            if not self.reason and self.watch is not None:
                part = min(0.99, self.done / self.machines)
                moment = Moment(1, part, None, None, self._history, violation=solver.violation)
                self.reason = "interrupted" if self.watch(moment) else ""
            return bool(self.reason)

    def tick(self) -> None:
        """Count one more trained machine."""
        with self._lock:
            self.done += 1


class _MachineTraining:
    """The machines of a problem while they are trained, and the results for each."""

    def __init__(
        self,
        problem: KernelSVMProblem,
        plan: MemoryPlan,
        classes: np.ndarray,
        clock: Clock,
        start: KernelDualStart | None,
    ) -> None:
        self.problem, self.plan, self.classes = problem, plan, classes
        self.clock, self.start = clock, start
        self.machines = problem.machines
        count = len(self.machines)
        # A warm start needs the rows of all its support vectors at once.
        self.small = small_pairs(problem, plan) if start is None else None
        self.caches = RowCaches(problem, plan, matrix=self.small is None)
        self.beta = np.zeros((problem.points.n, count))
        self.intercept = np.zeros(count)
        self.steps = np.zeros(count, np.int64)
        self.certificates: list[KernelCertificate | None] = [None] * count
        self.reasons = [""] * count

    def train(self, number: int, worker: int) -> None:
        """Train one machine, with the buffers of a worker."""
        if self.small is not None:
            self._train_small(self.small, number, worker)
            return
        problem, machine = self.problem, self.machines[number]
        which = problem.examples(machine)
        y, cost = problem.signs(machine), problem.costs[which]
        pair = PairProblem(
            y=y,
            cost=cost,
            diagonal=problem.diagonal[which],
            sources=self.caches.sources(machine, worker),
            tol=problem.tol,
            threads=self.caches.threads,
            prove=lambda strongest: _none_separates(problem, which[strongest], y[strongest]),
        )
        joining = min(_MOST_JOIN, max(_FEWEST_JOIN, pair.n // _JOINING_PART))
        solver = PairSolver(pair, joining, self.plan.most, self.caches.buffers[worker])
        if self.start is not None:
            ratio = problem.C / self.start.C
            solver.start_from(_rescale_start(self.start.beta[which, number], y, cost, ratio))
        solver.solve(self.clock.stop)
        state = solver.state
        longest = math.sqrt(float(np.max(problem.diagonal)))
        scale, b, found = measure_machine(
            y, cost, state.beta, y - state.errors, state.bias(), solver.violation, longest
        )
        self.beta[which, number] = state.beta * scale
        labels = problem.labels(machine, self.classes)
        found = replace(found, labels=labels, proved=solver.check.proved)
        if found.proved and found.separates:  # only as far as the kernel values are rounded
            found = replace(found, margin=0.0, primal=math.inf, gap=1.0)
        self._note(number, solver, b, found)

    def _train_small(self, small: SmallPairs, number: int, worker: int) -> None:
        """Train the machine of one pair of small classes."""
        machine = self.machines[number]
        assert machine.second is not None
        solver = SmallPairSolver(small, machine, worker)
        solver.solve(self.clock.stop)
        at = solver.rows.size
        self.beta[self.problem.span(machine.first), number] = solver.beta[:at]
        self.beta[self.problem.span(machine.second), number] = solver.beta[at:]
        labels = self.problem.labels(machine, self.classes)
        self._note(number, solver, *solver.measure(labels))

    def _note(
        self, number: int, solver: PairSolver | SmallPairSolver, b: float, found: KernelCertificate
    ) -> None:
        """Record the results for a machine other than its dual values."""
        self.intercept[number] = b
        reason = solver.stopped
        if reason == "not separable" and found.separates:  # by less than the solver asks for
            reason = "converged" if solver.violation <= self.problem.tol else "no progress"
        self.steps[number], self.reasons[number] = solver.steps, reason
        self.certificates[number] = found
        self.clock.tick()


def solve_all(
    problem: KernelSVMProblem,
    plan: MemoryPlan,
    classes: np.ndarray,
    clock: Clock,
    start: KernelDualStart | None,
) -> Solved:
    """Train every machine; pairs that share no class are trained in parallel."""
    training = _MachineTraining(problem, plan, classes, clock, start)
    machines = training.machines
    if problem.pairs and len(problem.sizes) > 2:
        number_of = {machine: number for number, machine in enumerate(machines)}
        run_pairs(
            order_pairs(len(problem.sizes)),
            plan.workers,
            lambda a, b, worker: training.train(number_of[TwoClassMachine(a, b)], worker),
        )
    else:
        for number in range(len(machines)):
            training.train(number, 0)
    beta, intercept = training.beta, training.intercept
    support = np.flatnonzero((beta != 0.0).any(axis=1))
    coef = beta[support]
    if len(problem.sizes) == 2:  # scores are positive for the second class
        coef, intercept = -coef, -intercept
    parts = [part for part in training.certificates if part is not None]
    found = add_up(parts, len(support))
    reason = _worst_reason(training.reasons)
    return Solved(support, coef, intercept, found, training.steps, reason, beta)


def _none_separates(problem: KernelSVMProblem, which: np.ndarray, y: np.ndarray) -> bool:
    """Whether the first few of these examples prove that nothing separates all of them.

    If a few examples cannot be separated, neither can all. (All kernel values together could not
    prove it: with more examples than features, the rounded values may be separable.)
    """
    which, y = which[:_PROOF_EXAMPLES], y[:_PROOF_EXAMPLES]
    if len(np.unique(y)) < 2:
        return False
    points, seconds = problem.points.take(which), _PROOF_SECONDS
    how: dict[str, Any] = {"bias": True, "tol": None, "max_seconds": seconds}
    if problem.kernel.name == "linear":
        assert points.rows is not None
        found: Any = certify_examples(points.rows.to_matrix(), y, **how)
    else:
        K = block(problem.kernel, points, points).astype(np.float64)
        found = certify_examples((K + K.T) / 2.0, y, gram=True, **how)
    return found.verdict == "not separable"


def _rescale_start(beta: np.ndarray, y: np.ndarray, cost: np.ndarray, ratio: float) -> np.ndarray:
    """Turn dual values found with another C into a start for these costs.

    With a smaller C all of them shrink by the same factor, so that their sum stays zero.
    """
    used = (beta != 0.0) & (cost > 0.0) & (beta * y > 0.0)
    if not np.array_equal(used, beta != 0.0):
        return np.zeros(len(beta))  # other labels or weights: the dual values are of no use
    most = float(np.min(cost[used] / np.abs(beta[used]), initial=math.inf))
    return beta * min(1.0, most, max(ratio, 0.0) if ratio < 1.0 else 1.0)


def _worst_reason(reasons: list[str]) -> str:
    """Return the worst of the reasons for which the machines stopped."""
    for reason in ("not separable", "no progress", "stopped"):
        if reason in reasons:
            return reason
    return "converged"
