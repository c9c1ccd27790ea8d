"""The SVM of all classes together: its passes, its Newton steps, and the answers of both."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from widemargin import LinearSVM
from widemargin.certificates.gap import measure_joint
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm import newton_joint
from widemargin.linear_svm.joint import _can_sample, solve_joint
from widemargin.linear_svm.joint_ascent import JointAscent
from widemargin.linear_svm.newton_joint import JointIterate, SmoothedJoint, iterate
from widemargin.linear_svm.problem import JointSVM, StopSignal
from widemargin.loops.svm.joint import find_joint_step, move_joint_scores, tie_level

both_forms = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix], ids=str)


def _problem(seed, form=np.asarray, n=40, classes=3, C=0.5, **how):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 4)), rng.integers(0, classes, n)
    price = how.pop("price", np.empty(0))
    rows = Rows.of(form(X), bias=1.0)
    problem = JointSVM(rows, frozen(y), frozen(price), classes, C=C, **how)
    return problem, np.column_stack([X, np.ones(n)]), y


def _solved(problem):
    solver = solve_joint(problem, np.random.default_rng(0), StopSignal())
    try:
        while True:
            next(solver)
    except StopIteration as end:
        return end.value


def _dual(alpha, Z, y):
    return alpha[np.arange(len(y)), y].sum() - np.sum((alpha.T @ Z) ** 2) / 2


def _primal(W, Z, y, costs):
    g = Z @ W.T + 1.0
    each = np.arange(len(y))
    g[each, y] -= 1.0
    return np.sum(W**2) / 2 + costs @ (g.max(axis=1) - g[each, y])


@both_forms
@pytest.mark.parametrize("classes", [3, 7])
def test_a_pass_makes_every_example_as_good_as_it_can_be(form, classes):
    problem, Z, y = _problem(0, form, classes=classes)
    ascent = JointAscent(problem, np.random.default_rng(0), None)
    for _ in range(6):
        before, active = _dual(ascent.dual.alpha, Z, y), ascent.active
        report = list(ascent.run_epoch(StopSignal()))[-1]
        alpha, W = ascent.dual.alpha, ascent.dual.W
        assert report.dual == pytest.approx(_dual(alpha, Z, y))
        assert report.dual >= before - 1e-12
        assert ascent.active <= active or ascent.all_awake
        np.testing.assert_allclose(W, alpha.T @ Z, atol=1e-12)
        np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12)
        caps = np.where(np.arange(classes) == y[:, None], problem.C, 0.0)
        assert np.all(alpha <= caps)


def test_a_visit_is_the_best_choice_for_its_example():
    problem, Z, y = _problem(0, n=1, classes=4, C=0.7)
    ascent = JointAscent(problem, np.random.default_rng(0), None)
    list(ascent.run_epoch(StopSignal()))
    rng, best = np.random.default_rng(1), _dual(ascent.dual.alpha, Z, y)
    for shares in rng.dirichlet(np.ones(4), 500):
        alpha = problem.C * ((np.arange(4) == y[0]) - shares)
        assert _dual(alpha[None, :], Z, y) <= best + 1e-12


@both_forms
def test_passes_alone_reach_the_gap(form):
    problem, Z, y = _problem(3, form, tol=1e-6)
    ascent = JointAscent(problem, np.random.default_rng(0), None)
    for _ in range(1000):
        list(ascent.run_epoch(StopSignal()))
    W, found = ascent.measure()
    assert found.gap < 1e-6
    assert _primal(W, Z, y, problem.costs) == pytest.approx(found.primal)


@given(st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=8), st.floats(1e-3, 10.0))
def test_the_level_of_ties_shares_out_one(g, h):
    level, count = tie_level(np.array(g), h, max(g) - h)
    above = np.maximum(0.0, np.array(g) - level)
    assert above.sum() == pytest.approx(h)
    assert count == np.count_nonzero(np.array(g) - level > 1e-12) or np.any(above < 1e-9)


def _naive_shares(g, p, h):
    """Project p + g / h onto the simplex, by sorting."""
    v = p + g / h
    u = np.sort(v)[::-1]
    sums = np.cumsum(u) - 1.0
    k = np.flatnonzero(u - sums / np.arange(1, len(u) + 1) > 0.0)[-1]
    return np.maximum(0.0, v - sums[k] / (k + 1))


@given(st.integers(0, 2**32 - 1))
def test_moved_scores_have_the_shares_of_a_projection(seed):
    rng = np.random.default_rng(seed)
    n, k, h, tau = 12, 4, float(rng.uniform(0.05, 3.0)), float(rng.normal())
    y, costs = rng.integers(0, k, n), rng.uniform(0.1, 2.0, n)
    s, t, centre = rng.normal(size=(n, k)), rng.normal(size=(n, k)), rng.dirichlet(np.ones(k), n)
    tied, moved = np.zeros(n, np.int64), s.T.copy()
    shares = centre.T.copy()
    pull = move_joint_scores(y, costs, h, centre.T.copy(), t.T.copy(), tau, moved, shares, tied)
    shares, moved = shares.T, moved.T
    g = s + tau * t + 1.0
    g[np.arange(n), y] -= 1.0
    expected = np.array([_naive_shares(*each, h) for each in zip(g, centre, strict=True)])
    np.testing.assert_allclose(shares, expected, atol=1e-9)
    np.testing.assert_allclose(moved, s + tau * t)
    assert pull.inside == np.sum(tied - 1)
    assert pull.loss == pytest.approx(costs @ (g.max(axis=1) - g[np.arange(n), y]))
    assert pull.excess == pytest.approx(costs @ (g.max(axis=1) - np.sum(shares * g, axis=1)))


@given(st.integers(0, 2**32 - 1))
def test_the_line_search_finds_where_the_objective_is_least(seed):
    rng = np.random.default_rng(seed)
    n, k, h = 12, 4, float(rng.uniform(0.05, 3.0))
    y, costs = rng.integers(0, k, n), rng.uniform(0.1, 2.0, n)
    s, centre = rng.normal(size=(n, k)), rng.dirichlet(np.ones(k), n)
    t = rng.normal(size=(n, k))

    def slope(tau):  # of tau^2 / 2 plus the smoothed losses
        g = s + tau * t + 1.0
        g[np.arange(n), y] -= 1.0
        q = np.array([_naive_shares(*each, h) for each in zip(g, centre, strict=True)])
        return tau + costs @ (np.sum(q * t, axis=1) - t[np.arange(n), y])

    first = slope(0.0)
    if first > 0.0:
        t, first = -t, -first
    if first < -1e-6:
        line = 0.0, 1.0, first
        tau = find_joint_step(y, costs, h, centre.T.copy(), s.T.copy(), t.T.copy(), line)
        assert tau > 0.0
        assert abs(slope(tau)) <= -0.11 * first


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_newton_steps_solve_the_problem(C):
    problem, Z, y = _problem(1, n=60, C=C)
    costs = np.linspace(0.5, 1.5, 60) * C
    costs[3] = 0.0
    smoothed = SmoothedJoint(problem.rows, problem.y, 3, costs)
    point = JointIterate.at(smoothed, np.zeros((60, 3)))
    gaps = []
    for gap in iterate(point, 1e-8):
        gaps.append(gap)
        # What the steps believe is what the dual values are worth.
        primal = _primal(point.W, Z, y, costs)
        assert point.primal == pytest.approx(primal)
        assert point.gap == pytest.approx(primal - _dual(point.alpha, Z, y), abs=1e-9 * primal)
    assert gaps[-1] <= 1e-8
    W, found = measure_joint(problem.rows, y, costs, point.alpha, point.W)
    assert W is point.W
    assert found.gap <= 1e-7


@pytest.mark.parametrize("narrow", [0, 40])
def test_the_hessian_adds_up_what_every_tie_bends(monkeypatch, narrow):
    monkeypatch.setattr(newton_joint, "_NARROW", narrow)
    rng = np.random.default_rng(0)
    X, shares = rng.normal(size=(20, 3)), rng.dirichlet(np.ones(4), 20).T
    shares[rng.random(shares.shape) < 0.5] = 0.0
    shares[:2] += 0.01
    expected = np.eye(12)
    for x, tied in zip(X, shares.T > 0.0, strict=True):
        bend = np.diag(tied.astype(float)) - np.outer(tied, tied) / tied.sum()
        expected += np.kron(bend, np.outer(x, x))
    np.testing.assert_allclose(newton_joint._hessian(X, shares), expected, atol=1e-12)


@both_forms
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_many_examples_of_few_weights_begin_with_a_sample(form, C):
    price = np.ones(400)
    price[::7] = 0.0
    problem, Z, y = _problem(4, form, n=400, C=C, price=price, tol=1e-5)
    assert _can_sample(problem)
    found = _solved(problem)
    assert found.reached
    assert not found.alpha[::7].any()
    assert found.certificate.primal == pytest.approx(_primal(found.w, Z, y, problem.costs))
    assert found.certificate.dual == pytest.approx(_dual(found.alpha, Z, y))
    ascent = JointAscent(problem, np.random.default_rng(0), found.alpha)
    for _ in range(50):
        list(ascent.run_epoch(StopSignal()))
    assert ascent.value <= found.certificate.primal * (1.0 + 1e-9)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_classes_far_apart_reach_the_gap_from_a_sample(C):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    X = 10.0 * np.eye(3)[y][:, :2] + 0.1 * rng.normal(size=(400, 2))
    problem = JointSVM(Rows.of(X, bias=1.0), frozen(y), frozen(np.empty(0)), 3, C=C, tol=1e-4)
    assert _can_sample(problem)
    found = _solved(problem)
    assert found.reached
    Z = np.column_stack([X, np.ones(400)])
    assert found.certificate.primal == pytest.approx(_primal(found.w, Z, y, problem.costs))


@pytest.mark.parametrize("scale", [1.0, 16.0])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_digits_of_any_scale_reach_the_gap_with_the_default_limit(scale, C):
    X, y = load_digits(return_X_y=True)
    svm = LinearSVM(C=C, multiclass="joint", random_state=0).fit(X[:600] / scale, y[:600])
    assert svm.certificate_.gap <= 1e-3
    assert svm.history_.stopped == "gap reached"


def test_columns_of_very_different_scales_reach_the_gap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * np.array([1e-3, 1.0, 1.0, 30.0, 300.0, 3000.0])
    y = rng.integers(0, 4, 300)
    svm = LinearSVM(multiclass="joint", random_state=0).fit(X, y)
    assert svm.certificate_.gap <= 1e-3


def test_weights_of_zero_leave_examples_out():
    price = np.ones(40)
    price[::5] = 0.0
    problem, Z, y = _problem(2, price=price, tol=1e-6, epochs=20_000)
    found = _solved(problem)
    kept = price > 0.0
    assert found.reached
    assert not found.alpha[~kept].any()
    assert _primal(found.w, Z[kept], y[kept], problem.costs[kept]) == pytest.approx(
        found.certificate.primal
    )
