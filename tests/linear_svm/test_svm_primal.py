"""Newton steps for the weights of an SVM: against plain numpy, and as a part of a fit."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from interpreted import assert_both_tell_the_same
from profiles import tries
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC
from svm_problems import smooth, weighed_examples

from widemargin import LinearSVM
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm import fit
from widemargin.linear_svm.dual_ascent import DualAscent
from widemargin.linear_svm.newton_primal import PrimalIterate, iterate
from widemargin.linear_svm.problem import BinarySVM, StopSignal
from widemargin.linear_svm.steps import NewtonPrimal

FORMS = {"dense": np.asarray, "sparse": scipy.sparse.csr_matrix}
both_forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
both_losses = pytest.mark.parametrize("squared", [False, True], ids=["hinge", "squared"])


@pytest.fixture(autouse=True)
def no_small_problems(monkeypatch):
    """These tests are about the solvers of larger problems."""
    monkeypatch.setattr(fit, "is_small", lambda problem: False)


# Twins


def naive_pull(m, costs, squared, h):
    """How an example point: minus the slope of the loss, its corner rounded off by a parabola."""
    if squared:
        return 2.0 * costs * np.maximum(0.0, 1.0 - m)
    return costs * np.clip((1.0 + h - m) / (2.0 * h), 0.0, 1.0)


def naive_loss(m, costs, squared, h):
    """The loss itself, the rounded one."""
    s = 1.0 - m
    if squared:
        return costs @ np.maximum(0.0, s) ** 2
    parabola = (s + h) ** 2 / (4.0 * h)
    return costs @ np.where(s > h, s, np.where(s < -h, 0.0, parabola))


def objectives(Z, y, costs, squared, alpha):
    """Primal at the weights that dual values make, and dual."""
    w = (alpha * y) @ Z
    short = np.maximum(0.0, 1.0 - y * (Z @ w))
    softness = np.divide(alpha**2, 4.0 * costs, out=np.zeros(len(y)), where=costs > 0)
    primal = w @ w / 2 + costs @ (short**2 if squared else short)
    return primal, alpha.sum() - w @ w / 2 - (softness.sum() if squared else 0.0)


# The loops


@both_forms
@both_losses
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_examples_pull_as_plain_numpy_says(form, squared, dtype, bias):
    X, y, costs = weighed_examples(50, 6)
    X = X.astype(dtype)
    problem, Z = smooth(X, y, costs, squared, form, bias)
    rng = np.random.default_rng(1)
    start = np.where(costs > 0, costs * rng.random(50), 0.0)
    w = (start * y) @ Z
    point = PrimalIterate(problem, start, w)
    point.smooth(0.3)
    assert not point.search_along(point.w - point.v)
    for moved in (False, True):
        assert not moved or point.search_along((point.v - point.w) * rng.random(7), narrower=0.5)
        h = 0.15 if moved else 0.3
        m = y * (Z @ point.w)
        a = naive_pull(m, costs, squared, h)
        np.testing.assert_allclose(point.margins, m, atol=1e-9)
        np.testing.assert_allclose(point.alpha, a, atol=1e-9)
        np.testing.assert_allclose(point.v, (a * y) @ Z, atol=1e-8)
        inside = (a > 0) & (a < problem.caps)
        theta = np.where(inside, costs * (2.0 if squared else 0.5 / h), 0.0)
        np.testing.assert_allclose(
            point.hessian(), np.eye(7) + Z.T @ (theta[:, None] * Z), rtol=1e-9
        )
        pull = point.pull
        assert (pull.inside, pull.mistakes) == (inside.sum(), np.sum((m <= 0) & (costs > 0)))
        primal = objectives_at(point.w, Z, y, costs, squared)
        assert point.primal == pytest.approx(primal)
        gap = primal - objectives(Z, y, costs, squared, a)[1]
        away = point.w - point.v
        assert pull.excess + away @ away / 2 == pytest.approx(gap, abs=1e-9)


def objectives_at(w, Z, y, costs, squared):
    short = np.maximum(0.0, 1.0 - y * (Z @ w))
    return w @ w / 2 + costs @ (short**2 if squared else short)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
@tries(30)
def test_a_step_never_makes_the_rounded_objective_larger(seed, squared, sparse):
    X, y, costs = weighed_examples(30, 4, seed)
    problem, Z = smooth(X, y, costs, squared, FORMS["sparse" if sparse else "dense"])
    rng = np.random.default_rng(seed)
    h, w = float(rng.uniform(0.01, 1.0)), rng.normal(size=5)
    point = PrimalIterate(problem, np.zeros(30), np.zeros(5))
    point.w[:] = w
    point.margins[:] = y * (Z @ w)
    point.smooth(h)

    def objective(w):
        return w @ w / 2 + naive_loss(y * (Z @ w), costs, squared, h)

    def slope(w):
        return (w - (naive_pull(y * (Z @ w), costs, squared, h) * y) @ Z) @ downhill

    downhill = point.v - point.w
    before, where = objective(point.w), point.w.copy()
    if point.search_along(downhill):
        assert objective(point.w) <= before
        # The search ends where a tenth of the slope is left, or less.
        assert abs(slope(point.w)) <= 0.1 * abs(slope(where)) * (1 + 1e-9) + 1e-9


# The steps


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([1e-2, 1e-3, 1e-6]))
@tries(30)
def test_the_gap_is_reached_and_is_what_was_said(seed, squared, tol):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 200)), int(rng.integers(1, 6))
    X, y, costs = weighed_examples(n, d, seed)
    problem, Z = smooth(X, y, costs, squared)
    point = PrimalIterate(problem, np.zeros(n), np.zeros(d + 1))
    *_, said = iterate(point, tol)
    assert said <= tol
    assert np.all((point.alpha >= 0.0) & (point.alpha <= problem.caps))
    np.testing.assert_allclose(point.v, (point.alpha * y) @ Z, atol=1e-9)
    primal, dual = objectives(Z, y, costs, squared, point.alpha)
    assert primal - dual <= (1 + 1e-6) * tol * primal + 1e-12


@given(st.integers(0, 2**32 - 1), st.booleans())
@tries(20)
def test_a_free_bias_costs_nothing_and_balances_the_classes(seed, squared):
    rng = np.random.default_rng(seed)
    X, y, costs = weighed_examples(100, 3, seed)
    problem, Z = smooth(X + rng.normal(), y, costs, squared, free=True)
    point = PrimalIterate(problem, np.zeros(100), np.zeros(4), bias=float(rng.normal()))
    *_, said = iterate(point, 1e-6)
    assert said <= 1e-6
    alpha, b = point.alpha, point.w[-1]
    assert abs(b * (alpha @ y)) <= 1e-6 * point.primal
    w = (alpha * y) @ Z[:, :-1]
    short = np.maximum(0.0, 1.0 - y * (Z[:, :-1] @ w + b))
    primal = w @ w / 2 + costs @ (short**2 if squared else short)
    softness = np.divide(alpha**2, 4.0 * costs, out=np.zeros(100), where=costs > 0)
    dual = alpha.sum() - w @ w / 2 - (softness.sum() if squared else 0.0)
    assert abs(primal - dual) <= 2e-6 * primal + 1e-12


# As a part of a fit


@both_forms
@both_losses
@pytest.mark.parametrize("bias", ["regularised", "free"])
def test_many_rows_of_few_features_take_few_passes(form, squared, bias):
    X, y, _ = weighed_examples(2000, 8, noise=2.0)
    loss = "squared_hinge" if squared else "hinge"
    for tol, most in ((1e-3, 15), (1e-6, 40)):
        svm = LinearSVM(loss=loss, tol=tol, bias=bias, random_state=0).fit(form(X), y)
        assert svm.certificate_.gap <= tol
        assert len(svm.history_) <= most
        assert svm.history_["gap"][-1] <= tol
    if bias == "free" and squared:
        return  # no peer has it
    theirs = LinearSVC(loss=loss, dual=not squared, tol=1e-6, max_iter=5000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the hinge's objective comes close
        theirs = (SVC(kernel="linear", tol=1e-5) if bias == "free" else theirs).fit(X, y)
    w = np.append(theirs.coef_[0], theirs.intercept_)
    Z = np.column_stack([X, np.ones(len(y))])
    other = objectives_at(w, Z, y, np.ones(len(y)), squared)
    other -= theirs.intercept_[0] ** 2 / 2 if bias == "free" else 0.0
    assert svm.certificate_.primal <= other * (1 + 1e-6)
    assert svm.certificate_.primal == pytest.approx(other, rel=1e-5)


@both_losses
def test_a_descent_is_not_taken_over_where_it_is_worse(squared):
    X, y, costs = weighed_examples(500, 5)
    rows = Rows.of(X)
    exact, rough = (
        BinarySVM(rows, frozen(y), frozen(costs), 1.0, squared, tol=tol) for tol in (1e-9, 0.5)
    )
    ascent = DualAscent(exact, np.random.default_rng(0))
    for _ in NewtonPrimal(exact).attempt(ascent, StopSignal()):
        pass
    best, alpha = ascent.state.dual, ascent.state.alpha.copy()
    assert best == pytest.approx(ascent.measure()[2].dual, rel=1e-9)
    ascent.problem = rough
    for _ in NewtonPrimal(rough).attempt(ascent, StopSignal()):
        pass
    assert ascent.state.dual >= best
    np.testing.assert_array_equal(ascent.state.alpha[costs == 0.0], 0.0)
    if ascent.state.dual == best:
        np.testing.assert_array_equal(ascent.state.alpha, alpha)


#: Steps that are few enough for the interpreter.
SCRIPT = """
import numpy as np, scipy.sparse
from svm_problems import smooth, weighed_examples
from widemargin.linear_svm.newton_primal import PrimalIterate, iterate
X, y, costs = weighed_examples(25, 3)
for squared in (False, True):
    for form in (np.asarray, scipy.sparse.csr_matrix):
        point = PrimalIterate(smooth(X, y, costs, squared, form)[0], np.zeros(25), np.zeros(4))
        for _ in iterate(point, 1e-4):
            pass
        print(point.alpha.tolist())
"""


def test_interpreted_is_compiled():
    assert_both_tell_the_same(SCRIPT, rtol=1e-6, atol=1e-9)
