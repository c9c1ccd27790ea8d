"""Class probabilities from the scores of machines that separate pairs of classes.

A sigmoid turns the score of each machine into the probability of one class given that it is one of
the two (Platt 1999). The class probabilities are those that agree best with the pairwise ones: the
second method of Wu, Lin and Weng (2004), as in LIBSVM.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

#: Constants of Newton's method, as in Lin, Lin and Weng (2007): the largest derivative, number of
#: steps, and shortest step at which it stops, and what is added to the second derivatives.
_SMALLEST_SLOPE, _MOST_STEPS, _SHORTEST_STEP, _RIDGE = 1e-5, 100, 1e-10, 1e-12
#: A pair is never more certain than this: LIBSVM's value.
_CERTAIN = 1e-7
#: Size of the linear systems that are solved together, in numbers: 32 MB.
_TOGETHER = 1 << 22


class PairSigmoids(NamedTuple):
    """P(a | a or b) = 1 / (1 + exp(slope s + offset)) for the score s of the machine of a and b."""

    slopes: np.ndarray
    offsets: np.ndarray

    def probabilities(self, scores: np.ndarray, classes: int) -> np.ndarray:
        """Turn the scores (rows, pairs) of all machines into the probabilities of the classes."""
        tall = scores * self.slopes + self.offsets
        wins = np.clip(0.5 - 0.5 * np.tanh(0.5 * tall), _CERTAIN, 1.0 - _CERTAIN)
        step = max(1, _TOGETHER // (classes + 1) ** 2)
        found = [_couple(wins[k : k + step], classes) for k in range(0, len(wins), step)]
        return np.concatenate(found) if found else np.empty((0, classes))


def fit_pair_sigmoids(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray, classes: int
) -> PairSigmoids:
    """Fit one sigmoid per pair of classes.

    Parameters
    ----------
    scores : array (rows, pairs)
        Scores of machines that have not seen the rows, positive for the first class of a pair.
    codes : array of int
        The class of every row.
    weights : array
        The weight of every row.
    classes : int
        The number of classes.
    """
    pairs = list(combinations(range(classes), 2))
    found = np.zeros((2, len(pairs)))
    for column, (a, b) in enumerate(pairs):
        ours = (codes == a) | (codes == b)
        found[:, column] = _fit_sigmoid(scores[ours, column], codes[ours] == a, weights[ours])
    return PairSigmoids(*found)


def _fit_sigmoid(s: np.ndarray, first: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Fit the slope and offset of one sigmoid by Newton's method with backtracking.

    The targets are not quite 0 and 1, as if there were one more example of each class (Platt 1999).
    """
    many, few = float(weights[first].sum()), float(weights[~first].sum())
    target = np.where(first, (many + 1.0) / (many + 2.0), 1.0 / (few + 2.0))
    X = np.stack([s, np.ones(len(s))])

    def loss(at: np.ndarray) -> float:
        z = at @ X
        return float(weights @ (np.logaddexp(0.0, z) - (1.0 - target) * z))

    at = np.array([0.0, np.log((few + 1.0) / (many + 1.0))])
    value = loss(at)
    for _ in range(_MOST_STEPS):
        p = 0.5 - 0.5 * np.tanh(0.5 * (at @ X))
        slope = X @ (weights * (target - p))
        if np.max(np.abs(slope)) < _SMALLEST_SLOPE:
            break
        curve = (X * (weights * p * (1.0 - p))) @ X.T + _RIDGE * np.eye(2)
        way, part = -np.linalg.solve(curve, slope), 1.0
        while loss(at + part * way) >= value + 1e-4 * part * float(slope @ way):
            part /= 2.0
            if part < _SHORTEST_STEP:
                return float(at[0]), float(at[1])
        at = at + part * way
        value = loss(at)
    return float(at[0]), float(at[1])


def _couple(wins: np.ndarray, classes: int) -> np.ndarray:
    """For every row, find the p with sum 1 that minimises (r_ba p_a - r_ab p_b)^2 over all pairs.

    r_ab is the probability of a given that it is a or b. With Q_aa = sum_b r_ba^2 and
    Q_ab = -r_ba r_ab, p solves Q p = t and sum p = 1.
    """
    n = len(wins)
    R = np.zeros((n, classes, classes))
    for column, (a, b) in enumerate(combinations(range(classes), 2)):
        R[:, a, b], R[:, b, a] = wins[:, column], 1.0 - wins[:, column]
    system = np.ones((n, classes + 1, classes + 1))
    system[:, :classes, :classes] = -R * R.transpose(0, 2, 1)
    each = np.arange(classes)
    system[:, each, each] = (R * R).sum(axis=1)
    system[:, classes, classes] = 0.0
    right = np.zeros((n, classes + 1, 1))
    right[:, classes] = 1.0
    found = np.maximum(np.linalg.solve(system, right)[:, :classes, 0], 0.0)
    return found / found.sum(axis=1, keepdims=True)
