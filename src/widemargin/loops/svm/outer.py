"""Outer products of sparse rows."""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit

_ONE = np.uint64(1)


@jit(inline=True)
def add_outer(H, a, values, indices):
    """H += a x x', each product in one of its two places: below the diagonal if columns ascend."""
    for k in range(np.uint64(len(values))):
        v, h = a * values[k], H[indices[k]]
        for p in range(k + _ONE):
            h[indices[p]] += v * values[p]
