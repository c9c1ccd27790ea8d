"""Newton steps for all classes together: against plain numpy, LIBLINEAR, and as a part of a fit."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from interpreted import assert_both_tell_the_same
from profiles import tries
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from widemargin import LinearSVM
from widemargin.certificates.gap import (
    BinaryObjective,
    GapCertificate,
    measure_binary,
    measure_classes,
)
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm import classes as together
from widemargin.linear_svm import fit, newton_classes
from widemargin.linear_svm.newton_classes import ClassesIterate, ClassesSVM, iterate

LOSSES = ("hinge", "squared_hinge")
both_losses = pytest.mark.parametrize("loss", LOSSES)


@pytest.fixture(autouse=True)
def no_small_problems(monkeypatch):
    """These tests are about the solvers of larger problems."""
    monkeypatch.setattr(fit, "is_small", lambda problem: False)


def blobs(n=240, d=6, k=4, seed=0, noise=1.5):
    """Overlapping classes, with a cost for each example, zero for some."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(k, size=n)
    X = rng.normal(size=(k, d))[codes] * 2.0 + noise * rng.normal(size=(n, d))
    return X, codes, rng.choice([0.0, 0.5, 1.0, 3.0], n)


def begun(X, codes, costs, squared, k, threads=1):
    """The problem at zero."""
    caps = np.full(len(codes), np.inf) if squared else costs
    given = frozen(codes), k, frozen(costs), frozen(caps)
    problem = ClassesSVM(Rows.of(X, bias=2.0), *given, squared)
    return ClassesIterate(problem, np.zeros((k, len(codes))), threads)


def naive_pull(m, costs, squared, h):
    """How an example pulls: minus the slope of the loss, its corner rounded off by a parabola."""
    if squared:
        return 2.0 * costs * np.maximum(0.0, 1.0 - m)
    return costs * np.clip((1.0 + h - m) / (2.0 * h), 0.0, 1.0)


def naive_gap(Z, y, costs, squared, w, alpha):
    """The primal of some weights, and its distance from the dual of some dual values."""
    short = np.maximum(0.0, 1.0 - y * (Z @ w))
    primal = w @ w / 2 + costs @ (short**2 if squared else short)
    v = (alpha * y) @ Z
    soft = np.divide(alpha**2, 4.0 * costs, out=np.zeros(len(y)), where=costs > 0)
    return primal, primal - (alpha.sum() - v @ v / 2 - (soft.sum() if squared else 0.0))


@given(st.integers(0, 2**32 - 1), st.booleans())
@tries(13)
def test_every_class_pulls_as_plain_numpy_says(seed, squared):
    X, codes, costs = blobs(seed=seed, n=80)
    Z = np.column_stack([X, np.full(80, 2.0)])
    point = begun(X, codes, costs, squared, 4)
    for _ in range(3):
        for c in range(4):
            y, h = np.where(codes == c, 1.0, -1.0), point.half_width[c]
            m = y * (Z @ point.W[c])
            a = naive_pull(m, costs, squared, h)
            np.testing.assert_allclose(point.scores[c], Z @ point.W[c], atol=1e-8)
            np.testing.assert_allclose(point.pulls[c], a * y, atol=1e-7)
            np.testing.assert_allclose(point.V[c], (a * y) @ Z, atol=1e-6)
            inside = (a > 0) & (a < point.problem.caps)
            theta = np.where(inside, costs * (2.0 if squared else 0.5 / h), 0.0)
            hessian = np.eye(7) + Z.T @ (theta[:, None] * Z)
            np.testing.assert_allclose(point.hessian(c), hessian, rtol=1e-8, atol=1e-6)
            point.flips[c] = 0  # what came and went is in the sum now
            primal, gap = naive_gap(Z, y, costs, squared, point.W[c], a)
            assert point.primal(c) == pytest.approx(primal)
            assert point.gap(c) == pytest.approx(gap, abs=1e-6 * primal)
            assert point.pull[c].mistakes == np.sum((m <= 0) & (costs > 0))
        for _ in point.step([1e-3 * point.primal(c) for c in point.live]):
            pass


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([1e-2, 1e-3, 1e-6]))
@tries(13)
def test_the_gaps_are_reached_and_are_what_was_said(seed, squared, tol):
    X, codes, costs = blobs(seed=seed)
    point = begun(X, codes, costs, squared, 4)
    for _ in iterate(point, tol):
        pass
    objectives = [
        BinaryObjective(point.problem.rows, np.where(codes == c, 1, -1), costs, squared, False)
        for c in range(4)
    ]
    alphas = np.abs(point.best)
    measured = measure_classes(objectives, alphas, point.lowest)
    Z = np.column_stack([X, np.full(len(codes), 2.0)])
    for objective, alpha, (w, found) in zip(objectives, alphas, measured, strict=True):
        assert found.gap <= tol
        _, _, same = measure_binary(objective, alpha, w)
        assert (found.primal, found.dual) == pytest.approx((same.primal, same.dual), rel=1e-12)
        primal, gap = naive_gap(Z, objective.y, costs, squared, w, alpha)
        assert (found.primal, found.dual) == pytest.approx((primal, primal - gap), rel=1e-9)


