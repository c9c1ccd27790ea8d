"""Newton's method for the weights of all classes together (Crammer and Singer).

An example of class y loses the largest of g[k] = s[k] + (k != y), less g[y], where s are its
scores. The largest of several numbers has corners; they are rounded off, around shares p of the
simplex:

    max over q of the simplex of  q.g - h/2 |q - p|^2

which is attained at q[k] = max(0, g[k] + h p[k] - level) / h, with the level at which q adds up
to 1. How an example of cost c pulls at the weights of the
classes, alpha[k] = c ((k = y) - q[k]), is within the bounds of the dual. So it has a gap,

    1/2 |W - V|^2 + sum_i c_i (max_k g_i[k] - q_i.g_i),     V[k] = sum_i alpha_i[k] x_i.

The classes with q[k] > 0 are tied. What a loop reads of the examples are their scores s (n, k), so
it knows nothing of how rows are stored.
"""

from __future__ import annotations

import math

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.svm.primal import Pull, next_trial

#: Maximum number of points tried in a line search, and the fraction of the slope that may remain.
#: Chosen by hand, as in the search for one class; only the time depends on them.
_TRIALS, _FLAT = 40, 0.1


@jit(inline=True)
def tie_level(g, h):
    """The level at which sum_k max(0, g[k] - level) = h, and how many classes are above it.

    From below: those above the level so far give the next one, until none drops out.
    """
    level, count = -np.inf, len(g) + 1
    for k in range(len(g)):
        level = max(level, g[k])
    level -= h
    while True:
        total, above = -h, 0
        for k in range(len(g)):
            if g[k] > level:
                total += g[k]
                above += 1
        if above == 0 or above >= count:
            return level, min(count, len(g))
        level, count = total / above, above


@jit(inline=True)
def raise_scores(own, h, p, s, t, tau, g):
    """g[k] = s[k] + tau t[k] + (k != own) + h p[k]; returns the largest, the next, and which."""
    top, second, best = -np.inf, -np.inf, 0
    for k in range(len(g)):
        v = s[k] + tau * t[k] + h * p[k] + (0.0 if k == own else 1.0)
        g[k] = v
        if v > top:
            second, top, best = top, v, k
        elif v > second:
            second = v
    return top, second, best


@jit()
def find_joint_step(y, costs, h, centre, s, t, line):
    """Find how far to go from the scores s along t, where the slope of the objective is nearly 0.

    The penalty adds line[0] + tau line[1] to the slope; line[2] < 0 is the whole slope at tau = 0.
    It is Newton's method, kept within a bracket. Costs one pass over the scores per trial.
    """
    tau, low, high = 1.0, 0.0, math.inf
    g = np.empty(s.shape[1])
    for _ in range(_TRIALS):
        slope, bend = line[0] + tau * line[1], line[1]
        for i in range(np.uint64(len(s))):
            if costs[i] == 0.0:
                continue
            b = t[i]
            top, second, best = raise_scores(y[i], h, centre[i], s[i], b, tau, g)
            slope -= costs[i] * b[y[i]]
            if top - second >= h:
                slope += costs[i] * b[best]
                continue
            level, count = tie_level(g, h)
            total, squares, mean = 0.0, 0.0, 0.0
            for k in range(len(g)):
                if g[k] > level:
                    total += (g[k] - level) * b[k]
                    squares += b[k] * b[k]
                    mean += b[k]
            slope += costs[i] / h * total
            bend += costs[i] / h * max(0.0, squares - mean * mean / count)
        if abs(slope) <= -_FLAT * line[2]:
            break
        tau, low, high = next_trial(tau, low, high, slope, bend)
    return tau


@jit()
def move_joint_scores(y, costs, h, centre, t, tau, s, shares, tied):
    """Go on to the scores s + tau t, where the classes of every example share anew.

    Changes s, shares and tied, the number of classes that are tied in every example. Returns the
    sums; `inside` is the number of independent differences of tied classes.
    """
    mistakes, updates, inside = 0, 0, 0
    loss, excess = 0.0, 0.0
    g = np.empty(s.shape[1])
    for i in range(np.uint64(len(s))):
        a, b, q, own = s[i], t[i], shares[i], y[i]
        for k in range(len(g)):
            a[k] += tau * b[k]
        cost, rival = costs[i], -np.inf
        for k in range(len(g)):
            rival = max(rival, a[k] if k != own else -np.inf)
        tied[i] = 1
        if cost == 0.0:
            continue
        mistakes += rival >= a[own]
        most = max(a[own], rival + 1.0)  # the largest g
        loss += cost * (most - a[own])
        top, second, best = raise_scores(own, h, centre[i], a, b, 0.0, g)
        level = top
        if top - second < h:
            level, tied[i] = tie_level(g, h)
            inside += tied[i] - 1
        rest = 1.0  # the best class takes what rounding leaves, so that the shares add up to one
        changed = False
        for k in range(len(g)):
            if k != best:
                share = max(0.0, g[k] - level) / h
                changed |= share != q[k]
                q[k] = share
                rest -= share
        q[best] = rest
        updates += changed
        for k in range(len(g)):
            if q[k] > 0.0:
                excess += cost * q[k] * (most - a[k] - (0.0 if k == own else 1.0))
    return Pull(mistakes, updates, inside, loss, excess)


@jit()
def list_ties(shares, tied, U, which):
    """Write an orthonormal basis of the differences of tied classes, and whose each is.

    Of classes k0, k1, ...: (1, -1), (1, 1, -2), ... divided by their lengths (Helmert's matrix).
    """
    r = 0
    S = np.empty(shares.shape[1], np.int64)
    for i in range(len(shares)):
        if tied[i] < 2:
            continue
        n = 0
        for k in range(shares.shape[1]):
            if shares[i, k] > 0.0:
                S[n] = k
                n += 1
        for j in range(1, min(n, tied[i])):
            a = 1.0 / math.sqrt(j * (j + 1.0))
            for p in range(j):
                U[r, S[p]] = a
            U[r, S[j]] = -j * a
            which[r] = i
            r += 1
    return r
