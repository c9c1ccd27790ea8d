"""Loops that decide whether a hyperplane separates two classes.

Letters: z_i = y_i x_i is an example turned to the positive side, so that w separates if
w . z_i > 0 for all i. G holds the products z_i . z_j of a few examples, the working set.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import INLINE, OPTIONS, jit, overload
from widemargin.loops.storage import add, dot, look_ahead, pick_storage

_ONE = np.uint64(1)
#: 2^27 + 1, by which Dekker (1971) splits a double into two halves of 26 bits.
_SPLIT = 134217729.0


@jit()
def perceptron_pass(rows, y, order, step, w, a):
    """One epoch of the perceptron with a step for every example; returns its mistakes.

        for i in order:
            if y_i w . x_i <= 0:
                w += step_i y_i x_i
                a_i += step_i

    So w is the sum of a_i z_i, and |w| / sum a is no less than the margin. Changes w and a.
    """
    mistakes = 0
    for j in range(len(order)):
        look_ahead(rows, order, j)
        i = order[j]
        if y[i] * dot(rows, i, w) <= 0.0:
            add(w, y[i] * step[i], rows, i)
            a[i] += step[i]
            mistakes += 1
    return mistakes


@jit()
def hard_margin_pass(rows, y, order, q, b, w, a):
    """One epoch of dual coordinate descent for the hard-margin SVM; returns its mistakes.

        for i in order:
            move a_i so that y_i (w . x_i + b) = 1, but not below 0;  w = sum of a_i z_i

    q holds the squared norms. Changes w and a.
    """
    mistakes = 0
    for j in range(len(order)):
        look_ahead(rows, order, j)
        i = order[j]
        m = y[i] * (dot(rows, i, w) + b)
        mistakes += m <= 0.0
        # Not `reach` of `loops/steps.py`, which takes a_i away from a_i + tau: where a_i is large,
        # as it becomes near the hard margin, that rounds away the digits of a short step.
        tau = max((1.0 - m) / q[i], -a[i])
        if tau != 0.0:
            add(w, y[i] * tau, rows, i)
            a[i] += tau
    return mistakes


def fingerprint(rows, i, bits, r):
    """A fingerprint of row i that does not depend on how it is stored."""
    return pick_storage(rows, _fingerprint_dense, _fingerprint_sparse)(rows, i, bits, r)


def _fingerprint_dense(rows, i, bits, r):
    h = np.uint64(0)
    x = bits[i]
    for j in range(len(x)):
        h += _mix(x[j], r[j])
    return h


def _fingerprint_sparse(rows, i, bits, r):
    h = np.uint64(0)
    for k in range(rows.starts[i], rows.starts[i + _ONE]):
        h += _mix(bits[k], r[rows.indices[k]])
    return h


@jit(inline=True)
def _mix(bits, r):
    """Scatter the bits of one value; zero, of either sign, gives zero."""
    v = np.uint64(bits) * r
    v ^= v >> np.uint64(31)
    v *= np.uint64(0x9E3779B97F4A7C15)
    v ^= v >> np.uint64(29)
    return v


@overload(fingerprint, jit_options=OPTIONS | INLINE)
def _fingerprint(rows, i, bits, r):
    return pick_storage(rows, _fingerprint_dense, _fingerprint_sparse)


@jit()
def fingerprint_rows(rows, bits, r, out):
    """out[i] = the fingerprint of row i; `bits` are the values as unsigned numbers."""
    for i in range(np.uint64(len(out))):
        out[i] = fingerprint(rows, i, bits, r)


def accurate_dot(rows, i, w):
    """The product w . x for row i, as if computed with twice the digits and then rounded."""
    return pick_storage(rows, _accurate_dot_dense, _accurate_dot_sparse)(rows, i, w)


def _accurate_dot_dense(rows, i, w):
    x = rows.values[i]
    s, t = two_product(np.float64(rows.bias), w[len(w) - 1])
    for j in range(len(x)):
        s, t = add_product(s, t, np.float64(x[j]), w[j])
    return s + t


def _accurate_dot_sparse(rows, i, w):
    s, t = two_product(np.float64(rows.bias), w[len(w) - 1])
    for k in range(rows.starts[i], rows.starts[i + _ONE]):
        s, t = add_product(s, t, np.float64(rows.values[k]), w[rows.indices[k]])
    return s + t


@jit(inline=True)
def two_product(a, b):
    """A b as the rounded product and its error (Dekker)."""
    p = a * b
    c = _SPLIT * a
    ah = c - (c - a)
    c = _SPLIT * b
    bh = c - (c - b)
    return p, (ah * bh - p) + ah * (b - bh) + (a - ah) * bh + (a - ah) * (b - bh)


@jit(inline=True)
def add_product(s, t, a, b):
    """Add a b to the sum s, whose errors gather in t."""
    p, e = two_product(a, b)
    total = s + p
    back = total - s
    return total, t + (((s - (total - back)) + (p - back)) + e)


@overload(accurate_dot, jit_options=OPTIONS | INLINE)
def _accurate_dot(rows, i, w):
    return pick_storage(rows, _accurate_dot_dense, _accurate_dot_sparse)


@jit()
def accurate_dots(rows, y, w, out):
    """out[i] = y_i w . x_i, as if computed with twice the digits."""
    for i in range(np.uint64(len(out))):
        out[i] = y[i] * accurate_dot(rows, i, w)
