"""The perceptron loops: one pass over examples in a given order.

`binary_pass` is the perceptron of the textbooks; `multiclass_pass` has one weight vector per class;
`minibatch_pass` lets several examples correct the same weights at once, for either.

What a pass changes in place:

w, W    the weights; the last entry of a vector is the bias
u, U    what turns the last weights into their average: w - u/c (empty: no average is kept)
clock   four numbers, see below
log     every correction: example, class, amount, and the count c before it (empty: no log)

The clock. Without a penalty only two of its numbers matter: N, the examples seen so far, and c,
which starts at 1 and grows by 1 after every example, so that the average over w_0 ... w_N is
w - u/c. With an l2 penalty every example also shrinks w. That would touch all of w, so the weights
are stored as s w and only the scale s shrinks; then c is the sum of the scales s_0 + ... + s_N, and
the average is (c w - u) / (N + 1): the same formulas, in which s is 1 without a penalty. Turns t
(examples, or batches) set the step size when it decays.

A score (or norm) that is not finite stops the pass, which reports the example: a NaN or infinity in
a row always shows in its score, so that the values need no separate check.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.margins import multiclass_margin
from widemargin.loops.steps import (
    REACH,
    SIGMOID,
    eta_at,
    loss,
    mistaken,
    needs_norm,
    step,
)
from widemargin.loops.storage import add, dot, dots, look_ahead, norm2

#: Positions in the clock: the scale s, the sum of scales c, the examples N, the turns t.
SCALE, COUNT, SEEN, TURN = range(4)
#: The scale is multiplied into w when it falls below this. The average is a difference of sums that
#: loses as many digits as the scale has fallen: two.
_SMALL = 1e-2


class Tally(NamedTuple):
    """What happened in a pass."""

    mistakes: int
    updates: int  # examples that changed the weights
    loss: float  # summed over examples, each before it was learned from
    logged: int  # entries written to the log
    bad: int  # the example whose score is not finite, or -1


class Log(NamedTuple):
    """Corrections in the order in which they were made: weights of `label` += amount * example."""

    example: np.ndarray
    label: np.ndarray
    amount: np.ndarray
    count: np.ndarray  # the clock's c before the correction


@jit()
def binary_pass(rows, y, price, order, rule, w, u, clock, log):
    """The online perceptron, y in {-1, +1}.

        for i in order:
            m = y[i] (w . x[i])
            if m <= 0:                      (the rule says when, and how far)
                w += eta y[i] x[i]
                u += c eta y[i] x[i]        (for the average)
            c += 1

    Changes w, u, clock and log in place. Costs one dot product per example and, after a mistake,
    one addition (two when averaging).
    """
    s, c, t = clock[SCALE], clock[COUNT], clock[TURN]
    mistakes, updates, logged, bad, total = 0, 0, 0, -1, 0.0
    for j in range(len(order)):
        look_ahead(rows, order, j)
        i = order[j]
        m = y[i] * (s * dot(rows, i, w))
        q = norm2(rows, i) if needs_norm(rule, m) else 1.0
        if not np.isfinite(m + q):
            bad = np.int64(i)
            break
        t += 1.0
        eta = eta_at(rule, t)
        wrong = mistaken(m, rule.ties or y[i] < 0)
        tau = step(rule, m, wrong, q, 0.0, eta, price[i] if len(price) else 1.0)
        mistakes += wrong
        total += loss(rule, m)
        if rule.l2 > 0.0:
            s *= 1.0 - 2.0 * eta * rule.l2
        if tau != 0.0:
            updates += 1
            a = y[i] * tau / s
            add(w, a, rows, i)
            if len(u):
                add(u, a * c, rows, i)
            if len(log.example):
                logged = append_to_log(log, logged, i, 0, a, c)
        c += s
        if s < _SMALL:
            fold_scale(w, u, s, c)
            c, s = 0.0, 1.0
    clock[SEEN] += t - clock[TURN]
    clock[SCALE], clock[COUNT], clock[TURN] = s, c, t
    return Tally(mistakes, updates, total, logged, bad)


@jit()
def multiclass_pass(rows, y, price, order, rule, W, U, clock, log):
    """One weight vector per class, all learned together; y in {0, ..., k - 1}.

        for i in order:
            r = the best-scoring class other than y[i]
            m = (W[y[i]] . x[i] - W[r] . x[i]) / 2
            if m <= 0:                      (the rule says when, and how far)
                W[y[i]] += eta x[i]
                W[r]    -= eta x[i]

    The rule SIGMOID corrects every class: observed minus expected.

    Changes W, U, clock and log in place. Costs k dot products per example.
    """
    s, c, t = clock[SCALE], clock[COUNT], clock[TURN]
    mistakes, updates, logged, bad, total = 0, 0, 0, -1, 0.0
    scores = np.empty(len(W), W.dtype)
    amounts = np.empty(len(W))
    for j in range(len(order)):
        look_ahead(rows, order, j)
        i = order[j]
        dots(rows, i, W, scores)
        eta = eta_at(rule, t + 1.0)
        wrong, cost = find_amounts(rule, rows, i, y, price, scores, s, eta, amounts)
        if not np.isfinite(cost):
            bad = np.int64(i)
            break
        t += 1.0
        mistakes += wrong
        total += cost
        if rule.l2 > 0.0:
            s *= 1.0 - 2.0 * eta * rule.l2
        changed, logged = add_amounts(rows, i, amounts, s, c, W, U, log, logged)
        updates += changed
        c += s
        if s < _SMALL:
            fold_scales(W, U, s, c)
            c, s = 0.0, 1.0
    clock[SEEN] += t - clock[TURN]
    clock[SCALE], clock[COUNT], clock[TURN] = s, c, t
    return Tally(mistakes, updates, total, logged, bad)


class Batch(NamedTuple):
    """Examples that have been scored but not yet learned from."""

    example: np.ndarray  # as many as a batch holds
    amounts: np.ndarray  # for each of them and each class
    filled: np.ndarray  # one number: how many are waiting


@jit()
def minibatch_pass(rows, y, price, order, rule, W, U, clock, log, batch, flush):
    """Several examples correct the same weights at once; y in {0, ..., k - 1}, or {0, 1} if k = 1.

        for each batch:
            find all corrections at the same W
            W += their sum          (their mean, for the rules that reach for a margin)

    A batch may begin in one call and end in another; with `flush` the last one ends here even if
    it is not full. Changes W, U, clock, log and batch in place.
    """
    s, c = clock[SCALE], clock[COUNT]
    mistakes, updates, logged, bad, total = 0, 0, 0, -1, 0.0
    scores = np.empty(len(W), W.dtype)
    for j in range(len(order)):
        look_ahead(rows, order, j)
        i = order[j]
        eta = eta_at(rule, clock[TURN] + 1.0)
        dots(rows, i, W, scores)
        k = batch.filled[0]
        batch.example[k] = i
        wrong, cost = find_amounts(rule, rows, i, y, price, scores, s, eta, batch.amounts[k])
        if not np.isfinite(cost):
            bad = np.int64(i)
            break
        mistakes += wrong
        total += cost
        batch.filled[0] = size = k + 1
        if size == len(batch.example) or (flush and j == len(order) - 1):
            clock[TURN] += 1.0
            batch.filled[0] = 0
            if rule.l2 > 0.0:
                s *= 1.0 - 2.0 * eta * rule.l2 * size
            share = 1.0 / size if rule.form == REACH else 1.0
            for k in range(size):
                for label in range(len(W)):
                    batch.amounts[k, label] *= share
                changed, logged = add_amounts(
                    rows, batch.example[k], batch.amounts[k], s, c, W, U, log, logged
                )
                updates += changed
        c += s
        clock[SEEN] += 1.0
        if s < _SMALL:
            fold_scales(W, U, s, c)
            c, s = 0.0, 1.0
    clock[SCALE], clock[COUNT] = s, c
    return Tally(mistakes, updates, total, logged, bad)


@jit(inline=True)
def find_amounts(rule, rows, i, y, price, scores, s, eta, amounts):
    """Find the amounts of example i to add to each class; returns if it is a mistake, and its loss.

    `scores` are those of the unscaled weights and become those of the scaled ones.
    """
    weight = price[i] if len(price) else 1.0
    right = y[i]
    if len(scores) == 1:
        sign = 2.0 * right - 1.0
        m = sign * (s * scores[0])
        wrong = mistaken(m, rule.ties or right == 0)
        q = norm2(rows, i) if needs_norm(rule, m) else 1.0
        amounts[0] = sign * step(rule, m, wrong, q, 0.0, eta, weight)
        return wrong, loss(rule, m) if np.isfinite(m + q) else np.nan

    finite = True
    for k in range(len(scores)):
        scores[k] *= s
        finite &= np.isfinite(scores[k])
        amounts[k] = 0.0
    if not finite:
        return False, np.nan
    m, rival, tie_is_wrong = multiclass_margin(scores, right)
    wrong = mistaken(m, rule.ties or tie_is_wrong)
    if rule.form == SIGMOID:
        return wrong, softmax_amounts(scores, right, eta * weight, amounts)
    q = norm2(rows, i) if needs_norm(rule, m) else 1.0
    tau = step(rule, m, wrong, q, 0.0, eta, weight)
    amounts[right], amounts[rival] = tau, -tau
    return wrong, loss(rule, m) if np.isfinite(q) else np.nan


@jit(inline=True)
def softmax_amounts(scores, right, eta, amounts):
    """amounts[c] = eta (1 if c is right, minus P(c | x)); returns -log P(right | x)."""
    top = scores[0]
    for c in range(1, len(scores)):
        top = max(top, scores[c])
    total = 0.0
    for c in range(len(scores)):
        amounts[c] = np.exp(np.float64(scores[c] - top))
        total += amounts[c]
    surprise = np.log(total) - np.float64(scores[right] - top)
    for c in range(len(scores)):
        amounts[c] = -eta * amounts[c] / total
    amounts[right] += eta
    return surprise


@jit(inline=True)
def add_amounts(rows, i, amounts, s, c, W, U, log, logged):
    """Add its amount of row i to each class; returns whether any changed, and the log's length."""
    changed = False
    for k in range(len(amounts)):
        if amounts[k] != 0.0:
            changed = True
            a = amounts[k] / s
            add(W[k], a, rows, i)
            if len(U):
                add(U[k], a * c, rows, i)
            if len(log.example):
                logged = append_to_log(log, logged, i, k, a, c)
    return changed, logged


@jit(inner=True)
def fold_scale(w, u, s, c):
    """Put the scale into the weights and the sum of hypotheses so far, c w - u, into -u alone.

    Afterwards the scale is 1 and c is 0. The cost is proportional to the number of weights.
    """
    for j in range(len(u)):
        u[j] -= c * w[j]
    for j in range(len(w)):
        w[j] *= s


@jit(inner=True)
def fold_scales(W, U, s, c):
    """As `fold_scale`, for every class."""
    for k in range(len(U)):
        for j in range(U.shape[1]):
            U[k, j] -= c * W[k, j]
    for k in range(len(W)):
        for j in range(W.shape[1]):
            W[k, j] *= s


@jit(inline=True)
def append_to_log(log, at, i, k, a, c):
    """Write entry `at` of the log; returns where the next one goes."""
    log.example[at] = i
    log.label[at] = k
    log.amount[at] = a
    log.count[at] = c
    return at + 1