def digits(scale=16.0):
    X, y = load_digits(return_X_y=True)
    return X / scale, y


@both_losses
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_objectives_are_liblinears(loss, C):
    X, y = digits()
    ours = LinearSVM(loss=loss, C=C, tol=1e-4, random_state=0).fit(X, y)
    assert ours.history_.stopped == "gap reached"
    theirs = LinearSVC(loss=loss, C=C, tol=1e-6, max_iter=30_000, random_state=0).fit(X, y)
    for c, part in enumerate(ours.certificate_.parts):
        signs = np.where(y == c, 1.0, -1.0)
        short = np.maximum(0.0, 1.0 - signs * (X @ theirs.coef_[c] + theirs.intercept_[c]))
        primal = 0.5 * (theirs.coef_[c] @ theirs.coef_[c] + theirs.intercept_[c] ** 2)
        primal += C * np.sum(short if loss == "hinge" else short**2)
        assert part.dual <= primal * (1 + 1e-9)
        assert part.primal <= primal * (1 + 1e-4)


@both_losses
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_and_storage_make_no_difference(loss, dtype):
    X, y = digits()
    X = X.astype(dtype)
    one, three = (LinearSVM(loss=loss, random_state=0, n_jobs=jobs).fit(X, y) for jobs in (None, 3))
    np.testing.assert_array_equal(one.coef_, three.coef_)
    np.testing.assert_array_equal(one.certificate_.alpha, three.certificate_.alpha)
    assert one.certificate_.gap <= 1e-3
    sparse = LinearSVM(loss=loss, random_state=0).fit(scipy.sparse.csr_matrix(X), y)
    assert sparse.certificate_.primal == pytest.approx(one.certificate_.primal, rel=2e-3)


@both_losses
def test_a_part_of_the_rows_and_float32_make_good_directions(loss, monkeypatch):
    monkeypatch.setattr(newton_classes, "_ENOUGH_ROWS", 3)
    monkeypatch.setattr(newton_classes, "_CHEAP_SUM", 0)
    monkeypatch.setattr(newton_classes, "_FLOAT32_FROM", 1)
    X, y = digits()
    assert LinearSVM(loss=loss, random_state=0).fit(X, y).certificate_.gap <= 1e-3


@both_losses
def test_what_newton_steps_leave_is_finished_class_by_class(loss, monkeypatch):
    monkeypatch.setattr(newton_classes, "_STEPS", 3)
    X, y = digits()
    svm = LinearSVM(loss=loss, random_state=0).fit(X, y)
    assert all(part.gap <= 1e-3 for part in svm.certificate_.parts)
    assert len(svm.history_) > 5
    assert svm.history_.epochs[-1].gap <= 2e-3


@both_losses
def test_few_epochs_and_no_time_leave_a_true_gap(loss):
    X, y = digits()
    for how in ({"epochs": 1}, {"epochs": 4}, {"max_seconds": 1e-9}):
        with pytest.warns(match="relative gap"):
            svm = LinearSVM(loss=loss, random_state=0, **how).fit(X, y)
        assert len(svm.history_) <= how.get("epochs", 2)
        assert 1e-3 < svm.certificate_.gap <= 1.0
        scores = svm.decision_function(X)
        signs = np.where(y[:, None] == svm.classes_, 1.0, -1.0)
        short = np.maximum(0.0, 1.0 - signs * scores)
        primal = 0.5 * (np.sum(svm.coef_**2) + np.sum(svm.intercept_**2))
        primal += np.sum(short if loss == "hinge" else short**2)
        assert svm.certificate_.primal == pytest.approx(primal)


