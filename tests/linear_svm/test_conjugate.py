"""Conjugate gradients for the dual values between their bounds, against dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse

from widemargin import LinearSVM
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm import conjugate, policy, steps
from widemargin.linear_svm.conjugate import free_values, move_along, solve_system
from widemargin.linear_svm.dual_ascent import DualAscent
from widemargin.linear_svm.dual_state import DualState
from widemargin.linear_svm.problem import BinarySVM, StopSignal

both_forms = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
both_losses = pytest.mark.parametrize("squared", [False, True])


def problem_of(X, y, form=np.asarray, **how):
    rows = Rows.of(form(X), bias=1.0)
    return BinarySVM(rows, frozen(y.astype(np.int8)), frozen(np.empty(0)), **how)


def overlapping(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)


def free_of(state, y, which):
    return free_values(
        state.rows,
        which,
        y[which].astype(np.float64),
        state.w,
        state.b,
        state.alpha[which],
        (state.caps[which], state.soft[which]),
        np.einsum("ij,ij->i", *[np.column_stack([state.rows.to_matrix(), np.ones(len(y))])] * 2)[
            which
        ],
    )


@both_losses
def test_the_system_is_solved(squared, monkeypatch):
    monkeypatch.setattr(conjugate, "_PRECISE", 1e-9)
    X, y = overlapping()
    state = DualState(problem_of(X, y, squared=squared), np.full(60, 0.3))
    which = np.arange(3, 8)
    free = free_of(state, y, which)
    Z = y[which, None] * np.column_stack([X, np.ones(60)])[which]
    K = Z @ Z.T + np.diag(state.soft[which])
    np.testing.assert_allclose(free.g, 1 - Z @ state.w - state.soft[which] * 0.3, rtol=1e-12)
    gains = [0.0]
    for p in solve_system(free, 50):
        gains.append(free.g @ p - 0.5 * p @ K @ p)
    assert gains == sorted(gains)
    assert len(gains) > 2
    np.testing.assert_allclose(p, np.linalg.solve(K, free.g), rtol=1e-6)


@both_losses
def test_a_move_stays_within_the_bounds_and_gains_what_it_says(squared):
    X, y = overlapping()
    rng = np.random.default_rng(1)
    for size in (0.01, 1.0, 100.0):
        state = DualState(problem_of(X, y, squared=squared), rng.uniform(0.1, 0.9, 60))
        which = np.arange(60)
        free = free_of(state, y, which)
        move = move_along(free, size * free.g)
        assert np.all(move.a >= 0.0)
        assert np.all(move.a <= state.caps)
        Z = y[:, None] * np.column_stack([X, np.ones(60)])
        np.testing.assert_allclose(state.w + move.change, move.a @ Z, atol=1e-10)
        before = state.dual
        state.become(move.a, move.a @ Z, 0.0)
        assert state.dual - before == pytest.approx(move.gain, rel=1e-8)
        assert move.gain > 0.0


def test_no_move_where_the_dual_cannot_grow():
    X, y = overlapping()
    state = DualState(problem_of(X, y), np.full(60, 0.3))
    free = free_of(state, y, np.arange(60))
    assert move_along(free, -free.g) is None


@both_forms
@both_losses
def test_a_whole_attempt_never_makes_the_dual_worse(form, squared):
    X, y = overlapping(200, 50)
    problem = problem_of(X, y, form, squared=squared, C=100.0, tol=1e-8)
    ascent, signal = DualAscent(problem, np.random.default_rng(0)), StopSignal()
    passes, gradients = steps.CoordinatePass(), steps.ConjugateGradients()
    for _ in range(10):
        list(passes.attempt(ascent, signal))
        before = ascent.state.dual
        list(gradients.attempt(ascent, signal))
        assert ascent.state.dual >= before
        held = ascent.state.dual
        ascent.state.rebuild()
        assert ascent.state.dual == pytest.approx(held, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
def test_fits_that_use_it_reach_the_gap(loss, C, monkeypatch):
    for module in (policy, steps):
        monkeypatch.setattr(module, "BLOCK", 0)
    monkeypatch.setattr(steps.ConjugateGradients, "cost", lambda *_: 0.0)
    used = []
    step = steps.ConjugateGradients.attempt
    monkeypatch.setattr(
        steps.ConjugateGradients, "attempt", lambda *how: used.append(1) or step(*how)
    )
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(300, 2000, 0.02, "csr", random_state=rng)
    y = np.where(np.asarray(X.sum(axis=1)).ravel() > X.sum() / 300, 1, -1)
    svm = LinearSVM(C=C, loss=loss, tol=1e-4, random_state=0).fit(X, y)
    assert svm.certificate_.gap <= 1e-4
    assert used or C == 1.0
    w, b = svm.coef_[0], svm.intercept_[0]
    short = np.maximum(0.0, 1.0 - y * (X @ w + b))
    primal = 0.5 * (w @ w + b * b) + C * np.sum(short if loss == "hinge" else short**2)
    assert primal == pytest.approx(svm.certificate_.primal, rel=1e-9)


@both_losses
def test_the_best_multiple_of_weights(squared):
    X, y = overlapping()
    state = DualState(problem_of(X, y, squared=squared, C=3.0), None)
    w = np.random.default_rng(2).normal(size=6) + np.array([3.0, 0, 0, 0, 0, 0])
    Z = y[:, None] * np.column_stack([X, np.ones(60)])

    def primal(s):
        short = np.maximum(0.0, 1.0 - s * (Z @ w))
        return 0.5 * s * s * (w @ w) + 3.0 * np.sum(short**2 if squared else short)

    found = state.best_multiple(w)
    s = found[0] / w[0]
    np.testing.assert_allclose(found, s * w)
    assert primal(s) <= min(primal(t) for t in np.linspace(0.0, 3.0, 1001)) * (1 + 1e-5)
