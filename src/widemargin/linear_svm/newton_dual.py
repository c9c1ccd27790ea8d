"""Newton steps for a block of dual values: what coordinate descent is slow at.

Where many examples pull in nearly the same direction, changing one alpha at a time creeps. But
which examples end at a bound soon becomes clear, and for the others the dual is a plain quadratic:

    max over 0 <= a <= cap of  g.(a - a0) - 1/2 (a - a0).K.(a - a0),     K_ij = y_i y_j x_i.x_j

with soft added to the diagonal. This is solved by projected Newton steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from widemargin.data.rows import Rows

#: Newton steps at the most.
_ROUNDS = 40
#: The last step's part of the gain when it is time to look at the other examples again.
_ENOUGH = 1e-2
#: Added to the diagonal, as a part of it, so that rows which depend on each other do no harm.
_RIDGE = 1e-13


class Block(NamedTuple):
    """A quadratic over a box."""

    K: np.ndarray
    g: np.ndarray  # the slope at a
    a: np.ndarray
    cap: np.ndarray


def gram(rows: Rows, which: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """y_i y_j x_i.x_j of some rows, the constant feature included, in float64."""
    matrix = rows.take(which).to_matrix()
    K = matrix.astype(np.float64) @ matrix.T.astype(np.float64)
    K = K.toarray() if rows.is_sparse else K
    K += rows.bias**2
    K *= signs[:, None]
    K *= signs
    return K


def climb_block(block: Block) -> tuple[np.ndarray, float]:
    """The best a that a few projected Newton steps find, and by how much the dual grows."""
    K, g, a, cap = block.K, block.g.copy(), block.a.copy(), block.cap
    size = np.sqrt(np.maximum(np.diag(K), np.finfo(np.float64).tiny))
    worth, gain = math.inf, 0.0
    for _ in range(_ROUNDS):
        if worth <= _ENOUGH * gain:
            break
        free = ((a > 0.0) | (g > 0.0)) & ((a < cap) | (g < 0.0))
        p = _newton(K, g, size, free)
        # A step out of the box from its very edge is none; try again without it.
        blocked = ((a <= 0.0) & (p < 0.0)) | ((a >= cap) & (p > 0.0))
        if np.any(blocked):
            free &= ~blocked
            p = _newton(K, g, size, free)
            p[((a <= 0.0) & (p < 0.0)) | ((a >= cap) & (p > 0.0))] = 0.0
        if not float(g @ p) > 0.0:
            p = np.where(free, g / size**2, 0.0)
        worth = _follow(K, g, a, cap, p)
        gain += worth
    return a, gain


def _newton(K: np.ndarray, g: np.ndarray, size: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Solve K p = g among the free ones, each scaled to length one."""
    p = np.zeros(len(g))
    which = np.flatnonzero(free)
    if not len(which):
        return p
    scale = size[which]
    A = K[which[:, None], which]
    A /= scale[:, None]
    A /= scale
    A.flat[:: len(which) + 1] += _RIDGE * len(which)
    _, solved, trouble = dposv(A, g[which] / scale, overwrite_a=True)
    if trouble == 0 and np.all(np.isfinite(solved)):
        p[which] = solved / scale
    return p


def _follow(K: np.ndarray, g: np.ndarray, a: np.ndarray, cap: np.ndarray, p: np.ndarray) -> float:
    """Go along clip(a + t p, 0, cap) as long as the dual grows, changing a and g; returns the gain.

    Whenever a value meets its bound it stays there and the others go on.
    """
    p = p.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(p > 0.0, (cap - a) / p, np.where(p < 0.0, -a / p, np.inf))
    Kp = K @ p
    t, gain = 0.0, 0.0
    for i in np.argsort(ends, kind="stable"):
        rise, bend = float(g @ p), float(p @ Kp)
        if rise <= 0.0:
            break
        best = rise / bend if bend > 0.0 else math.inf
        step = min(best, ends[i] - t)
        if not math.isfinite(step):
            break
        a += step * p
        g -= step * Kp
        gain += step * (rise - 0.5 * step * bend)
        t += step
        if step == best:
            break
        a[i] = cap[i] if p[i] > 0.0 else 0.0
        Kp -= p[i] * K[:, i]
        p[i] = 0.0
    np.clip(a, 0.0, cap, out=a)
    return gain
