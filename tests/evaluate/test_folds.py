"""Folds are scikit-learn's, and intervals of folds never claim more than the rows allow."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from widemargin.evaluate.folds import stratified_folds
from widemargin.evaluate.intervals import corrected_t, interval_of_folds, wilson


@given(st.lists(st.integers(0, 3), min_size=12, max_size=60), st.integers(2, 6), st.integers(0, 99))
def test_folds_are_those_of_scikit_learn(labels, folds, seed):
    codes = np.array(labels + [0, 1] * folds)
    theirs = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes with fewer rows than folds
        expected = list(theirs.split(np.zeros(len(codes)), codes))
    for fold, (train, test) in zip(stratified_folds(codes, folds, seed), expected, strict=True):
        assert np.array_equal(fold.train, train)
        assert np.array_equal(fold.test, test)


def test_repeated_folds_are_those_of_scikit_learn():
    codes = np.random.default_rng(0).integers(0, 3, 100)
    rng = np.random.RandomState(5)
    ours = [fold for _ in range(3) for fold in stratified_folds(codes, 4, rng)]
    theirs = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=5)
    for fold, (train, test) in zip(ours, theirs.split(codes, codes), strict=True):
        assert np.array_equal(fold.train, train)
        assert np.array_equal(fold.test, test)


def test_every_row_is_tested_once():
    codes = np.array([0] * 7 + [1] * 2 + [2])
    folds = stratified_folds(codes, 3, 1)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(10))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(10))


def test_the_interval_of_folds_is_the_wider_of_two():
    sizes = np.array([100, 100, 100, 100, 100])
    spread = np.array([70, 90, 80, 85, 60])
    _, low, high, _ = corrected_t(spread / sizes, 0.25)
    assert interval_of_folds(spread, sizes) == pytest.approx((low, min(1.0, high)))
    alike = np.array([80, 80, 80, 80, 80])
    assert interval_of_folds(alike, sizes) == pytest.approx(wilson(400, 500))
    assert interval_of_folds(sizes, sizes)[0] < 1.0
