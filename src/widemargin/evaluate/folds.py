"""Folds of a data set: every row is tested once, by a learner that has not seen it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.markup.words import several
from widemargin.parameters.values import check_whole


class Fold(NamedTuple):
    """The rows to learn from and those to test on, each in ascending order."""

    train: np.ndarray
    test: np.ndarray


def check_folds(folds: int, n: int, what: str = "example") -> None:
    """Refuse a number of folds into which n examples cannot be split.

    Examples
    --------
    >>> check_folds(5, 3)
    Traceback (most recent call last):
    ValueError: 3 examples cannot be split into 5 folds: use fewer folds, or more examples
    """
    check_whole("folds", folds, least=2)
    if folds > n:
        raise ValueError(
            f"{several(n, what)} cannot be split into {folds:,} folds: use fewer folds, or more"
            f" {what}s"
        )


def stratified_folds(
    codes: np.ndarray, folds: int, seed: int | np.random.RandomState | None
) -> list[Fold]:
    """Cut rows into folds with about the same share of every class.

    The folds are those of scikit-learn's StratifiedKFold(folds, shuffle=True, random_state=seed),
    so that figures from the shell can be reproduced in Python. A class with fewer rows than folds
    is missing from some of them.

    Parameters
    ----------
    codes : array of int
        The class of each row.
    folds : int
        The number of folds.
    seed : int, RandomState or None
        Decides which rows of a class go where; a generator continues from its current state.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 0, 1, 1])
    >>> for train, test in stratified_folds(codes, 2, seed=0):
    ...     print(codes[train], codes[test])
    [0 0 1] [0 0 1]
    [0 0 1] [0 0 1]
    """
    rng = seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    classes = np.argsort(np.argsort(first))[inverse]  # numbered in order of first appearance
    dealt = np.sort(classes)  # dealing them out like cards spreads every class evenly
    shares = [np.bincount(dealt[i::folds], minlength=len(first)) for i in range(folds)]
    fold_of = np.empty(len(codes), np.int64)
    for number, share in enumerate(np.array(shares).T):
        places = np.repeat(np.arange(folds), share)
        rng.shuffle(places)
        fold_of[classes == number] = places
    return [Fold(np.flatnonzero(fold_of != i), np.flatnonzero(fold_of == i)) for i in range(folds)]


def plain_folds(n: int, folds: int, seed: int | None) -> list[Fold]:
    """Cut n examples into folds at random, regardless of their answers.

    The folds are those of scikit-learn's KFold(folds, shuffle=True, random_state=seed).

    Examples
    --------
    >>> [fold.test.tolist() for fold in plain_folds(5, 2, seed=0)]
    [[0, 1, 2], [3, 4]]
    """
    order = np.arange(n)
    np.random.RandomState(seed).shuffle(order)
    parts = [np.sort(part) for part in np.array_split(order, folds)]
    return [Fold(np.setdiff1d(order, part), part) for part in parts]


def consecutive_folds(n: int, folds: int) -> list[Fold]:
    """Cut n examples into folds of consecutive ones, for jackknifing.

    Examples
    --------
    >>> [fold.test.tolist() for fold in consecutive_folds(5, 2)]
    [[0, 1], [2, 3, 4]]
    """
    order = np.arange(n)
    parts = np.split(order, [n * fold // folds for fold in range(1, folds)])
    return [Fold(np.setdiff1d(order, part), part) for part in parts]
