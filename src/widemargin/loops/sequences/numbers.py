"""Numeric features of tokens, as opposed to features that are present or absent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit

_1 = np.uint64(1)


class Numbers(NamedTuple):
    """Numeric features: token i has the values x[k], for starts[i] <= k < starts[i + 1]."""

    starts: np.ndarray  # empty if no token has any
    rows: np.ndarray  # of V
    x: np.ndarray
    V: np.ndarray  # weights; while learning, the last of the rows of features in W


@jit(inner=True)
def add_numbers(s, m, n, numbers, first):
    """s[i] += x v for all numbers of the tokens first up to first + m."""
    for i in range(m):
        for k in range(numbers.starts[first + i], numbers.starts[first + i + _1]):
            row = np.uint64(numbers.rows[k])
            for y in range(np.uint64(n)):
                s[i, y] = np.float64(s[i, y]) + numbers.x[k] * np.float64(numbers.V[row, y])
