"""One ascent in the dual of an SVM, and the ways to go on: passes, and leaps of three kinds."""

from __future__ import annotations

import math

import numpy as np

from widemargin.certificates.gap import Binary, GapCertificate, measure_binary, relative, weights_of
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.interior_point import Quadratic, affordable, interior_point, matrix_of
from widemargin.linear_svm.newton_dual import Block, climb_block, gram
from widemargin.linear_svm.newton_primal import Pulls, Smooth, descent_cost, newton_steps
from widemargin.linear_svm.problem import Leap, Orders, Problem, Report, Slices
from widemargin.loops.svm.dual import Sweep, combine, dual_pass
from widemargin.online.orders import awake_of, stirred
from widemargin.online.passes import Pace, explain_bad_score
from widemargin.online.scores import scores

#: Examples at a bound fall asleep when held there by so much of the last pass's largest slope.
DROWSY = 0.25
#: Passes by which the speed of the ascent is judged, and passes after which everybody is woken up.
_LOOK_BACK, _NIGHT = 5, 30
#: So many times the passes so far is the most that is believed to lie ahead: by itself, and where
#: little is lost if it does not.
_PATIENCE, _HOPE = 3, 10
#: What a pass or a Newton step costs at least, in multiplications; steps of every kind, usually.
_PASS, _NEWTON_STEPS, _INNER_STEPS = 5e5, 20, 25
#: Alphas in a block of Newton steps at the most.
_BLOCK = 600
#: More alphas between bounds than so many times the features, or so many leaps in vain: go through
#: the interior.
_MANY, _LEAPS = 3, 6
#: Newton steps for the weights are thought of after so many passes, and again after so many times
#: as many.
_FIRST, _AGAIN = 2, 4
#: After so many leaps they become rarer, however much they bring.
_MOST_LEAPS = 25
#: What comes out of the interior so near to a bound is put onto it.
_TIDY = 1e-7
#: With no errors allowed, the gap is measured after so many passes, and then ever more rarely.
_LOOK = 5


