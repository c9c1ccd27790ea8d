"""Confidence intervals of proportions and areas, and of measurements on folds."""

from __future__ import annotations

import math

import numpy as np

#: Confidence of the intervals.
CONFIDENCE = 0.95
#: The standard normal distribution has this much of its mass between -Z and Z.
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
    """The 95 % interval of a number between 0 and 1, normal on the log-odds scale.

    Parameters
    ----------
    p : float
        The estimate, neither 0 nor 1.
    deviation : float
        Its standard deviation, which is converted to log odds by their slope, 1 / (p (1 - p)).

    Examples
    --------
    >>> [round(edge, 3) for edge in logit_interval(0.9, 0.03)]
    [0.824, 0.945]
    """
    odds, reach = math.log(p / (1.0 - p)), Z * deviation / (p * (1.0 - p))

    def probability(x: float) -> float:
        return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0

    return probability(odds - reach), probability(odds + reach)


def corrected_t(values: np.ndarray, ratio: float) -> tuple[float, float, float, float]:
    """Mean, both ends of the 95 % interval and p, by the corrected resampled t-test.

    The values of folds are not independent, because their training parts overlap. So the variance
    is multiplied by 1/J + n_test/n_train rather than by 1/J.

    Parameters
    ----------
    values : array (J,)
        One per fold: a score, or the difference of two.
    ratio : float
        Ratio of test to training examples of a fold.

    Examples
    --------
    >>> mean, low, high, p = corrected_t(np.array([0.02, 0.03, 0.01, 0.02, 0.02]), 0.25)
    >>> round(mean, 3), round(low, 4), round(high, 4), round(p, 4)
    (0.02, 0.0068, 0.0332, 0.0135)

    References
    ----------
    C. Nadeau and Y. Bengio (2003), Inference for the generalization error, Machine Learning 52.
    """
    from scipy.special import stdtr, stdtrit

    J = len(values)
    mean = float(np.mean(values))
    spread = math.sqrt((1.0 / J + ratio) * float(np.var(values, ddof=1)))
    half = float(stdtrit(J - 1, 0.5 + CONFIDENCE / 2.0)) * spread
    if spread == 0.0:
        return mean, mean, mean, 1.0 if mean == 0.0 else 0.0
    return mean, mean - half, mean + half, float(2.0 * stdtr(J - 1, -abs(mean) / spread))


def interval_of_folds(right: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of an accuracy from cross-validation.

    It is that of the corrected resampled t-test over the folds, but never narrower than Wilson's
    for all rows: folds that happen to agree do not make an accuracy certain.

    Parameters
    ----------
    right, sizes : arrays
        The right answers and the rows of each fold.

    Examples
    --------
    >>> right, sizes = np.array([9, 8, 9, 10]), np.array([10, 10, 10, 10])
    >>> [round(edge, 3) for edge in interval_of_folds(right, sizes)]
    [0.702, 1.0]
    """
    ratio = float(np.mean(sizes / (sizes.sum() - sizes)))
    _, low, high, _ = corrected_t(right / sizes, ratio)
    least, most = wilson(int(right.sum()), int(sizes.sum()))
    return max(0.0, min(low, least)), min(1.0, max(high, most))
