"""Newton's method for the weights of an SVM: the loops over all examples.

The corner of the hinge is rounded off by a parabola from 1 - h to 1 + h; the squared hinge is
smooth as it is. An example of margin m = y w . x then pulls at the weights with

    a(m) = clip(rate c (top - m), 0, cap)

where c is what its error costs: top = 1 + h, rate = 1/2h and cap = c for the hinge, top = 1,
rate = 2 and cap = inf for the squared hinge. Where w = sum_i a_i y_i x_i the sum of all is least;
and every such a is within the bounds of the dual, so that it has a duality gap. That gap is

    1/2 |w - v|^2 + sum_i c loss(1 - m_i) + a_i^2 [squared] / 4c - a_i (1 - m_i),

with v = sum_i a_i y_i x_i; the sum is 0 for the squared hinge.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.storage import add, dot
from widemargin.loops.svm.outer import add_outer

_ONE = np.uint64(1)


class Corner(NamedTuple):
    """How the loss bends around a margin of 1; see the top of this module."""

    top: float
    rate: float
    squared: bool


class Pull(NamedTuple):
    """How all examples pull together."""

    mistakes: int
    updates: int  # examples that pull as they did not before
    inside: int  # examples on the parabola
    loss: float  # what the errors cost, the corner not rounded
    excess: float  # the gap that is due to the rounding


@jit()
def signed_scores(rows, y, w, out):
    """out[i] = y_i w . x_i."""
    for i in range(np.uint64(len(out))):
        out[i] = y[i] * dot(rows, i, w)


@jit(inline=True)
def next_trial(tau, low, high, slope, bend):
    """The next point of a line search and its bracket: Newton's, or the middle if that is outside.

    The slope rises from low to high; an infinite high means that it was never seen to be positive.
    """
    low, high = (tau, high) if slope < 0.0 else (low, tau)
    tau -= slope / bend
    if not low < tau < high:
        tau = 0.5 * (low + high) if math.isfinite(high) else 2.0 * low
    return tau, low, high


@jit(sums=True)
def slope_along(corner, m, t, tau, costs, caps):
    """Slope and bend of the loss at the margins m + tau t, along t."""
    slope, bend = 0.0, 0.0
    for i in range(np.uint64(len(m))):
        c = corner.rate * costs[i]
        a = min(max(c * (corner.top - m[i] - tau * t[i]), 0.0), caps[i])
        slope -= a * t[i]
        bend += c * t[i] * t[i] if (a > 0.0) & (a < caps[i]) else 0.0
    return slope, bend


@jit(inner=True, sums=True)
def pull_anew(corner, t, tau, costs, caps, m, pulls):
    """Go on to the margins m + tau t, and write how every example pulls there into `pulls`.

    Returns the loss and the excess, see `Pull`.
    """
    loss, excess = 0.0, 0.0
    for i in range(np.uint64(len(m))):
        m[i] += tau * t[i]
        short = 1.0 - m[i]
        a = min(max(corner.rate * costs[i] * (corner.top - m[i]), 0.0), caps[i])
        cost = costs[i] * max(short, 0.0)
        loss += cost * max(short, 0.0) if corner.squared else cost
        excess += 0.0 if corner.squared else cost - a * short
        pulls[i] = a
    return loss, excess


@jit(inner=True, sums=True)
def count_mistakes(m, costs):
    """How many examples that count have margins of at most 0."""
    mistakes = 0
    for i in range(np.uint64(len(m))):
        mistakes += (m[i] <= 0.0) & (costs[i] > 0.0)
    return mistakes


@jit(inner=True)
def follow(rows, y, pulls, changed, alpha, v):
    """Make the dual values alpha the given ones, and change v = sum_i alpha_i y_i x_i accordingly.

    Returns how many changed, and writes which into `changed`.
    """
    n = np.uint64(0)
    for i in range(np.uint64(len(alpha))):
        changed[n] = i
        n += np.uint64(pulls[i] != alpha[i])
    for j in range(n):
        i = changed[j]
        add(v, (pulls[i] - alpha[i]) * y[i], rows, i)
        alpha[i] = pulls[i]
    return n


@jit()
def move_margins(rows, y, corner, t, tau, costs, caps, m, alpha, v, pulls, inside):
    """Go on to the margins m + tau t, where every example pulls anew.

    Changes m, alpha and v = sum_i alpha_i y_i x_i, and writes the examples on the parabola into
    `inside`. Costs an addition for every example that pulls as it did not before. `pulls` is
    scratch.
    """
    loss, excess = pull_anew(corner, t, tau, costs, caps, m, pulls)
    updates, n = follow(rows, y, pulls, inside, alpha, v), np.uint64(0)
    for i in range(np.uint64(len(m))):
        inside[n] = i
        n += np.uint64((alpha[i] > 0.0) & (alpha[i] < caps[i]))
    return Pull(count_mistakes(m, costs), updates, n, loss, excess)


@jit()
def add_curvature_sparse(values, indices, starts, bias, which, theta, H):
    """Add up: H += sum_j theta[j] x x' for row which[j], each product in one of its two places."""
    last = np.uint64(len(H)) - _ONE
    for j in range(np.uint64(len(which))):
        i = which[j]
        first, end = starts[i], starts[i + _ONE]
        add_outer(H, theta[j], values[first:end], indices[first:end])
        for k in range(first, end):
            H[last, indices[k]] += theta[j] * values[k] * bias
        H[last, last] += theta[j] * bias * bias
