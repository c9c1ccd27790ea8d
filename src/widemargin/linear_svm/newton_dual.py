"""Projected Newton steps for a block of dual values, where coordinate descent is slow.

Where many examples pull in nearly the same direction, changing one alpha at a time makes little
progress. But it soon becomes clear which examples will end at a bound, and for the others the dual
is a plain quadratic:

    max over 0 <= a <= cap of  g.(a - a0) - 1/2 (a - a0).K.(a - a0),     K_ij = y_i y_j x_i.x_j

with soft added to the diagonal. It is solved by projected Newton steps: see D. P. Bertsekas (1982),
Projected Newton methods for optimization problems with simple constraints, SIAM J. Control 20.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from widemargin.data.rows import Rows

#: The largest number of Newton steps. Chosen by hand; about 20 are usual. The ascent continues from
#: wherever they end, so it affects only the time.
_STEPS = 40
#: The steps end when the last one brought less than this fraction of the total gain: then it is
#: time to return to the other examples. Chosen by hand; it affects only the time.
_SMALL_GAIN = 1e-2
#: Added to the scaled diagonal per row, so that linearly dependent rows can be factorised.
#: A few hundred times the rounding of float64.
_RIDGE = 1e-13


class DualBlock(NamedTuple):
    """The dual as a quadratic over a box, for some of the dual values."""

    K: np.ndarray
    g: np.ndarray  # the slope at a
    a: np.ndarray
    cap: np.ndarray


def gram(rows: Rows, which: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return y_i y_j x_i.x_j for some rows in float64, including the constant feature."""
    matrix = rows.take(which).to_matrix()
    K = matrix.astype(np.float64) @ matrix.T.astype(np.float64)
    K = K.toarray() if rows.is_sparse else K
    K += rows.bias**2
    K *= signs[:, None]
    K *= signs
    return K


def maximise_block(block: DualBlock) -> tuple[np.ndarray, float]:
    """Return the best a that a few projected Newton steps find, and by how much the dual grows."""
    K, g, a, cap = block.K, block.g.copy(), block.a.copy(), block.cap
    norms = np.sqrt(np.maximum(np.diag(K), np.finfo(np.float64).tiny))
    gained, total = math.inf, 0.0
    for _ in range(_STEPS):
        if gained <= _SMALL_GAIN * total:
            break
        free = ((a > 0.0) | (g > 0.0)) & ((a < cap) | (g < 0.0))
        p = _newton_direction(K, g, norms, free)
        # A value at its bound cannot move out of the box: solve again without such values.
        blocked = ((a <= 0.0) & (p < 0.0)) | ((a >= cap) & (p > 0.0))
        if np.any(blocked):
            free &= ~blocked
            p = _newton_direction(K, g, norms, free)
            p[((a <= 0.0) & (p < 0.0)) | ((a >= cap) & (p > 0.0))] = 0.0
        if not float(g @ p) > 0.0:
            p = np.where(free, g / norms**2, 0.0)
        gained = _search_along(K, g, a, cap, p)
        total += gained
    return a, total


def _newton_direction(
    K: np.ndarray, g: np.ndarray, norms: np.ndarray, free: np.ndarray
) -> np.ndarray:
    """Solve K p = g for the free values, with each row and column scaled to unit length."""
    p = np.zeros(len(g))
    which = np.flatnonzero(free)
    if not len(which):
        return p
    scale = norms[which]
    A = K[which[:, None], which]
    A /= scale[:, None]
    A /= scale
    A.flat[:: len(which) + 1] += _RIDGE * len(which)
    _, solved, trouble = dposv(A, g[which] / scale, overwrite_a=True)
    if trouble == 0 and np.all(np.isfinite(solved)):
        p[which] = solved / scale
    return p


def _search_along(
    K: np.ndarray, g: np.ndarray, a: np.ndarray, cap: np.ndarray, p: np.ndarray
) -> float:
    """Follow clip(a + t p, 0, cap) while the dual grows; return the gain. Changes a and g.

    A value that reaches its bound stays there, and the others continue.
    """
    p = p.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(p > 0.0, (cap - a) / p, np.where(p < 0.0, -a / p, np.inf))
    Kp = K @ p
    t, gain = 0.0, 0.0
    for i in np.argsort(ends, kind="stable"):
        slope, curvature = float(g @ p), float(p @ Kp)
        if slope <= 0.0:
            break
        best = slope / curvature if curvature > 0.0 else math.inf
        step = min(best, ends[i] - t)
        if not math.isfinite(step):
            break
        a += step * p
        g -= step * Kp
        gain += step * (slope - 0.5 * step * curvature)
        t += step
        if step == best:
            break
        a[i] = cap[i] if p[i] > 0.0 else 0.0
        Kp -= p[i] * K[:, i]
        p[i] = 0.0
    np.clip(a, 0.0, cap, out=a)
    return gain
