"""Scores and votes of many rows. The bits of a row's score do not depend on the other rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from widemargin.loops.jit import INLINE, OPTIONS, jit, overload
from widemargin.loops.storage import add, dot, dots, look_ahead

_ONE = np.uint64(1)


class Postings(NamedTuple):
    """Sparse rows by column: column j is values[starts[j]:starts[j + 1]], in rows examples[...]."""

    values: np.ndarray
    examples: np.ndarray
    starts: np.ndarray
    bias: float


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
        # One by one: for whole arrays, numba takes a second to compile messages about their shapes.
        for c in range(len(scores)):
            out[j, c] = scores[c]


@jit()
def post(rows, ends, values, examples):
    """Sort the values of sparse rows by column; `ends` changes from column starts to ends.

    Within a column, rows keep their order.
    """
    for i in range(np.uint64(len(rows.starts) - 1)):
        for k in range(rows.starts[i], rows.starts[i + _ONE]):
            at = ends[rows.indices[k]]
            values[at], examples[at] = rows.values[k], i
            ends[rows.indices[k]] = at + _ONE


def similarities(rows, i, support, x, out):
    """out[e] = x_e . x for row i and every row e of `support`; x is zero before and after."""
    return _pick_support(support)(rows, i, support, x, out)


def _multiply(rows, i, support, x, out):
    add(x, 1.0, rows, i)
    for e in range(len(out)):
        out[e] = dot(support, np.uint64(e), x)
    add(x, -1.0, rows, i)


def _add_up_postings(rows, i, support, x, out):
    # Only the rows that have a column of row i are touched.
    for e in range(len(out)):
        out[e] = 0.0
    for k in range(rows.starts[i], rows.starts[i + _ONE]):
        a, j = np.float64(rows.values[k]), rows.indices[k]
        for p in range(support.starts[j], support.starts[j + _ONE]):
            out[support.examples[p]] += a * support.values[p]
    for e in range(len(out)):
        out[e] += support.bias * rows.bias


def _pick_support(support: Any) -> Any:
    """Choose by storage: of a value or, while numba compiles, of a type."""
    kind = getattr(support, "instance_class", type(support))  # numba's name for a type's class
    return _add_up_postings if kind is Postings else _multiply


@overload(similarities, jit_options=OPTIONS | INLINE)
def _similarities(rows, i, support, x, out):
    return _pick_support(support)


@jit()
def binary_votes(rows, which, support, log, room, last, s, votes):
    """Let every hypothesis that the log passes through vote, as often as it survived.

    The hypotheses are never built: their scores on x are the running sum of the corrections,

        votes += survival_e sign(s),      s += amount_e (x_e . x)

    `support` holds the rows that were learned from, by row or by column (see `Postings`); `room` is
    (their number, the length of w). `s` and `votes` (one per query) continue in place from the
    count `last`. Costs, for each query, one dot product for each row of the support, or the values
    of the support in the columns of the query; then one addition per entry.
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
