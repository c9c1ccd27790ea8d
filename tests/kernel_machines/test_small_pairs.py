"""Pairs of small classes, each solved in one compiled call: beside other solvers, and limits."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from widemargin import DataError, KernelSVM
from widemargin.kernel_machines.svm import small_pairs

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 3, "gamma": 0.2, "coef0": 1.0},
    {"kernel": "rbf", "gamma": 0.5},
]


def blobs(n=160, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(classes, 5))[y] + rng.normal(size=(n, 5)), y


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one["kernel"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_the_solution_is_that_of_working_sets(kernel, dtype, C, monkeypatch):
    X, y = blobs()
    X = X.astype(dtype)
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0 + (y == 2))
    one = KernelSVM(C=C, tol=1e-5, **kernel).fit(X, y, weight)
    three = KernelSVM(C=C, tol=1e-5, n_jobs=3, **kernel).fit(X, y, weight)
    monkeypatch.setattr(small_pairs, "_MOST_EXAMPLES", 0)
    other = KernelSVM(C=C, tol=1e-5, **kernel).fit(X, y, weight)
    np.testing.assert_array_equal(one.dual_coef_, three.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, three.intercept_)
    found, known = one.certificate_, other.certificate_
    assert found.dual == pytest.approx(known.dual, rel=1e-5)
    assert found.violation <= 1e-5
    np.testing.assert_allclose(
        one.decision_function(X),
        other.decision_function(X),
        atol=2e-3 if dtype is np.float32 else 1e-3,
    )


def test_only_rows_that_rounds_need_are_computed(monkeypatch):
    X, y = load_iris(return_X_y=True)
    members, known = [], []
    plain = small_pairs.SmallPairSolver.measure

    def spied(solver, labels):
        members.append(int(solver.room.joined[0]))
        known.append(int(solver.examples.known.sum()))
        assert len(set(solver.room.members[: members[-1]])) == members[-1]
        return plain(solver, labels)

    monkeypatch.setattr(small_pairs.SmallPairSolver, "measure", spied)
    svm = KernelSVM(C=1.0).fit(X, y)
    assert len(members) == 3
    assert min(members) < 50  # of 100 examples in each pair
    assert known[-1] < sum(members)  # values with the own class serve both pairs of a class
    assert svm.certificate_.gap < 0.01


def test_a_pair_is_as_its_certificate_says():
    X, y = blobs(classes=3)
    gamma, C = 0.5, 3.0
    svm = KernelSVM(C=C, gamma=gamma, tol=1e-6).fit(X, y)
    K = np.exp(-gamma * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    pairs = [(0, 1), (0, 2), (1, 2)]
    for part, (a, b) in zip(svm.certificate_.parts, pairs, strict=True):
        which = np.flatnonzero((y == a) | (y == b))
        other = SVC(C=C, gamma=gamma, tol=1e-8).fit(X[which], y[which])
        assert part.labels == (a, b)
        beta = np.zeros(len(y))
        beta[which[other.support_]] = -other.dual_coef_[0]  # positive for the first class here
        signs = np.where(y == a, 1.0, -1.0)
        length, scores = beta @ K @ beta, (K @ beta)[which]
        short = np.maximum(0.0, 1.0 - signs[which] * (scores - other.intercept_[0]))
        assert part.primal == pytest.approx(0.5 * length + C * short.sum(), rel=1e-4)
        assert part.dual == pytest.approx(np.abs(beta).sum() - 0.5 * length, rel=1e-5)
        assert part.support_vectors == pytest.approx(len(other.support_), abs=1)
        assert part.bounded == pytest.approx(np.sum(np.abs(beta) == C), abs=1)
        assert part.margin == pytest.approx(1.0 / np.sqrt(length), rel=1e-4)


def test_steps_go_on_where_a_call_ends(monkeypatch):
    X, y = blobs()
    whole = KernelSVM(C=10.0).fit(X, y)
    monkeypatch.setattr(small_pairs, "_STEPS", 3)  # every call ends after a round
    pieces = KernelSVM(C=10.0).fit(X, y)
    assert pieces.certificate_.dual == pytest.approx(whole.certificate_.dual, rel=1e-4)
    monkeypatch.setattr(small_pairs, "_MOST_STEPS", 2)
    with pytest.warns(match="no progress"):
        KernelSVM(C=10.0).fit(X, y)


def test_values_that_are_too_large_are_named():
    X, y = blobs()
    with pytest.raises(DataError, match="the kernel of rows"):
        KernelSVM(kernel="poly", degree=9, gamma=1.0).fit(1e40 * X, y)
