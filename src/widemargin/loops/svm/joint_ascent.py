"""Dual coordinate descent for all classes together (Crammer and Singer), y in {0, ..., k - 1}.

    min  1/2 sum_c W[c].W[c] + sum_i C_i max over c of (c != y_i) + W[c].x_i - W[y_i].x_i

In the dual every example has a value for each class, alpha[i, c] <= (C_i if c is right else 0),
which add up to zero, and W[c] = sum_i alpha[i, c] x_i.

    for i in order:
        g[c] = W[c] . x[i] + (c != y[i])      for the classes that are awake in this example
        choose alpha[i] anew, so that the dual is largest
        W[c] += (its change) x[i]

A class that is at its bound in an example, and whose slope g is below those that could grow, falls
asleep there; so does an example of whose classes only the right one is awake. See S. S. Keerthi et
al. (2008), A sequential dual method for large scale multi-class linear SVMs, KDD; and LIBLINEAR,
which does the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import INLINE, OPTIONS, SUMS, jit, overload
from widemargin.loops.lowlevel.prefetch import prefetch
from widemargin.loops.storage import dots, look_ahead, norm2, pick_storage

#: How many values of a sparse row ahead the weights are fetched. Chosen by hand.
_AHEAD = np.uint64(8)
_ONE, _HALF = np.uint64(1), np.uint64(32)


class JointExamples(NamedTuple):
    """The examples: rows, classes, weights (empty if all are 1), and the cost of an error."""

    rows: NamedTuple
    y: np.ndarray
    price: np.ndarray
    C: float


class JointDual(NamedTuple):
    """What a pass changes in place.

    W        the weights of every class; of sparse rows those of one feature are side by side
    alpha    the dual values (n, k)
    q        the squared length of every example; -1 until it is first met
    classes  all classes of every example, those that are awake first (n, k)
    awake    how many of them are
    order    the examples, those that are awake first
    """

    W: np.ndarray
    alpha: np.ndarray
    q: np.ndarray
    classes: np.ndarray
    awake: np.ndarray
    order: np.ndarray


class Visits(NamedTuple):
    """What happened in a part of a pass."""

    place: int  # how many of the order's examples were visited in this pass
    active: int  # how many examples are awake
    products: int  # of an example and the weights of a class
    mistakes: int
    updates: int  # examples whose dual values changed
    gap: float  # the duality gap, each example's part taken before its step
    gain: float  # by how much the dual grew
    violation: float  # the largest difference of two slopes of one example
    bad: int  # the example whose score is not finite, or -1


@jit()
def visit_examples(examples, dual, place, active, budget, dice):
    """Go on with a pass that has come to `place` of the `active` examples, for `budget` visits.

    Parameters
    ----------
    examples, dual : JointExamples, JointDual
        What is learned, and what changes.
    place, active, budget : int
        Where the pass stands, how many examples are awake, how many to visit at most.
    dice : array of uint64
        Random numbers below 2^32, one for every place of the order: a pass begins by shuffling it.
    """
    rows, y, price, C = examples
    W, alpha, q, classes, awake, order = dual
    products, mistakes, updates, bad = 0, 0, 0, -1
    gap, gain, violation = 0.0, 0.0, 0.0
    g, spare = np.empty(len(W)), np.empty(len(W))
    if place == 0:
        shuffle(order, active, dice)
    while place < active and budget > 0:
        budget -= 1
        look_ahead(rows, order, place)
        i = order[place]
        if q[i] < 0.0:
            q[i] = norm2(rows, i)
        mine, a, right = classes[i], alpha[i], y[i]
        cap = C * (price[i] if len(price) else 1.0)
        count = np.int64(awake[i])
        products += count
        finite = class_slopes(rows, i, W, mine, count, right, g, spare)
        if not (finite and np.isfinite(q[i])):
            bad = np.int64(i)
            break
        own, rival, least, part = slopes_of(g, a, mine, count, right, cap)
        best = max(own, rival)
        gap += part + cap * (best - own)
        mistakes += rival - 1.0 >= own
        count = fall_asleep(g, a, mine, count, right, least)
        awake[i] = count
        if count == 1 and a[right] == 0.0:
            active -= 1
            order[place], order[active] = order[active], order[place]
            continue
        place += 1
        if best - least <= 0.0:
            continue
        violation = max(violation, best - least)
        gain += choose_shares(g, a, mine, count, q[i], right, cap, spare)
        changed = False
        for m in range(count):
            changed |= spare[m] != 0.0
        updates += changed
        some_adds(rows, i, W, mine, count, spare)
    return Visits(place, active, products, mistakes, updates, gap, gain, violation, bad)


@jit(inline=True)
def shuffle(order, active, dice):
    """Shuffle the active examples, which come first in the order."""
    for j in range(active):
        other = j + np.int64((dice[j] * np.uint64(active - j)) >> _HALF)
        order[j], order[other] = order[other], order[j]


@jit(inline=True)
def class_slopes(rows, i, W, mine, count, right, g, spare):
    """g[m] = W[c] . x + (c != right) for the classes c = mine[m]; returns if all are finite."""
    if count == len(W):
        dots(rows, i, W, spare)
        for m in range(count):
            g[m] = spare[mine[m]]
    else:
        some_dots(rows, i, W, mine, count, g)
    total = 0.0
    for m in range(count):
        total += g[m]
        g[m] += 0.0 if mine[m] == right else 1.0
    return np.isfinite(total)


@jit(inline=True)
def slopes_of(g, a, mine, count, right, cap):
    """The slope of the right class, the largest other, the least that can grow, and sum a g."""
    own, rival, least, part = 0.0, -np.inf, np.inf, 0.0
    for m in range(count):
        c = mine[m]
        part += a[c] * g[m]
        if c == right:
            own = g[m]
        else:
            rival = max(rival, g[m])
        if a[c] < (cap if c == right else 0.0):
            least = min(least, g[m])
    return own, rival, least, part


@jit(inline=True)
def fall_asleep(g, a, mine, count, right, least):
    """Move the classes that stay at their bound behind the others; returns the number of others."""
    m = 0
    while m < count:
        c = mine[m]
        if c != right and a[c] == 0.0 and g[m] < least:
            count -= 1
            mine[m], mine[count], g[m] = mine[count], c, g[count]
        else:
            m += 1
    return count


@jit(inline=True)
def choose_shares(g, a, mine, count, q, right, cap, taus):
    """Choose the dual values of one example anew; writes their changes, returns the dual's."""
    level = water_level(g, a, mine, count, q, right, cap, taus) if q > 0.0 else 0.0
    given, at, loser, gain = 0.0, 0, 1 if right == 0 else 0, 0.0
    for m in range(count):
        c = mine[m]
        if c == right:
            at = m
            continue
        after = -cap if c == loser else 0.0  # a zero row affects only its own alpha
        if q > 0.0:
            after = min(0.0, a[c] + (level - g[m]) / q)
        taus[m] = after - a[c]
        a[c] = after
        given += after
    # What the others give is what the right class takes: rounding must not keep it from 0.
    taus[at] = min(cap, -given) - a[right]
    a[right] = min(cap, -given)
    for m in range(count):
        gain -= taus[m] * (g[m] + 0.5 * taus[m] * q)
    return gain


