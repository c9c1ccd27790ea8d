"""A small two-class SVM, solved by a few calls: passes of coordinate descent, then Newton steps.

The algorithms are those of `widemargin.loops.svm.dual` and `widemargin.linear_svm.newton_primal`,
which have their formulas and references. With a few hundred examples, the calls around their loops
take longer than the loops, so here a call does as many steps as it is asked for. All examples are
one matrix of float64 with the constant feature as its last column, so `Dense(values, 0.0)`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from widemargin.loops.arrays import product
from widemargin.loops.jit import jit
from widemargin.loops.storage import Dense, add, dot
from widemargin.loops.svm.primal import (
    Corner,
    count_mistakes,
    follow,
    next_trial,
    pull_anew,
    slope_along,
)

# Chosen by hand, as in `linear_svm/newton_primal.py`, where they are explained.
_SHARPEN, _SHARPEST, _SHARE, _DETERMINED = 0.35, 0.01, 0.8, 5.0
_TRIALS, _FLAT, _RIDGE = 40, 0.1, 1e-14
#: Passes go on while they look cheaper than this many Newton steps, which is about the number that
#: a rough gap takes.
_USUAL_STEPS = 2.5

#: What a call returns: take more steps, the gap is reached, or no step helps.
MORE, REACHED, STUCK = 0, 1, 2

_ZERO, _ONE, _TWO, _THREE, _FOUR = map(np.uint64, range(5))
#: How many scores are added up at once: they stay in the first cache.
_BLOCK = np.uint64(1024)


class SmallSVM(NamedTuple):
    """The problem: rows and their squared lengths, signs, costs, bounds, and whether squared.

    `columns` are the same rows feature by feature, so that scores need no sum across a vector.
    """

    rows: Dense
    columns: np.ndarray
    q: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    caps: np.ndarray
    squared: bool


class SmallPoint(NamedTuple):
    """A point of the problem, and work arrays.

    w, v      weights, and those computed from the dual values
    alpha     dual values
    m, t      margins, and those of the last direction
    pulls     the dual values of the next point
    inside    1 for the examples on the smoothed corner
    flipped   the examples whose `inside` changed in the last step
    G         the upper half of the sum of costs x x' over the examples inside
    U         a factor of the Hessian
    d, g, s   a direction, a gradient, the scale of each column
    numbers   half the width of the corner, the factor by which it shrinks next, loss, excess
    counts    examples inside, flipped, changed, and mistaken
    """

    w: np.ndarray
    v: np.ndarray
    alpha: np.ndarray
    m: np.ndarray
    t: np.ndarray
    pulls: np.ndarray
    inside: np.ndarray
    flipped: np.ndarray
    G: np.ndarray
    U: np.ndarray
    d: np.ndarray
    g: np.ndarray
    s: np.ndarray
    numbers: np.ndarray
    counts: np.ndarray


_WIDTH, _NEXT, _LOSS, _EXCESS = 0, 1, 2, 3
_INSIDE, _FLIPPED, _CHANGED, _MISTAKES = 0, 1, 2, 3


@jit()
def run_small_passes(problem, point, order, tol, most, log):
    """Run passes of coordinate descent over the examples in order, until Newton steps look cheaper.

    Writes mistakes, updates, primal and dual after each pass into a row of `log`; returns how many
    there were, and whether the gap is reached. Changes the point's v, alpha and m.
    """
    rows, _, lengths, y, costs, caps, squared = problem
    v, alpha = point.v, point.alpha
    n, width = np.uint64(len(alpha)), float(len(v))
    steps = _USUAL_STEPS * (n * (2.0 * width + 0.15 * width * width + 40.0) + width**3 / 6.0)
    before = np.inf
    for number in range(most):
        updates = 0
        for j in range(n):
            i = order[j]
            if costs[i] <= 0.0:
                continue
            soft = 0.5 / costs[i] if squared else 0.0
            a, q = alpha[i], lengths[i] + soft
            slope = 1.0 - y[i] * dot(rows, i, v) - soft * a
            if q > 0.0:
                a = min(max(a + slope / q, 0.0), caps[i])
            elif slope > 0.0 and not squared:
                a = caps[i]
            if a != alpha[i]:
                updates += 1
                add(v, (a - alpha[i]) * y[i], rows, i)
                alpha[i] = a
        primal, dual, mistakes = _measure(problem, point)
        log[number, 0], log[number, 1] = mistakes, updates
        log[number, 2], log[number, 3] = primal, dual
        gap = primal - dual
        if gap <= tol * primal:
            return number + 1, REACHED
        if number > 0:
            if not gap < before:
                return number + 1, MORE
            ahead = math.log(tol * primal / gap) / math.log(gap / before)
            if not ahead * n * (5.0 * width + 30.0) < steps:
                return number + 1, MORE
        before = gap
    return most, MORE


@jit(inner=True, sums=True)
def _look_along(columns, y, w, out):
    """Write y w.x for every example into `out`."""
    n, width = np.uint64(len(out)), np.uint64(len(w))
    for begin in range(_ZERO, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        some, j = out[begin:end], _ONE
        x = columns[_ZERO, begin:end]
        for i in range(end - begin):
            some[i] = w[0] * x[i]
        while j + _FOUR <= width:
            x0, x1 = columns[j, begin:end], columns[j + _ONE, begin:end]
            x2, x3 = columns[j + _TWO, begin:end], columns[j + _THREE, begin:end]
            w0, w1, w2, w3 = w[j], w[j + _ONE], w[j + _TWO], w[j + _THREE]
            for i in range(end - begin):
                some[i] += (w0 * x0[i] + w1 * x1[i]) + (w2 * x2[i] + w3 * x3[i])
            j += _FOUR
        while j < width:
            x = columns[j, begin:end]
            for i in range(end - begin):
                some[i] += w[j] * x[i]
            j += _ONE
        for i in range(begin, end):
            out[i] *= y[i]


@jit(inner=True, sums=True)
def _total_loss(problem, m):
    """The loss at the margins m."""
    costs, loss = problem.costs, 0.0
    for i in range(np.uint64(len(m))):
        short = max(1.0 - m[i], 0.0)
        loss += costs[i] * short * (short if problem.squared else 1.0)
    return loss


@jit(inner=True, sums=True)
def _linear_part(problem, alpha):
    """What the dual values add to the dual, without the weights."""
    costs, linear = problem.costs, 0.0
    for i in range(np.uint64(len(alpha))):
        soft = 0.25 / costs[i] if problem.squared and costs[i] > 0.0 else 0.0
        linear += alpha[i] - soft * alpha[i] * alpha[i]
    return linear


@jit(inner=True)
def _measure(problem, point):
    """Write the margins of v into m; return the primal, the dual and the number of mistakes."""
    _look_along(problem.columns, problem.y, point.v, point.m)
    square = 0.5 * product(point.v, point.v)
    primal = square + _total_loss(problem, point.m)
    dual = _linear_part(problem, point.alpha) - square
    return primal, dual, count_mistakes(point.m, problem.costs)


@jit()
def take_small_steps(problem, point, tol, most, first, log):
    """Take Newton steps until the gap is at most tol; return how many, and what the last one means.

    With `first`, the corner is wide and w = v. Writes the same figures into `log` as the passes.
    """
    w, v, g = point.w, point.v, point.g
    numbers, counts, width = point.numbers, point.counts, len(point.w)
    if first:
        numbers[_WIDTH], numbers[_NEXT] = 1.0, _SHARPEN
        for j in range(width):
            w[j] = v[j]
            for k in range(width):
                point.G[j, k] = 0.0
        for i in range(np.uint64(len(point.t))):
            point.inside[i], point.t[i] = 0, 0.0
        _look_along(problem.columns, problem.y, w, point.m)
        _move(problem, point, 0.0)
    for number in range(most):
        square, residual = 0.0, 0.0
        for j in range(width):
            g[j] = w[j] - v[j]
            square, residual = square + w[j] * w[j], residual + g[j] * g[j]
        primal = 0.5 * square + numbers[_LOSS]
        gap = numbers[_EXCESS] + 0.5 * residual
        log[number, 0], log[number, 1] = counts[_MISTAKES], counts[_CHANGED]
        log[number, 2], log[number, 3] = primal, primal - gap
        if not math.isfinite(gap):
            return number + 1, STUCK
        if gap <= tol * primal and _gap_of_dual(problem, point, primal - gap) <= tol:
            return number + 1, REACHED
        if not _step(problem, point, tol * primal):
            return number + 1, STUCK
    return most, MORE


@jit(inner=True)
def _gap_of_dual(problem, point, dual):
    """The relative gap between the weights v and the dual. Overwrites t."""
    _look_along(problem.columns, problem.y, point.v, point.t)
    primal = 0.5 * product(point.v, point.v) + _total_loss(problem, point.t)
    return (primal - dual) / primal


@jit(inner=True)
def _corner(problem, point):
    """The corner as it is now."""
    if problem.squared:
        return Corner(1.0, 2.0, True)
    half = point.numbers[_WIDTH]
    return Corner(1.0 + half, 0.5 / half, False)


@jit(inner=True)
def _move(problem, point, tau):
    """Go on to the margins m + tau t, and compute all slopes there, and v."""
    rows, _, _, y, costs, caps, _ = problem
    alpha, inside, numbers, counts = point.alpha, point.inside, point.numbers, point.counts
    corner = _corner(problem, point)
    loss, excess = pull_anew(corner, point.t, tau, costs, caps, point.m, point.pulls)
    counts[_CHANGED] = follow(rows, y, point.pulls, point.flipped, alpha, point.v)
    within, flips = np.uint64(0), np.uint64(0)
    for i in range(np.uint64(len(alpha))):
        on = np.uint8((alpha[i] > 0.0) & (alpha[i] < caps[i]))
        within += np.uint64(on)
        point.flipped[flips] = i
        flips += np.uint64(on != inside[i])
        inside[i] = on
    numbers[_LOSS], numbers[_EXCESS] = loss, excess
    counts[_INSIDE], counts[_FLIPPED] = within, flips
    counts[_MISTAKES] = count_mistakes(point.m, costs)


@jit(inner=True)
def _step(problem, point, allowed):
    """Take one step; return whether there was one that changed something."""
    rows, columns, y, costs = problem.rows, problem.columns, problem.y, problem.costs
    d, g, numbers, counts, width = point.d, point.g, point.numbers, point.counts, len(point.d)
    _update_sum(problem, point)
    rate = _corner(problem, point).rate
    excess, wanted, part = numbers[_EXCESS], 1.0, 1.0
    if excess > 0.0:
        wanted = min(1.0, _SHARE * allowed / excess)
    for j in range(width):
        d[j] = -g[j]
    if wanted < 1.0 and _bend(point, rate) < excess:
        part = max(numbers[_NEXT], 0.1 * wanted)
        numbers[_NEXT] = max(_SHARPEST, numbers[_NEXT] * numbers[_NEXT])
        steeper = 0.5 / numbers[_WIDTH] * (1.0 / part - 1.0)
        for i in range(np.uint64(len(y))):
            if point.inside[i]:
                add(d, steeper * costs[i] * (1.0 - point.m[i]) * y[i], rows, i)
        if not _solve(point, rate / part):
            return False
        tau = 1.0
        _look_along(columns, y, d, point.t)
    else:
        numbers[_NEXT] = _SHARPEN
        if not _solve(point, rate):
            return False
        _look_along(columns, y, d, point.t)
        tau = _search(problem, point)
        if tau == 0.0:
            return False
        if counts[_INSIDE] > _DETERMINED * width:
            part = max(_SHARPEN, math.sqrt(wanted))
    for j in range(width):
        point.w[j] += tau * d[j]
    numbers[_WIDTH] *= part
    _move(problem, point, tau)
    return counts[_CHANGED] > 0


@jit(inner=True)
def _bend(point, rate):
    """g.H.g for H = I + rate G."""
    g, G, width = point.g, point.G, len(point.g)
    total = 0.0
    for j in range(width):
        half = 0.5 * G[j, j] * g[j]
        for k in range(j + 1, width):
            half += G[j, k] * g[k]
        total += g[j] * (g[j] + 2.0 * rate * half)
    return total


@jit(inner=True)
def _update_sum(problem, point):
    """Bring G up to date: add and subtract the flipped examples, or add all inside, if fewer."""
    inside, listed, counts = point.inside, point.flipped, point.counts
    flips, width = np.uint64(counts[_FLIPPED]), len(point.w)
    begin, n = np.uint64(0), np.uint64(0)
    if flips > np.uint64(counts[_INSIDE]):
        for j in range(width):
            for k in range(width):
                point.G[j, k] = 0.0
        for i in range(np.uint64(len(inside))):
            listed[n] = i
            n += np.uint64(inside[i])
    else:
        for j in range(flips):  # those that left, to the end of the list
            i = listed[j]
            if inside[i]:
                listed[j], listed[n] = listed[n], i
                n += _ONE
        _add_products(problem, point, n, flips, -1.0)
    _add_products(problem, point, begin, n, 1.0)


@jit(inner=True)
def _add_products(problem, point, begin, end, sign):
    """G += sign times the sum of costs x x' over some listed examples, four at a time."""
    X, costs, listed, G = problem.rows.values, problem.costs, point.flipped, point.G
    width, j = np.uint64(len(point.w)), begin
    while j + _FOUR <= end:
        i0, i1 = listed[j], listed[j + _ONE]
        i2, i3 = listed[j + _TWO], listed[j + _THREE]
        x0, x1, x2, x3 = X[i0], X[i1], X[i2], X[i3]
        c0, c1, c2, c3 = sign * costs[i0], sign * costs[i1], sign * costs[i2], sign * costs[i3]
        for a in range(width):
            h, b0, b1, b2, b3 = G[a], c0 * x0[a], c1 * x1[a], c2 * x2[a], c3 * x3[a]
            for b in range(a, width):
                h[b] += (b0 * x0[b] + b1 * x1[b]) + (b2 * x2[b] + b3 * x3[b])
        j += _FOUR
    while j < end:
        i = listed[j]
        x, c = X[i], sign * costs[i]
        for a in range(width):
            h, b0 = G[a], c * x[a]
            for b in range(a, width):
                h[b] += b0 * x[b]
        j += _ONE


