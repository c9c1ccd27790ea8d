"""Small SVMs, solved by a few compiled calls: against plain numpy, other solvers, and LIBLINEAR."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from interpreted import assert_both_tell_the_same
from naive_linear_svm import naive_pass, objectives
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import LinearSVC
from svm_problems import weighed_examples

from widemargin import DataError, LinearSVM
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm import fit, small
from widemargin.linear_svm.problem import BinarySVM, StopSignal
from widemargin.linear_svm.small import dense_rows, is_small, solve_small
from widemargin.loops.svm.small import MORE, SmallSVM, run_small_passes, take_small_steps

both_losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
both_forms = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])


def begun(X, y, costs, squared):
    """A problem, and its point at zero."""
    rows = dense_rows(Rows.of(X, bias=1.0))
    caps = frozen(np.full(len(y), np.inf) if squared else costs)
    svm = SmallSVM(*rows, frozen(y.astype(np.float64)), frozen(costs), caps, squared)
    return svm, small._first_point(svm, None)


@both_forms
def test_the_matrix_has_the_constant_feature_last(form):
    X = np.array([[0.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
    found, columns, lengths = dense_rows(Rows.of(form(X), bias=0.5))
    np.testing.assert_array_equal(found.values, np.column_stack([X, np.full(3, 0.5)]))
    np.testing.assert_array_equal(columns, found.values.T)
    np.testing.assert_array_equal(lengths, [4.25, 0.25, 25.25])


@both_losses
def test_a_pass_is_the_textbooks(loss):
    X, y, costs = weighed_examples(40, 4)
    squared = loss == "squared_hinge"
    svm, point = begun(X, y, costs, squared)
    order = frozen(np.random.default_rng(0).permutation(40).astype(np.uint64))
    log = np.empty((1, 4))
    assert run_small_passes(svm, point, order, 1e-12, 1, log) == (1, MORE)
    Z, alpha = np.column_stack([X, np.ones(40)]), np.zeros(40)
    counted = order[costs[order.astype(int)] > 0.0]
    naive_pass(Z, y, costs, counted, 1.0, squared, 0.0, alpha)
    np.testing.assert_allclose(point.alpha, alpha, rtol=1e-9, atol=1e-12)
    some = costs > 0.0
    primal, dual = objectives(Z[some], y[some], costs[some], squared, alpha[some])
    assert log[0, 2:] == pytest.approx([primal, dual])


@both_losses
def test_newton_steps_find_the_optimum(loss):
    X, y, costs = weighed_examples(60, 5)
    squared = loss == "squared_hinge"
    svm, point = begun(X, y, costs, squared)
    log = np.empty((60, 4))
    done, _ = take_small_steps(svm, point, 1e-9, 60, True, log)
    Z, some = np.column_stack([X, np.ones(60)]), costs > 0.0
    primal, dual = objectives(Z[some], y[some], costs[some], squared, point.alpha[some])
    assert primal - dual <= 1e-6 * primal
    np.testing.assert_allclose(point.v, (point.alpha * y) @ Z, atol=1e-9)
    assert log[done - 1, 2] == pytest.approx(primal, rel=1e-5)
    inside = point.inside > 0  # the sum over the corner, after all examples that came and went
    before = point.G.copy()
    small_sum = (Z[inside].T * costs[inside]) @ Z[inside]
    if not point.counts[1]:
        np.testing.assert_allclose(np.triu(before), np.triu(small_sum), atol=1e-8)


@both_losses
@both_forms
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e2, 1e6])
def test_certificates_are_true_and_reached(loss, form, C):
    X, y, _ = weighed_examples(80, 6)
    for tol in (0.3, 1e-3, 1e-6):
        svm = LinearSVM(C=C, loss=loss, tol=tol, random_state=0).fit(form(X), y)
        assert svm.certificate_.gap <= tol
        assert svm.history_.stopped == "gap reached"
        Z, alpha = np.column_stack([X, np.ones(80)]), np.ravel(svm.certificate_.alpha)
        primal, dual = objectives(Z, y, np.full(80, C), loss != "hinge", alpha)
        assert np.all(alpha >= 0.0)
        assert loss != "hinge" or np.all(alpha <= C)
        assert svm.certificate_.dual == pytest.approx(dual, rel=1e-9)
        w = np.append(svm.coef_[0], svm.intercept_)
        if np.allclose(w, (alpha * y) @ Z, rtol=1e-9):
            assert svm.certificate_.primal == pytest.approx(primal, rel=1e-9)


@both_losses
def test_objectives_are_liblinears(loss):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for C in (0.1, 10.0):
        ours = LinearSVM(C=C, loss=loss, tol=1e-7, random_state=0).fit(X, y)
        theirs = LinearSVC(C=C, loss=loss, tol=1e-7, max_iter=200_000, random_state=0).fit(X, y)
        w, b = theirs.coef_[0], theirs.intercept_[0]
        short = np.maximum(0.0, 1.0 - np.where(y, 1, -1) * (X @ w + b))
        primal = 0.5 * (w @ w + b * b) + C * np.sum(short if loss == "hinge" else short**2)
        assert ours.certificate_.primal == pytest.approx(primal, rel=1e-5)


@both_losses
def test_the_same_solution_as_the_solver_of_larger_problems(loss, monkeypatch):
    X, y = load_iris(return_X_y=True)
    found = LinearSVM(loss=loss, tol=1e-8, random_state=0).fit(X, y)
    monkeypatch.setattr(fit, "is_small", lambda problem: False)
    other = LinearSVM(loss=loss, tol=1e-8, random_state=0).fit(X, y)
    assert found.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(found.coef_, other.coef_, atol=2e-3)


@both_losses
def test_the_other_solver_continues_where_the_steps_end(loss, monkeypatch):
    monkeypatch.setattr(small, "_PASSES", 1)
    monkeypatch.setattr(small, "_STEPS", 1)
    X, y, _ = weighed_examples(80, 6)
    svm = LinearSVM(C=50.0, loss=loss, random_state=0).fit(X, y)
    assert svm.certificate_.gap <= 1e-3
    assert [row.epoch for row in svm.history_.epochs] == list(range(1, len(svm.history_) + 1))


@both_losses
def test_few_epochs_leave_a_true_gap(loss):
    X, y, _ = weighed_examples(80, 6)
    for epochs in (1, 3):
        with pytest.warns(match="relative gap"):
            svm = LinearSVM(C=10.0, loss=loss, tol=1e-9, epochs=epochs, random_state=0).fit(X, y)
        assert len(svm.history_) == epochs
        assert svm.history_.stopped == "epochs"
        w = np.append(svm.coef_[0], svm.intercept_)
        short = np.maximum(0.0, 1.0 - y * (np.column_stack([X, np.ones(80)]) @ w))
        loss_sum = np.sum(short if loss == "hinge" else short**2)
        assert svm.certificate_.primal == pytest.approx(0.5 * w @ w + 10.0 * loss_sum)


def test_slices_and_threads_change_nothing(monkeypatch):
    X, y = load_iris(return_X_y=True)
    one = LinearSVM(C=100.0, random_state=0).fit(X, y)
    two = LinearSVM(C=100.0, random_state=0, n_jobs=2).fit(X, y)
    monkeypatch.setattr(small, "_SLICE", 1.0)
    three = LinearSVM(C=100.0, random_state=0).fit(X, y)
    for other in (two, three):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        assert len(one.history_) == len(other.history_)


def test_what_is_small():
    y = frozen(np.ones(1000, np.int8))

    def small_at(n, d, **how):
        rows = Rows.of(np.zeros((n, d)))
        return is_small(BinarySVM(rows, y[:n], frozen(np.empty(0)), **how))

    assert small_at(1000, 100)
    assert not small_at(1000, 200)
    assert not small_at(10, 10, C=np.inf)
    assert not small_at(10, 10, free_bias=True)
    assert not small_at(10, 10, features=1000)


def test_values_that_are_not_finite_are_named():
    X, y, _ = weighed_examples(30, 3)
    X[7, 1] = np.nan
    with pytest.raises(DataError, match="row 7"):
        LinearSVM(random_state=0).fit(X, y)


def test_a_stop_ends_with_what_was_found():
    X, y, _ = weighed_examples(80, 6)
    rows = Rows.of(X, bias=1.0)
    problem = BinarySVM(rows, frozen(y.astype(np.int8)), frozen(np.empty(0)), C=10.0, tol=1e-9)
    signal = StopSignal()
    solver = solve_small(problem, dense_rows(rows), np.random.default_rng(0), signal)
    next(solver)
    signal.stop = True
    found = []

    def run():
        found.append((yield from solver))

    assert len(list(run())) <= 1
    assert not found[0].reached


SCRIPT = """
import numpy as np
from svm_problems import weighed_examples
from widemargin import LinearSVM
X, y, _ = weighed_examples(25, 3)
for loss in ("hinge", "squared_hinge"):
    for C in (0.01, 1.0, 100.0):
        svm = LinearSVM(C=C, loss=loss, random_state=0).fit(X, y)
        print(svm.coef_.tolist())
"""


def test_interpreted_is_compiled():
    assert_both_tell_the_same(SCRIPT, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scale", [1e10, 1e16, 1e20, 1e30])
def test_huge_numbers_do_not_lead_far_astray(loss, scale):
    """What rounding leaves of a solution may be poor, and is honest about it."""
    X, y = np.random.default_rng(0).normal(size=(12, 2)) * scale, np.arange(12) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = LinearSVM(loss=loss, random_state=0).fit(X, y).certificate_
    assert found.primal < 10 * len(y)  # zero weights cost len(y)
