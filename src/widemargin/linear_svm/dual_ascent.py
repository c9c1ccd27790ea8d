"""The dual ascent of a two-class SVM: its state, and what its steps share."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator

import numpy as np

from widemargin.certificates.gap import GapCertificate
from widemargin.data.rows import Rows
from widemargin.linear_svm.dual_state import DualState
from widemargin.linear_svm.gap_estimate import GapEstimate
from widemargin.linear_svm.problem import BinarySVM, SolverReport, StopSignal
from widemargin.linear_svm.shrinking import Shrinking
from widemargin.loops.svm.dual import Sweep
from widemargin.online.passes import Pace, explain_bad_score


class DualAscent:
    """The state of an ascent, which the steps of `widemargin.linear_svm.steps` advance.

    Attributes
    ----------
    problem : BinarySVM
        The problem.
    state : DualState
        The dual values and their weights.
    shrinking : Shrinking
        The examples that passes visit.
    estimate : GapEstimate
        An estimate of the duality gap that needs no measurement.
    rng : numpy Generator
        The source of all random choices.
    epochs : int
        The number of passes so far.
    gain : float
        How much the last pass added to the dual.
    idle : bool
        Whether the last pass changed nothing.
    best : weights, bias and certificate, or None
        The measurement with the smallest gap so far. The dual never falls, but the gap may grow.
    own : weights or None
        Weights that a step in the primal found. If C is large, the weights computed from the dual
        values may be far worse, however good the dual values are: a small difference costs C times
        as much.
    scales : bool
        Whether to try multiples of the weights, too: see `DualState.best_multiple`.
    """

    best: tuple[np.ndarray, float, GapCertificate] | None = None
    scales = False

    def __init__(
        self,
        problem: BinarySVM,
        rng: np.random.Generator,
        start: np.ndarray | None = None,
        own: np.ndarray | None = None,
    ) -> None:
        self.problem, self.rng, self.own = problem, rng, own
        self.state = DualState(problem, start)
        self.shrinking = Shrinking(self.state.counted, self.state.rows.n)
        self.estimate = GapEstimate(problem.tol, hard=math.isinf(problem.C))
        self.epochs, self.gain, self.idle = 0, 0.0, False

    @property
    def stuck(self) -> bool:
        """Whether no progress is possible: the last pass visited all examples and changed none."""
        return self.idle and self.shrinking.all_active

    def passes_ahead(self, patience: int) -> float:
        """The estimated number of passes still needed, at most `patience` times those so far."""
        return self.estimate.passes_ahead(self.epochs, patience)

    def should_measure(self) -> bool:
        """Whether to measure the gap now."""
        return self.idle or self.estimate.calls_for_measurement(self.epochs)

    def measure(self) -> tuple[np.ndarray, float, GapCertificate]:
        """Return the weights and free bias to deploy, and their true gap; record the best."""
        measured = self.state.measure()
        if self.own is not None and measured[2].gap > self.problem.tol:
            other = self.state.measure(self.own)
            measured = min(measured, other, key=lambda one: one[2].gap)
        if measured[2].gap > self.problem.tol and self.scales:
            other = self.state.measure(self.state.best_multiple(measured[0]))
            measured = min(measured, other, key=lambda one: one[2].gap)
        if self.best is None or measured[2].gap < self.best[2].gap:
            self.best = measured
        return measured

    def resume(self, measured: float) -> None:
        """Continue after a measured gap that is too large, because of examples shrunk too early."""
        self.state.rebuild()
        self.shrinking.restore(self.epochs)
        self.shrinking.be_more_careful()
        self.estimate.correct(measured)


def run_pass(
    pass_over: Callable[[np.ndarray], Sweep],
    order: np.ndarray,
    slices: Pace,
    rows: Rows,
    classes: int,
    epoch: int,
    signal: StopSignal,
) -> Generator[SolverReport, None, Sweep]:
    """Run one pass slice by slice, with a report after each but the last; return the totals.

    Parameters
    ----------
    pass_over : callable
        Runs the compiled pass over some examples.
    order : array
        The examples in the order of the pass.
    slices : Pace
        Cuts the order into slices of about a tenth of a second.
    rows, classes
        The examples, and how many weight vectors a pass reads for each of them.
    epoch : int
        The number of this pass.
    signal : StopSignal
        Checked after every slice.
    """
    done, total = 0, Sweep(0, 0, 0.0, 0.0, 0.0, 0.0, -1)
    for piece in slices.slices(order, rows, classes):
        found = pass_over(piece)
        if found.bad >= 0:
            explain_bad_score(rows, found.bad)
        total = _added(total, found)
        done += len(piece)
        if done < len(order):
            yield SolverReport(epoch, done / len(order), total.mistakes, total.updates)
            if signal.stop:
                break
    return total


def _added(one: Sweep, two: Sweep) -> Sweep:
    """Combine the figures of two parts of a pass."""
    return Sweep(
        int(one.mistakes + two.mistakes),
        int(one.updates + two.updates),
        one.gap + two.gap,
        one.gain + two.gain,
        max(one.up, two.up),
        max(one.down, two.down),
        -1,
    )
