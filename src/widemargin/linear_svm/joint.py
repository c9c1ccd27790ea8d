"""The SVM of all classes together (Crammer and Singer), by passes of dual coordinate descent."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from widemargin.certificates.gap import GapCertificate, measure_joint, relative
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.binary import Solution
from widemargin.linear_svm.dual_ascent import DROWSY, added
from widemargin.linear_svm.problem import Orders, Report, Slices
from widemargin.loops.svm.dual import Sweep, joint_pass
from widemargin.online.orders import awake_of, stirred
from widemargin.online.passes import Pace, explain_bad_score


@dataclass(frozen=True)
class JointProblem:
    """Several classes to be told apart, and when to be content.

    Attributes
    ----------
    rows : Rows
        The examples, with each column stored at most once a row.
    y : array of int64
        Their classes, 0 ... classes - 1.
    price : array of float64
        What multiplies the cost of every row; empty if nothing does. Rows of price 0 are left out.
    classes : int
        How many there are.
    C, tol, epochs
        What an error costs, the relative gap to reach, passes at the most.
    """

    rows: Rows
    y: np.ndarray
    price: np.ndarray
    classes: int
    C: float = 1.0
    tol: float = 1e-3
    epochs: int = 1000


def solve_joint(
    problem: JointProblem,
    rng: np.random.Generator,
    orders: Orders,
    start: np.ndarray | None = None,
) -> Generator[Report, None, Solution]:
    """Solve a problem slice by slice, as `widemargin.ascent.solve` does for two classes."""
    climb = _JointClimb(problem, rng, start)
    while True:
        yield from climb.epoch(orders)
        stuck = climb.idle and len(climb.awake) == len(climb.which)
        last = orders.stop or stuck or climb.epochs >= problem.epochs
        if not (last or climb.idle or climb.likely * climb.distrust <= problem.tol):
            climb.shrink()
            continue
        W, found = climb.measure()
        reached = found.gap <= problem.tol
        if last or reached:
            return Solution(W, climb.alpha, found, reached)
        climb.distrust = max(climb.distrust, min(10.0, found.gap / max(climb.likely, 1e-300)))
        climb.wake()


class _JointClimb:
    """Dual values of every example and class, and the weights they make."""

    def __init__(
        self, problem: JointProblem, rng: np.random.Generator, start: np.ndarray | None
    ) -> None:
        self.problem, self.rng = problem, rng
        rows = problem.rows
        self.which = rows.everything
        if len(problem.price):
            self.which = frozen(np.flatnonzero(problem.price > 0.0).astype(np.uint64))
        self.costs = problem.C * (problem.price if len(problem.price) else np.ones(rows.n))
        shape = (rows.n, problem.classes)
        self.alpha = np.zeros(shape) if start is None else np.array(start, np.float64)
        # Learning from sparse rows, a feature's weights should lie together, else a class's.
        W = np.zeros((problem.classes, rows.width + 1))
        self.W = np.asfortranarray(W) if rows.is_sparse else W
        self.q = np.full(rows.n, -1.0)
        self.asleep = np.zeros(rows.n, np.uint8)
        self.pace = Pace()
        self.epochs, self.dual, self.gap, self.likely, self.distrust = 0, 0.0, 1.0, 1.0, 1.0
        self.idle = False
        if start is not None:
            self.measure()
        self.wake()

    def wake(self) -> None:
        """Look at all examples again."""
        self.awake = self.which
        self.asleep[:] = 0
        self.limit = math.inf

    def shrink(self) -> None:
        """Leave out the examples that fell asleep."""
        self.awake = awake_of(self.awake, self.asleep)

    def epoch(self, orders: Orders) -> Slices:
        """One pass over the examples that are awake."""
        problem = self.problem
        self.epochs += 1
        order = frozen(stirred(self.awake, self.rng)) if len(self.awake) else self.awake
        done, total = 0, Sweep(0, 0, 0.0, 0.0, 0.0, 0.0, -1)
        for piece in self.pace.slices(order, problem.rows, problem.classes):
            found = joint_pass(
                problem.rows.stored,
                problem.y,
                problem.price,
                piece,
                problem.C,
                self.limit,
                self.W,
                self.alpha,
                self.q,
                self.asleep,
            )
            if found.bad >= 0:
                explain_bad_score(problem.rows, found.bad)
            total = added(total, found)
            done += len(piece)
            if done < len(order):
                part = done / len(order)
                yield Report(self.epochs, part, total.mistakes, total.updates)
                if orders.stop:
                    break
        self.dual += total.gain
        primal, before = self.dual + total.gap, self.gap
        self.gap = relative(primal, self.dual)
        self.likely = self.gap * min(1.0, self.gap / max(before, 1e-300))
        self.idle = total.updates == 0
        self.limit = DROWSY * total.up or math.inf
        yield Report(self.epochs, 1.0, total.mistakes, total.updates, primal, self.dual)

    def measure(self) -> tuple[np.ndarray, GapCertificate]:
        """The true gap, from scratch; also rids the weights of rounding errors."""
        problem = self.problem
        W, found = measure_joint(problem.rows, problem.y, self.costs, self.alpha.copy())
        self.W[:] = W
        self.dual = found.dual
        return W, found
