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
from widemargin.loops.steps import step
from widemargin.loops.storage import add, dot, look_ahead, norm2
from widemargin.loops.svm.outer import add_outer


class Sweep(NamedTuple):
    """What happened in a pass."""

    mistakes: int
    updates: int  # examples whose dual value changed
    gap: float  # the duality gap, each example's part taken before its step
    gain: float  # by how much the dual grew
    up: float  # the largest slope of the dual at an alpha that could grow
    down: float  # the same at one that could shrink
    bad: int  # the example whose score is not finite, or -1


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
    mistakes, updates, bad = 0, 0, -1
    gap, gain, up, down = 0.0, 0.0, 0.0, 0.0
    for j in range(len(order)):
        look_ahead(rows, order, j)
        i = order[j]
        if q[i] < 0.0:
            q[i] = norm2(rows, i)
        m = y[i] * (dot(rows, i, w) + b)
        if not np.isfinite(m + q[i]):
            bad = np.int64(i)
            break
        weight = price[i] if len(price) else 1.0
        soft, cap = rule.soft / weight, rule.cap * weight
        a = alpha[i]
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
        if q[i] + soft > 0.0:
            tau = step(rule, m, False, q[i], a, 1.0, weight)
        else:  # a zero row affects only its own alpha
            tau = (cap if slope > 0.0 and cap < np.inf else 0.0) - a
        if tau != 0.0:
            updates += 1
            gain += tau * (slope - 0.5 * tau * (q[i] + soft))
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
