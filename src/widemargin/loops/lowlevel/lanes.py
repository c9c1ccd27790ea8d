"""Weights of several classes side by side: a row of V for each feature, a lane for each class.

    weigh_rows(V, x, ids, first, last, s)    s = the sum of x[k] V[ids[k]], first <= k < last
    add_to_rows(V, x, ids, first, last, t)   V[ids[k]] += x[k] t

V is a C-ordered float32 matrix whose width is a multiple of 8; x, s and t are float32. The sums,
and t, stay in registers. With the compiler off the plain functions below do the same, to the bit.
"""

from __future__ import annotations

#: Lanes come in multiples of this: a register of AVX2.
LANES = 8


def weigh_rows(V, x, ids, first, last, s):
    """Add up: s = the sum of x[k] V[ids[k]] for first <= k < last.

    By hand, because the compiler keeps the sums in memory: with 20 values in a row and 32 lanes a
    pass of `lanes_pass` takes about half as long as with the plain functions.
    """
    s[:] = 0
    for k in range(first, last):
        s += x[k] * V[ids[k]]


def add_to_rows(V, x, ids, first, last, t):
    """Add to rows: V[ids[k]] += x[k] t for first <= k < last."""
    for k in range(first, last):
        row = V[ids[k]]
        row += x[k] * t
