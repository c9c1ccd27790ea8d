"""Confidence intervals of proportions and of areas."""

from __future__ import annotations

import math

#: The standard normal distribution has 95 % of its mass between -Z and Z.
Z = 1.959964


def wilson(right: int, n: int, z: float = Z) -> tuple[float, float]:
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


def logit_interval(p: float, deviation: float) -> tuple[float, float]:
    """The 95 % interval of a number between 0 and 1, normal on the scale of log odds.

    Parameters
    ----------
    p : float
        The estimate, neither 0 nor 1.
    deviation : float
        Its standard deviation, which is carried to log odds by their slope, 1 / (p (1 - p)).

    Examples
    --------
    >>> [round(edge, 3) for edge in logit_interval(0.9, 0.03)]
    [0.824, 0.945]
    """
    odds, reach = math.log(p / (1.0 - p)), Z * deviation / (p * (1.0 - p))

    def probability(x: float) -> float:
        return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0

    return probability(odds - reach), probability(odds + reach)
