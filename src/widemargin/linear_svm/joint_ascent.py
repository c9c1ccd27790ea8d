"""Passes of dual coordinate descent for all classes together, with shrinking."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from widemargin.certificates.gap import GapCertificate, measure_joint
from widemargin.data.rows import frozen
from widemargin.linear_svm.gap_estimate import GapEstimate
from widemargin.linear_svm.problem import JointSVM, SolverReport, StopSignal
from widemargin.loops.svm.joint_ascent import JointDual, JointExamples, Visits, visit_examples
from widemargin.online.passes import explain_bad_score

#: Number of values times classes that a loop reads at a time: about a tenth of a second at most.
_SLICE = 3e7
#: The minimum cost of a pass, in multiplications.
_LEAST_PASS = 5e4
#: While the largest violation is above this limit, what is asleep (shrunk) stays asleep; then all
#: wake up, and the limit is divided by the second number. LIBLINEAR's choice.
_FIRST_LIMIT, _TIGHTER = 1.0, 2.0
#: They also wake up when the gap of those awake is below this fraction of the gap of all.
_ENOUGH = 0.2
#: Passes count as one epoch until they have multiplied this fraction of all examples and classes.
_EPOCH = 0.5


class JointAscent:
    """Dual values of every example and class, and the weights computed from them.

    Attributes
    ----------
    problem : JointSVM
        The problem.
    dual : JointDual
        The weights and dual values, and what is awake.
    value : float
        The dual objective.
    estimate : GapEstimate
        The duality gap as estimated during passes.
    epochs : int
        The number of epochs so far.
    work : float
        Their cost, in multiplications.
    own : array or None
        Weights that are to be measured in place of those computed from the dual values.
    all_awake, saw_all, idle : bool
        Whether the next pass begins with everything awake, whether the last one did, and whether it
        changed nothing.
    """

    def __init__(
        self, problem: JointSVM, rng: np.random.Generator, start: np.ndarray | None
    ) -> None:
        self.problem, self.rng = problem, rng
        rows, k = problem.rows, problem.classes
        counted = np.arange(rows.n, dtype=np.uint64)
        if len(problem.price):
            counted = np.flatnonzero(problem.price > 0.0).astype(np.uint64)
        W = np.zeros((k, rows.width + 1))
        kind = np.uint8 if k <= 256 else np.uint32
        self.dual = JointDual(
            np.asfortranarray(W) if rows.is_sparse else W,
            np.zeros((rows.n, k)) if start is None else np.array(start, np.float64),
            np.full(rows.n, -1.0),
            np.tile(np.arange(k, dtype=kind), (rows.n, 1)),
            np.full(rows.n, k, np.uint32),
            counted,
        )
        self.examples = JointExamples(rows.stored, problem.y, problem.price, problem.C)
        self.active, self.limit = len(counted), _FIRST_LIMIT
        self.estimate = GapEstimate(problem.tol)
        self.epochs, self.value, self.work, self.gap_of_all = 0, 0.0, 0.0, np.inf
        self.all_awake, self.saw_all, self.idle = True, False, False
        self.own: np.ndarray | None = None
        if start is not None:
            self.measure()

    @property
    def stuck(self) -> bool:
        """Whether nothing can be improved: the last pass saw everything and changed nothing."""
        return self.idle and self.saw_all

    def wake_all(self) -> None:
        """Make all examples and classes take part again."""
        self.dual.awake[:] = self.problem.classes
        self.active, self.all_awake = len(self.dual.order), True

    def become(self, alpha: np.ndarray, own: np.ndarray | None = None) -> None:
        """Replace the dual values; `own` are weights to measure in place of those they make."""
        self.dual.alpha[:] = alpha
        self.own = own
        if own is None:
            self.measure()
        self.wake_all()

    def resume(self, gap: float) -> None:
        """Go on after a measurement that found too large a gap."""
        self.estimate.correct(gap)
        if self.own is not None:
            self.own = None
            self.measure()
        self.wake_all()

    def run_epoch(self, signal: StopSignal) -> Iterator[SolverReport]:
        """Run passes over what is awake until they add up to about half of everything."""
        self.epochs += 1
        mistakes, updates, products = 0, 0, 0
        everything = len(self.dual.order) * self.problem.classes
        while True:
            total = yield from self._run_pass(signal)
            products += total.products
            mistakes, updates = mistakes + int(total.mistakes), updates + int(total.updates)
            self.value += total.gain
            self.idle = total.updates == 0
            if signal.stop or self._wakes(total) or products >= _EPOCH * everything:
                break
        self.work += self.problem.rows.values_per_row * products
        primal = self.value + total.gap
        self.estimate.update(primal, self.value)
        yield SolverReport(self.epochs, 1.0, mistakes, updates, primal, self.value)

    def _run_pass(self, signal: StopSignal) -> Generator[SolverReport, None, Visits]:
        """Run one pass over the examples that are awake, in slices of about a tenth of a second."""
        self.saw_all, self.all_awake = self.all_awake, False
        budget = max(1, int(_SLICE / (self.problem.rows.values_per_row * self.problem.classes)))
        dice = frozen(self.rng.integers(0, 1 << 32, self.active, dtype=np.uint64))
        total = Visits(0, self.active, 0, 0, 0, 0.0, 0.0, 0.0, -1)
        while True:
            found = visit_examples(self.examples, self.dual, total.place, self.active, budget, dice)
            if found.bad >= 0:
                explain_bad_score(self.problem.rows, found.bad)
            self.active = int(found.active)
            total = _added(total, found)
            self.work += _LEAST_PASS
            if total.place >= self.active or signal.stop:
                return total
            done = total.place / self.active
            yield SolverReport(self.epochs, done, int(total.mistakes), int(total.updates))

    def _wakes(self, seen: Visits) -> bool:
        """Wake everything if it is time; return whether an epoch ends here."""
        if self.saw_all:
            self.gap_of_all = seen.gap
            return seen.updates == 0
        wakes = seen.violation <= self.limit or seen.gap <= _ENOUGH * self.gap_of_all
        if wakes:
            self.limit /= _TIGHTER
            self.wake_all()
        return wakes

    def measure(self) -> tuple[np.ndarray, GapCertificate]:
        """Return the weights and their true gap, recomputed without accumulated rounding errors."""
        rows, y, costs = self.problem.rows, self.problem.y, self.problem.costs
        W, found = measure_joint(rows, y, costs, self.dual.alpha.copy(), self.own)
        if self.own is None:
            self.dual.W[:] = W
        self.value = found.dual
        return W, found


def _added(one: Visits, two: Visits) -> Visits:
    """Combine the figures of two parts of a pass."""
    return Visits(
        two.place,
        two.active,
        one.products + two.products,
        one.mistakes + two.mistakes,
        one.updates + two.updates,
        one.gap + two.gap,
        one.gain + two.gain,
        max(one.violation, two.violation),
        -1,
    )
