"""Dual coordinate descent: the passive-aggressive step, with stored dual values.

The SVM is the problem

    min  1/2 w.w + sum_i C_i loss(1 - y_i (w . x_i + b)),      loss(s) = max(0, s) or max(0, s)^2

and its dual, for a fixed b,

    max  sum_i alpha_i (1 - y_i b) - 1/2 w.w - 1/2 sum_i soft_i alpha_i^2,
    w = sum_i alpha_i y_i x_i,    0 <= alpha_i <= cap_i

with cap = C, soft = 0 for the hinge and cap = inf, soft = 1/2C for the squared hinge. The step
REACH of `widemargin.loops.steps` is the best change of one alpha, so a pass is that of the
perceptrons: see Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), A dual coordinate descent
method for large-scale linear SVM, ICML, algorithm 3.

What a pass changes in place:

w        the weights, always float64: in float32 the gap stalls near 5e-6
alpha    the dual value of every example
q        its squared length; -1 until an example is first met, when its row is at hand anyway
shrunk   1 for examples at a bound that look as if they will stay there (shrinking)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.storage import add, dot, look_ahead, norm2
from widemargin.loops.svm.outer import add_outer

#: Keeps a ratio of gaps finite.
_TINY = 1e-300


class Sweep(NamedTuple):
    """What happened in a pass."""

    mistakes: int
    updates: int  # examples whose dual value changed
    gap: float  # the duality gap, each example's part taken before its step
    gain: float  # by how much the dual grew
    up: float  # the largest slope of the dual at an alpha that could grow
    down: float  # the same at one that could shrink
    bad: int  # the example whose score is not finite, or -1


class ShortPasses(NamedTuple):
    """How long `short_passes` go on, and what they shrink."""

    dual: float  # the objective at the start
    gap: float  # the gap estimated by the pass before
    enough: float  # the estimate of the gap at which to stop
    fraction: float  # of the largest slopes: the limits of the next pass
    seed: int  # of the random orders


@jit()
def dual_pass(rows, y, price, order, rule, b, limits, w, alpha, q, shrunk):
    """Coordinate ascent in the dual, y in {-1, +1}.

        for i in order:
            m = y[i] (w . x[i] + b)
            a = clip(alpha[i] + (1 - m - soft alpha[i]) / (q[i] + soft), 0, cap)
            w += (a - alpha[i]) y[i] x[i]
            alpha[i] = a

    The gap is a sum over examples, as w.w = sum_i alpha_i y_i w.x_i: every part of it,

        C loss(1 - m) + soft alpha^2 / 2 - alpha (1 - m) >= 0,

    is available here, so their sum shows at no cost when it is time to measure the gap. Examples
    that are shrunk have no part in it. `limits` are slopes (up, down): an example at a bound that
    is held there by more is shrunk. Changes w, alpha, q and shrunk in place. Costs a dot product
    per example, and an addition if its alpha changes.
    """
    return _visit(rows, y, price, order, rule, b, limits, w, alpha, q, shrunk)


@jit()
def short_passes(rows, y, price, active, rule, limits, plan, w, alpha, q, shrunk, log):
    """Run passes over few examples in one call, each in a random order, without a bias b.

        for every row of the log:
            leave out the examples that the last pass shrunk, and shuffle the others
            run a pass (see `dual_pass`)
            limits = fraction x the largest slopes
            stop if nothing changed, or if the gap looks small enough

    Writes mistakes, updates, primal, dual, gain and the largest slopes (up, down) of each pass into
    `log`. Returns how many passes there were, how many of `active` the last one visited, and the
    example whose score is not finite, or -1. Also changes `active` in place.
    """
    up, down = limits
    dual, gap, n = plan.dual, plan.gap, len(active)
    state = np.uint64(plan.seed)
    for number in range(len(log)):
        if number > 0:
            n = _leave_out(active, n, shrunk)
        state = _shuffle(active, n, state)
        found = _visit(rows, y, price, active[:n], rule, 0.0, (up, down), w, alpha, q, shrunk)
        if found.bad >= 0:
            return number, n, found.bad
        dual += found.gain
        primal = dual + found.gap
        log[number, 0], log[number, 1] = found.mistakes, found.updates
        log[number, 2], log[number, 3], log[number, 4] = primal, dual, found.gain
        log[number, 5], log[number, 6] = found.up, found.down
        up = plan.fraction * found.up if found.up > 0.0 else np.inf
        down = plan.fraction * found.down if found.down > 0.0 else np.inf
        before, gap = gap, max(0.0, found.gap / primal) if primal > 0.0 else 0.0
        if found.updates == 0 or gap * min(1.0, gap / max(before, _TINY)) <= plan.enough:
            return number + 1, n, -1
    return len(log), n, -1


@jit(inner=True)
def _leave_out(active, n, shrunk):
    """Move the examples that are not shrunk to the front; returns their number."""
    kept = np.uint64(0)
    for j in range(np.uint64(n)):
        i = active[j]
        active[kept] = i
        kept += np.uint64(shrunk[i] == 0)
    return np.int64(kept)


@jit(inner=True)
def _shuffle(active, n, state):
    """Shuffle the first n examples (Fisher and Yates); returns the next state of an xorshift."""
    for j in range(np.uint64(n)):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        other = j + ((state >> np.uint64(32)) * (np.uint64(n) - j) >> np.uint64(32))
        active[j], active[other] = active[other], active[j]
    return state


@jit(inner=True)
def _visit(rows, y, price, order, rule, b, limits, w, alpha, q, shrunk):
    """One pass, see `dual_pass`."""
    mistakes, updates, bad = 0, 0, -1
    gap, gain, up, down = 0.0, 0.0, 0.0, 0.0
    soft, cap = rule.soft, rule.cap
    for j in range(len(order)):
        look_ahead(rows, order, j)
        i = order[j]
        if q[i] < 0.0:
            q[i] = norm2(rows, i)
        if len(price):
            soft, cap = rule.soft / price[i], rule.cap * price[i]
        curvature, a = q[i] + soft, alpha[i]
        rate = 1.0 / curvature  # divided here, while the product below is awaited
        m = y[i] * (dot(rows, i, w) + b)
        if not np.isfinite(m + curvature):
            bad = np.int64(i)
            break
        short = rule.target - m
        slope = short - soft * a
        if a == 0.0 and slope <= 0.0:
            shrunk[i] = slope < -limits[1]
            continue
        mistakes += m <= 0.0
        if a == cap and slope >= 0.0:
            shrunk[i] = slope > limits[0]
            continue
        gap += a * (0.5 * soft * a - short)
        if short > 0.0:
            gap += cap * short if soft == 0.0 else short * short / (2.0 * soft)
        up, down = max(up, slope), max(down, -slope)
        if curvature > 0.0:
            change = slope * rate if rate < np.inf else slope / curvature
            tau = min(max(a + change, 0.0), cap) - a
        else:  # a zero row affects only its own alpha
            tau = (cap if slope > 0.0 and cap < np.inf else 0.0) - a
        if tau != 0.0:
            updates += 1
            gain += tau * (slope - 0.5 * tau * curvature)
            alpha[i] = a + tau
            add(w, tau * y[i], rows, i)
    return Sweep(mistakes, updates, gap, gain, up, down, bad)


@jit()
def combine(rows, which, amounts, w):
    """Add up: w += sum_j amounts[j] x for row which[j]."""
    for j in range(len(which)):
        look_ahead(rows, which, j)
        if amounts[j] != 0.0:
            add(w, amounts[j], rows, which[j])


@jit()
def weigh_outer_products(values, indices, starts, theta, H):
    """Add up: H += sum_i theta[i] x_i x_i', the lower half only if columns ascend in every row."""
    for i in range(len(theta)):
        first, last = starts[i], starts[i + 1]
        add_outer(H, theta[i], values[first:last], indices[first:last])
