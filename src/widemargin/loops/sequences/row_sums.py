"""Scores of labels: the sums of the rows of weights that belong to the features of tokens."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.vectors import add_rows, add_split_rows

_0, _1 = np.uint64(0), np.uint64(1)


class Tails(NamedTuple):
    """The second parts of rows whose first parts are a cache line each; see `lowlevel.vectors`."""

    rows: np.ndarray  # of int16
    swaps: np.ndarray  # pairs of labels, of the first and of the second part, that changed places


@jit(inline=True)
def score_tokens(W, ids, first, m, T, then, s):
    """s[i] = the sum of the rows of token i: ids[first + i T] and the T - 1 behind it.

    The rows of the next token are fetched meanwhile; after the last, those that ids[then] begins.
    """
    last = m - _1
    for i in range(m):
        at = first + i * T
        add_rows(W, ids, at, T, at + T if i < last else then, s, i)


@jit(inline=True)
def score_split_tokens(heads, tails, ids, m, T, s):
    """As `score_tokens`, for rows in two parts."""
    last = m - _1
    for i in range(m):
        at = i * T
        then = at + T if i < last else _0
        add_split_rows(heads, tails.rows, ids, at, T, then, s, i)
        for k in range(len(tails.swaps)):
            y, z = tails.swaps[k, 0], tails.swaps[k, 1]
            s[i, y], s[i, z] = s[i, z], s[i, y]
