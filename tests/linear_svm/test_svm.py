"""Linear SVMs: the passes against a textbook twin, certificates against plain numpy, and peers."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from interpreted import told_by_both
from naive_linear_svm import naive_pass, objectives
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from svm_problems import examples

import widemargin
from widemargin import DataError, LinearSVM, NotSeparableWarning, certify
from widemargin.certificates.gap import BinaryObjective, best_bias, measure_binary
from widemargin.data.rows import Rows, frozen
from widemargin.estimators.files import estimator_of
from widemargin.linear_svm.dual_ascent import DualAscent
from widemargin.linear_svm.dual_state import DualState, balanced
from widemargin.linear_svm.interior_point import QuadraticProgram, solve_qp
from widemargin.linear_svm.newton_dual import DualBlock, maximise_block
from widemargin.linear_svm.policy import StepPolicy
from widemargin.linear_svm.problem import BinarySVM, StopSignal
from widemargin.linear_svm.shrinking import stirred
from widemargin.loops.svm.dual import ShortPasses, dual_pass, short_passes

LOSSES = ("hinge", "squared_hinge")
FORMS = {"dense": np.asarray, "sparse": scipy.sparse.csr_matrix}
both_losses = pytest.mark.parametrize("loss", LOSSES)
both_forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


# Twins


def primal_of(model, X, y, C, squared, free=False):
    """The objective of a fitted model's weights, whoever fitted it."""
    w, b = model.coef_[0], float(np.ravel(model.intercept_)[0])
    short = np.maximum(0.0, 1.0 - y * (X @ w + b))
    return w @ w / 2 + (0.0 if free else b * b / 2) + C * np.sum(short**2 if squared else short)


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), 2 * y - 1


# The passes


