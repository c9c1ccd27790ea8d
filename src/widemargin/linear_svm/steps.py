"""The steps of a dual ascent: what each does, what it costs, and how it is attempted.

Costs are rough counts of multiplications, in units of those in a pass of coordinate descent; they
serve only to compare one step with another. An attempt yields reports while it works, and returns
whether the gap seems to have been reached.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import Protocol

import numpy as np

from widemargin.data.rows import frozen
from widemargin.linear_svm.conjugate import Move, free_values, move_along, solve_system
from widemargin.linear_svm.dual_ascent import DualAscent, run_pass
from widemargin.linear_svm.interior_point import (
    Inside,
    QuadraticProgram,
    affordable,
    matrix_of,
    solve_qp,
)
from widemargin.linear_svm.newton_dual import DualBlock, gram, maximise_block
from widemargin.linear_svm.newton_primal import PrimalIterate, SmoothedSVM, iterate, newton_cost
from widemargin.linear_svm.problem import Attempt, BinarySVM, Reports, SolverReport, StopSignal
from widemargin.loops.svm.dual import ShortPasses, Sweep, combine, dual_pass, short_passes
from widemargin.online.passes import Pace, explain_bad_score
from widemargin.online.scores import scores

# The constants below were chosen by hand; docs/decisions.md gives times measured with them (18 data
# sets, both losses, C from 0.01 to 100). They decide which step is tried and when. Every fit ends
# with a measured gap, so they affect the time but not the quality of the result.

#: The minimum cost of a pass, in multiplications: calling it, and shuffling the examples.
_LEAST_PASS = 5e5
#: Passes over at most this many values are run several to a call: half a millisecond each, and few
#: enough for the cache, so that their order need not spare the memory.
_SHORT_PASS = 1 << 18
#: The most dual values that Newton steps in the dual change together: a step costs their cube.
BLOCK = 1200
#: The usual number of Newton steps per attempt in the dual.
_USUAL_NEWTON_STEPS = 20
#: Passes between two attempts of Newton steps in the dual, at first; halved after a success and
#: doubled after a failure.
_FIRST_PAUSE = 4
#: After this many attempts they become rarer even if they succeed.
_MOST_ATTEMPTS = 25
#: The iterations of conjugate gradients in the first attempt; their number doubles while hardly any
#: value reaches a bound, up to the second number, and is halved where most of a step is lost to
#: bounds. Passes between two attempts: bounds that matter are found meanwhile.
_FIRST_ITERATIONS, _MOST_ITERATIONS, _CONJUGATE_PAUSE = 10, 100, 4
#: Steps are repeated until the last one brought less than this fraction of the total gain.
_SMALL_GAIN = 1e-2
#: A step that loses less than a tenth of its length to bounds is nearly whole; one that is cut to
#: less than the second fraction loses most of it.
_NEARLY_WHOLE, _MOSTLY_LOST = 0.9, 0.3
#: Newton steps in the primal are considered after this many passes, and again when the number of
#: passes has grown by this factor.
_FIRST_PRIMAL, _PRIMAL_AGAIN = 2, 4
#: The usual number of steps of the interior-point method.
_USUAL_INTERIOR_STEPS = 25
#: Dual values that the interior-point method leaves this close to a bound are moved onto it.
_SNAP = 1e-7


class Step(Protocol):
    """One way to increase the dual."""

    def cost(self, ascent: DualAscent) -> float:
        """Estimate the multiplications that an attempt takes."""

    def attempt(self, ascent: DualAscent, signal: StopSignal) -> Attempt:
        """Attempt the step, which never makes the ascent worse."""


class CoordinatePass:
    """One pass of dual coordinate descent over the active examples, in random order.

        alpha_i <- clip(alpha_i + (1 - y_i (w.x_i + b) - soft_i alpha_i) / (x_i.x_i + soft_i),
                        0, cap_i)

    This is the passive-aggressive step, except that it remembers the example's dual value. See
    Hsieh et al. (2008), algorithm 3.
    """

    def __init__(self) -> None:
        self.slices = Pace()

    def cost(self, ascent: DualAscent) -> float:
        """Estimate the cost: a dot product, and often an addition, per active example."""
        return _LEAST_PASS + 3.0 * ascent.problem.rows.values_per_row * len(ascent.shrinking.active)

    def attempt(self, ascent: DualAscent, signal: StopSignal, most: int = 1) -> Attempt:
        """Run the pass; if it is short, at most `most` of them in one call."""
        if self._is_short(ascent):
            most = min(most, ascent.shrinking.passes_left(ascent.epochs))
            yield self._run_several(ascent, max(1, most))
        else:
            yield from self.run_one(ascent, signal)
        return False

    def run_one(
        self, ascent: DualAscent, signal: StopSignal
    ) -> Generator[SolverReport, None, None]:
        """Run one pass, and update the estimate of the gap and the limits of shrinking."""
        problem, state, shrinking = ascent.problem, ascent.state, ascent.shrinking
        rule, limits = problem.rule, shrinking.limits

        def pass_over(order: np.ndarray) -> Sweep:
            return dual_pass(
                state.rows.stored,
                problem.y,
                problem.price,
                order,
                rule,
                state.b,
                limits,
                state.w,
                state.alpha,
                state.squared_norms,
                shrinking.shrunk,
            )

        ascent.epochs += 1
        order = shrinking.order(ascent.rng)
        total = yield from run_pass(
            pass_over, order, self.slices, state.rows, 1, ascent.epochs, signal
        )
        state.dual += total.gain
        primal = state.dual + total.gap
        ascent.estimate.update(primal, state.dual)
        ascent.gain, ascent.idle = total.gain, total.updates == 0
        shrinking.set_limits(total.up, total.down)
        if problem.free_bias and state.shift_bias():
            ascent.idle = False
        yield SolverReport(ascent.epochs, 1.0, total.mistakes, total.updates, primal, state.dual)

    @staticmethod
    def _is_short(ascent: DualAscent) -> bool:
        """Whether calling a pass takes a large part of its time, and the bias does not move."""
        problem = ascent.problem
        if problem.free_bias or not math.isfinite(problem.C):
            return False
        return problem.rows.values_per_row * len(ascent.shrinking.active) <= _SHORT_PASS

    @staticmethod
    def _run_several(ascent: DualAscent, most: int) -> Reports:
        """Run at most this many passes, until one of them calls for a measurement."""
        problem, state, shrinking = ascent.problem, ascent.state, ascent.shrinking
        estimate, active = ascent.estimate, shrinking.active.copy()
        log = np.empty((most, 7))
        enough = estimate.tol / estimate.distrust
        seed = int(ascent.rng.integers(1, 1 << 63))
        done, visited, bad = short_passes(
            state.rows.stored,
            problem.y,
            problem.price,
            active,
            problem.rule,
            shrinking.limits,
            ShortPasses(float(state.dual), estimate.gap, enough, shrinking.fraction, seed),
            state.w,
            state.alpha,
            state.squared_norms,
            shrinking.shrunk,
            log,
        )
        if bad >= 0:
            explain_bad_score(state.rows, int(bad))
        reports = []
        for mistakes, updates, primal, dual in log[:done, :4].tolist():
            ascent.epochs += 1
            estimate.update(primal, dual)
            reports.append(
                SolverReport(ascent.epochs, 1.0, int(mistakes), int(updates), primal, dual)
            )
        ascent.gain, up, down = log[done - 1, 4:].tolist()
        state.dual, ascent.idle = reports[-1].dual, reports[-1].updates == 0
        shrinking.active = frozen(np.sort(active[:visited]))
        shrinking.set_limits(up, down)
        return Reports(reports)


class NewtonPrimal:
    """Newton steps for the weights, with the corner of the hinge smoothed (`newton_primal`).

        w <- w - tau H^-1 g,    H = I + sum over the examples on the corner of theta_i x_i x_i'

    The slopes of the losses are dual values, so coordinate descent can continue from them. Pays off
    if there are few features, because the size of H is their square.
    """

    def __init__(self, problem: BinarySVM) -> None:
        possible = math.isfinite(problem.C) and affordable(problem.rows, problem.width)
        self.next_epoch: float = _FIRST_PRIMAL if possible else math.inf

    def cost(self, ascent: DualAscent) -> float:
        """Estimate the cost of all steps to the tolerance."""
        return newton_cost(ascent.problem.rows, ascent.problem.squared)

    def attempt(self, ascent: DualAscent, signal: StopSignal) -> Attempt:
        """Take the steps, each counted as an epoch; keep their dual values if they are better."""
        problem, state = ascent.problem, ascent.state
        free = problem.free_bias
        smoothed = SmoothedSVM(
            state.rows, problem.y, state.costs, state.caps, problem.squared, free
        )
        bias = state.b / state.rows.bias if free else 0.0
        point, gap = PrimalIterate(smoothed, state.alpha, state.w, bias), math.inf
        for found in iterate(point, problem.tol / ascent.estimate.distrust):
            gap = found
            ascent.epochs += 1
            best = max(state.dual, point.primal - point.gap)
            seen = point.pull
            yield SolverReport(ascent.epochs, 1.0, seen.mistakes, seen.updates, point.primal, best)
            if signal.stop or ascent.epochs >= problem.epochs:
                break
        self.next_epoch = _PRIMAL_AGAIN * ascent.epochs
        if not free:
            ascent.own = point.w
        # With a free bias the duals belong to different biases, so compare the gaps instead.
        if free and not gap < ascent.estimate.gap:
            return False
        if not free and not state.objective(point.alpha, point.v) > state.dual:
            return False
        state.become(point.alpha, point.v, state.rows.bias * float(point.w[-1]) if free else 0.0)
        ascent.shrinking.restore(ascent.epochs)
        ascent.estimate.replace(gap)
        return ascent.estimate.looks_reached


class NewtonDual:
    """Projected Newton steps for a block of the dual values between their bounds (`newton_dual`).

        alpha_B <- clip(alpha_B + t K_BB^-1 g_B, 0, cap_B),    K_ij = y_i y_j x_i.x_j

    Pays off where many examples compete, so that changing one dual value at a time takes many
    passes.
    """

    def __init__(self) -> None:
        self.pause, self.attempts = _FIRST_PAUSE, 0

    def cost(self, ascent: DualAscent) -> float:
        """Estimate the cost: the block's kernel matrix, and a factorisation per step."""
        free = ascent.state.between_bounds(ascent.shrinking.active)
        block = min(len(free), BLOCK)
        per_row = ascent.problem.rows.values_per_row
        return _USUAL_NEWTON_STEPS * (_LEAST_PASS + block**3 / 3.0) + block**2 * per_row

    def attempt(self, ascent: DualAscent, signal: StopSignal) -> Attempt:
        """Take all steps at once; the more they gain over a pass, the sooner the next attempt."""
        free = ascent.state.between_bounds(ascent.shrinking.active)
        if len(free) > BLOCK:
            free = np.sort(ascent.rng.choice(free, BLOCK, replace=False))
        gain = self._take(ascent, free) if len(free) else 0.0
        self.attempts += 1
        better = gain > ascent.gain and self.attempts <= _MOST_ATTEMPTS
        self.pause = max(1, self.pause // 2) if better else self.pause * 2
        yield from ()
        return False

    @staticmethod
    def _take(ascent: DualAscent, free: np.ndarray) -> float:
        """Maximise the dual over these dual values; return by how much it grew."""
        state = ascent.state
        block = frozen(free.astype(np.uint64))
        signs = ascent.problem.y[block].astype(np.float64)
        margins = signs * (scores(state.rows, block, state.w[None, :]) + state.b)
        K = gram(state.rows, block, signs)
        soft = state.soft[block]
        K.flat[:: len(K) + 1] += soft
        before = state.alpha[block]
        slope = 1.0 - margins - soft * before
        after, gain = maximise_block(DualBlock(K, slope, before, state.caps[block]))
        state.alpha[block] = after
        combine(state.rows.stored, block, (after - before) * signs, state.w)
        state.dual += gain
        return gain


class ConjugateGradients:
    """Conjugate gradients for all dual values between their bounds (`conjugate`).

        alpha_F <- clip(alpha_F + t p, 0, cap_F),    K_FF p = g_F

    Pays off where more dual values compete than Newton steps in the dual can change together.
    """

    def __init__(self) -> None:
        self.pause, self.iterations = _CONJUGATE_PAUSE, _FIRST_ITERATIONS
        self.coordinate_pass = CoordinatePass()

    def cost(self, ascent: DualAscent) -> float:
        """Estimate the cost: two products with all free rows per iteration."""
        free = len(ascent.state.between_bounds(ascent.shrinking.active))
        products = 3.0 * ascent.problem.rows.values_per_row * free
        return self.iterations * (_LEAST_PASS + products)

    def attempt(self, ascent: DualAscent, signal: StopSignal) -> Attempt:
        """Repeat steps while they are whole; return whether the measured gap is reached."""
        total, spent, ascent.scales = 0.0, 0.0, ascent.state.scalable
        while not signal.stop:
            move = yield from self._step(ascent, signal)
            if move is None:
                break
            total, spent = total + move.gain, spent + self.cost(ascent)
            if move.part >= _NEARLY_WHOLE:
                self.iterations = min(_MOST_ITERATIONS, 2 * self.iterations)
            elif move.part < _MOSTLY_LOST:
                self.iterations = max(_FIRST_ITERATIONS, self.iterations // 2)
            if move.part < _NEARLY_WHOLE or move.gain <= _SMALL_GAIN * total:
                break
        passes = spent / self.coordinate_pass.cost(ascent)
        self.pause = _CONJUGATE_PAUSE if total > passes * ascent.gain else 2 * self.pause
        # With a large C, weights that are worth little now may have a multiple that is optimal, so
        # the estimate says nothing. A measurement takes no longer than a few iterations.
        if total <= ascent.problem.tol * ascent.state.dual:
            return ascent.measure()[2].gap <= ascent.problem.tol
        return False

    def _step(
        self, ascent: DualAscent, signal: StopSignal
    ) -> Generator[SolverReport, None, Move | None]:
        """Take one step; return it, or None if there is none."""
        state = ascent.state
        which = state.between_bounds(ascent.shrinking.active)
        free = free_values(
            state.rows,
            which,
            ascent.problem.y[which].astype(np.float64),
            state.w,
            state.b,
            state.alpha[which],
            (state.caps[which], state.soft[which]),
            state.squared_norms[which],
        )
        p = np.zeros(len(which))
        for found in solve_system(free, self.iterations):
            p = found
            yield SolverReport(ascent.epochs + 1, 0.0, 0, 0)
            if signal.stop:
                break
        move = move_along(free, p)
        if move is not None:
            state.alpha[which] = move.a
            state.w += move.change
            state.dual += move.gain
        return move


class InteriorPoint:
    """A primal-dual interior-point method, once, from the start (`interior_point`).

        alpha_i s_i = mu,  (C_i - alpha_i) xi_i = mu,  w = sum_i alpha_i y_i x_i,   mu -> 0

    Pays off if there are few features but they are badly scaled: the number of steps hardly depends
    on the scale.
    """

    def __init__(self, problem: BinarySVM) -> None:
        self.possible = affordable(problem.rows, problem.width)

    def cost(self, ascent: DualAscent) -> float:
        """Estimate the cost: a matrix of the size of the features per step."""
        per_row, width = ascent.problem.rows.values_per_row, ascent.problem.width + 1
        n = len(ascent.state.counted)
        step = n * (per_row**2 + 20.0 * per_row + 40.0) + width**3
        return _USUAL_INTERIOR_STEPS * step

    def attempt(self, ascent: DualAscent, signal: StopSignal) -> Attempt:
        """Run the method, and keep its dual values if their measured gap is no larger."""
        self.possible = False  # it would only find the same solution again
        problem, state = ascent.problem, ascent.state
        inside = Inside(state.alpha[state.counted], state.w)
        for found in _quietly(solve_qp(self._program(ascent), 0.1 * problem.tol)):
            inside = found
            yield SolverReport(ascent.epochs + 1, 0.0, 0, 0)
            if signal.stop:
                return False
        largest = ascent.measure()[2].gap
        before = state.alpha.copy()
        if math.isfinite(problem.C) and not problem.free_bias:
            ascent.own = inside.w
        for snap in (_SNAP, 0.0):
            state.alpha[state.counted] = _snapped(inside.alpha, state.caps[state.counted], snap)
            _, b, certificate = ascent.measure()
            if certificate.gap <= largest:
                state.b = b
                state.rebuild()
                ascent.shrinking.restore(ascent.epochs)
                return False
        state.alpha[:] = before
        state.rebuild()
        return False

    @staticmethod
    def _program(ascent: DualAscent) -> QuadraticProgram:
        """Return the problem in the form that the method uses."""
        problem, state = ascent.problem, ascent.state
        which = state.counted
        signs = problem.y[which].astype(np.float64)
        bounded = bool(np.any(np.isfinite(state.caps[which])))
        soft = np.empty(0) if bounded else state.soft[which]
        A = matrix_of(problem.rows, which, signs)
        return QuadraticProgram(A, signs, state.costs[which], soft, problem.free_bias)


def _quietly(steps: Iterator[Inside]) -> Iterator[Inside]:
    """Run steps without warnings: in the last ones values may reach their bounds."""
    while True:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = next(steps, None)
        if found is None:
            return
        yield found


def _snapped(alpha: np.ndarray, cap: np.ndarray, snap: float) -> np.ndarray:
    """Move dual values that are nearly at a bound onto it."""
    near = np.where(alpha < snap * np.minimum(cap, np.max(alpha)), 0.0, alpha)
    at_top = np.isfinite(cap) & (near > (1.0 - snap) * np.where(np.isfinite(cap), cap, 1.0))
    return np.where(at_top, cap, np.minimum(near, cap))
