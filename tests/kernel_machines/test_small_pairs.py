"""Pairs of small classes, solved in one compiled call: beside working sets, and at their limits."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

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


def test_only_rows_that_steps_need_are_computed(monkeypatch):
    X, y = load_iris(return_X_y=True)
    computed, plain = [], small_pairs.solve_pair

    def spied(rows, form, K, known, *rest):
        found = plain(rows, form, K, known, *rest)
        computed.append((found[2], int(known.sum()), len(y) * 2 // 3))
        return found

    monkeypatch.setattr(small_pairs, "solve_pair", spied)
    svm = KernelSVM(C=1.0).fit(X, y)
    assert [filled for filled, known, _ in computed] == [known for _, known, _ in computed]
    assert computed[0][0] < computed[0][2] / 2  # the first pair is far apart
    assert len(computed) == 3
    assert svm.certificate_.gap < 0.01


def test_steps_go_on_where_a_call_ends(monkeypatch):
    X, y = blobs()
    whole = KernelSVM(C=10.0).fit(X, y)
    monkeypatch.setattr(small_pairs, "_STEPS", 3)
    pieces = KernelSVM(C=10.0).fit(X, y)
    assert pieces.certificate_.dual == pytest.approx(whole.certificate_.dual, rel=1e-4)
    monkeypatch.setattr(small_pairs, "_MOST_STEPS", 2)
    with pytest.warns(match="no progress"):
        KernelSVM(C=10.0).fit(X, y)


def test_values_that_are_too_large_are_named():
    X, y = blobs()
    with pytest.raises(DataError, match="the kernel of rows"):
        KernelSVM(kernel="poly", degree=9, gamma=1.0).fit(1e40 * X, y)
