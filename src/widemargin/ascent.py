"""One two-class SVM: passes of dual coordinate descent until the duality gap is small enough."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin.errors import DataError
from widemargin.face import Block, climb_block, gram
from widemargin.gap import Binary, GapCertificate, measure_binary, relative, weights_of
from widemargin.interior import Quadratic, affordable, interior_point, matrix_of
from widemargin.learn import Pace
from widemargin.loops.dual import Sweep, combine, dual_pass
from widemargin.loops.steps import REACH, Rule
from widemargin.order import stirred
from widemargin.rows import Rows, frozen
from widemargin.scores import scores

#: Examples at a bound fall asleep when held there by so much of the last pass's largest slope.
_DROWSY = 0.25
#: Newton steps are tried when at least so many more passes seem to be needed, judging by the last few.
_LONG, _LOOK_BACK = 20, 5
#: Alphas in a block of Newton steps at the most.
_BLOCK = 600
#: More alphas between bounds than so many times the features, or so many leaps in vain: go through
#: the interior.
_MANY, _LEAPS = 3, 6
#: What comes out of the interior so near to a bound is put onto it.
_TIDY = 1e-7


@dataclass(frozen=True)
class Problem:
    """Two classes to be told apart, and when to be content.

    Attributes
    ----------
    rows : Rows
        The examples, with each column stored at most once a row.
    y : array of int8
        -1 or +1.
    price : array of float64
        What multiplies the cost of every row; empty if nothing does. Rows of price 0 are left out.
    C : float
        What an error costs; infinity forbids errors.
    squared : bool
        Whether an error costs its square.
    free_bias : bool
        Whether a bias is added that costs nothing. (Otherwise it is a feature of the rows.)
    tol : float
        The relative gap to reach.
    epochs : int
        Passes at the most.
    """

    rows: Rows
    y: np.ndarray
    price: np.ndarray
    C: float = 1.0
    squared: bool = False
    free_bias: bool = False
    tol: float = 1e-3
    epochs: int = 1000

    @property
    def rule(self) -> Rule:
        """The step rule: that of the passive-aggressive learners."""
        if self.squared and math.isfinite(self.C):
            return Rule(REACH, target=1.0, soft=1.0 / (2.0 * self.C))
        return Rule(REACH, target=1.0, cap=self.C)

    @property
    def costs(self) -> np.ndarray:
        """C times the price of every row."""
        if not len(self.price):
            return np.full(self.rows.n, self.C)
        return np.multiply(self.C, self.price, where=self.price > 0.0, out=np.zeros(self.rows.n))


class Report(NamedTuple):
    """Where a solver stands, told after every slice of work."""

    epoch: int
    done: float  # the part of this epoch that is done, 0 to 1
    mistakes: int
    updates: int
    primal: float  # estimated from what the pass saw; known when done is 1
    gap: float


@dataclass
class Orders:
    """What the driver tells a solver between slices of work."""

    stop: bool = False


@dataclass
class Solution:
    """The weights (bias last), the dual values, and what they are worth."""

    w: np.ndarray
    alpha: np.ndarray
    certificate: GapCertificate
    reached: bool


Solver = Generator[Report, None, Solution]


def solve(
    problem: Problem, rng: np.random.Generator, orders: Orders, start: np.ndarray | None = None
) -> Solver:
    """Solve a problem slice by slice; a deadline leaves what was found, with its true gap.

        repeat:
            one pass of dual coordinate descent over the examples that are awake
            if the estimate of the gap is small enough:
                measure the gap; if it is small enough too, stop; wake everybody up

    Parameters
    ----------
    problem : Problem
        What to solve.
    rng : numpy Generator
        Where the orders of the passes come from.
    orders : Orders
        Looked at after every slice.
    start : array, optional
        Dual values to begin with, within their bounds.
    """
    climb = _Climb(problem, rng, start)
    trust = 1.0
    while True:
        yield from climb.epoch(orders)
        last = orders.stop or climb.epochs == problem.epochs
        if not (last or climb.idle or climb.likely * trust <= problem.tol):
            climb.shrink()
            if climb.creeps:
                climb.leap()
            continue
        w, b, found = climb.measure()
        if last or found.gap <= problem.tol:
            w[-1] = b if problem.free_bias else w[-1]
            return Solution(w, climb.alpha, found, found.gap <= problem.tol)
        trust = max(trust, min(10.0, found.gap / max(climb.likely, 1e-300)))
        climb.wake()


def carried(problem: Problem, alpha: np.ndarray) -> np.ndarray:
    """Dual values of the same problem with another C, made fit for this one.

    They are multiplied by what makes the dual largest, and no more than keeps them within bounds.
    """
    costs = problem.costs
    used = (alpha > 0.0) & (costs > 0.0)
    w = weights_of(problem.rows, np.where(used, alpha, 0.0) * problem.y)
    resistance = float(w @ w)
    room = math.inf
    if problem.rule.soft > 0.0:
        resistance += float(np.sum(0.5 * alpha[used] ** 2 / costs[used]))
    else:
        room = float(np.min(costs[used] / alpha[used], initial=math.inf))
    best = float(np.sum(alpha[used])) / resistance if resistance > 0.0 else 1.0
    carried = np.where(used, min(best, room) * alpha, 0.0)
    return carried if problem.rule.soft > 0.0 else np.minimum(carried, costs)


class _Climb:
    """The state of one ascent in the dual."""

    def __init__(
        self, problem: Problem, rng: np.random.Generator, start: np.ndarray | None
    ) -> None:
        self.problem, self.rng, self.rule = problem, rng, problem.rule
        rows = problem.rows
        which = rows.everything
        if len(problem.price):
            which = frozen(np.flatnonzero(problem.price > 0.0).astype(np.uint64))
        self.which = which
        self.costs = problem.costs
        self.caps, self.soft = self.costs, np.zeros(rows.n)
        if self.rule.soft > 0.0:
            self.caps = np.full(rows.n, np.inf)
            np.divide(0.5, self.costs, out=self.soft, where=self.costs > 0.0)
        self.alpha = np.zeros(rows.n) if start is None else np.array(start, np.float64)
        self.w = np.zeros(rows.width + 1)
        self.b = 0.0
        self.q = np.full(rows.n, -1.0)
        self.asleep = np.zeros(rows.n, np.uint8)
        self.pace = Pace(rows, 1)
        self.epochs, self.dual = 0, 0.0
        self.gap, self.likely, self.idle = 1.0, 1.0, False
        self.gain, self.gaps = 0.0, [1.0]
        self.pause, self.next_leap = 4, 2 * _LOOK_BACK
        self.leaps, self.been_inside = 0, False
        if start is not None:
            self.measure()
        self.wake()

    def wake(self) -> None:
        """Look at all examples again."""
        self.awake = self.which
        self.asleep[:] = 0
        self.limits = (math.inf, math.inf)

    def shrink(self) -> None:
        """Leave out the examples that fell asleep."""
        self.awake = self.awake[self.asleep[self.awake] == 0]

    def epoch(self, orders: Orders) -> Iterator[Report]:
        """One pass over the examples that are awake."""
        problem = self.problem
        self.epochs += 1
        order = frozen(stirred(self.awake, self.rng)) if len(self.awake) else self.awake
        done, total = 0, Sweep(0, 0, 0.0, 0.0, 0.0, 0.0, -1)
        for piece in self.pace.slices(order):
            found = dual_pass(
                problem.rows.stored,
                problem.y,
                problem.price,
                piece,
                self.rule,
                self.b,
                self.limits,
                self.w,
                self.alpha,
                self.q,
                self.asleep,
            )
            if found.bad >= 0:
                _explain_bad_score(problem.rows, found.bad)
            total = _added(total, found)
            done += len(piece)
            if done < len(order):
                yield Report(self.epochs, done / len(order), total.mistakes, total.updates, 0, 1.0)
                if orders.stop:
                    break
        self.dual += total.gain
        self.gain = total.gain
        primal, before = self.dual + total.gap, self.gap
        self.gap = relative(primal, self.dual)
        # Every example's part was taken before its step: the gap now is what it will be seen to be
        # in the next pass, or less.
        self.likely = self.gap * min(1.0, self.gap / max(before, 1e-300))
        self.gaps.append(self.gap)
        self.idle = total.updates == 0
        self.limits = (_DROWSY * total.up or math.inf, _DROWSY * total.down or math.inf)
        yield Report(self.epochs, 1.0, total.mistakes, total.updates, primal, self.gap)

    @property
    def creeps(self) -> bool:
        """Whether coordinate descent alone would take long, and a Newton step has its turn."""
        if self.epochs < self.next_leap:
            return False
        back = self.gaps[-_LOOK_BACK]
        rate = (self.gap / back) ** (1.0 / (_LOOK_BACK - 1)) if back > 0.0 else 1.0
        ahead = math.log(self.problem.tol / self.gap) / math.log(rate) if rate < 1.0 else math.inf
        return ahead > _LONG

    def leap(self) -> None:
        """Go on by other means: Newton steps in the dual, or once through the interior."""
        awake = self.awake.astype(np.int64)
        alpha = self.alpha[awake]
        free = awake[(alpha > 0.0) & (alpha < self.caps[awake])]
        many = len(free) > _MANY * (self.problem.rows.width + 1) or self.leaps >= _LEAPS
        if many and not self.been_inside and affordable(self.problem.rows):
            self.pass_through()
        else:
            gain = self.newton(free)
            self.leaps += 1
            self.pause = max(1, self.pause // 2) if gain > self.gain else self.pause * 2
        self.next_leap = self.epochs + self.pause

    def newton(self, free: np.ndarray) -> float:
        """Newton steps for alphas between their bounds (for some of them, if they are many)."""
        problem = self.problem
        if len(free) > _BLOCK:
            free = np.sort(self.rng.choice(free, _BLOCK, replace=False))
        if not len(free):
            return 0.0
        which = frozen(free.astype(np.uint64))
        signs = problem.y[which].astype(np.float64)
        margins = signs * (scores(problem.rows, which, self.w[None, :]) + self.b)
        K = gram(problem.rows, which, signs)
        soft = self.soft[which]
        K.flat[:: len(K) + 1] += soft
        before = self.alpha[which]
        slope = 1.0 - margins - soft * before
        after, gain = climb_block(Block(K, slope, before, self.caps[which]))
        self.alpha[which] = after
        combine(problem.rows.stored, which, (after - before) * signs, self.w)
        self.dual += gain
        return gain

    def pass_through(self) -> None:
        """Take over what an interior-point method finds, if it is better."""
        problem, which = self.problem, self.which
        self.been_inside = True
        signs = problem.y[which].astype(np.float64)
        soft = np.empty(0) if np.any(np.isfinite(self.caps[which])) else self.soft[which]
        A = matrix_of(problem.rows, which, signs)
        inside = interior_point(
            Quadratic(A, signs, self.costs[which], soft, problem.free_bias), 0.1 * problem.tol
        )
        before, dual = self.alpha.copy(), self.dual
        for tidy in (_TIDY, 0.0):
            cap = self.caps[which]
            near = np.where(inside < tidy * np.minimum(cap, np.max(inside)), 0.0, inside)
            near = np.where(cap - near < tidy * cap, cap, near)
            self.alpha[which] = np.minimum(near, cap)
            if self.measure()[2].dual >= dual:
                self.wake()
                return
        self.alpha[:] = before
        self.measure()

    def measure(self) -> tuple[np.ndarray, float, GapCertificate]:
        """The true gap, from scratch; also rids the weights of rounding errors."""
        problem = self.problem
        binary = Binary(problem.rows, problem.y, self.costs, problem.squared, problem.free_bias)
        w, b, found = measure_binary(binary, self.alpha)
        self.w[:] = w
        self.dual = found.dual
        return w, b, found


def _added(one: Sweep, two: Sweep) -> Sweep:
    """Two sweeps as one."""
    return Sweep(
        int(one.mistakes + two.mistakes),
        int(one.updates + two.updates),
        one.gap + two.gap,
        one.gain + two.gain,
        max(one.up, two.up),
        max(one.down, two.down),
        -1,
    )


def _explain_bad_score(rows: Rows, row: int) -> None:
    """Say why the score of a row is not a finite number."""
    rows.check_finite()
    raise DataError(
        f"row {row}: its score or norm is too large for a float, so nothing can be learned from it;"
        " scale the features down"
    )
