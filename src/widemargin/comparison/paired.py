"""Is one learner better than another? Paired differences over shared folds.

Scores of folds are not independent, as the training parts overlap. The plain t-test assumes that
they are, and finds differences that do not exist. The corrected resampled t-test increases the
variance by the ratio of test to training examples (Nadeau and Bengio 2003):

    t = mean(d) / sqrt((1/J + n_test/n_train) var(d)),        J - 1 degrees of freedom
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from widemargin.evaluate.intervals import CONFIDENCE, corrected_t


class Pair(NamedTuple):
    """Two learners, and by how much the first is better.

    Attributes
    ----------
    better, worse : str
        The learner with the higher mean, and the other.
    difference, low, high : float
        The mean difference in accuracy, and its 95 % interval, for this pair alone.
    p : float
        p-value: the probability of a difference at least this large if there is none.
    adjusted : float
        p-value adjusted for all pairs (Holm 1979).
    real : bool
        Whether the adjusted p-value is below 5 %: the probability of any false claim among all
        pairs is at most that.
    """

    better: str
    worse: str
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    real: bool


def compare_pairs(scores: Mapping[str, np.ndarray], ratio: float) -> list[Pair]:
    """Compare all pairs of learners, most significant difference first.

    Parameters
    ----------
    scores : dict
        Maps each learner to its scores, one per fold; the folds are the same for all.
    ratio : float
        Test examples over training examples of a fold.
    """
    order = sorted(scores, key=lambda name: -float(np.mean(scores[name])))
    found = [
        (better, worse, *corrected_t(scores[better] - scores[worse], ratio))
        for better, worse in combinations(order, 2)
    ]
    adjusted = holm([p for *_, p in found])
    pairs = [
        Pair(better, worse, mean, low, high, p, q, q < 1.0 - CONFIDENCE)
        for (better, worse, mean, low, high, p), q in zip(found, adjusted, strict=True)
    ]
    return sorted(pairs, key=lambda pair: (pair.adjusted, -pair.difference))


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values by Holm's method, which controls the probability of any false claim.

    Examples
    --------
    >>> [round(q, 3) for q in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted, least = np.empty(len(p)), 0.0
    for rank, i in enumerate(order.tolist()):
        least = max(least, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = least
    return adjusted.tolist()
