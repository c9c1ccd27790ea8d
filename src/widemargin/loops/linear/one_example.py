"""One example at a time: the passes and scores of the other files, on a single sparse row.

A call from Python costs more than a short row, mostly for passing arrays one by one. So these loops
take few: the row's values and its columns, packed as bytes, the weights W, the sums U and the
clocks (see `passes.py`), and all other numbers in one array, `numbers`:

    0 ... 7    the rule, field by field
    BIAS       the constant feature that extends the row
    MEAN       whether the average of the weights predicts (1), or the last weights (0)
    THRESHOLD  the score from which on the second of two classes is predicted

The column NOWHERE stands for an unknown name. In prediction it is left out; in learning it must be
made known first.

The weights of classes that are learned together are passed feature by feature: V is W transposed,
and S is U transposed.

Learning updates `totals`: mistakes, updates, and the mean loss so far.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.linear.passes import (
    COUNT,
    SCALE,
    SEEN,
    Log,
    Tally,
    binary_pass,
    multiclass_pass,
)
from widemargin.loops.steps import REACH, Rule
from widemargin.loops.storage import Sparse, dot, dots

#: Positions in `numbers` after the rule, and its length.
BIAS, MEAN, THRESHOLD, NUMBERS = 8, 9, 10, 11
#: What `totals` counts.
MISTAKES, UPDATES, LOSS = range(3)
#: The outcome for an example: it was learned from, a score is not finite, or a name is unknown.
LEARNED, NOT_FINITE, NEW_NAMES = range(3)
#: The column of an unknown name.
NOWHERE = np.uint32(2**32 - 1)


@jit()
def learn_separately(packed, columns, right, price, numbers, W, U, clock, totals):
    """Learn from one example of class `right`: two classes, or each of more against the rest.

    Every row of W has its own clock. Changes W, U, clock and totals in place. Returns the outcome;
    where a score was not finite, its row of W has not changed.
    """
    rule = rule_of(numbers)
    rows = one_row(packed, columns, numbers)
    if 4 * rows.starts[1] < len(columns):
        return NEW_NAMES
    if rule.form == REACH:
        rows = in_order(rows)
    order, y, prices = np.zeros(1, np.uint64), np.empty(1, np.int8), np.full(1, price)
    log = no_log()
    mistakes, updates, loss = 0, 0, 0.0
    for k in range(len(W)):
        mine = right == (1 if len(W) == 1 else k)
        y[0] = 1 if mine else -1
        u = U[k] if len(U) else np.empty(0)
        tally = binary_pass(rows, y, prices, order, rule, W[k], u, clock[k], log)
        if tally.bad >= 0:
            return NOT_FINITE
        mistakes += tally.mistakes
        updates += tally.updates
        loss += tally.loss / len(W)
    count(totals, mistakes, updates, loss, clock)
    return LEARNED


@jit()
def learn_jointly(packed, columns, right, price, numbers, V, S, clock, totals):
    """Learn from one example of class `right`, all classes together.

    Changes V, S, clock and totals in place, and returns the outcome; if the example was not learned
    from, nothing has changed.
    """
    rule = rule_of(numbers)
    rows = one_row(packed, columns, numbers)
    if 4 * rows.starts[1] < len(columns):
        return NEW_NAMES
    if rule.form == REACH:
        rows = in_order(rows)
    order, y, prices = np.zeros(1, np.uint64), np.full(1, right), np.full(1, price)
    tally = multiclass_pass(rows, y, prices, order, rule, V.T, S.T, clock[0], no_log())
    if tally.bad >= 0:
        return NOT_FINITE
    count(totals, tally.mistakes, tally.updates, tally.loss, clock)
    return LEARNED


@jit()
def predict_separately(packed, columns, numbers, W, U, clock):
    """The class predicted for one example, after `learn_separately`; -1 if it is undefined.

    It is undefined if a value or a score is not finite.
    """
    if not all_finite(packed):
        return -1
    return label_of(one_row(packed, columns, numbers), np.uint64(0), numbers, W, U, clock)


@jit()
def predict_jointly(packed, columns, numbers, V, S, clock):
    """The class predicted for one example, after `learn_jointly`; -1 if it is undefined."""
    if not all_finite(packed):
        return -1
    return label_of(one_row(packed, columns, numbers), np.uint64(0), numbers, V.T, S.T, clock)


@jit()
def answer_and_learn_separately(rows, codes, prices, order, rule, numbers, W, U, clock, answers):
    """Predict the class of each row, and then learn from it, before the next one is predicted.

    Two classes, or each of more against the rest. A row whose price is 0 is predicted, but not
    learned from. Changes W, U, clock and answers, which has an entry for each row of `order`, in
    place.
    """
    log, signs = no_log(), np.empty(len(codes), np.int8)
    mistakes, updates, bad, total = 0, 0, -1, 0.0
    for j in range(len(order)):
        i = order[j]
        answers[j] = label_of(rows, i, numbers, W, U, clock)
        if prices[i] == 0.0:
            continue
        for k in range(len(W)):
            signs[i] = 1 if codes[i] == (1 if len(W) == 1 else k) else -1
            u = U[k] if len(U) else np.empty(0)
            one = order[j : j + 1]
            tally = binary_pass(rows, signs, prices, one, rule, W[k], u, clock[k], log)
            mistakes += tally.mistakes
            updates += tally.updates
            total += tally.loss / len(W)
            if tally.bad >= 0:
                bad = tally.bad
        if bad >= 0:
            break
    return Tally(mistakes, updates, total, 0, bad)


@jit()
def answer_and_learn_jointly(rows, codes, prices, order, rule, numbers, W, U, clock, answers):
    """As `answer_and_learn_separately`, all classes together."""
    log = no_log()
    mistakes, updates, bad, total = 0, 0, -1, 0.0
    for j in range(len(order)):
        answers[j] = label_of(rows, order[j], numbers, W, U, clock)
        if prices[order[j]] == 0.0:
            continue
        one = order[j : j + 1]
        tally = multiclass_pass(rows, codes, prices, one, rule, W, U, clock[0], log)
        mistakes += tally.mistakes
        updates += tally.updates
        total += tally.loss
        if tally.bad >= 0:
            bad = tally.bad
            break
    return Tally(mistakes, updates, total, 0, bad)


@jit(inline=True)
def label_of(rows, i, numbers, W, U, clock):
    """The class predicted for row i; -1 if a score is not finite.

    Of two classes it is the second if the score reaches the threshold, of more the first with the
    best score.
    """
    if len(W) == 1:
        mean = dot(rows, i, U[0]) if numbers[MEAN] else 0.0
        score = deployed_score(dot(rows, i, W[0]), mean, numbers, clock[0]) - numbers[THRESHOLD]
        return -1 if not np.isfinite(score) else 1 if score >= 0.0 else 0
    scores, means = np.empty(len(W), W.dtype), np.zeros(len(W))
    dots(rows, i, W, scores)
    if numbers[MEAN]:
        dots(rows, i, U, means)
    best, top = -1, -np.inf
    for k in range(len(W)):
        score = deployed_score(scores[k], means[k], numbers, clock[min(k, len(clock) - 1)])
        if not np.isfinite(score):
            return -1
        if score > top:
            best, top = k, score
    return best


@jit(inline=True)
def all_finite(packed):
    """Whether no value is NaN or infinite."""
    values, finite = np.frombuffer(packed, np.float64), True
    for k in range(len(values)):
        finite &= np.isfinite(values[k])
    return finite


@jit(inline=True)
def deployed_score(score, mean, numbers, clock):
    """The score under the weights that predict, from those under the last weights and under u."""
    last = np.float64(score)
    if numbers[MEAN]:
        return (last * clock[COUNT] - mean) / (clock[SEEN] + 1.0)
    return last * clock[SCALE]


@jit(inline=True)
def one_row(packed, columns, numbers):
    """The example as a single row, without unknown names."""
    values, indices = np.frombuffer(packed, np.float64), np.frombuffer(columns, np.uint32)
    x, j, n = np.empty(len(values)), np.empty(len(values), np.uint32), 0
    for k in range(len(values)):
        x[n], j[n] = values[k], indices[k]
        n += indices[k] != NOWHERE
    starts = np.zeros(2, np.uint64)
    starts[1] = n
    return Sparse(x, j, starts, numbers[BIAS])


@jit()
def in_order(rows):
    """The same row with ascending columns, each once, as needed for the norm."""
    n = np.int64(rows.starts[1])
    ascending = True
    for k in range(1, n):
        ascending &= rows.indices[k - 1] < rows.indices[k]
    if ascending:
        return rows
    order = np.argsort(rows.indices, kind="mergesort")
    x, j, n = np.empty(n), np.empty(n, np.uint32), 0
    for k in order:
        if n > 0 and rows.indices[k] == j[n - 1]:
            x[n - 1] += rows.values[k]
        else:
            x[n], j[n] = rows.values[k], rows.indices[k]
            n += 1
    starts = np.zeros(2, np.uint64)
    starts[1] = n
    return Sparse(x, j, starts, rows.bias)


@jit(inline=True)
def rule_of(numbers):
    """The rule in `numbers`."""
    form, ties = np.int64(numbers[0]), numbers[7] != 0.0
    return Rule(form, numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6], ties)


@jit(inline=True)
def no_log():
    """A log that keeps nothing."""
    nothing = np.empty(0)
    return Log(np.empty(0, np.uint64), np.empty(0, np.int64), nothing, nothing)


@jit(inline=True)
def count(totals, mistakes, updates, loss, clock):
    """Add the example, which the clock has counted already, to the totals."""
    totals[MISTAKES] += mistakes
    totals[UPDATES] += updates
    totals[LOSS] += (loss - totals[LOSS]) / clock[0, SEEN]