@both_losses
def test_a_path_starts_where_the_last_ended(loss):
    X, y = digits()
    svm = LinearSVM(loss=loss, random_state=0)
    for one in svm.path(X, y, [0.5, 1.0, 5.0]):
        alone = LinearSVM(loss=loss, C=one.C, random_state=0).fit(X, y)
        assert one.certificate_.gap <= 1e-3
        assert one.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-3)


def test_weights_of_rows_and_classes_count():
    X, y = digits()
    weight = np.where(y == 3, 2.0, 1.0)
    weight[::7] = 0.0
    by_row = LinearSVM(tol=1e-5, random_state=0).fit(X, y, weight)
    kept = np.flatnonzero(weight > 0.0)
    kept = np.concatenate([kept, kept[y[kept] == 3]])
    repeated = LinearSVM(tol=1e-5, random_state=0).fit(X[kept], y[kept])
    assert by_row.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=2e-5)
    np.testing.assert_array_equal(by_row.certificate_.alpha[::7], 0.0)


@both_losses
def test_a_large_cost_is_reached_by_way_of_smaller_ones(loss):
    X, codes, _ = blobs(n=600, d=8, noise=1.0)
    svm = LinearSVM(C=1e5, loss=loss, random_state=0).fit(X, codes)
    assert svm.certificate_.gap <= 1e-3
    gaps = [epoch.gap for epoch in svm.history_.epochs]
    assert all(0.0 <= gap <= 1.0 for gap in gaps)
    assert len(together._path(together.BinarySVM(Rows.of(X), codes, np.empty(0), C=1e5))) > 1


@both_losses
def test_two_classes_of_many_features_are_one_problem(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 220))
    y = np.where(X @ rng.normal(size=220) + 10.0 * rng.normal(size=500) > 0, "yes", "no")
    one, two = (LinearSVM(loss=loss, random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.certificate_.gap <= 1e-3
    np.testing.assert_array_equal(one.coef_, two.coef_)
    theirs = LinearSVC(loss=loss, tol=1e-6, max_iter=50_000, random_state=0).fit(X, y)
    short = np.maximum(0.0, 1.0 - np.where(y == "yes", 1, -1) * theirs.decision_function(X))
    primal = 0.5 * (np.sum(theirs.coef_**2) + theirs.intercept_[0] ** 2)
    primal += np.sum(short if loss == "hinge" else short**2)
    assert one.certificate_.dual <= primal * (1 + 1e-9)
    assert one.certificate_.primal <= primal * (1 + 1e-3)


def test_a_matrix_of_mostly_zeros_is_learned_as_sparse_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 80)) * (rng.random((400, 80)) < 0.1)
    y = np.argmax(X[:, :5] + 0.1 * rng.normal(size=(400, 5)), axis=1)
    dense, sparse = (
        LinearSVM(C=0.05, random_state=0).fit(form(X), y)
        for form in (np.asarray, scipy.sparse.csr_matrix)
    )
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    full = Rows.of(rng.normal(size=(30, 80)))
    assert together.thinned(full) is full
    thin = together.thinned(Rows.of(X))
    assert thin.is_sparse
    np.testing.assert_array_equal(thin.to_matrix().toarray(), X)
    assert thin.stored_values == np.count_nonzero(X)


#: Steps that are few enough for the interpreter.
SCRIPT = """
import numpy as np
from test_svm_classes import begun, blobs
from widemargin.linear_svm.newton_classes import iterate
X, codes, costs = blobs(n=40, d=3, k=3)
for squared in (False, True):
    point = begun(X, codes, costs, squared, 3)
    for _ in iterate(point, 1e-4):
        pass
    print(point.pulls.tolist())
"""


def test_interpreted_is_compiled():
    assert_both_tell_the_same(SCRIPT, rtol=1e-6, atol=1e-9)


def test_a_certificate_names_its_classes():
    X, y, _ = blobs(k=3)
    names = np.array(["ham", "spam", "unsure"])[y]
    certificate = LinearSVM(random_state=0).fit(X, names).certificate_
    assert certificate.classes == ("ham", "spam", "unsure")
    told = [line.split(":")[0] for line in str(certificate).splitlines()[-3:]]
    assert told == [f"{name} against the rest" for name in certificate.classes]
    assert GapCertificate.from_dict(certificate.to_dict()) == certificate
    old = certificate.to_dict()
    del old["classes"]  # as files of earlier versions have it
    assert "class 2 against the rest" in str(GapCertificate.from_dict(old))
