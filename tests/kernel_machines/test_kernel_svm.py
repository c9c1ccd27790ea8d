"""Kernel SVMs: against a textbook twin and LIBSVM, laws, lectures L30-L33, and bad input."""

# ruff: noqa: N802 - tests carry the numbers of the items

import json
import math
import pathlib
import pickle
import signal
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from interpreted import told_by_both
from naive_svm import naive_gram, naive_svm, objectives
from profiles import tries
from scikit_learn_checks import NEARLY, scikit_learn_checks, unequal
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from widemargin import DataError, KernelSVM, NotSeparableWarning, certify, load, load_model
from widemargin.cli import main
from widemargin.data.rows import Rows
from widemargin.kernel_machines.svm.fit import KernelSVMSettings, fit_kernel_svm
from widemargin.kernel_machines.svm.pairs import order_pairs, run_pairs
from widemargin.kernel_machines.svm.probabilities import PairSigmoids, fit_pair_sigmoids
from widemargin.kernel_machines.svm.row_cache import RowCache
from widemargin.kernels.kernel import make_kernel
from widemargin.kernels.points import points_of
from widemargin.loops.svm.smo import LANES, smo_steps

FORMS = {"dense": np.asarray, "sparse": scipy.sparse.csr_matrix}
both_forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def blobs(n=60, classes=2, d=3, noise=1.0, seed=0):
    """Classes around points of their own, which overlap."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(classes, d))[y] * 1.5 + noise * rng.normal(size=(n, d)), y


def circles(n=80, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = (1.0 + y) + rng.uniform(-0.2, 0.2, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def alphas(svm, n):
    """The dual values of a two-class machine, for every training row."""
    alpha = np.zeros(n)
    alpha[svm.support_] = np.abs(svm.dual_coef_[0])
    return alpha


# The solver against its twins


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_a_block_is_solved_as_the_textbook_does(dtype, C):
    X, y = blobs(70)
    y = 2.0 * y - 1
    K = naive_gram(X, X, "rbf", 0.5).astype(dtype)
    width = -(-len(y) // LANES) * LANES
    block = np.zeros((len(y), width), dtype)
    block[:, : len(y)] = K
    q, E, beta, low, high = (np.zeros(width) for _ in range(5))
    q[: len(y)], E[: len(y)] = 1.0, y
    low[: len(y)], high[: len(y)] = np.where(y > 0, 0, -C), np.where(y > 0, C, 0)
    work = np.empty((6, width), np.float32)
    known = np.ones(width, np.uint8)
    _, violation, _ = smo_steps(block, known, q, E, beta, low, high, 1e-6, 100_000, np.inf, work)
    assert violation <= 1e-6
    alpha, _ = naive_svm(K.astype(float), y, np.full(len(y), C))
    np.testing.assert_allclose(beta[: len(y)] * y, alpha, atol=2e-4 * C)
    np.testing.assert_allclose(E[: len(y)], y - K.astype(float) @ beta[: len(y)], atol=1e-9)
    assert abs(beta.sum()) < 1e-9


def test_a_block_stops_when_told():
    X, y = blobs(64)
    y = 2.0 * y - 1
    K = naive_gram(X, X, "rbf", 0.5)
    E, beta = y.copy(), np.zeros(64)
    low, high = np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
    work = np.empty((6, 64), np.float32)
    known = np.ones(64, np.uint8)
    steps, *_ = smo_steps(K, known, np.ones(64), E, beta, low, high, 1e-9, 7, np.inf, work)
    assert steps == 7
    np.testing.assert_allclose(E, y - K @ beta, atol=1e-12)


@given(
    st.integers(0, 10_000),
    st.sampled_from(["linear", "poly", "rbf", "laplace", "laplacian"]),
    st.sampled_from([0.1, 1.0, 20.0]),
)
@tries(13)
def test_small_problems_against_a_general_solver(seed, kernel, C):
    X, y = blobs(12, seed=seed)
    numbers = {"linear": {}, "poly": {"gamma": 0.5, "coef0": 1.0}}.get(kernel, {"gamma": 0.5})
    svm = KernelSVM(C=C, kernel=kernel, **numbers, tol=1e-7).fit(X, y)
    K = naive_gram(X, X, kernel, 0.5, 1.0)
    signs = 2.0 * y - 1
    Q = K * np.outer(signs, signs)
    found = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.full(12, 0.05 * C),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, C)] * 12,
        constraints={"type": "eq", "fun": lambda a: a @ signs, "jac": lambda a: signs},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    worth = svm.certificate_
    assert worth.dual >= -found.fun - 1e-6 * max(1.0, abs(found.fun))
    primal, dual = objectives(K, signs, np.full(12, C), alphas(svm, 12), svm.intercept_[0])
    assert worth.primal == pytest.approx(primal, rel=1e-6, abs=1e-9)
    assert worth.dual == pytest.approx(dual, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(
        svm.decision_function(X), K @ (alphas(svm, 12) * signs) + svm.intercept_, atol=1e-6 * C
    )


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("C", [1.0, math.inf])
def test_a_handful_of_examples_is_solved(n, C):
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(n, n))  # always separable
        svm = KernelSVM(C=C, kernel="linear", tol=1e-9).fit(X, np.arange(n) % 2)
        assert svm.history_.stopped == "converged"
        assert svm.certificate_.gap < 1e-6


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


SETS = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: scaled(load_wine),
    "cancer": lambda: scaled(load_breast_cancer),
    "digits": lambda: tuple(part[:500] for part in load_digits(return_X_y=True)),
    "circles": circles,
    "blobs": lambda: blobs(200, 4, 5),
}


@both_forms
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("name", SETS)
def test_agrees_with_libsvm(name, kernel, form):
    X, y = SETS[name]()
    how = {"kernel": kernel, "C": 2.0, "tol": 1e-5, "decision_function_shape": "ovo"}
    ours, theirs = KernelSVM(**how).fit(form(X), y), SVC(**how).fit(X, y)
    size = 1.0 + np.abs(theirs.decision_function(X))
    assert (
        np.max(np.abs(ours.decision_function(form(X)) - theirs.decision_function(X)) / size) < 1e-3
    )
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert ours.intercept_.shape == theirs.intercept_.shape
    total = sum(np.abs(theirs.dual_coef_).sum(axis=1))
    assert np.abs(ours.dual_coef_).sum() == pytest.approx(total, rel=1e-3)
    assert np.abs(ours.n_support_ - theirs.n_support_).sum() <= 2
    assert np.mean(ours.predict(form(X)) == theirs.predict(X)) > 0.998


def test_all_that_libsvm_says_is_there_in_its_shape():
    X, y = load_iris(return_X_y=True)
    ours, theirs = KernelSVM(tol=1e-6).fit(X, y), SVC(tol=1e-6).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_a_binary_machine_of_many_rounds_agrees_with_libsvm():
    X, y = blobs(3000, 2, 6, noise=3.0)
    X = X.astype(np.float32)
    ours, theirs = KernelSVM(C=3.0).fit(X, y), SVC(C=3.0).fit(X, y)
    signs = 2.0 * y - 1
    K = np.exp(-ours.kernel_.gamma * np.square(X[:, None, :] - X).sum(-1, dtype=np.float64))
    cost = np.full(3000, 3.0)
    dual = objectives(K, signs, cost, alphas(theirs, 3000), theirs.intercept_[0])[1]
    assert ours.certificate_.dual == pytest.approx(dual, rel=1e-5)
    # The gap bounds how much better anyone can be.
    assert ours.certificate_.primal * (1.0 - ours.certificate_.gap) <= dual * (1 + 1e-6)
    assert ours.certificate_.bounded > 1024  # more than a working set keeps


# Laws


@given(st.integers(0, 10_000))
@tries(5)
def test_the_order_of_rows_does_not_matter(seed):
    X, y = blobs(50, 3, seed=seed)
    order = np.random.default_rng(seed).permutation(50)
    one, other = (KernelSVM(tol=1e-6).fit(X[o], y[o]) for o in (np.arange(50), order))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-4)


@given(st.integers(0, 10_000), st.sampled_from([0.25, 8.0]))
@tries(5)
def test_a_scale_of_the_features_goes_into_gamma(seed, scale):
    X, y = blobs(50, 2, seed=seed)
    one = KernelSVM(gamma=0.5).fit(X, y)
    other = KernelSVM(gamma=0.5 / scale**2).fit(scale * X, y)
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(scale * X), atol=1e-6
    )


@given(st.integers(0, 10_000))
@tries(5)
def test_a_weight_is_a_number_of_copies(seed):
    X, y = blobs(40, 3, seed=seed)
    copies = np.random.default_rng(seed).integers(0, 4, 40)
    copies[:3] = 1
    how = {"tol": 1e-7, "gamma": 0.5}
    one = KernelSVM(**how).fit(X, y, sample_weight=copies)
    other = KernelSVM(**how).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-4)
    assert one.certificate_.dual == pytest.approx(other.certificate_.dual, rel=1e-6)


def test_class_weights_are_sample_weights():
    X, y = blobs(60, 3)
    one = KernelSVM(class_weight={0: 1.0, 1: 5.0, 2: 0.5}).fit(X, y)
    other = KernelSVM().fit(X, y, sample_weight=np.array([1.0, 5.0, 0.5])[y])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_more_threads_give_the_same_bits(multiclass):
    X, y = load_digits(return_X_y=True)
    X = (X / 16.0).astype(np.float32)
    one, two = (KernelSVM(multiclass=multiclass, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_every_machine_is_a_two_class_problem(multiclass):
    X, y = blobs(90, 3)
    svm = KernelSVM(multiclass=multiclass, gamma=0.5, tol=1e-6).fit(X, y)
    for part in svm.certificate_.parts:
        first, second = part.labels
        some = np.ones(90, bool) if second is None else (y == first) | (y == second)
        alone = KernelSVM(gamma=0.5, tol=1e-6).fit(X[some], y[some] == first)
        assert part.dual == pytest.approx(alone.certificate_.dual, rel=1e-6)
    assert svm.certificate_.primal == pytest.approx(
        sum(part.primal for part in svm.certificate_.parts)
    )
    if multiclass == "ovr":
        assert svm.dual_coef_.shape == (3, len(svm.support_))
        np.testing.assert_array_equal(svm.predict(X), np.argmax(svm.decision_function(X), axis=1))


def test_predictions_are_the_largest_score():
    X, y = load_iris(return_X_y=True)
    svm = KernelSVM().fit(X, y)
    assert svm.decision_function(X).shape == (150, 3)
    np.testing.assert_array_equal(svm.predict(X), np.argmax(svm.decision_function(X), axis=1))


@both_forms
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplace", "laplacian"])
@pytest.mark.parametrize("classes", [2, 3])
def test_columns_of_zeros_change_no_prediction(kernel, classes, form, tmp_path):
    X, y = blobs(90, classes, 4)
    asked, _ = blobs(70, classes, 4, seed=1)
    wide, other = np.zeros((90, 9)), np.random.default_rng(2).normal(size=(70, 9))
    wide[:, 1:8:2], other[:, 1:8:2] = X, asked
    numbers = {} if kernel == "linear" else {"gamma": 0.3}
    numbers |= {"coef0": 1.0, "degree": 2} if kernel == "poly" else {}
    how = {"kernel": kernel, **numbers, "tol": 1e-6}
    svm, plain = KernelSVM(**how).fit(form(wide), y), KernelSVM(**how).fit(X, y)
    np.testing.assert_array_equal(svm.support_, plain.support_)
    assert svm.support_vectors_.shape[1] == 9
    assert svm.certificate_.dual == pytest.approx(plain.certificate_.dual, rel=1e-7)
    # Values where all support vectors are zero still make an example longer and farther away.
    for rows in (wide, other):
        K = naive_gram(rows, wide[svm.support_], kernel, 0.3, 1.0, 2)
        expected = K @ svm.model_.coef + svm.intercept_
        np.testing.assert_allclose(svm.model_.machine_scores(form(rows)), expected, atol=1e-6)
    svm.save(tmp_path / "m.wm")
    again = load(tmp_path / "m.wm").decision_function(form(other))
    np.testing.assert_array_equal(again, svm.decision_function(form(other)))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_class_without_weight_is_not_there(threads):
    X, y = blobs(120, 4, 5)
    X, weights = X.astype(np.float32), (y != 2).astype(float)
    svm = KernelSVM(gamma=0.3, n_jobs=threads).fit(X, y, weights)
    assert svm.n_support_[2] == 0
    other = KernelSVM(gamma=0.3).fit(X[y != 2], y[y != 2])
    assert svm.certificate_.dual == pytest.approx(other.certificate_.dual, rel=1e-6)


def test_an_answer_does_not_depend_on_what_is_asked_beside_it():
    X, y = blobs(700, 3, 5)
    X = X.astype(np.float32)
    svm = KernelSVM(C=3.0, gamma=0.3).fit(X, y)
    if not svm.model_.support.packs:
        pytest.skip("this processor is left to BLAS, whose rounding depends on the shape")
    whole = svm.model_.machine_scores(X)
    for some in (slice(0, 1), slice(300, 317), slice(100, 500)):
        np.testing.assert_array_equal(svm.model_.machine_scores(X[some]), whole[some])
    np.testing.assert_array_equal(svm.model_.machine_scores(X, threads=2), whole)


@pytest.mark.parametrize("classes", [2, 4])
def test_with_or_without_panels_the_answer_is_the_same(classes, monkeypatch):
    X, y = blobs(300, classes, 5)
    X = X.astype(np.float32)
    found = []
    for suits in (True, False):
        monkeypatch.setattr("widemargin.kernels.points.suits_this_processor", lambda _=suits: _)
        svm = KernelSVM(C=3.0, tol=1e-5, gamma=0.3).fit(X, y)
        found.append((svm.certificate_.dual, svm.decision_function(X)))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-3)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_bits_or_as_vectors_the_answer_is_the_same(classes, dtype, monkeypatch):
    rng = np.random.default_rng(3)
    y = np.arange(300) % classes
    X = (rng.random((300, 40)) < 0.2 + 0.3 * (np.arange(40) % classes == y[:, None])).astype(dtype)
    X[:, 7], X[0, 7] = 0.0, 1.0  # rows of the support may all be zero here
    asked = (rng.random((50, 40)) < 0.3).astype(dtype)
    found = []
    for bits in (True, False):
        if not bits:
            monkeypatch.setattr("widemargin.kernels.points.pack_bits", lambda *_: np.nan)
        for form, threads in ((X, 1), (X, 2), (scipy.sparse.csr_matrix(X), 1)):
            svm = KernelSVM(C=3.0, gamma=0.1, n_jobs=threads).fit(form, y)
            found.append((svm.certificate_.dual, svm.decision_function(asked)))
    for dual, scores in found[1:]:
        assert dual == found[0][0]  # their products are exact: the same bits
        np.testing.assert_allclose(scores, found[0][1], rtol=1e-5, atol=1e-5)
    for _, scores in found[1:3]:
        np.testing.assert_array_equal(scores, found[0][1])


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_few_examples_at_once_or_in_rounds_the_answer_is_the_same(kernel, monkeypatch):
    X, y = blobs(400, 3, 5, noise=1.5)
    at_once = KernelSVM(C=3.0, tol=1e-5, kernel=kernel, gamma=0.3).fit(X, y)
    monkeypatch.setattr("widemargin.kernel_machines.svm.working_set._SMALL", 0)
    monkeypatch.setattr("widemargin.kernel_machines.svm.memory_plan._AT_ONCE", 0)
    in_rounds = KernelSVM(C=3.0, tol=1e-5, kernel=kernel, gamma=0.3).fit(X, y)
    assert at_once.certificate_.dual == pytest.approx(in_rounds.certificate_.dual, rel=1e-7)
    assert at_once.certificate_.violation <= 1e-5
    np.testing.assert_allclose(
        at_once.model_.machine_scores(X), in_rounds.model_.machine_scores(X), atol=1e-3
    )


def test_members_come_and_go_without_mixing_up_their_kernel_values(monkeypatch):
    X, y = blobs(600, 2, 4, noise=2.0)
    monkeypatch.setattr("widemargin.kernel_machines.svm.working_set._SMALL", 0)
    free = KernelSVM(C=0.3, gamma=0.3).fit(X, y)
    monkeypatch.setattr("widemargin.kernel_machines.svm.working_set._ENOUGH", 140)
    crowded = KernelSVM(C=0.3, gamma=0.3).fit(X, y)
    for svm in (free, crowded):
        assert svm.certificate_.violation <= 1e-3
    assert crowded.certificate_.dual == pytest.approx(free.certificate_.dual, rel=1e-5)
    theirs = SVC(C=0.3, gamma=0.3).fit(X, y)
    np.testing.assert_allclose(crowded.decision_function(X), theirs.decision_function(X), atol=1e-2)


# Memory, time, and going on


def test_rows_that_had_to_go_are_computed_again():
    X, _ = blobs(40)
    kernel = make_kernel("rbf", gamma=0.3)
    points = points_of(kernel, X)
    cache = RowCache(kernel, points, points, np.empty((10, 40)), enough=6)
    K = naive_gram(X, X, "rbf", 0.3)
    rng = np.random.default_rng(0)
    for size in (3, 6, 9, 4, 10, 10, 2, 5):
        which = rng.choice(40, size, replace=False)
        np.testing.assert_allclose(cache.store[cache.fetch(which)], K[which], rtol=1e-12)
    assert cache.computed > 10
    with pytest.raises(MemoryError):
        cache.fetch(np.arange(11))


def test_little_memory_changes_the_way_but_not_the_answer():
    X, y = blobs(2000, 2, 4, noise=1.5)
    X = X.astype(np.float32)
    full = KernelSVM().fit(X, y)
    cache = KernelSVM(max_memory="8MB").fit(X, y)
    assert cache.certificate_.low_rank is None
    assert cache.certificate_.violation <= 1e-3
    assert cache.certificate_.dual == pytest.approx(full.certificate_.dual, rel=1e-5)
    with pytest.warns(ConvergenceWarning, match="landmarks"):
        little = KernelSVM(max_memory="1MB").fit(X, y)
    told = little.certificate_.low_rank
    assert told.landmarks < 2000
    assert 0.0 < told.mean < told.worst <= 1.0
    assert np.mean(little.predict(X) == full.predict(X)) > 0.9


def test_landmarks_tell_what_they_miss():
    X, y = blobs(150, 3)
    exact = KernelSVM(gamma=0.5, tol=1e-5).fit(X, y)
    few, many, every = (KernelSVM(gamma=0.5, tol=1e-5, low_rank=m).fit(X, y) for m in (10, 40, 150))
    missed = [svm.certificate_.low_rank.mean for svm in (few, many, every)]
    assert missed[0] > missed[1] > missed[2]
    assert missed[2] < 1e-9
    np.testing.assert_allclose(every.decision_function(X), exact.decision_function(X), atol=2e-2)
    # What is missed, from scratch.
    L = few.support_
    K, K_L = naive_gram(X, X, "rbf", 0.5), naive_gram(X, X[L], "rbf", 0.5)
    rest = 1.0 - np.einsum("ij,ji->i", K_L, np.linalg.solve(K[np.ix_(L, L)], K_L.T))
    assert few.certificate_.low_rank.mean == pytest.approx(rest.mean(), rel=1e-6)
    assert few.certificate_.low_rank.worst == pytest.approx(rest.max(), rel=1e-6)


class StopAfter:
    """A watch that stops at a certain look."""

    def __init__(self, looks):
        self.looks = looks

    def __call__(self, moment):
        self.looks -= 1
        return self.looks < 0


def test_a_stopped_fit_has_its_true_gap_and_goes_on():
    X, y = blobs(2000, 2, 4, noise=1.5)
    rows, how = Rows.of(X, bias=0.0), KernelSVMSettings(gamma=0.5)
    stopped = fit_kernel_svm(rows, np.arange(2), y, how, watch=StopAfter(4))
    assert stopped.model.history.stopped == "interrupted"
    found = stopped.model.certificate
    assert found.gap > 1e-3
    K = np.exp(-0.5 * np.square(X[:, None, :] - X).sum(-1))
    alpha = np.zeros(2000)
    alpha[stopped.model.support.index] = np.abs(stopped.model.coef[:, 0])
    b, signs = stopped.model.intercept[0], 2.0 * y - 1
    primal, dual = objectives(K, signs, np.ones(2000), alpha, b)
    assert found.primal == pytest.approx(primal, rel=1e-8)
    assert found.dual == pytest.approx(dual, rel=1e-8)
    whole = fit_kernel_svm(rows, np.arange(2), y, how)
    again = fit_kernel_svm(rows, np.arange(2), y, how, start=stopped.start)
    assert again.model.certificate.dual == pytest.approx(whole.model.certificate.dual, rel=1e-6)
    assert again.steps.sum() < whole.steps.sum()


def test_a_deadline_leaves_a_model_that_can_go_on():
    X, y = blobs(300, 4)
    svm = KernelSVM(max_seconds=1e-9, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="gap"):
        svm.fit(X, y)
    assert svm.certificate_.gap == 1.0
    assert svm.predict(X).shape == (300,)
    svm.set_params(max_seconds=None).fit(X, y)
    assert svm.certificate_.gap < 0.05
    assert KernelSVM().fit(X, y).certificate_.dual == pytest.approx(svm.certificate_.dual, rel=1e-4)


@pytest.mark.parametrize("C", [0.2, 5.0])
def test_a_warm_start_reaches_another_cost(C):
    X, y = blobs(300, 3)
    svm = KernelSVM(C=1.0, warm_start=True, tol=1e-5).fit(X, y)
    svm.set_params(C=C).fit(X, y)
    cold = KernelSVM(C=C, tol=1e-5).fit(X, y)
    assert svm.certificate_.dual == pytest.approx(cold.certificate_.dual, rel=1e-6)
    svm.fit(X, y)
    assert svm.n_iter_.sum() == 0


def test_a_warm_start_without_some_of_the_support_vectors_is_a_cold_one():
    X, y = blobs(90, 3)
    svm = KernelSVM(warm_start=True, tol=1e-6).fit(X, y)
    weights = np.ones(90)
    weights[svm.support_[::4]] = 0.0
    svm.fit(X, y, sample_weight=weights)
    cold = KernelSVM(tol=1e-6).fit(X, y, sample_weight=weights)
    assert svm.certificate_.dual == pytest.approx(cold.certificate_.dual, rel=1e-6)
    for b, found in enumerate(svm.model_.coef.T):  # sum alpha y = 0, which sets the bias
        assert abs(found.sum()) < 1e-9 * np.abs(found).sum(), b


def test_ctrl_c_leaves_a_model():
    X, y = blobs(100)
    calls = [0]

    def kernel(x, z):
        calls[0] += 1
        if calls[0] == 5000:
            signal.raise_signal(signal.SIGINT)
        return math.exp(-np.sum((x - z) ** 2))

    svm = KernelSVM(kernel=kernel, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        svm.fit(X, y)
    assert svm.history_.stopped == "interrupted"
    assert svm.certificate_.gap > 0.01
    assert svm.predict(X[:3]).shape == (3,)
    assert svm.fit(X, y).certificate_.violation <= 1e-3


def test_a_bound_speaks_where_nothing_is_proved(monkeypatch):
    monkeypatch.setattr("widemargin.kernel_machines.svm.solve._none_separates", lambda *_: False)
    X, y = blobs(100, noise=2.0)
    with pytest.warns(NotSeparableWarning, match="above"):
        svm = KernelSVM(C=np.inf, kernel="linear").fit(X, y)
    assert not svm.certificate_.proved
    assert 0.0 < svm.certificate_.bound < 1e-4


# The lectures


def test_L30_hard_margin_is_the_data_sets_margin():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 3.0], [4.0, 1.0]])
    y = np.array([0, 0, 0, 1, 1])
    svm = KernelSVM(C=np.inf, kernel="linear", tol=1e-9).fit(X, y)
    exact = certify(X, y).margin
    assert exact.low * (1 - 1e-6) <= svm.certificate_.margin <= exact.high * (1 + 1e-6)
    assert svm.certificate_.separates
    assert svm.certificate_.margin <= svm.certificate_.bound * (1 + 1e-9)
    assert np.min((2 * y - 1) * svm.decision_function(X)) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_class_without_weight_does_not_spoil_the_hard_margin(multiclass, tmp_path):
    X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0], [9.0, 9.0]], [0, 1, 1, 0, 2]
    svm = KernelSVM(C=np.inf, kernel="linear", multiclass=multiclass, class_weight={2: 0.0})
    svm.fit(X, y)
    assert svm.certificate_.separates
    assert svm.certificate_.margin == pytest.approx(np.sqrt(0.5))
    assert svm.predict(X[:4]).tolist() == y[:4]
    svm.save(tmp_path / "m.wm")
    again = load(tmp_path / "m.wm")
    assert again.certificate_.to_dict() == svm.certificate_.to_dict()


def test_L30_hard_margin_in_feature_space():
    X, y = circles()
    svm = KernelSVM(C=np.inf, kernel="poly", degree=2, coef0=1.0, gamma=1.0, tol=1e-6).fit(X, y)
    assert svm.certificate_.separates
    exact = certify(X, y, kernel="poly", degree=2, coef0=1.0, gamma=1.0, bias=True).margin
    assert svm.certificate_.margin == pytest.approx(exact.low, rel=1e-4)
    assert np.all((svm.decision_function(X) > 0) == y)


@pytest.mark.parametrize("case", ["xor", "duplicates", "noise"])
def test_L30_says_when_nothing_separates(case):
    X, y = {
        "xor": lambda: (np.array([[0, 0], [1, 1], [0, 1], [1, 0.0]]), np.array([0, 0, 1, 1])),
        "duplicates": lambda: (np.repeat(blobs(20)[0], 2, axis=0), np.arange(40) % 2),
        "noise": lambda: blobs(100, noise=2.0),
    }[case]()
    with pytest.warns(NotSeparableWarning, match="no separator"):
        svm = KernelSVM(C=np.inf, kernel="linear").fit(X, y)
    assert svm.certificate_.separates is False
    assert svm.certificate_.proved
    assert svm.certificate_.gap == 1.0
    assert certify(X, y).verdict == "not separable"


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplace"])
@pytest.mark.parametrize("n", [2, 7])
def test_L30_equal_examples_with_different_labels_are_never_separated(kernel, n):
    # The dual values grow until rounding hides that both classes have the same scores.
    X = np.vstack([np.ones((2, 2)), np.random.default_rng(0).normal(size=(n - 2, 2))])
    y = np.r_[0, 1, np.arange(n - 2) % 2]
    with pytest.warns(NotSeparableWarning, match="no separator"):
        svm = KernelSVM(C=np.inf, kernel=kernel).fit(X, y)
    assert svm.certificate_.separates is False
    assert svm.certificate_.proved
    assert svm.history_.stopped == "not separable"


def test_L30_examples_of_no_length_are_never_separated():
    with pytest.warns(NotSeparableWarning, match="no separator"):
        svm = KernelSVM(C=np.inf, kernel="linear").fit(np.zeros((4, 2)), [0, 1, 1, 1])
    assert svm.certificate_.proved


def test_L30_the_bound_on_the_margin_allows_for_rounding(monkeypatch):
    # Of a margin of 1e-9, nothing is left in kernel values of about 1.
    monkeypatch.setattr("widemargin.kernel_machines.svm.solve._none_separates", lambda *_: False)
    X, y = np.array([[1.0, 0.0], [1.0, 2e-9]]), [0, 1]
    with pytest.warns(NotSeparableWarning, match="above"):
        svm = KernelSVM(C=np.inf, kernel="linear").fit(X, y)
    assert svm.certificate_.bound >= certify(X, y).margin.low


def test_L31_the_hinge_bounds_mistakes():
    X, y = blobs(200, noise=2.0)
    for C in (0.01, 1.0, 100.0):
        svm = KernelSVM(C=C).fit(X, y)
        mistakes = np.sum(svm.predict(X) != y)
        length = svm.certificate_.margin**-2
        assert mistakes <= (svm.certificate_.primal - length / 2) / C + 1e-9


def test_L32_dual_values_and_the_formula():
    X, y = blobs(100, noise=1.5)
    signs, C = 2.0 * y - 1, 2.0
    svm = KernelSVM(C=C, gamma=0.5, tol=1e-8).fit(X, y)
    alpha, K = alphas(svm, 100), naive_gram(X, X, "rbf", 0.5)
    assert np.all((alpha >= 0.0) & (alpha <= C))
    assert abs(alpha @ signs) < 1e-9
    np.testing.assert_array_equal(np.sort(svm.support_), np.flatnonzero(alpha > 0))
    margins = signs * (K @ (alpha * signs) + svm.intercept_[0])
    np.testing.assert_allclose(margins, signs * svm.decision_function(X), atol=1e-9)
    assert np.all(margins[alpha == 0] >= 1 - 1e-6)
    assert np.all(margins[alpha == C] <= 1 + 1e-6)
    np.testing.assert_allclose(margins[(alpha > 0) & (alpha < C)], 1.0, atol=1e-6)
    twin, b = naive_svm(K, signs, np.full(100, C))
    np.testing.assert_allclose(alpha, twin, atol=1e-5)
    assert svm.intercept_[0] == pytest.approx(b, abs=1e-6)


def test_L33_more_than_two_classes():
    X, y = load_digits(return_X_y=True)
    svm = KernelSVM(gamma=0.001).fit(X[:1200], y[:1200])
    assert len(svm.certificate_.parts) == 45
    theirs = SVC(gamma=0.001).fit(X[:1200], y[:1200])
    assert np.mean(svm.predict(X[1200:]) == theirs.predict(X[1200:])) > 0.995
    names = np.array(list("abcdefghij"))
    named = KernelSVM(gamma=0.001).fit(X[:1200], names[y[:1200]])
    np.testing.assert_array_equal(named.predict(X[1200:]), names[svm.predict(X[1200:])])


# Bad input


def gram():
    X, y = blobs(30)
    return X @ X.T, y


BAD = {
    "not symmetric": (
        lambda: KernelSVM(kernel="precomputed").fit(gram()[0] + np.tri(30), gram()[1]),
        "symmetric",
    ),
    "indefinite": (
        lambda: KernelSVM(kernel="precomputed").fit(-gram()[0], gram()[1]),
        "positive semi-definite",
    ),
    "not square": (
        lambda: KernelSVM(kernel="precomputed").fit(gram()[0][:, :20], gram()[1]),
        "square",
    ),
    "NaN from a kernel": (
        lambda: KernelSVM(kernel=lambda x, z: float("nan")).fit(*blobs()),
        "finite",
    ),
    "a word from a kernel": (lambda: KernelSVM(kernel=lambda x, z: "a").fit(*blobs()), "number"),
    "no kernel": (lambda: KernelSVM(kernel=lambda x, z: -x @ z).fit(*blobs()), "is not a kernel"),
    "gamma overflows": (
        lambda: KernelSVM(gamma=1e308).fit(1e3 * blobs()[0], blobs()[1]),
        "too large",
    ),
    "powers overflow": (
        lambda: KernelSVM(kernel="poly", degree=100, gamma=1.0).fit(1e10 * blobs()[0], blobs()[1]),
        "finite",
    ),
    "one class": (lambda: KernelSVM().fit(blobs()[0], np.zeros(60)), "only one class"),
    "one class has weight": (
        lambda: KernelSVM().fit(*blobs(), sample_weight=1.0 - blobs()[1]),
        "two classes",
    ),
    "gamma and sigma": (lambda: KernelSVM(gamma=1.0, sigma=1.0).fit(*blobs()), "not both"),
    "C": (lambda: KernelSVM(C=0.0).fit(*blobs()), "C=0.0"),
    "tol": (lambda: KernelSVM(tol=-1.0).fit(*blobs()), "tol"),
    "max_memory": (lambda: KernelSVM(max_memory="much").fit(*blobs()), "max_memory"),
    "max_seconds": (lambda: KernelSVM(max_seconds=0).fit(*blobs()), "max_seconds"),
    "low_rank": (lambda: KernelSVM(low_rank=0).fit(*blobs()), "low_rank"),
    "multiclass": (lambda: KernelSVM(multiclass="all").fit(*blobs()), "multiclass"),
    "shape": (
        lambda: KernelSVM(multiclass="ovr", decision_function_shape="ovo").fit(*blobs()),
        "ovo",
    ),
    "kernel": (lambda: KernelSVM(kernel="cubic").fit(*blobs()), "cubic"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_in_one_line(case):
    fit, said = BAD[case]
    with pytest.raises((DataError, ValueError), match=said) as told:
        fit()
    assert "\n" not in str(told.value)


def test_duplicates_with_opposite_labels_cost_what_they_must():
    svm = KernelSVM(gamma=1.0).fit(np.zeros((10, 2)), np.arange(10) % 2)
    assert svm.certificate_.primal == pytest.approx(10.0)
    assert svm.certificate_.gap < 1e-9


def test_a_scale_beyond_float32_is_no_trouble():
    X, y = blobs(40)
    plain = KernelSVM(kernel="linear", C=1.0, tol=1e-6).fit(X, y)
    large = KernelSVM(kernel="linear", C=1e-200, tol=1e-6).fit(1e100 * X, y)
    np.testing.assert_allclose(
        plain.decision_function(X), large.decision_function(1e100 * X), atol=1e-4
    )


def test_floats_that_hold_no_better_answer_end_the_fit():
    X, y = blobs(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svm = KernelSVM(tol=1e-300).fit(X, y)
    assert svm.history_.stopped in ("no progress", "converged")
    assert svm.certificate_.gap < 1e-9


# Faces


def test_files(tmp_path):
    X, y = blobs(80, 3)
    strings, labels = ["spam spam", "good day", "spam eggs", "day after"], ["a", "b", "a", "b"]
    K = X @ X.T
    cases = [
        (KernelSVM(gamma=0.5), X, y),
        (KernelSVM(kernel="poly", multiclass="ovr"), scipy.sparse.csr_matrix(X), y),
        (KernelSVM(kernel="precomputed"), K, y),
        (KernelSVM(kernel="ngrams", C=math.inf), strings, labels),
        (KernelSVM(low_rank=20, decision_function_shape="ovo"), X.astype(np.float32), y),
    ]
    for number, (svm, examples, classes) in enumerate(cases):
        svm.fit(examples, classes).save(tmp_path / str(number))
        again, model = load(tmp_path / str(number)), load_model(tmp_path / str(number))
        expected = svm.decision_function(examples)
        np.testing.assert_array_equal(again.decision_function(examples), expected)
        np.testing.assert_array_equal(model.predict(examples), svm.predict(examples))
        assert again.certificate_.to_dict() == svm.certificate_.to_dict()
        assert str(again.certificate_) == str(svm.certificate_)
        np.testing.assert_array_equal(again.dual_coef_, svm.dual_coef_)
        np.testing.assert_array_equal(again.n_support_, svm.n_support_)


def test_a_function_is_given_back_to_a_file(tmp_path):
    X, y = blobs(30)
    svm = KernelSVM(kernel=_product).fit(X, y)
    svm.save(tmp_path / "m")
    again = load(tmp_path / "m")
    with pytest.raises(DataError, match="function"):
        again.predict(X)
    np.testing.assert_array_equal(again.with_kernel(_product).predict(X), svm.predict(X))


def _product(x, z):
    return float(x @ z)


@given(st.integers(0, 10_000), st.integers(3, 6))
@tries(15)
def test_pairs_that_agree_are_coupled_to_the_probabilities_they_come_from(seed, classes):
    p = np.random.default_rng(seed).dirichlet(np.ones(classes), size=9) * 0.98 + 0.02 / classes
    pairs = list(combinations(range(classes), 2))
    odds = np.stack([np.log(p[:, b] / p[:, a]) for a, b in pairs], axis=1)
    sigmoids = PairSigmoids(np.full(len(pairs), -1.0), np.zeros(len(pairs)))
    np.testing.assert_allclose(sigmoids.probabilities(-odds, classes), p, rtol=1e-6)


def test_sigmoids_are_those_of_the_least_loss():
    rng = np.random.default_rng(1)
    codes, weights = np.arange(60) % 3, rng.random(60) + 0.5
    scores = rng.normal(size=(60, 3))
    for column, (a, b) in enumerate(combinations(range(3), 2)):
        scores[:, column] += 1.0 * (codes == a) - 1.0 * (codes == b)
    found = fit_pair_sigmoids(scores, codes, weights, 3)
    for column, (a, b) in enumerate(combinations(range(3), 2)):
        ours = (codes == a) | (codes == b)
        s, first, w = scores[ours, column], codes[ours] == a, weights[ours]
        high, low = (w[first].sum() + 1) / (w[first].sum() + 2), 1 / (w[~first].sum() + 2)
        target = np.where(first, high, low)

        def loss(at, s=s, w=w, target=target):
            z = at[0] * s + at[1]
            return w @ (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z))

        best = minimize(loss, [0.0, 0.0], tol=1e-10)
        assert loss((found.slopes[column], found.offsets[column])) <= best.fun + 1e-8
        assert found.slopes[column] == pytest.approx(best.x[0], abs=1e-4)


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_probabilities_of_many_classes_are_as_good_as_those_of_libsvm():
    X, y = load_digits(return_X_y=True)
    X, learned = X / 16.0, np.arange(len(y)) % 3 != 0
    losses = []
    for svm in (KernelSVM, SVC):
        found = svm(C=10.0, probability=True, random_state=0).fit(X[learned], y[learned])
        p = found.predict_proba(X[~learned])
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        losses.append(log_loss(y[~learned], p))
    assert losses[0] <= 1.1 * losses[1]


def test_a_class_of_one_example_has_no_probability():
    X, y = blobs(30, 3)
    y[y == 2] = 1
    y[0] = 2
    with pytest.raises(DataError, match="two examples of every class, found one of"):
        KernelSVM(probability=True).fit(X, y)


def test_probabilities_come_from_held_out_folds():
    X, y = blobs(200, noise=2.0)
    assert not hasattr(KernelSVM().fit(X, y), "predict_proba")
    svm = KernelSVM(gamma=5.0, C=100.0, probability=True, random_state=0).fit(X, y)
    P = svm.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    # The machine fits its own examples far better than those that were held out.
    assert np.mean(svm.predict(X) == y) > 0.95
    assert np.mean(P.max(axis=1)) < 0.85


@scikit_learn_checks(
    (KernelSVM(), unequal(NEARLY)),
    (KernelSVM(multiclass="ovr", kernel="poly"), unequal(NEARLY)),
    (KernelSVM(low_rank=20), unequal(NEARLY)),
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 10])
def test_every_pair_runs_once_and_classes_in_turn(classes):
    order = order_pairs(classes)
    assert sorted(order) == [(a, b) for a in range(classes) for b in range(a + 1, classes)]
    for threads in (1, 2, 3):
        seen = {c: [] for c in range(classes)}

        def work(a, b, thread, seen=seen):
            seen[a].append((a, b))
            seen[b].append((a, b))

        run_pairs(order, threads, work)
        for c in range(classes):
            assert seen[c] == [pair for pair in order if c in pair]


def test_a_failure_in_one_pair_ends_all():
    def work(a, b, thread):
        if (a, b) == (1, 2):
            raise DataError("no")

    with pytest.raises(DataError, match="no"):
        run_pairs(order_pairs(6), 2, work)


def test_pickles_hold_the_support_once():
    X, y = load_digits(return_X_y=True)
    X = np.hstack([X, np.zeros((len(X), 40))]).astype(np.float32)  # columns that will be left out
    svm = KernelSVM(gamma=0.01, C=5.0).fit(X[:300], y[:300])
    fresh = len(pickle.dumps(svm))
    found = svm.decision_function(X[300:400])
    packed = pickle.dumps(svm)
    assert len(packed) < 1.2 * fresh
    assert np.array_equal(pickle.loads(packed).decision_function(X[300:400]), found)


INTERPRETED = """
import numpy as np
from widemargin import KernelSVM
X = np.array([[0, 0], [1, 1], [0, 1], [1, 0], [2, 2], [2, 3.0]], np.float32)
for how in ({}, {"kernel": "poly", "multiclass": "ovr"}):
    svm = KernelSVM(C=1.0, tol=0.01, **how).fit(X, [0, 0, 1, 1, 2, 2])
    print(np.round(svm.decision_function(X), 3).tolist())