@jit(inline=True)
def water_level(g, a, mine, count, q, right, cap, tops):
    """The level at which sum_c min(cap_c, a[c] + (level - g[c]) / q) = 0, where cap_c is 0 or C.

    With tops[c] = g[c] - q a[c] + q cap_c that is sum_c max(0, tops[c] - level) = q C: pour off
    the tops, the highest first.
    """
    for m in range(count):
        c = mine[m]
        tops[m] = g[m] - q * a[c] + (q * cap if c == right else 0.0)
    over, taken = -q * cap, 0
    while taken < count:
        high = 0
        for m in range(1, count):
            if tops[m] > tops[high]:
                high = m
        if taken and tops[high] * taken <= over:
            break
        over += tops[high]
        taken += 1
        tops[high] = -np.inf
    return over / taken


def some_dots(rows, i, W, mine, count, g):
    """g[m] = W[c] . x for the first classes c = mine[m]."""
    return pick_storage(rows, _some_dots_dense, _some_dots_sparse)(rows, i, W, mine, count, g)


def _some_dots_dense(rows, i, W, mine, count, g):
    x = rows.values[i]
    for m in range(count):
        w = W[mine[m]]
        s = w.dtype.type(0)
        for j in range(len(x)):
            s += x[j] * w[j]
        g[m] = s + rows.bias * w[len(w) - 1]


def _some_dots_sparse(rows, i, W, mine, count, g):
    V, k, end = W.T, np.uint64(len(W)), rows.starts[i + _ONE]
    for m in range(count):
        g[m] = rows.bias * V[len(V) - 1, mine[m]]
    for p in range(rows.starts[i], end):
        ahead = np.uint64(rows.indices[min(p + _AHEAD, end - _ONE)]) * k
        for m in range(count):
            prefetch(V, ahead + np.uint64(mine[m]))
        x, v = rows.values[p], V[rows.indices[p]]
        for m in range(count):
            g[m] += x * v[mine[m]]


def some_adds(rows, i, W, mine, count, taus):
    """Add: W[c] += taus[m] x for the first classes c = mine[m]."""
    return pick_storage(rows, _some_adds_dense, _some_adds_sparse)(rows, i, W, mine, count, taus)


def _some_adds_dense(rows, i, W, mine, count, taus):
    x = rows.values[i]
    for m in range(count):
        w, a = W[mine[m]], taus[m]
        if a != 0.0:
            for j in range(len(x)):
                w[j] += a * x[j]
            w[len(w) - 1] += a * rows.bias


def _some_adds_sparse(rows, i, W, mine, count, taus):
    V = W.T
    for p in range(rows.starts[i], rows.starts[i + _ONE]):
        x, v = rows.values[p], V[rows.indices[p]]
        for m in range(count):
            v[mine[m]] += taus[m] * x
    for m in range(count):
        V[len(V) - 1, mine[m]] += taus[m] * rows.bias


@overload(some_dots, jit_options=SUMS | INLINE)
def _some_dots(rows, i, W, mine, count, g):
    return pick_storage(rows, _some_dots_dense, _some_dots_sparse)


@overload(some_adds, jit_options=OPTIONS | INLINE)
def _some_adds(rows, i, W, mine, count, taus):
    return pick_storage(rows, _some_adds_dense, _some_adds_sparse)
