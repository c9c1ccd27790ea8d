"""Corrections of a table of weights: rows are features, columns actions or labels."""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit


@jit(inline=True)
def move_weights(W, U, ids, right, wrong, t):
    """Add 1 to the weights of the right column and take 1 from the wrong one, at time t."""
    for k in range(np.uint64(len(ids))):
        r = ids[k]
        W[r, right] += np.float32(1)
        W[r, wrong] -= np.float32(1)
        U[r, right] += t
        U[r, wrong] -= t


@jit(inline=True)
def add_to_column(W, U, ids, a, step, t):
    """Add a step to the weights of column a, at time t."""
    for k in range(np.uint64(len(ids))):
        W[ids[k], a] += np.float32(step)
        U[ids[k], a] += step * t
