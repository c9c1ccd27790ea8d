"""Confidence intervals of proportions."""

from __future__ import annotations

import math


def wilson(right: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The Wilson interval of a proportion, 95 % by default.

    Examples
    --------
    >>> [round(edge, 3) for edge in wilson(90, 100)]
    [0.826, 0.945]
    """
    if n == 0:
        return 0.0, 1.0
    p = right / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)
