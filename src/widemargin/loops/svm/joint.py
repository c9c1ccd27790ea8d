"""Newton's method for the weights of all classes together (Crammer and Singer).

An example of class y loses the largest of g[k] = s[k] + (k != y), less g[y], where s are its
scores. The largest of several numbers has corners; they are rounded off, around shares p of the
simplex:

    max over q of the simplex of  q.g - h/2 |q - p|^2

which is attained at q[k] = max(0, g[k] + h p[k] - level) / h, with the level at which q adds up
to 1. How an example of cost c pulls at the weights of the
classes, alpha[k] = c ((k = y) - q[k]), is within the bounds of the dual. So it has a gap,

    1/2 |W - V|^2 + sum_i c_i (max_k g_i[k] - q_i.g_i),     V[k] = sum_i alpha_i[k] x_i.

The classes with q[k] > 0 are tied. What most loops read of the examples are their scores s (k, n),
so they know nothing of how rows are stored. Blocks of examples lie side by side in vectors, for
which the loops over the classes run without a branch; what remains for one example at a time are
the ties.
"""

from __future__ import annotations

import math

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.svm.primal import Pull, next_trial

#: Maximum number of points tried in a line search, and the fraction of the slope that may remain.
#: Chosen by hand, as in the search for one class; only the time depends on them.
_TRIALS, _FLAT = 40, 0.1
#: Number of examples in a block: the scores of ten classes then fit into the first cache.
_BLOCK = np.uint64(128)


@jit(inline=True)
def tie_level(g, h, level):
    """The level at which sum_k max(0, g[k] - level) = h, and how many classes are above it.

    From below, beginning with some level that is too low: those above the level so far give the
    next one, until none drops out.
    """
    count = len(g) + 1
    while True:
        total, above = -h, 0
        for k in range(len(g)):
            over = g[k] > level
            total += g[k] if over else 0.0
            above += over
        if above == 0 or above >= count:
            return level, min(count, len(g))
        level, count = total / above, above


@jit(inline=True)
def raise_scores(y, h, centre, s, t, tau, begin, size, g, top, second):
    """g[k, j] = (s + tau t)[k, i] + (k != y_i) + h centre[k, i], where i = begin + j.

    Writes the largest of every example, and the next.
    """
    for j in range(size):
        top[j], second[j] = -np.inf, -np.inf
    for k in range(len(s)):
        a, b, p, out = s[k], t[k], centre[k], g[k]
        for j in range(size):
            i = begin + j
            v = a[i] + tau * b[i] + h * p[i] + (0.0 if y[i] == k else 1.0)
            low = v if v < top[j] else top[j]
            second[j] = low if low > second[j] else second[j]
            top[j] = v if v > top[j] else top[j]
            out[j] = v


@jit()
def find_joint_step(y, costs, h, centre, s, t, line):
    """Find how far to go from the scores s along t, where the slope of the objective is nearly 0.

    The penalty adds line[0] + tau line[1] to the slope; line[2] < 0 is the whole slope at tau = 0.
    It is Newton's method, kept within a bracket. Costs one pass over the scores per trial.
    """
    tau, low, high = 1.0, 0.0, math.inf
    n, g = np.uint64(s.shape[1]), np.empty((len(s), _BLOCK))
    top, second, own, best = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for _ in range(_TRIALS):
        slope, bend = line[0] + tau * line[1], line[1]
        for begin in range(np.uint64(0), n, _BLOCK):
            size = min(_BLOCK, n - begin)
            raise_scores(y, h, centre, s, t, tau, begin, size, g, top, second)
            for k in range(len(s)):
                b, v = t[k], g[k]
                for j in range(size):
                    own[j] = b[begin + j] if y[begin + j] == k else own[j]
                    best[j] = b[begin + j] if v[j] == top[j] else best[j]
            for j in range(size):
                cost = costs[begin + j]
                if cost == 0.0:
                    continue
                slope -= cost * own[j]
                if top[j] - second[j] >= h:
                    slope += cost * best[j]
                    continue
                level, count = tie_level(g[:, j], h, 0.5 * (top[j] + second[j] - h))
                total, squares, mean = 0.0, 0.0, 0.0
                for k in range(len(s)):
                    over, b_k = g[k, j] - level, t[k, begin + j]
                    if over > 0.0:
                        total += over * b_k
                        squares += b_k * b_k
                        mean += b_k
                slope += cost / h * total
                bend += cost / h * max(0.0, squares - mean * mean / count)
        if abs(slope) <= -_FLAT * line[2]:
            break
        tau, low, high = next_trial(tau, low, high, slope, bend)
    return tau


@jit(inline=True)
def share_tie(g, h, top, second):
    """Replace the raised scores of one example by its shares; returns the number of ties.

    `top` and `second` are the largest two.
    """
    level, count = tie_level(g, h, 0.5 * (top + second - h))
    rest, best = 1.0, 0  # the best class takes what rounding leaves: the shares add up to one
    for k in range(len(g)):
        v = g[k]
        best = k if v == top else best
        g[k] = (v - level) / h if v > level else 0.0
        rest -= g[k]
    g[best] += rest
    return count


