"""The SVM of all classes together (Crammer and Singer), by passes of dual coordinate descent."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from widemargin.certificates.gap import GapCertificate, measure_joint
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.binary import Solution
from widemargin.linear_svm.dual_ascent import run_pass
from widemargin.linear_svm.gap_estimate import GapEstimate
from widemargin.linear_svm.problem import Attempt, SolverReport, StopSignal
from widemargin.linear_svm.shrinking import Shrinking
from widemargin.loops.svm.dual import Sweep, joint_pass
from widemargin.online.passes import Pace


@dataclass(frozen=True)
class JointSVM:
    """One SVM for several classes, and how exactly to solve it.

        min over W of  1/2 sum_k w_k.w_k + sum_i C price_i max_k (1 - [k = y_i] + (w_k - w_y).x_i)

    Attributes
    ----------
    rows : Rows
        The examples. A row stores each column at most once.
    y : array of int64
        Their classes, 0 ... classes - 1.
    price : array of float64
        The weight of each example's loss; empty if all weights are 1. Examples of weight 0 are
        left out.
    classes : int
        The number of classes.
    C, tol, epochs
        The cost of an error, the relative gap to reach, the largest number of passes.
    """

    rows: Rows
    y: np.ndarray
    price: np.ndarray
    classes: int
    C: float = 1.0
    tol: float = 1e-3
    epochs: int = 1000


def solve_joint(
    problem: JointSVM,
    rng: np.random.Generator,
    signal: StopSignal,
    start: np.ndarray | None = None,
) -> Generator[SolverReport, None, Solution]:
    """Solve a problem slice by slice, as `widemargin.linear_svm.binary.solve` does for two classes.

    Only coordinate descent is used; the other steps are for two classes.
    """
    ascent = _JointAscent(problem, rng, start)
    estimate, shrinking = ascent.estimate, ascent.shrinking
    while True:
        yield from ascent.run_pass(signal)
        stuck = ascent.idle and shrinking.all_active
        last = signal.stop or stuck or ascent.epochs >= problem.epochs
        if not (last or ascent.idle or estimate.looks_reached):
            shrinking.drop_shrunk()
            continue
        W, found = ascent.measure()
        reached = found.gap <= problem.tol
        if last or reached:
            return Solution(W, ascent.alpha, found, reached)
        estimate.correct(found.gap)
        shrinking.restore(ascent.epochs)


class _JointAscent:
    """Dual values of every example and class, and the weights that they make."""

    def __init__(
        self, problem: JointSVM, rng: np.random.Generator, start: np.ndarray | None
    ) -> None:
        self.problem, self.rng = problem, rng
        rows = problem.rows
        counted = rows.everything
        if len(problem.price):
            counted = frozen(np.flatnonzero(problem.price > 0.0).astype(np.uint64))
        self.costs = problem.C * (problem.price if len(problem.price) else np.ones(rows.n))
        shape = (rows.n, problem.classes)
        self.alpha = np.zeros(shape) if start is None else np.array(start, np.float64)
        # With sparse rows the weights of one feature are read together, else those of one class.
        W = np.zeros((problem.classes, rows.width + 1))
        self.W = np.asfortranarray(W) if rows.is_sparse else W
        self.squared_norms = np.full(rows.n, -1.0)
        self.shrinking = Shrinking(counted, rows.n)
        self.estimate = GapEstimate(problem.tol)
        self.slices = Pace()
        self.epochs, self.dual, self.idle = 0, 0.0, False
        if start is not None:
            self.measure()

    def run_pass(self, signal: StopSignal) -> Attempt:
        """Run one pass over the active examples."""
        problem, shrinking = self.problem, self.shrinking

        def pass_over(order: np.ndarray) -> Sweep:
            return joint_pass(
                problem.rows.stored,
                problem.y,
                problem.price,
                order,
                problem.C,
                shrinking.limits[0],
                self.W,
                self.alpha,
                self.squared_norms,
                shrinking.shrunk,
            )

        self.epochs += 1
        order = shrinking.order(self.rng)
        total = yield from run_pass(
            pass_over, order, self.slices, problem.rows, problem.classes, self.epochs, signal
        )
        self.dual += total.gain
        primal = self.dual + total.gap
        self.estimate.update(primal, self.dual)
        self.idle = total.updates == 0
        shrinking.set_limits(total)
        yield SolverReport(self.epochs, 1.0, total.mistakes, total.updates, primal, self.dual)
        return False

    def measure(self) -> tuple[np.ndarray, GapCertificate]:
        """Return the weights and their true gap, computed from scratch, free of rounding errors."""
        problem = self.problem
        W, found = measure_joint(problem.rows, problem.y, self.costs, self.alpha.copy())
        self.W[:] = W
        self.dual = found.dual
        return W, found
