"""Scores and votes of many rows. A row's score is the same bits whatever rows stand around it."""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.storage import add, dot, dots, look_ahead


@jit()
def binary_scores(rows, which, w, out):
    """out[j] = w . x for row which[j]."""
    for j in range(len(which)):
        look_ahead(rows, which, j)
        out[j] = dot(rows, which[j], w)


@jit()
def multiclass_scores(rows, which, W, out):
    """out[j, c] = W[c] . x for row which[j]."""
    scores = np.empty(len(W), W.dtype)
    for j in range(len(which)):
        look_ahead(rows, which, j)
        dots(rows, which[j], W, scores)
        # One by one: for whole arrays numba compiles messages about their shapes, for a second.
        for c in range(len(scores)):
            out[j, c] = scores[c]


@jit(inner=True)
def similarities(rows, i, support, x, out):
    """out[e] = x_e . x for row i and every row e of `support`; x is zero before and after."""
    add(x, 1.0, rows, i)
    for e in range(len(out)):
        out[e] = dot(support, np.uint64(e), x)
    add(x, -1.0, rows, i)


@jit()
def binary_votes(rows, which, support, log, room, last, s, votes):
    """Let every hypothesis that the log passes through vote, as often as it survived.

    The hypotheses are never built: their scores on x are the running sum of the corrections,

        votes += survival_e sign(s),      s += amount_e (x_e . x)

    `support` holds the rows that were learned from; `room` is (their number, the length of w).
    `s` and `votes` (one per query) continue in place from the count `last`. Costs one dot product
    for each row of the support and query, then one addition per entry.
    """
    similar, x = np.empty(room[0]), np.zeros(room[1])
    for j in range(len(which)):
        similarities(rows, which[j], support, x, similar)
        before = last
        for e in range(len(log.example)):
            survival = log.count[e] - before
            votes[j] += survival if s[j] >= 0.0 else -survival
            before = log.count[e]
            s[j] += log.amount[e] * similar[log.example[e]]


@jit()
def multiclass_votes(rows, which, support, log, room, last, s, votes):
    """As `binary_votes`, with one column per class in s and votes; the first best class wins."""
    similar, x = np.empty(room[0]), np.zeros(room[1])
    for j in range(len(which)):
        similarities(rows, which[j], support, x, similar)
        before = last
        for e in range(len(log.example)):
            survival = log.count[e] - before
            if survival > 0.0:
                votes[j, np.argmax(s[j])] += survival
            before = log.count[e]
            s[j, log.label[e]] += log.amount[e] * similar[log.example[e]]