@jit()
def move_joint_scores(y, costs, h, centre, t, tau, s, shares, tied):
    """Go on to the scores s + tau t, where the classes of every example share anew.

    Changes s, shares and tied, the number of classes that are tied in every example. Returns the
    sums; `inside` is the number of independent differences of tied classes.
    """
    mistakes, updates, inside = 0, 0, 0
    loss, excess = 0.0, 0.0
    n, g = np.uint64(s.shape[1]), np.empty((len(s), _BLOCK))
    top, second, own, rival = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    below, moved = np.empty(_BLOCK), np.empty(_BLOCK, np.int64)
    for begin in range(np.uint64(0), n, _BLOCK):
        size = min(_BLOCK, n - begin)
        raise_scores(y, h, centre, s, t, tau, begin, size, g, top, second)
        for j in range(size):
            rival[j], below[j], moved[j] = -np.inf, 0.0, 0
        for k in range(len(s)):
            a, b = s[k], t[k]
            for j in range(size):
                i = begin + j
                v = a[i] + tau * b[i]
                a[i] = v
                own[j] = v if y[i] == k else own[j]
                rival[j] = v if (y[i] != k) & (v > rival[j]) else rival[j]
        for j in range(size):
            tied[begin + j] = 1
            if (top[j] - second[j] < h) & (costs[begin + j] > 0.0):
                tied[begin + j] = share_tie(g[:, j], h, top[j], second[j])
                top[j] = 1.0  # the share of the best, should rounding leave it alone
        for k in range(len(s)):
            a, q, v = s[k], shares[k], g[k]
            for j in range(size):
                i = begin + j
                alone = 1.0 if v[j] == top[j] else 0.0
                share = v[j] if tied[i] > 1 else alone
                most = own[j] if own[j] > rival[j] + 1.0 else rival[j] + 1.0
                below[j] += share * (most - a[i] - (0.0 if y[i] == k else 1.0))
                moved[j] |= 1 if share != q[i] else 0
                q[i] = share
        for j in range(size):
            cost = costs[begin + j]
            if cost > 0.0:
                mistakes += rival[j] >= own[j]
                updates += moved[j]
                inside += tied[begin + j] - 1
                loss += cost * max(0.0, rival[j] + 1.0 - own[j])
                excess += cost * below[j]
    return Pull(mistakes, updates, inside, loss, excess)


@jit()
def list_ties(shares, tied, U, which):
    """Write an orthonormal basis of the differences of tied classes, and whose each is.

    Of classes k0, k1, ...: (1, -1), (1, 1, -2), ... divided by their lengths (Helmert's matrix).
    """
    r = 0
    S = np.empty(len(shares), np.int64)
    for i in range(len(tied)):
        if tied[i] < 2:
            continue
        n = list_tied(shares, i, S)
        for j in range(1, min(n, tied[i])):
            a = 1.0 / math.sqrt(j * (j + 1.0))
            for p in range(j):
                U[r, S[p]] = a
            U[r, S[j]] = -j * a
            which[r] = i
            r += 1
    return r


@jit(inline=True)
def list_tied(shares, i, S):
    """Write the classes of which example i has a share; returns how many there are."""
    n = 0
    for k in range(len(shares)):
        S[n] = k
        n += shares[k, i] > 0.0
    return n


@jit()
def add_ties(X, shares, H):
    """H = sum_i (I - 1/|S|) x x', over the tied classes S of each example.

    H has the weights of one class after those of another. Costs |S|^2 / 2 additions of half of
    x x' per example.
    """
    d, S = np.int64(X.shape[1]), np.empty(len(shares), np.int64)
    outer = np.empty(d * (d + 1) // 2)
    # The half below the diagonal of every block of classes p >= r, row after row.
    blocks = np.zeros((len(shares) * (len(shares) + 1) // 2, len(outer)))
    for i in range(np.uint64(len(X))):
        n, x, at = list_tied(shares, i, S), X[i], 0
        for u in range(d):
            for j in range(u + 1):
                outer[at + j] = x[u] * x[j]
            at += u + 1
        for p in range(n):
            for r in range(p + 1):
                a = (1.0 if p == r else 0.0) - 1.0 / n
                block = blocks[S[p] * (S[p] + 1) // 2 + S[r]]
                for j in range(len(outer)):
                    block[j] += a * outer[j]
    for p in range(len(shares)):
        for r in range(p + 1):
            block, at = blocks[p * (p + 1) // 2 + r], 0
            for u in range(d):
                for j in range(u + 1):
                    H[p * d + u, r * d + j] = H[p * d + j, r * d + u] = block[at + j]
                    H[r * d + u, p * d + j] = H[r * d + j, p * d + u] = block[at + j]
                at += u + 1
