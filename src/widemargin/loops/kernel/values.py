"""Turns products into kernel values, block by block, in place.

BLAS gives K[i, j] = a_i . b_j. The rest is one pass over the block: powers, or distances and an
exponential. numpy's own exponential would take longer than the products, so there is one here that
the compiler turns into vector instructions: with k the whole number next to x / ln 2 and
r = x - k ln 2,

    exp(x) = 2^k exp(r),    exp(r) by its Taylor polynomial, |r| <= ln 2 / 2

where 2^k is made by putting k into the exponent of a float. Relative error below 3e-7 in float32
and 1e-15 in float64. Results below the smallest normal number become 0.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import FUSED, INLINE, SUMS, jit, overload

#: Adding and subtracting 1.5 x 2^23 (2^52) rounds to a whole number, found in the lowest bits.
_ROUND32, _ROUND64 = np.float32(12582912.0), 6755399441055744.0
_LOG2E32, _LOG2E64 = np.float32(1.4426950408889634), 1.4426950408889634
#: ln 2 as the sum of a number with few digits, whose multiples are exact, and the rest: those of
#: the Cephes library (float32) and of fdlibm (float64).
_LN2_HIGH32, _LN2_LOW32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
_LN2_HIGH64, _LN2_LOW64 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
#: Below these the result is not a normal number.
_LOWEST32, _LOWEST64 = np.float32(-87.0), -708.0

# 1/k!, k = 2, 3, ..., 7 and 13
_1_32, _0_32 = np.float32(1), np.float32(0)
_C2_32, _C3_32, _C4_32 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_C5_32, _C6_32, _C7_32 = np.float32(1 / 120), np.float32(1 / 720), np.float32(1 / 5040)
_INVERSE_FACTORIALS = [1.0]
for _k in range(1, 14):
    _INVERSE_FACTORIALS.append(_INVERSE_FACTORIALS[-1] / _k)
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = _INVERSE_FACTORIALS[2:]


def fast_exp(x):
    """exp(x) for x <= 0, of the type of x; NaN stays NaN."""
    return _exp32(x) if x.dtype == np.float32 else _exp64(x)


def _exp32(x):
    v = _LOWEST32 if x < _LOWEST32 else x
    t = v * _LOG2E32 + _ROUND32
    k = t - _ROUND32
    r = (v - k * _LN2_HIGH32) - k * _LN2_LOW32
    p = _C6_32 + r * _C7_32
    p = _C5_32 + r * p
    p = _C4_32 + r * p
    p = _C3_32 + r * p
    p = _C2_32 + r * p
    p = _1_32 + r * p
    p = _1_32 + r * p
    bits = (np.float32(t).view(np.int32) + np.int32(127)) << np.int32(23)
    return _0_32 if x < _LOWEST32 else p * np.int32(bits).view(np.float32)


def _exp64(x):
    v = _LOWEST64 if x < _LOWEST64 else x
    t = v * _LOG2E64 + _ROUND64
    k = t - _ROUND64
    r = (v - k * _LN2_HIGH64) - k * _LN2_LOW64
    p = _C12 + r * _C13
    p = _C11 + r * p
    p = _C10 + r * p
    p = _C9 + r * p
    p = _C8 + r * p
    p = _C7 + r * p
    p = _C6 + r * p
    p = _C5 + r * p
    p = _C4 + r * p
    p = _C3 + r * p
    p = _C2 + r * p
    p = 1.0 + r * p
    p = 1.0 + r * p
    bits = (np.float64(t).view(np.int64) + np.int64(1023)) << np.int64(52)
    return 0.0 if x < _LOWEST64 else p * np.int64(bits).view(np.float64)


@overload(fast_exp, jit_options=FUSED | INLINE)
def _fast_exp(x):
    return _exp32 if str(x) == "float32" else _exp64


@jit()
def finish_powers(K, gamma, coef0, d):
    """K = (gamma K + coef0) ^ d, by squaring: log2 d to 2 log2 d products per value."""
    one, g, c = K.dtype.type(1), K.dtype.type(gamma), K.dtype.type(coef0)
    base = np.empty(K.shape[1], K.dtype)
    for i in range(len(K)):
        v = K[i]
        for j in range(len(v)):
            base[j] = g * v[j] + c
            v[j] = one
        left = d
        while left > 0:
            if left & np.uint64(1):
                for j in range(len(v)):
                    v[j] *= base[j]
            left >>= np.uint64(1)
            if left > 0:
                for j in range(len(v)):
                    base[j] *= base[j]


@jit()
def finish_distances(K, p, q, gamma, root):
    """From products to exp(-gamma |a_i - b_j|^2); with `root` the distance is not squared.

    p and q hold the squared lengths; if they are empty, K holds distances already.
    """
    zero, g = K.dtype.type(0), K.dtype.type(-gamma)
    two, g2 = K.dtype.type(2), K.dtype.type(2.0 * gamma)
    ready = np.empty(len(q), K.dtype)
    for j in range(len(q)):
        ready[j] = q[j] if root else -gamma * q[j]
    for i in range(len(K)):
        v = K[i]
        if len(q) == 0:
            for j in range(len(v)):
                v[j] = fast_exp(g * v[j])
        elif root:
            a = K.dtype.type(p[i])
            for j in range(len(v)):
                s = (a - two * v[j]) + ready[j]
                v[j] = fast_exp(g * np.sqrt(zero if s < zero else s))
        else:
            a = K.dtype.type(-gamma * p[i])
            for j in range(len(v)):
                s = (a + g2 * v[j]) + ready[j]
                v[j] = fast_exp(zero if s > zero else s)


def city(x, z):
    """The distance sum_k |x_k - z_k| of two vectors."""
    s = x.dtype.type(0)
    for k in range(len(x)):
        s += abs(x[k] - z[k])
    return s


@overload(city, jit_options=SUMS | INLINE)
def _city(x, z):
    return city


@jit()
def city_distances_dense(a, b, D):
    """D[i, j] = sum_k |a_ik - b_jk|."""
    for i in range(len(D)):
        for j in range(D.shape[1]):
            D[i, j] = city(a.values[i], b.values[j])


@jit()
def city_distances_sparse(a, b, work, D):
    """D[i, j] = sum_k |a_ik - b_jk|; `work` is a vector of zeros and is left so.

    Reads rows directly: a sum of absolute values cannot be computed from products.
    """
    one = np.uint64(1)
    for i in range(len(D)):
        first, last = a.starts[np.uint64(i)], a.starts[np.uint64(i) + one]
        total = 0.0
        for k in range(first, last):
            work[a.indices[k]] = a.values[k]
            total += abs(a.values[k])
        for j in range(D.shape[1]):
            # where b_j is zero the difference is |a_ik|
            s = total
            for k in range(b.starts[np.uint64(j)], b.starts[np.uint64(j) + one]):
                x = work[b.indices[k]]
                s += abs(x - b.values[k]) - abs(x)
            D[i, j] = s
        for k in range(first, last):
            work[a.indices[k]] = 0.0