"""


def test_compiled_and_interpreted_are_the_same():
    found = [list(map(json.loads, told.splitlines())) for told in told_by_both(INTERPRETED)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-2)


def test_the_shell_trains_a_kernel_svm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = blobs(90, 3)
    X = X.round(3)
    lines = [f"{c} 1:{x[0]} 2:{x[1]} 3:{x[2]}\n" for x, c in zip(X, y, strict=True)]
    pathlib.Path("train.svm").write_text("".join(lines))
    words = ["--learner", "kernel-svm", "--kernel", "rbf", "--gamma", "0.5", "--C", "2", "--double"]
    done = CliRunner().invoke(main, ["train", "train.svm", *words, "--model", "m.wm"])
    assert done.exit_code == 0, done.output
    svm = KernelSVM(gamma=0.5, C=2.0).fit(X, y)
    assert str(svm.certificate_).splitlines()[0] in done.stdout
    np.testing.assert_array_equal(load("m.wm").predict(X), svm.predict(X))
    done = CliRunner().invoke(main, ["predict", "m.wm", "train.svm"])
    assert done.stdout.split() == [str(label) for label in svm.predict(X)]
    done = CliRunner().invoke(main, ["inspect", "m.wm"])
    assert f"{len(svm.support_)} support vectors" in done.stdout
    strange = CliRunner().invoke(main, ["train", "train.svm", *words, "--budget", "5"])
    assert strange.exit_code == 2
    assert "--budget" in strange.stderr


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_precomputed_kernel_answers_about_new_examples(multiclass, tmp_path):
    """Their values are those of the new rows, not of the rows that were learned from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) + np.repeat(np.eye(3), 30, axis=0) * 2.0
    y, old, new = np.repeat([0, 1, 2], 30), slice(0, None, 2), slice(1, None, 2)
    K = X @ X.T
    given = KernelSVM(kernel="precomputed", tol=1e-9, multiclass=multiclass)
    given.fit(K[old, old], y[old])
    plain = KernelSVM(kernel="linear", tol=1e-9, multiclass=multiclass).fit(X[old], y[old])
    wanted = plain.model_.machine_scores(X[new])
    np.testing.assert_allclose(given.model_.machine_scores(K[new, old]), wanted, atol=1e-6)
    given.save(tmp_path / "m.wm")
    back = load(tmp_path / "m.wm")
    assert np.array_equal(back.decision_function(K[new, old]), given.decision_function(K[new, old]))
