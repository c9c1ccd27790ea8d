"""Gaussian kernel values of some rows with many others, without intermediate results in memory.

BLAS repacks both matrices for every product. Here the many rows are packed once, in panels of 16
side by side, and are multiplied with few rows or many at the same speed: 6 rows with a panel in one
pass over the features (`multiply_panel` in `loops/lowlevel`).

    pack(X, P)                              P[g, k, j] = X[16 g + j, k]
    gaussian_rows(X, which, p, P, q, ...)   K(x, z) = exp(-gamma |x - z|^2), for x in X and z in P
    gaussian_sums(X, p, P, q, gamma, W, S)  sums of them, weighted by W: the scores of z in P

A value does not depend on the shape of its block.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import FUSED, INLINE, jit, overload
from widemargin.loops.kernel.values import fast_exp
from widemargin.loops.lowlevel.panel_products import PANEL, ROWS, multiply_panel

#: Maximum number of panels processed in a group: 6 rows of 128 results are 3 KB, ...
GROUP = 8
#: ... and maximum number of values in these panels, 400 KB: they stay in an L2 cache of 512 KB.
_NUMBERS = np.uint64(102_400)
#: Longer rows are left to BLAS, which processes them in pieces: 6 rows and a panel of 4,096
#: features are 360 KB, which just fits into the L2 cache.
LONGEST = 4096
_PANEL, _ROWS, _GROUP = np.uint64(PANEL), np.uint64(ROWS), np.uint64(GROUP)
_ONE = np.uint64(1)


@jit()
def pack(X, P):
    """P[g, k, j] = X[16 g + j, k]; what is beyond the last row is zero."""
    n, width = np.uint64(X.shape[0]), np.uint64(X.shape[1])
    for g in range(np.uint64(len(P))):
        panel = P[g]
        for j in range(_PANEL):
            i = g * _PANEL + j
            if i < n:
                x = X[i]
                for k in range(width):
                    panel[k, j] = x[k]
            else:
                for k in range(width):
                    panel[k, j] = 0.0


@jit(inline=True)
def _gaussian_values(X, i, following, p, P, group, panels, z, step, ready, gamma, T):
    """Write the kernel values of 6 rows with a group of panels into T."""
    zero, g2 = np.float32(0), np.float32(2.0 * gamma)
    size = np.uint64(P.shape[1]) * _PANEL
    for t in range(panels):
        x = following[min(t, _ROWS - _ONE)]
        multiply_panel(X, i, P, group + t, T, t, x, (group + panels + t) * size + z, step)
    for r in range(_ROWS):
        a, s = np.float32(-gamma * p[i[r]]), T[r]
        for j in range(panels * _PANEL):
            e = (a + g2 * s[j]) + ready[j]
            s[j] = fast_exp(zero if e > zero else e)


@jit(inline=True)
def _panels_together(P):
    """The number of panels in a group: as many as fit into the L2 cache."""
    return max(_ONE, min(_GROUP, _NUMBERS // (np.uint64(P.shape[1]) * _PANEL + _ONE)))


@jit(inline=True)
def _scale_lengths(ready, q, start, count, gamma):
    """The terms that the squared lengths of a group add in the exponent; 0 for padding."""
    for j in range(np.uint64(len(ready))):
        ready[j] = -gamma * q[start + j] if j < count else 0.0


@jit()
def gaussian_rows(X, which, p, P, q, gamma, K, slots, first, last):
    """K[slots[k], j] = exp(-gamma |x - z_j|^2) for the rows x = X[which[k]].

    For the rows z_j of the panels from `first` to `last`. The squared lengths are p[which[k]] and
    q[j]. Costs a product and an exponential per value, including the padding of the last rows and
    panel.
    """
    m, n = np.uint64(len(which)), np.uint64(len(q))
    width, together = np.uint64(X.shape[1]), _panels_together(P)
    T = np.empty((ROWS, GROUP * PANEL), np.float32)
    ready, i = np.empty(GROUP * PANEL, np.float32), np.empty(ROWS, np.uint64)
    following = np.empty(ROWS, np.uint64)
    step = _PANEL * _ROWS // max(m, _ONE) + _ONE  # so that a whole panel is prefetched in time
    for group in range(first, last, together):
        panels, start = min(together, last - group), group * _PANEL
        count = min(panels * _PANEL, n - start)
        _scale_lengths(ready, q, start, count, gamma)
        for k in range(np.uint64(0), m, _ROWS):
            for r in range(_ROWS):  # beyond the last row, repeat it
                i[r] = which[min(k + r, m - _ONE)]
                following[r] = which[min(k + r + _ROWS, m - _ONE)]
            z = k // _ROWS * width * step
            _gaussian_values(X, i, following, p, P, group, panels, z, step, ready, gamma, T)
            for r in range(min(_ROWS, m - k)):
                s, v = T[r], K[slots[k + r]]
                for j in range(count):
                    v[start + j] = s[j]


def add_weighted_rows(T, w, s, start, count):
    """s[start + j] += sum_r w[r] T[r, j], for 6 rows."""
    a, b, c, d, e, f = T[0], T[1], T[2], T[3], T[4], T[5]
    for j in range(count):
        s[start + j] += np.float64(
            ((w[0] * a[j] + w[1] * b[j]) + (w[2] * c[j] + w[3] * d[j]))
            + (w[4] * e[j] + w[5] * f[j])
        )


@overload(add_weighted_rows, jit_options=FUSED | INLINE)
def _add_weighted_rows(T, w, s, start, count):
    return add_weighted_rows


@jit()
def gaussian_sums(X, p, P, q, gamma, W, S):
    """S[c, j] += sum_i W[c, i] exp(-gamma |x_i - z_j|^2), the scores of the rows z_j of P.

    Kernel values never leave the L1 cache. Zeros in W cost little.
    """
    m, n, last = np.uint64(len(X)), np.uint64(len(q)), np.uint64(len(P))
    width, together = np.uint64(X.shape[1]), _panels_together(P)
    T = np.empty((ROWS, GROUP * PANEL), np.float32)
    ready, i = np.empty(GROUP * PANEL, np.float32), np.empty(ROWS, np.uint64)
    following, w = np.empty(ROWS, np.uint64), np.empty(ROWS, np.float32)
    step = _PANEL * _ROWS // max(m, _ONE) + _ONE  # so that a whole panel is prefetched in time
    for group in range(np.uint64(0), last, together):
        panels, start = min(together, last - group), group * _PANEL
        count = min(panels * _PANEL, n - start)
        _scale_lengths(ready, q, start, count, gamma)
        for k in range(np.uint64(0), m, _ROWS):
            for r in range(_ROWS):
                i[r] = min(k + r, m - _ONE)
                following[r] = min(k + r + _ROWS, m - _ONE)
            z = k // _ROWS * width * step
            _gaussian_values(X, i, following, p, P, group, panels, z, step, ready, gamma, T)
            for c in range(np.uint64(len(S))):
                some = False
                for r in range(_ROWS):
                    w[r] = W[c, i[r]] if k + r < m else 0.0
                    some |= w[r] != 0.0
                if some:
                    add_weighted_rows(T, w, S[c], start, count)