@jit(inner=True)
def _solve(point, rate):
    """Solve (I + rate G) d = d by Cholesky's method, columns scaled; return whether it worked."""
    G, U, d, s = point.G, point.U, point.d, point.s
    width = np.uint64(len(d))
    for j in range(width):
        s[j] = 1.0 / math.sqrt(1.0 + rate * G[j, j])
    for j in range(width):
        u, h, f = U[j], G[j], rate * s[j]
        for k in range(j, width):
            u[k] = f * h[k] * s[k]
        u[j] += s[j] * s[j] + _RIDGE * width
        d[j] *= s[j]
    for j in range(width):
        u = U[j]
        if not u[j] > 0.0:
            return False
        root = 1.0 / math.sqrt(u[j])
        for k in range(j, width):
            u[k] *= root
        d[j] /= u[j]
        for i in range(j + _ONE, width):
            f, h = u[i], U[i]
            for k in range(i, width):
                h[k] -= f * u[k]
            d[i] -= f * d[j]
    total = 0.0
    for back in range(width):
        j = width - _ONE - back
        u, f = U[j], d[j]
        for k in range(j + _ONE, width):
            f -= u[k] * d[k]
        d[j] = f / u[j]
    for j in range(width):
        d[j] *= s[j]
        total += d[j]
    return math.isfinite(total)


@jit(inner=True)
def _search(problem, point):
    """How far to go along d, to where the slope of the objective is nearly 0; 0 if it rises."""
    costs, caps, corner = problem.costs, problem.caps, _corner(problem, point)
    first, linear = product(point.d, point.g), product(point.w, point.d)
    square = product(point.d, point.d)
    if not first < 0.0:
        return 0.0
    tau, low, high = 1.0, 0.0, math.inf
    for _ in range(_TRIALS):
        slope, bend = slope_along(corner, point.m, point.t, tau, costs, caps)
        slope, bend = slope + linear + tau * square, bend + square
        if abs(slope) <= -_FLAT * first:
            break
        tau, low, high = next_trial(tau, low, high, slope, bend)
    return tau