@both_forms
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_pass_is_the_textbooks(form, squared, dtype):
    X, y = examples()
    X[3] = 0.0
    X = X.astype(dtype).astype(np.float64)
    rng = np.random.default_rng(1)
    price, C, b = rng.uniform(0.5, 2.0, len(y)), 0.7, 0.3
    alpha = rng.uniform(0.0, 0.3, len(y)) * (rng.random(len(y)) < 0.5)
    order = rng.permutation(len(y))
    twin = alpha.copy()
    w = (alpha * y) @ X
    expected, gap = naive_pass(X, y, price, order, C, squared, b, twin)
    rows = Rows.of(form(X.astype(dtype)), bias=0.0)
    problem = BinarySVM(rows, frozen(y.astype(np.int8)), frozen(price), C=C, squared=squared)
    q, asleep, w = np.full(len(y), -1.0), np.zeros(len(y), np.uint8), np.append(w, 0.0)
    found = dual_pass(
        rows.stored,
        problem.y,
        problem.price,
        frozen(order.astype(np.uint64)),
        problem.rule,
        b,
        (np.inf, np.inf),
        w,
        alpha,
        q,
        asleep,
    )
    np.testing.assert_allclose(alpha, twin, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(w[:-1], expected, rtol=1e-9, atol=1e-9)
    assert found.gap == pytest.approx(gap)
    assert not asleep.any()


@both_forms
@both_losses
@pytest.mark.parametrize("weighted", [False, True])
def test_short_passes_are_passes_in_random_orders_over_the_examples_left(form, loss, weighted):
    X, y = examples()
    X[3] = 0.0
    price = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else np.empty(0)
    problem = BinarySVM(
        Rows.of(form(X)), frozen(y.astype(np.int8)), frozen(price), 0.7, loss != "hinge"
    )
    one, many = DualState(problem, None), DualState(problem, None)
    one_asleep, many_asleep = np.zeros((2, len(y)), np.uint8)
    limits, log = (np.inf, np.inf), np.empty((1, 7))
    shared = problem.rows.stored, problem.y, problem.price
    active = np.arange(len(y), dtype=np.uint64)
    for seed in range(1, 9):
        before = active.copy()
        plan = ShortPasses(many.dual, 1.0, -1.0, 0.1, seed)
        done, visited, bad = short_passes(
            *shared, active, problem.rule, limits, plan,
            many.w, many.alpha, many.squared_norms, many_asleep, log,
        )  # fmt: skip
        assert (done, visited, bad) == (1, len(active), -1)
        assert np.array_equal(np.sort(active), before)
        assert not np.array_equal(active, before)
        found = dual_pass(
            *shared, frozen(active.copy()), problem.rule, 0.0, limits,
            one.w, one.alpha, one.squared_norms, one_asleep,
        )  # fmt: skip
        one.dual, many.dual = one.dual + found.gain, log[0, 3]
        expected = (found.mistakes, found.updates, one.dual + found.gap, one.dual, found.gain)
        np.testing.assert_allclose(log[0], (*expected, found.up, found.down), rtol=1e-9)
        np.testing.assert_allclose(many.alpha, one.alpha, rtol=1e-9)
        assert np.array_equal(one_asleep, many_asleep)
        limits = (0.1 * found.up or np.inf, 0.1 * found.down or np.inf)
        active = np.sort(active[many_asleep[active] == 0])
    assert len(active) < len(y)


def test_several_short_passes_leave_out_what_they_shrink_and_stop_in_time():
    X, y = cancer()
    problem = BinarySVM(Rows.of(X), frozen(y.astype(np.int8)), frozen(np.empty(0)), 1.0)
    state, asleep = DualState(problem, None), np.zeros(len(y), np.uint8)
    active, log = np.arange(len(y), dtype=np.uint64), np.empty((200, 7))
    done, visited, bad = short_passes(
        problem.rows.stored, problem.y, problem.price, active, problem.rule, (np.inf, np.inf),
        ShortPasses(0.0, 1.0, 1e-2, 0.25, 7),
        state.w, state.alpha, state.squared_norms, asleep, log,
    )  # fmt: skip
    assert 1 < done < 200
    assert 0 < visited < len(y)
    assert bad == -1
    assert len(np.unique(active[:visited])) == visited
    gaps = 1.0 - log[:done, 3] / log[:done, 2]
    likely = gaps[1:] * np.minimum(1.0, gaps[1:] / gaps[:-1])
    assert likely[-1] <= 1e-2 < np.min(likely[:-1])
    assert np.all(np.diff(log[:done, 3]) >= 0.0)
    assert log[done - 1, 3] == pytest.approx(state.objective(state.alpha, state.w))
    state.rebuild()
    assert log[done - 1, 3] == pytest.approx(state.dual)


@pytest.mark.parametrize("n", [0, 1, 5, 2048, 2049, 10_000])
def test_stirred_rows_are_all_there(n):
    which = np.arange(n, dtype=np.uint64) * np.uint64(3)
    order = stirred(which, np.random.default_rng(0))
    assert np.array_equal(np.sort(order), which)
    assert n < 100 or not np.array_equal(order, which)


# Parts of the solver


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_newton_steps_solve_a_small_box(seed, singular):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    A = rng.normal(size=(n, 2 if singular else n + 2))
    K, g, cap = A @ A.T, rng.normal(size=n), rng.uniform(0.1, 3.0, n)
    a0 = cap * rng.random(n)
    a, gain = maximise_block(DualBlock(K, g, a0, cap))
    assert np.all((a >= 0.0) & (a <= cap))
    step = a - a0
    assert gain == pytest.approx(g @ step - step @ K @ step / 2, rel=1e-6, abs=1e-9)
    best = a0.copy()
    for _ in range(500):  # coordinate ascent nearly to the end
        for i in range(n):
            slope = g[i] - K[i] @ (best - a0)
            best[i] = np.clip(best[i] + slope / max(K[i, i], 1e-12), 0.0, cap[i])
    step = best - a0
    most = g @ step - step @ K @ step / 2
    # Steps that end early where the matrix is singular leave the rest to coordinate descent.
    assert gain >= (0.1 if singular else 0.99) * most - 1e-9


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("free", [False, True])
@both_forms
def test_the_interior_point_method_closes_the_gap(form, squared, free):
    X, y = examples(60, 4)
    costs = np.full(len(y), 3.0)
    soft = 0.5 / costs if squared else np.empty(0)
    signs = y.astype(float)
    A = form(signs[:, None] * X)
    *_, (alpha, w) = solve_qp(QuadraticProgram(A, signs, costs, soft, free), 1e-9)
    np.testing.assert_allclose(w, (alpha * y) @ X, rtol=1e-4, atol=1e-6)
    b = best_bias(X @ ((alpha * y) @ X), y, costs, squared) if free else 0.0
    primal, dual = objectives(X, y, costs, squared, alpha, b)
    assert np.all((alpha >= 0.0) & ((alpha <= 3.0) | squared))
    assert abs(alpha @ y) < 1e-6 or not free
    assert primal - dual < 1e-6 * primal


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_best_bias_is_the_best(seed, squared):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    scores, y, costs = rng.normal(size=n), rng.choice([-1, 1], n), rng.uniform(0.0, 2.0, n)
    costs[0] = 1.0
    b = best_bias(scores, y, costs, squared)

    def cost(b):
        short = np.maximum(0.0, 1.0 - y * (scores + b))
        return costs @ (short**2 if squared else short)

    least = min(cost(other) for other in np.linspace(-6.0, 6.0, 2001))
    assert cost(b) <= least + 1e-9


@given(st.integers(0, 2**32 - 1))
def test_balanced_dual_values_are_within_bounds_and_balanced(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    y, caps = rng.choice([-1, 1], n), rng.uniform(0.1, 2.0, n)
    alpha = np.clip(rng.normal(size=n), 0.0, caps)
    found = balanced(alpha, y, caps)
    assert abs(found @ y) <= 1e-15 * n * max(1.0, alpha.sum())
    assert np.all((found >= 0.0) & (found <= alpha))


# Certificates


@both_losses
@both_forms
@pytest.mark.parametrize("bias", [False, True, 2.0, "free"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_certificate_is_what_plain_numpy_finds(loss, form, bias, C):
    X, y = examples()
    weight = 0.5 + np.arange(len(y)) % 3
    weight[5] = 0.0
    how = {"bias": "free"} if bias == "free" else {"fit_intercept": bias}
    svm = LinearSVM(C=C, loss=loss, tol=1e-5, random_state=0, **how).fit(form(X), y, weight)
    found, kept = svm.certificate_, weight > 0
    constant = 0.0 if bias == "free" else float(bias)
    Z = np.column_stack([X, np.full(len(y), constant)])[kept]
    costs, alpha, squared = C * weight[kept], found.alpha[kept], loss != "hinge"
    b = float(svm.intercept_[0]) if bias == "free" else 0.0
    primal, dual = objectives(Z, y[kept], costs, squared, alpha, b)
    assert found.primal == pytest.approx(primal, rel=1e-9)
    assert found.dual == pytest.approx(dual, rel=1e-9)
    assert 0.0 <= found.gap <= 1e-5
    assert found.alpha[5] == 0.0
    assert np.all((alpha >= 0.0) & ((alpha <= costs) | squared))
    assert abs(alpha @ y[kept]) < 1e-9 or bias != "free"
    assert found.support_vectors == len(found.support) == np.count_nonzero(alpha)
    w = (alpha * y[kept]) @ Z
    np.testing.assert_allclose(svm.coef_[0], w[:-1], rtol=1e-9, atol=1e-12)
    assert svm.history_.stopped == "gap reached"
    for word in ("primal", "dual", "gap", "support vectors", "violation"):
        assert word in str(found)


def test_the_loss_is_the_squared_hinge_unless_all_classes_are_learned_together():
    X, y = examples()
    how = {"tol": 1e-9, "random_state": 0}
    usual, told = LinearSVM(**how).fit(X, y), LinearSVM(loss="squared_hinge", **how).fit(X, y)
    np.testing.assert_array_equal(usual.coef_, told.coef_)
    assert usual.certificate_.primal == pytest.approx(primal_of(usual, X, y, 1.0, True))
    assert usual.model_.rule == "squared_hinge"
    codes = np.arange(len(y)) % 3
    joint = LinearSVM(multiclass="joint", random_state=0).fit(X, codes)
    hinge = LinearSVM(multiclass="joint", loss="hinge", random_state=0).fit(X, codes)
    np.testing.assert_array_equal(joint.coef_, hinge.coef_)
    assert joint.model_.rule == "hinge"


def test_a_model_that_does_not_name_its_loss_keeps_it():
    """The shell stores only what was given, and its default was once another."""
    X, y = examples()
    model = LinearSVM(loss="hinge", random_state=0).fit(X, y).model_
    assert estimator_of(replace(model, params={"C": 1.0})).loss == "hinge"


def test_the_violation_is_the_largest_slope():
    X, y = examples()
    svm = LinearSVM(loss="hinge", tol=0.5, fit_intercept=False, random_state=0).fit(X, y)
    alpha = svm.certificate_.alpha
    slope = 1.0 - y * (X @ ((alpha * y) @ X))
    grows, shrinks = slope[alpha < 1.0].max(initial=0.0), -slope[alpha > 0.0].min(initial=0.0)
    assert svm.certificate_.violation == pytest.approx(max(grows, shrinks))


def test_a_deadline_leaves_a_model_with_its_true_gap():
    X, y = cancer()
    how = {"C": 1000.0, "loss": "hinge", "tol": 1e-12, "epochs": 10**9}
    svm = LinearSVM(**how, max_seconds=1e-6, random_state=0)
    with pytest.warns(ConvergenceWarning, match="more seconds"):
        svm.fit(X, y)
    assert svm.history_.stopped == "deadline"
    assert svm.certificate_.gap > 1e-3
    assert svm.certificate_.primal == pytest.approx(primal_of(svm, X, y, 1000.0, False), rel=1e-9)


def test_too_few_epochs_are_said():
    X, y = cancer()
    with pytest.warns(ConvergenceWarning, match=r"relative gap 0\.\d+ after 2 epochs: .* % below"):
        svm = LinearSVM(epochs=2, tol=1e-9, random_state=0).fit(X, y)
    assert len(svm.history_) == svm.n_iter_ == 2
    assert svm.history_.stopped == "epochs"


def test_no_margin_is_bounded_by_dual_values_that_do_not_add_up_to_zero():
    X, y = np.array([[0.1], [10.0]]), np.array([-1.0, 1.0])
    problem = BinaryObjective(Rows.of(X, bias=0.0), y, np.full(2, np.inf), False, True)
    _, _, found = measure_binary(problem, np.array([1.0, 0.0]))
    assert found.margin[1] >= certify(X, y).margin.low
    assert found.dual == -np.inf


@both_losses
def test_the_dual_never_falls(loss):
    X, y = cancer()
    rows = Rows.of(X)
    problem = BinarySVM(
        rows, frozen(y.astype(np.int8)), frozen(np.empty(0)), 10.0, loss != "hinge", tol=1e-9
    )
    ascent, policy = DualAscent(problem, np.random.default_rng(0)), StepPolicy(problem)
    before = 0.0
    for _ in range(30):
        for _ in policy.run_passes(ascent, StopSignal()):
            pass
        ascent.shrinking.advance(ascent.epochs)
        for _ in policy.replace_passes(ascent, StopSignal()):
            pass
        state = ascent.state
        assert state.dual >= before * (1 - 1e-12)
        before = state.dual
        costs = np.full(len(y), 10.0)
        Z = np.column_stack([X, np.ones(len(y))])
        assert state.dual == pytest.approx(objectives(Z, y, costs, loss != "hinge", state.alpha)[1])


def test_a_fit_that_ends_early_keeps_the_best_that_was_measured(monkeypatch):
    rng = np.random.default_rng(0)
    X, gaps = rng.normal(size=(80, 3)) * np.array([1.0, 1e3, 1e5]), []
    plain = DualAscent.measure

    def spied(ascent):
        gaps.append(plain(ascent)[2].gap)
        return plain(ascent)

    monkeypatch.setattr(DualAscent, "measure", spied)
    svm = LinearSVM(C=1e6, bias="free", tol=1e-13, epochs=60, random_state=0)
    with pytest.warns(ConvergenceWarning):
        svm.fit(X, rng.integers(0, 2, 80))
    assert len(gaps) > 1
    assert svm.certificate_.gap == min(gaps)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1e4, 1e6])
def test_where_a_cost_is_large_the_weights_of_newton_steps_are_certified(loss, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * np.array([1.0, 1e3, 1e5])
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    svm = LinearSVM(C=C, loss=loss, random_state=0).fit(X, y)
    found, w = svm.certificate_, svm.coef_[0]
    assert found.gap <= 1e-3
    short = np.maximum(0.0, 1.0 - y * svm.decision_function(X))
    primal = 0.5 * (w @ w + svm.intercept_[0] ** 2)
    primal += C * np.sum(short if loss == "hinge" else short**2)
    assert found.primal == pytest.approx(primal, rel=1e-9)
    assert np.all((found.alpha >= 0.0) & ((found.alpha <= C) | (loss != "hinge")))
    costs, extended = np.full(200, C), np.column_stack([X, np.ones(200)])
    _, dual = objectives(extended, y, costs, loss != "hinge", found.alpha)
    assert found.dual == pytest.approx(dual, rel=1e-6)


def test_passes_that_would_not_end_are_replaced_by_an_interior_point_method():
    X, y = cancer()
    empty = frozen(np.empty(0))
    problem = BinarySVM(Rows.of(X), frozen(y.astype(np.int8)), empty, 1e4, tol=1e-6, epochs=300)
    ascent, policy = DualAscent(problem, np.random.default_rng(0)), StepPolicy(problem)
    ascent.epochs = 150
    for gap, endless in ((0.5**10, False), (0.99, True)):  # how fast the gap falls from here
        for power in range(6):
            ascent.estimate.replace(0.5 * gap**power)
        assert (policy._choose(ascent) is policy.interior_point) == endless
    ascent.epochs = 50  # too early to tell
    assert not policy._endless(ascent)


# Peers


@both_losses
@both_forms
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_objectives_are_liblinears(loss, form, C):
    X, y = cancer()
    how = {"C": C, "loss": loss, "random_state": 0}
    ours = LinearSVM(tol=1e-7, **how).fit(form(X), y)
    # its solver for the hinge does not arrive within a minute where C is large: there, no better
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = LinearSVC(tol=1e-9, dual=loss == "hinge", max_iter=5000, **how).fit(X, y)
    squared = loss != "hinge"
    mine, other = (primal_of(model, X, y, C, squared) for model in (ours, theirs))
    assert mine <= other * (1 + 1e-6)
    if C < 100.0 or squared:
        assert mine == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
@both_forms
def test_a_free_bias_is_libsvms(C, form):
    X, y = examples(80, 4)
    X = X + 5.0
    ours = LinearSVM(C=C, loss="hinge", bias="free", tol=1e-7, random_state=0).fit(form(X), y)
    theirs = SVC(C=C, kernel="linear", tol=1e-8).fit(X, y)
    mine, other = (primal_of(model, X, y, C, False, free=True) for model in (ours, theirs))
    assert mine <= other * (1 + 1e-7)
    assert mine == pytest.approx(other, rel=1e-4)  # LIBSVM stops short where C is large
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=2e-2, atol=1e-2)


@both_losses
def test_a_free_bias_alone_is_enough_if_only_one_class_has_weight(loss):
    X = np.array([[-256.0], [42.0], [-57.0], [-45.0], [-22.0], [-202.0], [-23.0]])
    y, weights = np.array([0, 0, 1, 1, 1, 1, 1]), np.array([0.34, 1.17, 0, 0, 0, 0, 0])
    svm = LinearSVM(loss=loss, bias="free", C=100.0, random_state=0)
    svm.fit(X, y, sample_weight=weights)
    assert (svm.certificate_.primal, svm.certificate_.gap) == (0.0, 0.0)
    assert svm.predict(X).tolist() == [0] * 7


def test_unscaled_data_is_solved_where_liblinear_gives_up():
    X, y = load_breast_cancer(return_X_y=True)
    y = 2 * y - 1
    for loss in LOSSES:
        svm = LinearSVM(C=1.0, loss=loss, tol=1e-6, random_state=0).fit(X, y)
        assert svm.certificate_.gap <= 1e-6
        primal = primal_of(svm, X, y, 1.0, loss != "hinge")
        assert svm.certificate_.primal == pytest.approx(primal, rel=1e-9)


@both_forms
@pytest.mark.parametrize("C", [0.01, 0.1])
def test_joint_classes_are_liblinears_crammer_singer(form, C):
    X, y = load_digits(n_class=5, return_X_y=True)
    X = X / 16
    how = {"C": C, "random_state": 0}
    ours = LinearSVM(multiclass="joint", tol=1e-6, epochs=10_000, **how).fit(form(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = LinearSVC(multi_class="crammer_singer", tol=1e-8, **how).fit(X, y)

    def objective(model):
        W, b = model.coef_, model.intercept_
        S = X @ W.T + b
        own = S[np.arange(len(y)), y]
        S = S + 1.0
        S[np.arange(len(y)), y] -= 1.0
        return (np.sum(W**2) + np.sum(b**2)) / 2 + C * np.sum(S.max(axis=1) - own)

    assert ours.certificate_.primal == pytest.approx(objective(ours), rel=1e-9)
    assert ours.certificate_.gap <= 1e-6
    assert objective(ours) == pytest.approx(objective(theirs), rel=2e-6)


# The hard margin


@pytest.mark.parametrize("how", [{"fit_intercept": False}, {}, {"bias": "free"}], ids=str)
def test_the_hard_margin_is_the_limit_of_a_large_cost(how):
    rng = np.random.default_rng(3)
    X, u = rng.normal(size=(60, 5)), np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    y = np.where(X @ u > 0, 1, -1)
    X += 0.1 * y[:, None] * u
    hard = LinearSVM(C=np.inf, tol=1e-9, random_state=0, **how).fit(X, y)
    soft = LinearSVM(C=1e4, loss="hinge", tol=1e-8, random_state=0, **how).fit(X, y)
    low, high = hard.certificate_.margin
    assert hard.certificate_.separates
    assert 0.0 < low <= high <= low * (1 + 1e-6)
    np.testing.assert_allclose(hard.coef_, soft.coef_, rtol=1e-4, atol=1e-6)
    if how != {}:  # else the weight of the constant feature is part of the length
        distances = y * hard.decision_function(X) / np.linalg.norm(hard.coef_)
        assert distances.min() == pytest.approx(low, rel=1e-9)
    assert (y * hard.decision_function(X)).min() == pytest.approx(1.0)


@pytest.mark.parametrize("how", [{"fit_intercept": False}, {}, {"bias": "free"}], ids=str)
def test_no_separator_is_said_with_a_bound_that_holds(how):
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([-1, 1, 1, -1])
    with pytest.warns(NotSeparableWarning, match="no separator with a margin above"):
        svm = LinearSVM(C=np.inf, random_state=0, **how).fit(X, y)
    found = svm.certificate_
    assert found.separates is False
    assert svm.history_.stopped == "not separable"
    Z = np.column_stack([X, np.full(4, float(how.get("fit_intercept", "bias" not in how)))])
    weights = found.alpha / found.alpha.sum()
    assert np.linalg.norm((weights * y) @ Z) <= found.margin[1] < 1e-6
    assert "bias" not in how or abs(weights @ y) < 1e-12


# Costs that are too large


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("how", [{}, {"loss": "hinge"}, {"bias": "free"}, {"multiclass": "joint"}])
@pytest.mark.parametrize("shape", [(60, 2), (40, 60)])
def test_costs_overflow_in_one_error_or_not_at_all(how, shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), rng.integers(2, size=shape[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svm = LinearSVM(C=1e150, epochs=20, **how).fit(X, y)
    assert np.all(np.isfinite(svm.coef_))
    with pytest.raises(
        ValueError, match=r"C=1e\+300 is too large: the cost of an error must be at"
    ):
        LinearSVM(C=1e300, **how).fit(X, y)
    with pytest.raises(ValueError, match=r"C=1e\+100 times the weight 1e\+100 is too large"):
        LinearSVM(C=1e100, class_weight={1: 1e100}, **how).fit(X, y)


# Weights, paths, threads, types


@both_losses
def test_a_class_without_weight_costs_nothing(loss):
    rng = np.random.default_rng(0)
    for size in (0.01, 1.0, 100.0):
        X, y = size * rng.normal(size=(6, 2)), np.repeat([0, 1], [5, 1])
        svm = LinearSVM(C=1e4, loss=loss, bias="free").fit(X, y, sample_weight=1 - y)
        assert svm.certificate_.primal == svm.certificate_.gap == 0.0


@both_losses
def test_a_weight_of_two_is_the_example_twice(loss):
    X, y = examples()
    weight = 1.0 + np.arange(len(y)) % 2
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    how = {"loss": loss, "tol": 1e-9, "random_state": 0}
    weighed = LinearSVM(**how).fit(X, y, weight)
    repeated = LinearSVM(**how).fit(X[twice], y[twice])
    assert weighed.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, rtol=1e-3, atol=1e-4)
    by_class = LinearSVM(class_weight={1: 3.0}, **how).fit(X, y)
    by_row = LinearSVM(**how).fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)


@both_losses
@pytest.mark.parametrize("multiclass", ["ovr", "joint"])
def test_a_path_solves_every_problem(loss, multiclass):
    if (loss, multiclass) == ("squared_hinge", "joint"):
        pytest.skip("joint classes have the hinge loss")
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Cs = [0.01, 0.1, 1.0, 0.05]
    svm = LinearSVM(loss=loss, multiclass=multiclass, tol=1e-5, epochs=20_000, random_state=0)
    for C, one in zip(Cs, svm.path(X, y, Cs), strict=True):
        alone = LinearSVM(**{**svm.get_params(), "C": C}).fit(X, y)
        assert one.C == C
        assert one.certificate_.gap <= 1e-5
        assert one.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-5)
    assert not hasattr(svm, "model_")


def test_one_against_the_rest_is_every_problem_alone_whatever_the_threads():
    X, y = load_digits(n_class=4, return_X_y=True)
    svm = LinearSVM(C=0.01, random_state=0).fit(X, y)
    both = LinearSVM(C=0.01, n_jobs=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(svm.coef_, both.coef_)
    parts = svm.certificate_.parts
    assert len(parts) == 4
    assert svm.certificate_.primal == pytest.approx(sum(part.primal for part in parts))
    for c, part in enumerate(parts):
        signs = np.where(y == c, 1, -1)
        alone = LinearSVM(C=0.01, tol=1e-7, random_state=0).fit(X, signs)
        assert part.dual <= alone.certificate_.primal * (1 + 1e-12)
        assert part.primal <= alone.certificate_.primal * (1 + 2e-3)


@both_forms
def test_float32_reaches_a_gap_of_a_millionth(form):
    X, y = cancer()
    X = X.astype(np.float32)
    svm = LinearSVM(loss="hinge", tol=1e-6, random_state=0).fit(form(X), y)
    assert svm.certificate_.gap <= 1e-6
    primal = primal_of(svm, X.astype(np.float64), y, 1.0, False)
    assert svm.certificate_.primal == pytest.approx(primal, rel=1e-9)


# Bad input


@pytest.mark.parametrize("power", [-100, -30, 30, 100])
@both_losses
@pytest.mark.filterwarnings("ignore:overflow", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_scale_is_solved_honestly(power, loss):
    X, y = examples()
    scaled = X * 10.0**power
    svm = LinearSVM(loss=loss, fit_intercept=False, epochs=200, random_state=0).fit(scaled, y)
    found = svm.certificate_
    assert found.primal == pytest.approx(primal_of(svm, scaled, y, 1.0, loss != "hinge"), rel=1e-6)
    assert found.gap <= 1e-3 or svm.history_.stopped in ("epochs", "no progress")


@pytest.mark.parametrize("power", [-200, 200])
def test_scales_whose_squares_get_lost_are_refused(power):
    X, y = examples()
    with pytest.raises(DataError, match="scale the features"):
        LinearSVM().fit(X * 10.0**power, y)


@both_losses
@pytest.mark.parametrize("bias", ["regularised", "free"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_huge_constant_column_is_solved_honestly(loss, bias):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.column_stack([X, np.full(len(y), 1e8)])[::6], 2 * y[::6] - 1
    svm = LinearSVM(loss=loss, bias=bias, epochs=100, random_state=0).fit(X, y)
    primal = primal_of(svm, X, y, 1.0, loss != "hinge", free=bias == "free")
    assert svm.certificate_.primal == pytest.approx(primal, rel=1e-6)
    assert svm.certificate_.gap <= 1e-3 or svm.history_.stopped in ("epochs", "no progress")


def test_bad_values_and_settings_are_named():
    X, y = examples()
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(DataError, match=r"NaN \(row 3, column 2\)"):
        LinearSVM().fit(bad, y)
    for how, match in (
        ({"C": 0.0}, "C=0.0 must be"),
        ({"C": -1.0}, "C=-1.0 must be"),
        ({"loss": "logistic"}, "loss='logistic' is unknown"),
        ({"bias": "none"}, "bias='none' is unknown"),
        ({"tol": 0.0}, "tol=0.0 must be"),
        ({"epochs": 0}, "epochs=0 must be"),
        ({"max_seconds": 0.0}, "max_seconds=0.0 must be"),
        ({"multiclass": "joint", "loss": "squared_hinge"}, "multiclass='joint' needs the hinge"),
    ):
        with pytest.raises(ValueError, match=match):
            LinearSVM(**how).fit(X, y)


def test_rows_of_zeros_cost_what_they_must():
    X, y = np.zeros((6, 2)), np.array([1, 1, 1, 1, -1, -1])
    for loss in LOSSES:
        svm = LinearSVM(loss=loss, fit_intercept=False, random_state=0).fit(X, y)
        assert svm.certificate_.primal == pytest.approx(6.0)
        assert svm.certificate_.gap <= 1e-12


# Files


@pytest.mark.parametrize("how", [{}, {"C": np.inf}, {"multiclass": "joint"}], ids=str)
def test_a_saved_svm_comes_back_with_its_certificate(how, tmp_path):
    X, y = load_iris(return_X_y=True)
    if how.get("C") == np.inf:
        X, y = X[:100], y[:100]
    svm = LinearSVM(random_state=0, tol=1e-2, **how).fit(X, y)
    svm.save(tmp_path / "svm")
    again = widemargin.load(tmp_path / "svm")
    assert isinstance(again, LinearSVM)
    assert again.get_params() == svm.get_params()
    np.testing.assert_array_equal(again.decision_function(X), svm.decision_function(X))
    assert again.certificate_ == svm.certificate_
    assert repr(again.history_) == repr(svm.history_)
    with pytest.raises(AttributeError, match="not kept"):
        _ = again.certificate_.support


#: Fits that are small enough for the interpreter.
SCRIPT = """
import numpy as np, scipy.sparse
from svm_problems import examples
from widemargin import LinearSVM
X, y = examples(14, 3)
for how in ({}, {"loss": "squared_hinge"}, {"bias": "free"}, {"C": 100.0}):
    print(LinearSVM(random_state=0, **how).fit(X, y).coef_.tolist())
print(LinearSVM(multiclass="joint", random_state=0).fit(X, np.arange(14) % 3).coef_.tolist())
print(LinearSVM(random_state=0).fit(scipy.sparse.csr_matrix(X), y).coef_.tolist())
"""


def test_interpreted_is_compiled():
    found = [map(json.loads, told.splitlines()) for told in told_by_both(SCRIPT)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("bias", ["free", "regularised"])
def test_hard_margin_of_corners_in_whole_numbers(bias):
    """Their pulls cancel out exactly: v = 0 once divided by zero."""
    shape = np.array([[1.0, 1], [2, 1], [1, 2]])
    same = np.vstack([shape, -shape])
    X, y = np.vstack([same, same * [1, -1]]), np.repeat([0, 1], 6)
    order = np.random.default_rng(4).permutation(12)
    with pytest.warns(NotSeparableWarning, match="no separator"):
        svm = LinearSVM(C=np.inf, bias=bias, tol=1e-6, random_state=0).fit(X[order], y[order])
    assert svm.certificate_.separates is False


@pytest.mark.parametrize("epochs", [1, 2, 3, 5])
@pytest.mark.parametrize("width", [5, 300])
def test_steps_of_every_kind_count_as_epochs(epochs, width):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, width)), rng.integers(0, 2, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = LinearSVM(epochs=epochs, tol=1e-12, random_state=0).fit(X, y)
    assert [epoch.epoch for epoch in learner.history_] == list(range(1, epochs + 1))


@both_losses
@pytest.mark.parametrize("size", [1e6, 1e8])
def test_a_huge_constant_column_is_solved(loss, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(int)
    svm = LinearSVM(loss=loss, random_state=0).fit(np.column_stack([X, np.full(200, size)]), y)
    assert svm.history_.stopped == "gap reached"
    assert svm.certificate_.gap <= 1e-3
    # Such a column is a bias that costs nothing.
    free = LinearSVM(loss=loss, bias="free", random_state=0).fit(X, y)
    assert svm.certificate_.primal == pytest.approx(free.certificate_.primal, rel=3e-3)
