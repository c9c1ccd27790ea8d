"""An exact simplex method in integers, for a few examples that need more than float precision."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import NamedTuple

import numpy as np


class ExactAnswer(NamedTuple):
    """Either convex weights with which the points sum to zero, or w with w.z > 0 for all z."""

    weights: list[Fraction] | None
    w: list[Fraction] | None


def decide_exactly(points: np.ndarray, deadline: float = math.inf) -> ExactAnswer:
    """Decide whether zero lies in the hull of the points.

        minimise the sum of s  so that  sum a_i z_i + s = 0,  sum a_i + s_0 = 1,  a, s >= 0

    If the minimum is zero, a holds the weights; otherwise the multipliers form a separator. Pivots
    keep all numbers integral (Bareiss). The smallest index enters and leaves (Bland), so the method
    terminates.

    Parameters
    ----------
    points : array (n, d) of floats
        Treated as exact fractions.
    deadline : float
        The time of the clock `time.monotonic` at which to give up; then both answers are None.

    Examples
    --------
    >>> decide_exactly(np.array([[1.0], [-2.0]])).weights
    [Fraction(2, 3), Fraction(1, 3)]
    >>> decide_exactly(np.array([[1.0], [2.0]])).w
    [Fraction(1, 1)]
    """
    n, d = points.shape
    # Points may be multiplied by positive numbers, so each is scaled to an integer vector.
    whole, factors = np.empty((n, d), object), []
    for i, point in enumerate(points):
        pairs = [float(value).as_integer_ratio() for value in point]
        factor = max((below for _, below in pairs), default=1)
        whole[i] = [above * (factor // below) for above, below in pairs]
        factors.append(factor)
    rows = d + 1
    T = np.zeros((rows + 1, n + rows + 1), object)
    T[:d, :n] = whole.T
    T[d, :n] = 1
    T[d, -1] = 1
    for i in range(rows):
        T[i, n + i] = 1
    T[rows, :n] = -T[:rows, :n].sum(axis=0)
    T[rows, -1] = -1
    basis = list(range(n, n + rows))
    D = 1
    while True:
        entering = next((j for j in range(n) if T[rows, j] < 0), None)
        if entering is None:
            break
        if time.monotonic() > deadline:
            return ExactAnswer(None, None)
        column = T[:rows, entering].tolist()
        leaving = min(
            (i for i in range(rows) if column[i] > 0),
            key=lambda i: (Fraction(T[i, -1], column[i]), basis[i]),
        )
        pivot = T[leaving, entering]
        row = T[leaving].copy()
        T = (T * pivot - np.outer(T[:, entering], row)) // D
        T[leaving] = row
        D = pivot
        basis[leaving] = entering
    if T[rows, -1] == 0:
        weights = [Fraction(0)] * n
        for i, j in enumerate(basis):
            if j < n:
                weights[j] = Fraction(T[i, -1], D) * factors[j]
        total = sum(weights)
        return ExactAnswer([weight / total for weight in weights], None)
    w = [Fraction(T[rows, n + i], D) - 1 for i in range(d)]
    size = max(map(abs, w), default=Fraction(1)) or Fraction(1)
    return ExactAnswer(None, [value / size for value in w])
