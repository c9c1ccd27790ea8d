"""Train all machines of a kernel SVM."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.kernel_gap import KernelCertificate, add_up, measure_machine
from widemargin.kernel_machines.svm.memory_plan import Allowance, Grounds
from widemargin.kernel_machines.svm.pairs import play, rounds_of
from widemargin.kernel_machines.svm.problem import Machine, Problem, Solved
from widemargin.kernel_machines.svm.working_set import Pair
from widemargin.kernels.blocks import block
from widemargin.online.learn import Moment, Watch
from widemargin.separability.examples import certify_examples
from widemargin.training.history import History

#: As many examples join a working set in a round, on each side: a part of all, within bounds.
_PART, _FEWEST, _JOIN = 64, 64, 256
#: A proof that nothing separates is looked for among so many examples, for so long.
_FEW, _PROOF_SECONDS = 60, 1.0


class Start(NamedTuple):
    """Signed dual values (examples, machines) from which training can begin, and their C."""

    beta: np.ndarray
    C: float


@dataclass
class Clock:
    """When to stop, asked from any thread."""

    deadline: float
    watch: Watch | None
    machines: int
    done: int = 0
    reason: str = ""
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def stop(self, pair: Pair) -> bool:
        """Whether a machine must leave things as they are."""
        with self._lock:
            if not self.reason and time.monotonic() > self.deadline:
                self.reason = "deadline"
            if not self.reason and self.watch is not None:
                part = min(0.99, self.done / self.machines)
                moment = Moment(1, part, 0, pair.violation, History())
                self.reason = "interrupted" if self.watch(moment) else ""
            return bool(self.reason)

    def tick(self) -> None:
        """One machine more is done."""
        with self._lock:
            self.done += 1


def solve_all(
    problem: Problem,
    allowance: Allowance,
    classes: np.ndarray,
    clock: Clock,
    start: Start | None,
) -> Solved:
    """Train every machine, pairs that share no class side by side."""
    machines = problem.machines
    grounds = Grounds(problem, allowance)
    beta = np.zeros((problem.points.n, len(machines)))
    intercept = np.zeros(len(machines))
    steps = np.zeros(len(machines), np.int64)
    parts: list[KernelCertificate | None] = [None] * len(machines)
    ends = [""] * len(machines)
    longest = math.sqrt(float(np.max(problem.diagonal)))

    def train(number: int, player: int) -> None:
        machine = machines[number]
        which = problem.examples(machine)
        y, cost = problem.signs(machine), problem.costs[which]
        pair = Pair(
            y=y,
            cost=cost,
            diagonal=problem.diagonal[which],
            sides=grounds.sides(machine, player),
            tol=problem.tol,
            least=min(_JOIN, max(_FEWEST, len(y) // _PART)),
            most=allowance.most,
            room=grounds.rooms[player],
            threads=grounds.threads,
            prove=lambda strongest: _none_separates(problem, which[strongest], y[strongest]),
        )
        if start is not None:
            pair.begin(_carried(start.beta[which, number], y, cost, problem.C / start.C))
        pair.solve(clock.stop)
        scale, b, found = measure_machine(
            y, cost, pair.beta, y - pair.E, pair.bias(), pair.violation, longest
        )
        beta[which, number] = pair.beta * scale
        intercept[number] = b
        steps[number], ends[number] = pair.steps, pair.stopped
        labels = problem.labels(machine, classes)
        parts[number] = replace(found, labels=labels, proved=pair.proved)
        clock.tick()

    if problem.pairs and len(problem.sizes) > 2:
        number_of = {machine: number for number, machine in enumerate(machines)}
        play(
            rounds_of(len(problem.sizes)),
            allowance.players,
            lambda a, b, player: train(number_of[Machine(a, b)], player),
        )
    else:
        for number in range(len(machines)):
            train(number, 0)
    support = np.flatnonzero((beta != 0.0).any(axis=1))
    coef = beta[support]
    if len(problem.sizes) == 2:  # scores are positive for the second class
        coef, intercept = -coef, -intercept
    found = add_up([part for part in parts if part is not None], len(support))
    return Solved(support, coef, intercept, found, steps, _reason(ends), beta)


def _none_separates(problem: Problem, which: np.ndarray, y: np.ndarray) -> bool:
    """Whether a few examples, the first of these, prove that nothing separates all of them.

    What cannot be separated in the span of a few, nothing in feature space separates. (Kernel
    values of more examples than there are features are rounded, and rounded they may separate.)
    """
    which, y = which[:_FEW], y[:_FEW]
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


def _carried(beta: np.ndarray, y: np.ndarray, cost: np.ndarray, ratio: float) -> np.ndarray:
    """Dual values of the same examples with another C, made fit for these costs.

    With a smaller C all of them shrink; they keep the sum of zero.
    """
    used = (beta != 0.0) & (cost > 0.0) & (beta * y > 0.0)
    if not np.array_equal(used, beta != 0.0):
        return np.zeros(len(beta))  # other labels or weights: nothing to go on with
    room = float(np.min(cost[used] / np.abs(beta[used]), initial=math.inf))
    return beta * min(1.0, room, max(ratio, 0.0) if ratio < 1.0 else 1.0)


def _reason(ends: list[str]) -> str:
    """Why training ended: the worst of what was said of the machines."""
    for reason in ("not separable", "no progress", "stopped"):
        if reason in ends:
            return reason
    return "converged"
