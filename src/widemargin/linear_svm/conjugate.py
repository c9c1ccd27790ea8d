"""Conjugate gradients for all dual values between their bounds, where thousands of them compete.

Close to the optimum it is clear which examples end at a bound, and for the others (F) the dual is a
plain quadratic, whose maximum is a step p away:

    K_FF p = g_F,    K_ij = y_i y_j x_i.x_j  (with soft added to the diagonal),   g the slope

Coordinate descent solves this system by Gauss and Seidel's method. Conjugate gradients take about
the square root of its number of passes and need only products K p = y X X' (y p), each as expensive
as a pass, however many columns there are. The diagonal of K is the preconditioner. See J. Nocedal
and S. J. Wright (2006), Numerical optimization, algorithm 5.3, and 16.7 for the projection.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.loops.svm.dual import combine
from widemargin.online.scores import scores

#: The solution of the system is precise enough once its residual has shrunk to this fraction: more
#: precision is worth little while values still reach their bounds. Chosen by hand; it affects only
#: the time.
_PRECISE = 0.1
#: How often the step is halved if the projection turned it into a descent. Chosen by hand; after
#: that the step is given up.
_HALVINGS = 6


class FreeValues(NamedTuple):
    """The dual values between their bounds: their examples, signs, values, bounds and slopes."""

    rows: Rows
    which: np.ndarray
    signs: np.ndarray
    a: np.ndarray
    cap: np.ndarray
    g: np.ndarray
    soft: np.ndarray
    diagonal: np.ndarray  # of K, which is positive

    def combined(self, amounts: np.ndarray) -> np.ndarray:
        """The weights of these amounts: sum_i amounts_i y_i x_i."""
        v = np.zeros(self.rows.width + 1)
        combine(self.rows.stored, self.which, amounts * self.signs, v)
        return v


def solve_system(free: FreeValues, most: int) -> Iterator[np.ndarray]:
    """Yield ever better solutions p of K p = g, at most `most`, each a larger gain than before."""
    p, r = np.zeros(len(free.a)), free.g.copy()
    z = r / free.diagonal
    d, rz = z.copy(), float(r @ z)
    enough = _PRECISE**2 * rz
    for _ in range(most):
        if not rz > enough:
            return
        v = free.combined(d)
        Kd = free.signs * scores(free.rows, free.which, v[None, :]) + free.soft * d
        curvature = float(d @ Kd)
        if not curvature > 0.0:
            return
        p += (rz / curvature) * d
        r -= (rz / curvature) * Kd
        yield p
        z = r / free.diagonal
        before, rz = rz, float(r @ z)
        d = z + (rz / before) * d


class Move(NamedTuple):
    """New dual values, the change of the weights, the gain, and the part of the step taken."""

    a: np.ndarray
    change: np.ndarray
    gain: float
    part: float


def move_along(free: FreeValues, p: np.ndarray) -> Move | None:
    """Go from a towards clip(a + p, 0, cap) as far as the dual grows; None if it does not.

    Values that reach a bound change the direction, so it may have to be halved until it ascends.
    """
    for _ in range(_HALVINGS):
        end = np.clip(free.a + p, 0.0, free.cap)
        change = end - free.a
        first = float(free.g @ change)
        if first > 0.0:
            v = free.combined(change)
            curvature = float(v @ v) + float(free.soft @ change**2)
            part = first / curvature if curvature > first else 1.0
            a = end if part == 1.0 else np.clip(free.a + part * change, 0.0, free.cap)
            return Move(a, part * v, part * (first - 0.5 * part * curvature), part)
        p = 0.5 * p
    return None


def free_values(
    rows: Rows,
    which: np.ndarray,
    signs: np.ndarray,
    w: np.ndarray,
    b: float,
    a: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    squared_norms: np.ndarray,
) -> FreeValues:
    """Compute the slopes of some dual values a, whose bounds are (cap, soft) and weights w."""
    which, (cap, soft) = frozen(which.astype(np.uint64)), bounds
    margins = signs * (scores(rows, which, w[None, :]) + b)
    diagonal = np.maximum(squared_norms + soft, np.finfo(np.float64).tiny)
    return FreeValues(rows, which, signs, a, cap, 1.0 - margins - soft * a, soft, diagonal)
