"""Gaussian kernel values of rows in which every value is either 0 or the same number v.

Such a row is a string of bits, 32 in a word, and the product of two rows is v^2 times the number of
ones that they share: a few instructions for 32 features. The many rows are laid out word by word,
P[w, j], so that one instruction serves several of them.

    pack_bits(X, A)                           bit k % 32 of A[i, k / 32] says whether X[i, k] is v
    bit_rows(A, which, p, P, q, ...)          K(x, z) = exp(-gamma |x - z|^2), for x in A and z in P
    bit_sums(A, p, P, q, gamma, unit, W, S)   sums of them, weighted by W: the scores of z in P

If v is 1, the values are bit-identical to those from products of the rows as vectors: those
products are also whole numbers, and the rest is the same formula.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.kernel.panels import add_weighted_rows
from widemargin.loops.kernel.values import fast_exp
from widemargin.loops.lowlevel.bit_counts import count_bits
from widemargin.loops.lowlevel.panel_products import ROWS

#: Number of columns computed together: 2 KB of counts, and 2 KB for every 32 features.
TILE = 512
#: Bits of a word.
WORD = 32
_TILE, _WORD, _ROWS = np.uint64(TILE), np.uint64(WORD), np.uint64(ROWS)
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_BIT = np.uint32(1)


@jit()
def pack_bits(X, A):
    """Set the bits of A, all zero before, and return v; 0 if X is zero, NaN if v is not unique."""
    v = X.dtype.type(0)
    for i in range(np.uint64(len(X))):
        x, words = X[i], A[i]
        for k in range(np.uint64(len(x))):
            if x[k] != 0:
                v = x[k] if v == 0 else v
                if x[k] != v:
                    return np.nan
                bit = np.uint32(_BIT << np.uint32(k % _WORD))
                words[k // _WORD] = np.uint32(words[k // _WORD] | bit)
    return np.float64(v)


@jit(inline=True)
def _common_ones(a, P, start, count, h):
    """h[j] = the number of bits that the row a shares with row start + j of P."""
    words = np.uint64(len(a))
    whole = words - words % _FOUR
    for j in range(count):
        h[j] = 0
    for w in range(np.uint64(0), whole, _FOUR):
        a0, a1, a2, a3 = a[w], a[w + _ONE], a[w + _TWO], a[w + _THREE]
        b0, b1, b2, b3 = P[w], P[w + _ONE], P[w + _TWO], P[w + _THREE]
        for j in range(count):
            k = start + j
            h[j] += np.int32(
                (count_bits(a0 & b0[k]) + count_bits(a1 & b1[k]))
                + (count_bits(a2 & b2[k]) + count_bits(a3 & b3[k]))
            )
    for w in range(whole, words):
        a0, b0 = a[w], P[w]
        for j in range(count):
            h[j] += np.int32(count_bits(a0 & b0[start + j]))


@jit(inline=True)
def _bit_values(a, length, P, start, count, ready, gamma, unit, h, v, at):
    """Write the kernel values of a row of bits with `count` others into v, from `at` on."""
    _common_ones(a, P, start, count, h)
    kind = v.dtype.type
    zero, e0, g2, u = kind(0), kind(-gamma * length), kind(2.0 * gamma), kind(unit)
    for j in range(count):
        e = (e0 + g2 * (u * kind(h[j]))) + ready[j]
        v[at + j] = fast_exp(zero if e > zero else e)


@jit(inline=True)
def _scale_lengths(ready, q, start, count, gamma):
    """The terms that the squared lengths of some columns add in the exponent."""
    for j in range(count):
        ready[j] = -gamma * q[start + j]


@jit()
def bit_rows(A, which, p, P, q, gamma, unit, K, slots, first, last):
    """K[slots[k], j] = exp(-gamma |x - z_j|^2) for the rows x = A[which[k]] of bits.

    For the columns z_j of P from `first` to `last`; `unit` is v^2. The squared lengths are
    p[which[k]] and q[j], which may count more features than the bits do. Costs an exponential per
    value, and a count of bits for every 32 features.
    """
    h, ready = np.empty(TILE, np.int32), np.empty(TILE, K.dtype)
    for start in range(first, last, _TILE):
        count = min(_TILE, last - start)
        _scale_lengths(ready, q, start, count, gamma)
        for k in range(np.uint64(len(which))):
            i, v = which[k], K[slots[k]]
            _bit_values(A[i], p[i], P, start, count, ready, gamma, unit, h, v, start)


@jit()
def bit_sums(A, p, P, q, gamma, unit, W, S):
    """S[c, j] += sum_i W[c, i] exp(-gamma |x_i - z_j|^2), the scores of the rows z_j of P.

    Kernel values never leave the L1 cache. Zeros in W cost little.
    """
    m, n = np.uint64(len(A)), np.uint64(len(q))
    h, ready = np.empty(TILE, np.int32), np.empty(TILE, W.dtype)
    T, w = np.zeros((ROWS, TILE), W.dtype), np.empty(ROWS, W.dtype)
    for start in range(np.uint64(0), n, _TILE):
        count = min(_TILE, n - start)
        _scale_lengths(ready, q, start, count, gamma)
        for k in range(np.uint64(0), m, _ROWS):
            for r in range(min(_ROWS, m - k)):
                i = k + r
                _bit_values(A[i], p[i], P, start, count, ready, gamma, unit, h, T[r], np.uint64(0))
            for c in range(np.uint64(len(S))):
                some = False
                for r in range(_ROWS):
                    w[r] = W[c, k + r] if k + r < m else 0.0
                    some |= w[r] != 0.0
                if some:
                    add_weighted_rows(T, w, S[c], start, count)