class Climb:
    """Dual values, the weights they make, and how far they have come.

    A free bias is held at b while the dual values adapt to it; meanwhile a constant feature pulls
    sum y alpha towards 0, and its weight says where b should go (the method of multipliers).
    """

    def __init__(
        self, problem: Problem, rng: np.random.Generator, start: np.ndarray | None
    ) -> None:
        self.problem, self.rng, self.rule = problem, rng, problem.rule
        self.rows = problem.rows
        if problem.free_bias:
            self.rows = _with_bias(problem.rows, _typical_length(problem.rows))
        n = self.rows.n
        self.which = self.rows.everything
        if len(problem.price):
            self.which = frozen(np.flatnonzero(problem.price > 0.0).astype(np.uint64))
        self.costs = problem.costs
        self.caps, self.soft = self.costs, np.zeros(n)
        if self.rule.soft > 0.0:
            self.caps = np.full(n, np.inf)
            np.divide(0.5, self.costs, out=self.soft, where=self.costs > 0.0)
        self.alpha = np.zeros(n) if start is None else np.array(start, np.float64)
        self.w, self.b, self.dual = np.zeros(self.rows.width + 1), 0.0, 0.0
        self.q = np.full(n, -1.0)
        self.asleep = np.zeros(n, np.uint8)
        self.pace = Pace()
        self.epochs, self.next_look, self.idle, self.distrust = 0, _LOOK, False, 1.0
        self.drowsy = DROWSY
        self.gap, self.likely, self.gain, self.gaps = 1.0, 1.0, 0.0, [1.0]
        self.pause, self.next_leap, self.leaps, self.been_inside = 4, 2 * _LOOK_BACK, 0, False
        possible = math.isfinite(problem.C) and affordable(problem.rows)
        self.next_descent: float = _FIRST if possible else math.inf
        if start is not None:
            self.settle()
        self.wake()

    def settle(self) -> None:
        """Make weights and objective anew from the dual values."""
        self.w[:] = weights_of(self.rows, self.alpha * self.problem.y)
        self.dual = self.dual_of(self.alpha, self.w)

    def dual_of(self, alpha: np.ndarray, w: np.ndarray) -> float:
        """The objective of dual values and the weights they make."""
        return (
            float(alpha.sum())
            - self.b * float(alpha @ self.problem.y)
            - 0.5 * float(w @ w + self.soft @ alpha**2)
        )

    def wake(self) -> None:
        """Look at all examples again."""
        self.awake, self.woken = self.which, self.epochs
        self.asleep[:] = 0
        self.limits = (math.inf, math.inf)

    def shrink(self) -> None:
        """Leave out the examples that fell asleep; after many passes look at all of them again."""
        if self.epochs - self.woken >= _NIGHT:
            limits = self.limits  # who is held as firmly as before may fall asleep at once
            self.wake()
            self.limits = limits
        else:
            self.awake = awake_of(self.awake, self.asleep)

    @property
    def all_awake(self) -> bool:
        """Whether nobody is left out."""
        return len(self.awake) == len(self.which)

    def epoch(self, orders: Orders) -> Slices:
        """One pass over the examples that are awake."""
        problem = self.problem
        self.epochs += 1
        order = frozen(stirred(self.awake, self.rng)) if len(self.awake) else self.awake
        done, total = 0, Sweep(0, 0, 0.0, 0.0, 0.0, 0.0, -1)
        for piece in self.pace.slices(order, self.rows, 1):
            found = dual_pass(
                self.rows.stored,
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
                explain_bad_score(problem.rows, found.bad)
            total = added(total, found)
            done += len(piece)
            if done < len(order):
                yield Report(self.epochs, done / len(order), total.mistakes, total.updates)
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
        self.limits = (self.drowsy * total.up or math.inf, self.drowsy * total.down or math.inf)
        if problem.free_bias:
            self.shift()
        yield Report(self.epochs, 1.0, total.mistakes, total.updates, primal, self.dual)

    def shift(self) -> None:
        """Move the free bias to where the weight of the constant feature pulls it."""
        v = float(self.w[-1])
        b = self.b + self.rows.bias * v
        self.idle = self.idle and b == self.b
        self.b = b
        self.dual -= v * v

    @property
    def due(self) -> bool:
        """Whether the gap should be measured: it looks small, or cannot be estimated."""
        if math.isfinite(self.problem.C):
            return self.likely * self.distrust <= self.problem.tol
        if self.epochs < self.next_look:
            return False
        self.next_look = self.epochs + max(_LOOK, self.epochs // 3)
        return True

    def doubt(self, gap: float) -> None:
        """Go on, knowing that the gap was larger than it looked: who fell asleep was missed."""
        self.settle()  # also rids the weights of rounding errors
        self.wake()
        self.drowsy = min(1.0, 2.0 * self.drowsy)
        self.distrust = max(self.distrust, min(10.0, gap / max(self.likely, 1e-300)))

    def ahead(self, patience: int) -> float:
        """How many more passes it seems to take, judging by the last few."""
        if self.gap <= self.problem.tol:
            return 0.0
        back = min(_LOOK_BACK, len(self.gaps))
        before = max(self.gaps[-back], np.finfo(np.float64).tiny)
        rate = (self.gap / before) ** (1.0 / (back - 1))
        most = float(patience * self.epochs)
        if rate >= 1.0:
            return most
        return min(most, math.log(self.problem.tol / self.gap) / math.log(rate))

    def leap(self, orders: Orders) -> Leap:
        """Go on by other means if they look cheaper; say whether the gap seems to be reached.

        Newton steps for the weights, for alphas between their bounds, or once through the interior.
        Costs are counted in multiplications, roughly.
        """
        rows, n = self.problem.rows, len(self.which)
        per_row, width = rows.stored_values / rows.n + 1.0, rows.width + 1
        one_pass = _PASS + 3.0 * per_row * len(self.awake)
        cost = descent_cost(rows, self.problem.squared)
        if self.epochs >= self.next_descent and self.ahead(_HOPE) * one_pass > cost:
            return (yield from self.descend(orders))
        if self.epochs < self.next_leap:
            return False
        worth = self.ahead(_PATIENCE) * one_pass
        awake = self.awake.astype(np.int64)
        alpha = self.alpha[awake]
        free = awake[(alpha > 0.0) & (alpha < self.caps[awake])]
        block = min(len(free), _BLOCK)
        newton = _NEWTON_STEPS * (_PASS + block**3 / 3.0) + block**2 * per_row
        inside = _INNER_STEPS * (n * (per_row**2 + 20.0 * per_row + 40.0) + width**3)
        many = len(free) > _MANY * width or self.leaps >= _LEAPS
        if many and worth > inside and not self.been_inside and affordable(rows):
            yield from self.pass_through(orders)
        elif worth > newton:
            gain = self.newton(free)
            self.leaps += 1
            better = gain > self.gain and self.leaps <= _MOST_LEAPS
            self.pause = max(1, self.pause // 2) if better else self.pause * 2
        self.next_leap = self.epochs + self.pause
        return False

    def descend(self, orders: Orders) -> Leap:
        """Newton steps for the weights; take over the dual values they lead to, if better.

        A step looks at all examples, so it counts as an epoch.
        """
        problem, free = self.problem, self.problem.free_bias
        smooth = Smooth(self.rows, problem.y, self.costs, self.caps, problem.squared, free)
        pulls = Pulls(smooth, self.alpha, self.w, self.b / self.rows.bias if free else 0.0)
        gap = math.inf
        for told in newton_steps(pulls, problem.tol / self.distrust):
            gap = told
            self.epochs += 1
            primal, found = pulls.primal, pulls.pull
            best = max(self.dual, primal - pulls.gap)
            yield Report(self.epochs, 1.0, found.mistakes, found.updates, primal, best)
            if orders.stop or self.epochs >= problem.epochs:
                break
        self.next_descent = _AGAIN * self.epochs
        # With another bias the dual is another one.
        if not (gap < self.gap if free else self.dual_of(pulls.alpha, pulls.v) > self.dual):
            return False
        self.alpha[:], self.w[:] = pulls.alpha, pulls.v
        self.b = self.rows.bias * float(pulls.w[-1]) if free else 0.0
        self.dual = self.dual_of(self.alpha, self.w)
        self.wake()
        self.gap = self.likely = gap
        self.gaps.append(gap)
        return self.due

    def newton(self, free: np.ndarray) -> float:
        """Newton steps for alphas between their bounds (for some of them, if they are many)."""
        problem = self.problem
        if len(free) > _BLOCK:
            free = np.sort(self.rng.choice(free, _BLOCK, replace=False))
        if not len(free):
            return 0.0
        which = frozen(free.astype(np.uint64))
        signs = problem.y[which].astype(np.float64)
        margins = signs * (scores(self.rows, which, self.w[None, :]) + self.b)
        K = gram(self.rows, which, signs)
        soft = self.soft[which]
        K.flat[:: len(K) + 1] += soft
        before = self.alpha[which]
        slope = 1.0 - margins - soft * before
        after, gain = climb_block(Block(K, slope, before, self.caps[which]))
        self.alpha[which] = after
        combine(self.rows.stored, which, (after - before) * signs, self.w)
        self.dual += gain
        return gain

    def pass_through(self, orders: Orders) -> Slices:
        """Take over what an interior-point method finds, if it is better."""
        problem, which = self.problem, self.which
        self.been_inside = True
        signs = problem.y[which].astype(np.float64)
        soft = np.empty(0) if np.any(np.isfinite(self.caps[which])) else self.soft[which]
        A = matrix_of(problem.rows, which, signs)
        steps = interior_point(
            Quadratic(A, signs, self.costs[which], soft, problem.free_bias), 0.1 * problem.tol
        )
        inside = self.alpha[which]
        while True:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                found = next(steps, None)  # at the very end values may meet their bounds
            if found is None:
                break
            inside = found
            yield Report(self.epochs + 1, 0.0, 0, 0)
            if orders.stop:
                return
        worth = self.measure()[2].gap
        before = self.alpha.copy()
        cap = self.caps[which]
        for tidy in (_TIDY, 0.0):
            near = np.where(inside < tidy * np.minimum(cap, np.max(inside)), 0.0, inside)
            at_top = np.isfinite(cap) & (near > (1.0 - tidy) * np.where(np.isfinite(cap), cap, 1.0))
            self.alpha[which] = np.where(at_top, cap, np.minimum(near, cap))
            _, b, certificate = self.measure()
            if certificate.gap <= worth:
                self.b = b
                self.settle()
                self.wake()
                return
        self.alpha[:] = before
        self.settle()

    def measure(self) -> tuple[np.ndarray, float, GapCertificate]:
        """The weights and free bias to deploy and their true gap, from scratch.

        A free bias wants balanced dual values; who goes on from them must `settle`.
        """
        problem = self.problem
        if problem.free_bias:
            self.alpha = balanced(self.alpha, problem.y, self.caps)
        binary = Binary(problem.rows, problem.y, self.costs, problem.squared, problem.free_bias)
        return measure_binary(binary, self.alpha.copy())


def balanced(alpha: np.ndarray, y: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Dual values with sum y alpha = 0: the heavier class gives way, between bounds first."""
    alpha = alpha.copy()
    for _ in range(3):  # once, and again for what rounding leaves
        excess = float(alpha @ y)
        if excess == 0.0:
            break
        heavier = (y * excess > 0.0) & (alpha > 0.0)
        yielding = heavier & (alpha < caps)
        if float(alpha[yielding].sum()) < 2.0 * abs(excess):
            yielding = heavier
        alpha[yielding] *= 1.0 - min(1.0, abs(excess) / float(alpha[yielding].sum()))
    return alpha


def _with_bias(rows: Rows, bias: float) -> Rows:
    """The same rows, extended by another constant."""
    return Rows(rows.stored._replace(bias=bias), rows.n, rows.width)


def _typical_length(rows: Rows) -> float:
    """The root of the mean squared length of a row."""
    values = rows.stored.values.ravel()
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return 1.0
    return largest * math.sqrt(
        float(np.sum(np.square(values / largest, dtype=np.float64))) / rows.n
    )


def added(one: Sweep, two: Sweep) -> Sweep:
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
