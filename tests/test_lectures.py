"""Checks every item of the lectures with the public API of the library.

Every test is named after its item. Whole-number data makes every sum exact, so most comparisons
are for equality. `docs/lectures.md` lists the items.
"""

# ruff: noqa: N802 - tests carry the numbers of the items

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import widemargin
from widemargin import (
    LinearSVM,
    NotSeparableWarning,
    boolean_network,
    certify,
    losses,
    shattered,
)

# In the lectures, the bias is the weight of a constant feature 1.
OnlineLogistic = partial(widemargin.OnlineLogistic, fit_intercept=True)
Perceptron = partial(widemargin.Perceptron, fit_intercept=True)

# The worked example (L9) and the problem set (L10).
SIX = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]], dtype=float)
SIX_LABELS = np.array([-1, 1, 1, -1, -1, 1])
EIGHT = np.array(
    [[1, 1], [1, 3], [2, 1], [2, 2], [-1, -1], [-1, -3], [-2, -1], [-2, -2]], dtype=float
)
EIGHT_LABELS = np.array([1, 1, 1, 1, -1, -1, -1, -1])
XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
XOR_LABELS = np.array([-1, 1, 1, -1])


def textbook(**params):
    """The perceptron of the lectures: the last weights, examples in the order given."""
    return Perceptron(**{"keep": "last", "shuffle": False, **params})


def whole_numbers(seed, n=40, d=4, noise=0):
    """Whole-number examples labelled by a hyperplane, with the first `noise` labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, (n, d)).astype(float)
    y = np.where(X @ rng.integers(1, 4, d) + 1 > 0, 1, -1)
    y[:noise] *= -1
    return X, y


def hypotheses(X, y, order, w=None, b=0.0, eta=1.0):
    """Run the online perceptron of L5; yield (w, b) before the first and after every example."""
    w = np.zeros(X.shape[1]) if w is None else np.array(w, dtype=float)
    yield w.copy(), b
    for i in order:
        if y[i] * (w @ X[i] + b) <= 0:
            w += eta * y[i] * X[i]
            b += eta * y[i]
        yield w.copy(), b


def rows_learned_from(**params):
    """The order in which a learner visits ten rows, epoch by epoch.

    The logistic rule corrects the weights after every example, so its log names all of them.
    """
    X = np.arange(1.0, 11.0)[:, None]
    p = Perceptron(rule="logistic", keep="vote", eta=2.0**-10, **params)
    p.fit(X, [0, 1] * 5)
    return np.array([row for row, *_ in p.model_.state.log]).reshape(-1, 10)


def sign(scores):
    """The sign, + at 0."""
    return np.where(np.asarray(scores) >= 0, 1, -1)


# Linear classification and losses


def test_L01_score_is_linear_and_zero_is_positive():
    p = textbook(start=([[2.0, -1.0]], 3.0)).fit([[5.0, 0.0], [-5.0, 0.0]], [1, -1])
    assert p.mistakes_ == 0
    X = np.array([[1.0, 4.0], [0.0, 3.0], [-2.0, 0.0]])
    assert p.decision_function(X).tolist() == [1.0, 0.0, -1.0]
    assert p.predict(X).tolist() == [1, 1, -1]


def test_L01_normal_and_bias_describe_the_hyperplane():
    X, y = whole_numbers(0)
    p = textbook(epochs=100).fit(X, y)
    w, b = p.coef_[0], p.intercept_[0]
    foot = -b * w / (w @ w)
    along = np.linalg.svd(w[None])[2][1:]  # directions within the hyperplane
    assert b != 0
    assert np.allclose(p.decision_function(np.vstack([foot, foot + along])), 0, atol=1e-9)
    assert math.isclose(np.linalg.norm(foot), abs(b) / np.linalg.norm(w))
    # The normal points to the side of +1.
    assert p.predict([foot + w, foot - w]).tolist() == [1, -1]


def test_L01_hyperplane_as_an_equation():
    p = textbook(fit_intercept=False).fit(SIX, SIX_LABELS)
    assert p.equation() == "3*x0 + 1*x1 + 0 = 0"
    X, y = whole_numbers(0)
    p = textbook(epochs=100).fit(X, y)
    left, right = p.equation(digits=17).split(" = ")
    assert right == "0"
    for x in X:
        names = {f"x{j}": value for j, value in enumerate(x)}
        assert eval(left, names) == p.decision_function([x])[0]


def test_L01_bias_is_the_weight_of_a_constant_feature():
    X, y = whole_numbers(1, noise=3)
    with_ones = np.column_stack([X, np.ones(len(X))])
    for keep in ("last", "average", "vote"):
        params = {"keep": keep, "epochs": 7, "random_state": 0}
        p = Perceptron(**params).fit(X, y)
        q = Perceptron(**params, fit_intercept=False).fit(with_ones, y)
        assert np.array_equal(np.column_stack([p.coef_, p.intercept_]), q.coef_)
        assert p.history_["mistakes"].tolist() == q.history_["mistakes"].tolist()
        assert np.array_equal(p.predict(X), q.predict(with_ones))


def test_L02_losses_of_a_margin():
    m = np.array([-2.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    assert losses.zero_one(m).tolist() == [1, 1, 1, 0, 0, 0]
    assert losses.perceptron(m).tolist() == [2, 0.5, 0, 0, 0, 0]
    assert losses.hinge(m).tolist() == [3, 1.5, 1, 0.5, 0, 0]
    assert losses.hinge(m, h=0.0).tolist() == losses.perceptron(m).tolist()
    assert np.allclose(losses.logistic(m), [math.log(1 + math.exp(-x)) for x in m], rtol=1e-14)
    # Hinge bounds the mistakes from above; so does the logistic loss in bits.
    assert np.all(losses.hinge(m) >= losses.zero_one(m))
    assert np.all(losses.logistic(m) / math.log(2) >= losses.zero_one(m))
    assert losses.logistic([-1e6, 1e6]).tolist() == [1e6, 0.0]


def test_L02_average_loss():
    X, y, w, b = SIX, SIX_LABELS, np.array([1.0, -2.0]), 0.5
    margins = [y[i] * (X[i] @ w + b) for i in range(6)]
    for loss in (losses.zero_one, losses.perceptron, losses.hinge, losses.logistic):
        mean = sum(float(loss(m)) for m in margins) / 6
        assert math.isclose(losses.average_loss(loss, w, X, y, b), mean, rel_tol=1e-14)
    # Zero when everything is right.
    assert losses.average_loss(losses.perceptron, [3.0, 1.0], X, y) == 0.0


def test_L02_losses_along_one_weight():
    values = np.linspace(-8, 8, 65)  # steps of 1/4, which are exact
    w = np.array([0.0, 1.0])

    def along(loss):
        return losses.along_weight(loss, w, SIX, SIX_LABELS, 0, values)

    one_by_one = [losses.average_loss(losses.hinge, [v, 1.0], SIX, SIX_LABELS) for v in values]
    assert along(losses.hinge).tolist() == one_by_one
    assert w.tolist() == [0.0, 1.0]  # still there
    # 0/1: piecewise constant, so its slope is 0 wherever it has one.
    steps = np.diff(along(losses.zero_one))
    assert 0 < np.count_nonzero(steps) <= len(SIX)
    # Perceptron and hinge: convex and piecewise linear; their slopes rise, at few kinks.
    for loss in (losses.perceptron, losses.hinge, partial(losses.hinge, h=2.0)):
        bends = np.diff(along(loss), 2)
        assert np.all(bends > -1e-12)
        assert np.count_nonzero(bends > 1e-12) <= 2 * len(SIX)
    # Logistic: convex and curved everywhere.
    assert np.all(np.diff(along(losses.logistic), 2) > 0)


def test_L02_history_holds_the_average_loss():
    X, y = whole_numbers(2, n=32, noise=3)
    start = np.array([[1.0, -2.0, 0.0, 1.0]])
    for rule, loss in (
        ({"rule": "perceptron"}, losses.perceptron),
        ({"rule": "margin", "target": 2.0}, partial(losses.hinge, h=2.0)),
        ({"rule": "logistic"}, losses.logistic),
    ):
        p = textbook(**rule, batch="full", epochs=1, start=start).fit(X, y)
        before = losses.average_loss(loss, start[0], X, y)
        assert math.isclose(p.history_["loss"][0], before, rel_tol=1e-12)


def test_L03_subgradient_of_the_perceptron_loss():
    w = np.array([1.0, 1.0])
    assert losses.perceptron_subgradient(w, [2.0, 1.0], 1).tolist() == [0, 0]
    assert losses.perceptron_subgradient(w, [2.0, 1.0], -1).tolist() == [2, 1]
    assert losses.perceptron_subgradient(w, [-2.0, 1.0], 1).tolist() == [2, -1]
    assert losses.perceptron_subgradient(w, [1.0, -1.0], 1).tolist() == [-1, 1]  # the kink
    # It supports the loss from below everywhere, including at kinks.
    points = [np.array(v, dtype=float) for v in itertools.product((-2, -1, 0, 1, 2), repeat=2)]
    for x, y in zip(SIX, SIX_LABELS, strict=True):
        for here, there in itertools.product(points, repeat=2):
            slope = losses.perceptron_subgradient(here, x, y)
            below = losses.perceptron(y * (here @ x)) + slope @ (there - here)
            assert losses.perceptron(y * (there @ x)) >= below


def test_L03_learning_goes_down_the_subgradient():
    X, y = whole_numbers(3, noise=3)
    w = np.zeros(4)
    for epochs in range(1, 6):
        w = w - 0.5 * sum(losses.perceptron_subgradient(w, X[i], y[i]) for i in range(len(X)))
        p = textbook(batch="full", eta=0.5, epochs=epochs, fit_intercept=False).fit(X, y)
        assert p.coef_[0].tolist() == w.tolist()


def test_L04_probability_and_the_same_boundary():
    X, y = whole_numbers(4, noise=4)
    p = OnlineLogistic(epochs=5, eta=0.1, random_state=0).fit(X, y)
    score = X @ p.coef_[0] + p.intercept_[0]
    chance = p.predict_proba(X)
    assert np.allclose(chance[:, 1], 1 / (1 + np.exp(-score)), rtol=1e-12)
    assert np.allclose(chance.sum(axis=1), 1)
    assert np.array_equal(chance[:, 1] >= 0.5, score >= 0)
    assert np.array_equal(p.predict(X), sign(score))


def test_L04_online_step():
    x, y, eta = np.array([[2.0, -1.0]]), -1, 0.25
    start = np.array([[1.0, 3.0]])
    p = OnlineLogistic(keep="last", eta=eta, start=(start, 0.5))
    p.partial_fit(x, [y], classes=[-1, 1])
    m = y * (start[0] @ x[0] + 0.5)
    step = eta * y / (1 + math.exp(m))
    assert np.allclose(p.coef_, start + step * x, rtol=1e-15)
    assert np.allclose(p.intercept_, 0.5 + step, rtol=1e-15)


def length_after(steps, X, y, **params):
    """The length of the weights of a logistic regression after full-gradient steps."""
    # An epoch over ten copies of the examples, in batches of one copy each, makes ten steps.
    p = OnlineLogistic(keep="last", shuffle=False, batch=len(X), eta=0.1, epochs=steps // 10)
    p.set_params(**params).fit(np.tile(X, (10, 1)), np.tile(y, 10))
    return np.linalg.norm(np.append(p.coef_, p.intercept_))


def test_L04_separable_weights_grow_without_bound_unless_penalised():
    lengths = [length_after(10**k, SIX, SIX_LABELS) for k in range(1, 5)]
    growth = np.diff(lengths)
    assert np.all(growth > 1)  # without bound, like the logarithm of the steps
    assert np.allclose(growth[1:], growth[-1], rtol=0.25)
    penalised = [length_after(10**k, SIX, SIX_LABELS, l2=0.01) for k in (3, 4)]
    assert math.isclose(*penalised, rel_tol=1e-12)
    assert penalised[0] < lengths[1]
    smaller = length_after(1000, SIX, SIX_LABELS, l2=0.1)
    assert smaller < penalised[0]


def test_L04_inseparable_data_has_an_optimum():
    X, y = whole_numbers(4, n=30, d=2, noise=4)
    p = OnlineLogistic(keep="last", batch="full", eta=0.01, epochs=20_000, tol=1e-13).fit(X, y)
    assert p.history_.stopped == "small change"
    assert np.all(np.diff(p.history_["loss"][:100]) < 0)
    Z = np.column_stack([X, np.ones(len(X))])
    chance = 1 / (1 + np.exp(-p.decision_function(X)))
    assert np.allclose(((y == 1) - chance) @ Z, 0, atol=1e-10)


def test_L04_penalised_optimum():
    X, y = whole_numbers(4, n=30, d=2)
    l2 = 0.05
    p = OnlineLogistic(keep="last", batch="full", eta=0.01, l2=l2, epochs=20_000, tol=1e-14)
    p.fit(X, y)
    Z = np.column_stack([X, np.ones(len(X))])
    w = np.append(p.coef_, p.intercept_)
    pull = ((y == 1) - 1 / (1 + np.exp(-Z @ w))) @ Z
    assert np.allclose(pull, 2 * l2 * len(X) * w, atol=1e-9)


def test_L04_multinomial_gradient_is_observed_minus_expected():
    rng = np.random.default_rng(5)
    X, y = rng.integers(-3, 4, (12, 2)).astype(float), np.arange(12) % 3
    start = rng.standard_normal((3, 2))
    params = {"keep": "last", "batch": "full", "epochs": 1, "eta": 0.5, "fit_intercept": False}
    p = OnlineLogistic(**params, start=start).fit(X, y)
    scores = X @ start.T
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    observed = np.eye(3)[y]
    assert np.allclose(p.coef_ - start, 0.5 * (observed - expected).T @ X, atol=1e-13)
    # The multiclass perceptron replaces the expectation by the best-scoring class.
    q = Perceptron(**params, start=start).fit(X, y)
    best = np.eye(3)[scores.argmax(axis=1)]
    assert np.allclose(q.coef_ - start, 0.5 * (observed - best).T @ X, atol=1e-13)


# The perceptron


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("start", ["zero", "given"])
def test_L05_online_perceptron(bias, start):
    X, y = whole_numbers(6, noise=3)
    w, b = np.zeros(4), 0.0
    if start == "given":
        w, b = np.array([2.0, 0.0, -1.0, 3.0]), 4.0 * bias
    p = textbook(epochs=4, eta=0.5, fit_intercept=bias, start=([w.copy()], b)).fit(X, y)
    for epoch in p.history_:
        mistakes = 0
        for i in range(len(X)):
            if y[i] * (w @ X[i] + b) <= 0:
                w += 0.5 * y[i] * X[i]
                b += 0.5 * y[i] * bias
                mistakes += 1
        assert epoch.mistakes == epoch.updates == mistakes
    assert p.coef_[0].tolist() == w.tolist()
    assert p.intercept_[0] == b


def test_L05_right_answers_change_nothing():
    X, y = whole_numbers(7)
    p = textbook(epochs=1000).fit(X, y)
    assert p.history_["mistakes"][-1] == 0
    assert p.n_iter_ < 1000
    assert np.array_equal(p.predict(X), y)
    before = p.coef_.copy(), p.intercept_.copy()
    p.partial_fit(X, y)
    assert p.history_["updates"][-1] == 0
    assert np.array_equal(p.coef_, before[0])
    assert np.array_equal(p.intercept_, before[1])


def test_L06_batch_is_the_sum_over_the_misclassified():
    X, y = whole_numbers(8, noise=3)
    w = np.zeros(4)
    for epochs in range(1, 8):
        wrong = y * (X @ w) <= 0
        w = w + 2.0 * (y * wrong) @ X
        p = textbook(batch="full", eta=2.0, epochs=epochs, fit_intercept=False).fit(X, y)
        assert p.coef_[0].tolist() == w.tolist()
        assert p.history_["mistakes"][-1] == wrong.sum()


def test_L06_target_minus_output_form():
    X, y = whole_numbers(8, noise=3)
    params = {"batch": "full", "eta": 2.0, "fit_intercept": False}
    w = np.zeros(4)
    for epochs in range(1, 8):
        w = w + 1.0 * (y - sign(X @ w)) @ X  # t - o is 0, or 2 y
        p = textbook(ties="predict", epochs=epochs, **params).fit(X, y)
        assert p.coef_[0].tolist() == w.tolist()
    # From zero, where every score is a tie, the other convention starts differently.
    assert textbook(epochs=1, **params).fit(X, y).mistakes_ == len(X)
    first = textbook(ties="predict", epochs=1, **params).fit(X, y)
    assert first.mistakes_ == np.sum(y == -1)


@pytest.mark.parametrize("size", [1, 3, 7, 40, 100])
def test_L06_mini_batch(size):
    X, y = whole_numbers(9, noise=3)
    w, b = np.zeros(4), 0.0
    for _ in range(3):
        for first in range(0, len(X), size):
            part, labels = X[first : first + size], y[first : first + size]
            wrong = labels * (part @ w + b) <= 0
            w = w + (labels * wrong) @ part
            b = b + np.sum(labels * wrong)
    p = textbook(batch=size, epochs=3).fit(X, y)
    assert p.coef_[0].tolist() == w.tolist()
    assert p.intercept_[0] == b


def test_L06_mini_batches_of_one_and_of_all():
    X, y = whole_numbers(9, noise=3)
    for size, same in ((1, {}), (len(X), {"batch": "full"})):
        p = textbook(batch=size, epochs=5).fit(X, y)
        assert np.array_equal(p.coef_, textbook(epochs=5, **same).fit(X, y).coef_)


def test_L06_cyclic_and_stochastic_orders():
    everything = list(range(10))
    cyclic = rows_learned_from(shuffle=False, epochs=3)
    assert cyclic.tolist() == [everything] * 3
    once = rows_learned_from(shuffle="once", epochs=3, random_state=0)
    assert sorted(once[0]) == everything != once[0].tolist()
    assert once.tolist() == [once[0].tolist()] * 3
    for shuffle in (True, "rows"):
        fresh = rows_learned_from(shuffle=shuffle, epochs=3, random_state=0)
        assert np.sort(fresh, axis=1).tolist() == [everything] * 3
        assert len({tuple(epoch) for epoch in fresh}) == 3
    drawn = rows_learned_from(shuffle="draw", epochs=300, random_state=0)
    assert any(len(set(epoch)) < 10 for epoch in drawn.tolist())  # with replacement
    assert np.allclose(np.bincount(drawn.ravel()) / 300, 1, atol=0.2)  # each equally likely


@pytest.mark.parametrize("shuffle", [True, "rows", "once", "draw"])
def test_L06_stochastic_perceptron_is_the_online_one_in_a_drawn_order(shuffle):
    order = rows_learned_from(shuffle=shuffle, epochs=5, random_state=3).ravel()
    X, y = whole_numbers(10, n=10, noise=2)
    p = Perceptron(keep="last", shuffle=shuffle, epochs=5, random_state=3).fit(X, y)
    *_, (w, b) = hypotheses(X, y, order[: 10 * p.n_iter_])
    assert p.coef_[0].tolist() == w.tolist()
    assert p.intercept_[0] == b


def test_L06_stochastic_mini_batch():
    order = rows_learned_from(shuffle="draw", epochs=2, random_state=3)
    X, y = whole_numbers(10, n=10, noise=2)
    w = np.zeros(4)
    for drawn in order:
        for part in (drawn[:4], drawn[4:8], drawn[8:]):
            wrong = y[part] * (X[part] @ w) <= 0
            w = w + (y[part] * wrong) @ X[part]
    params = {"keep": "last", "shuffle": "draw", "random_state": 3, "fit_intercept": False}
    assert Perceptron(batch=4, epochs=2, **params).fit(X, y).coef_[0].tolist() == w.tolist()


def test_L07_stop_when_nothing_is_misclassified():
    p = textbook(epochs=100).fit(SIX, SIX_LABELS)
    assert p.history_.stopped == "no mistakes"
    assert p.history_["mistakes"].tolist()[-1] == 0
    assert 0 not in p.history_["mistakes"].tolist()[:-1]


def test_L07_drawn_examples_without_a_mistake_are_not_all_examples():
    # XOR is not separable, so something is always misclassified.
    for seed in range(20):
        p = Perceptron(keep="last", shuffle="draw", epochs=50, random_state=seed)
        p.fit(XOR, XOR_LABELS)
        assert p.history_.stopped != "no mistakes"


def test_L07_stop_at_a_small_change():
    X, y = whole_numbers(11, noise=3)
    p = OnlineLogistic(keep="last", eta=(1.0, 1.0), epochs=1000, tol=0.02, shuffle=False)
    p.fit(X, y)
    change = p.history_["change"]
    assert p.history_.stopped == "small change"
    assert change[-1] < 0.02
    assert np.all(change[:-1] >= 0.02)


def test_L07_the_change_is_the_distance_the_weights_moved():
    X, y = whole_numbers(11, noise=3)
    at = [np.zeros(5)]
    for epochs in range(1, 5):
        p = textbook(epochs=epochs).fit(X, y)
        at.append(np.append(p.coef_, p.intercept_))
        assert math.isclose(p.history_["change"][-1], math.dist(at[-1], at[-2]), rel_tol=1e-15)


def test_L07_stop_at_the_last_epoch():
    X, y = whole_numbers(11, noise=3)
    p = Perceptron(epochs=3, random_state=0).fit(X, y)
    assert p.history_.stopped == "epochs"
    assert p.n_iter_ == len(p.history_) == 3


def test_L07_stop_at_a_deadline():
    X, y = whole_numbers(11, noise=3)
    p = Perceptron(epochs=10**9, max_seconds=0.05, random_state=0).fit(X, y)
    assert p.history_.stopped == "deadline"
    assert p.n_iter_ < 10**9


def test_L07_stop_without_improvement():
    X, y = whole_numbers(11, noise=3)
    p = Perceptron(epochs=1000, validation=0.25, patience=3, random_state=0).fit(X, y)
    assert p.history_.stopped == "no improvement"
    assert p.n_iter_ == p.history_.best + 3


def test_L08_from_zero_eta_only_scales():
    X, y = whole_numbers(12, noise=3)
    one = Perceptron(keep="average", epochs=6, random_state=0).fit(X, y)
    for eta in (0.125, 0.5, 3.0, 1024.0):
        p = Perceptron(keep="average", epochs=6, eta=eta, random_state=0).fit(X, y)
        assert p.history_["mistakes"].tolist() == one.history_["mistakes"].tolist()
        assert np.array_equal(p.using("last").coef_, eta * one.using("last").coef_)
        assert np.allclose(p.coef_, eta * one.coef_, rtol=1e-12)
        assert np.array_equal(p.predict(X), one.predict(X))


def test_L08_from_elsewhere_eta_matters():
    X, y = whole_numbers(12)
    start = ([[5.0, -3.0, 2.0, -4.0]], 1.0)
    runs = [textbook(epochs=1000, eta=eta, start=start).fit(X, y) for eta in (0.25, 1.0, 8.0)]
    assert all(p.history_.stopped == "no mistakes" for p in runs)
    assert len({p.mistakes_ for p in runs}) == 3
    assert len({direction(p) for p in runs}) == 3


def test_L08_starts_matter():
    X, y = whole_numbers(12)
    runs = [textbook(epochs=1000, start="random", random_state=seed).fit(X, y) for seed in range(5)]
    assert all(p.history_.stopped == "no mistakes" for p in runs)
    assert len({direction(p) for p in runs}) == 5


def direction(p):
    """The hyperplane, whatever the length of its normal."""
    w = np.append(p.coef_, p.intercept_)
    return tuple(np.round(w / np.linalg.norm(w), 9).tolist())


@pytest.mark.parametrize("ties", ["mistake", "predict"])
def test_L09_worked_example(ties):
    p = Perceptron(keep="vote", shuffle=False, fit_intercept=False, ties=ties)
    p.fit(SIX, SIX_LABELS)
    assert p.history_["mistakes"].tolist() == [3, 0]
    assert [row + 1 for row, *_ in p.model_.state.log] == [1, 3, 5]
    assert p.using("last").coef_.tolist() == [[3.0, 1.0]]
    assert np.array_equal(p.using("last").predict(SIX), SIX_LABELS)


def test_L09_worked_example_step_by_step():
    p = textbook(fit_intercept=False)
    path = []
    for x, y in zip(SIX, SIX_LABELS, strict=True):
        p.partial_fit([x], [y], classes=[-1, 1])
        path.append(p.coef_[0].tolist())
    assert path == [[1, -2], [1, -2], [2, -1], [2, -1], [3, 1], [3, 1]]


def test_L09_tie_conventions():
    # A positive example comes first: at w = 0 it scores exactly 0.
    X, y = SIX[[1, 0, 2, 3, 4, 5]], SIX_LABELS[[1, 0, 2, 3, 4, 5]]
    default = textbook(fit_intercept=False, epochs=1).fit(X, y)
    strict = textbook(fit_intercept=False, epochs=1, ties="mistake").fit(X, y)
    lenient = textbook(fit_intercept=False, epochs=1, ties="predict").fit(X, y)
    assert np.array_equal(default.coef_, strict.coef_)
    for p, forgives in ((strict, False), (lenient, True)):
        w, mistakes = np.zeros(2), 0
        for i in range(6):
            score = w @ X[i]
            wrong = sign(score) != y[i] if forgives else y[i] * score <= 0
            w, mistakes = w + wrong * y[i] * X[i], mistakes + wrong
        assert p.coef_[0].tolist() == w.tolist()
        assert p.mistakes_ == mistakes
    assert strict.mistakes_ != lenient.mistakes_


def smallest_distance(p):
    """The signed distance of the nearest of the eight points, negative if one is misclassified."""
    w, b = p.coef_[0], p.intercept_[0]
    return float(np.min(EIGHT_LABELS * (EIGHT @ w + b)) / np.linalg.norm(w))


def test_L10_problem_set():
    lines = {}
    for seed, eta in itertools.product(range(30), (0.01, 0.1, 1.0, 10.0)):
        p = textbook(start="random", eta=eta, epochs=10_000, random_state=seed)
        p.fit(EIGHT, EIGHT_LABELS)
        if p.history_["mistakes"][0] == 0:
            continue  # this start misclassifies nothing
        # It converges, which also says that the classes are separable.
        assert p.history_.stopped == "no mistakes"
        assert np.array_equal(p.predict(EIGHT), EIGHT_LABELS)
        assert smallest_distance(p) > 0
        lines[direction(p)] = smallest_distance(p)
    assert len(lines) > 20  # and to different lines
    # The best is x + y = 0: halfway between (1, 1) and (-1, -1), which no line can beat.
    best = textbook(start=([[1.0, 1.0]], 0.0)).fit(EIGHT, EIGHT_LABELS)
    assert best.mistakes_ == 0
    assert math.isclose(smallest_distance(best), math.sqrt(2))
    assert max(lines.values()) <= math.sqrt(2) + 1e-12
    assert min(lines.values()) < math.sqrt(2) / 2


@pytest.mark.parametrize("x", [-3.0, -1.0, 1.0, 2.0])
@pytest.mark.parametrize("y", [-1, 1])
def test_L11_update_moves_the_weight_the_right_way(x, y):
    wrong = -y * np.sign(x) * 2.0  # a weight that misclassifies the example
    p = textbook(eta=0.5, start=[[wrong]], fit_intercept=False)
    p.partial_fit([[x]], [y], classes=[-1, 1])
    w = p.coef_[0, 0]
    assert p.mistakes_ == 1
    assert np.sign(w - wrong) == y * np.sign(x)
    assert y * w * x == y * wrong * x + 0.5 * x**2


def test_L11_margin_grows_by_eta_times_the_squared_norm():
    X, y = whole_numbers(13, noise=3)
    p, eta = textbook(eta=0.25), 0.25
    w = np.zeros(5)
    for x, label in zip(X, y, strict=True):
        p.partial_fit([x], [label], classes=[-1, 1])
        now = np.append(p.coef_, p.intercept_)
        extended = np.append(x, 1.0)
        wrong = label * (w @ extended) <= 0
        growth = label * ((now - w) @ extended)
        assert growth == (eta * extended @ extended if wrong else 0.0)
        w = now


def two_clouds(seed, n=200):
    """Whole-number clouds that touch, the positive ones all first."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, (2 * n, 2)) + np.repeat([[3, 3], [-3, -3]], n, axis=0)
    return X.astype(float), np.repeat([1, -1], n)


def test_L12_order_matters():
    # The positives, 51 ... 100, come first: one mistake, and then only correct predictions.
    # Then come the negatives, 1 ... 50, and the first few of them reverse everything.
    X, y = np.r_[51.0:101.0, 1.0:51.0][:, None], np.repeat([1, -1], 50)
    p = Perceptron(keep="vote", shuffle=False, epochs=1).fit(X, y)
    assert [row for row, *_ in p.model_.state.log] == [0, *range(50, 60)]
    assert p.using("last").predict(X).tolist() == [-1] * 100


def test_L12_cures():
    scores = {"as given": [], "once": [], "rows": [], True: [], "average": []}
    for seed in range(10):
        X, y = two_clouds(seed)
        scores["as given"].append(textbook(epochs=1).fit(X, y).score(X, y))
        for shuffle in ("once", "rows", True):
            p = Perceptron(keep="last", shuffle=shuffle, epochs=1, random_state=seed)
            scores[shuffle].append(p.fit(X, y).score(X, y))
        scores["average"].append(Perceptron(shuffle=False, epochs=1).fit(X, y).score(X, y))
    mean = {how: np.mean(found) for how, found in scores.items()}
    assert mean["as given"] < 0.7
    assert min(mean["once"], mean["rows"], mean[True], mean["average"]) > 0.8


def test_L12_permuting_before_each_epoch_needs_fewer_of_them():
    epochs = {"once": 0, "rows": 0}
    for seed, shuffle in itertools.product(range(20), epochs):
        X, y = whole_numbers(seed, n=400)
        by_class = np.argsort(-y, kind="stable")
        p = Perceptron(keep="last", shuffle=shuffle, epochs=10_000, random_state=seed)
        epochs[shuffle] += p.fit(X[by_class], y[by_class]).n_iter_
    assert epochs["rows"] < epochs["once"]


def test_L13_early_stopping_gives_back_the_best():
    X, y = whole_numbers(14, n=120, d=20, noise=30)
    train, dev = slice(0, 80), slice(80, None)
    for keep in ("last", "average", "vote"):
        params = {"keep": keep, "random_state": 0}
        p = Perceptron(epochs=50, patience=4, **params)
        p.fit(X[train], y[train], X_val=X[dev], y_val=y[dev])
        held_out = p.history_["held_out"]
        assert p.history_.stopped == "no improvement"
        assert p.history_.best == np.argmax(held_out) + 1
        assert p.n_iter_ == p.history_.best + 4
        # After each epoch it measured the classifier that would be deployed ...
        for epochs in range(1, p.n_iter_ + 1):
            q = Perceptron(epochs=epochs, **params).fit(X[train], y[train])
            assert held_out[epochs - 1] == q.score(X[dev], y[dev])
        # ... and the best is the one that is kept.
        q = Perceptron(epochs=p.history_.best, **params).fit(X[train], y[train])
        assert np.array_equal(p.coef_, q.coef_)
        assert np.array_equal(p.intercept_, q.intercept_)
        assert np.array_equal(p.decision_function(X), q.decision_function(X))


def test_L13_a_fraction_is_held_out():
    X, y = whole_numbers(14, n=120, d=20, noise=30)
    p = Perceptron(keep="vote", epochs=50, patience=4, validation=0.25, random_state=0).fit(X, y)
    held_out = p.history_["held_out"]
    assert np.allclose(held_out * 30 % 1, 0)  # 30 of 120 examples
    assert p.history_.best == np.argmax(held_out) + 1
    learned_from = {row for row, *_ in p.model_.state.log}
    assert len(learned_from) <= 90


def survivors(X, y, order, first=1, right_only=False):
    """Hypotheses (w, b, c) with their survival counts, in the voted perceptron of L14.

    `first` is the count at which the start begins; the others begin at 1, or at 0 if only right
    answers count.
    """
    w, b, c = np.zeros(X.shape[1]), 0.0, first
    found = []
    for i in order:
        if y[i] * (w @ X[i] + b) <= 0:
            found.append((w, b, c))
            w, b, c = w + y[i] * X[i], b + y[i], 0 if right_only else 1
        else:
            c += 1
    return [*found, (w, b, c)]


def vote(found, X):
    """The sum of c sign(w . x + b)."""
    return sum(c * sign(X @ w + b) for w, b, c in found)


def voted(seed):
    """Noisy examples, and the order of visits in three epochs."""
    X, y = whole_numbers(seed, noise=6)
    return X, y, list(range(len(X))) * 3


@pytest.mark.parametrize("seed", range(5))
def test_L14_voted_perceptron(seed):
    X, y, order = voted(seed)
    p = Perceptron(keep="vote", shuffle=False, epochs=3).fit(X, y)
    found = survivors(X, y, order)
    votes = sum(c for *_, c in found)
    assert votes == len(order) + 1  # one for the start, one after every example
    assert p.decision_function(X).tolist() == (vote(found, X) / votes).tolist()
    assert np.array_equal(p.predict(X), sign(vote(found, X)))
    # Every hypothesis votes once for each step at which it was current.
    one_by_one = sum(sign(X @ w + b) for w, b in hypotheses(X, y, order))
    assert one_by_one.tolist() == vote(found, X).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_L14_freund_and_schapire_do_not_count_the_start_itself(seed):
    # Their first hypothesis, w = 0, begins at 0; so the library's votes hold one more, for +.
    X, y, order = voted(seed)
    p = Perceptron(keep="vote", shuffle=False, epochs=3).fit(X, y)
    theirs = vote(survivors(X, y, order, first=0), X)
    ours = np.rint(p.decision_function(X) * (len(order) + 1))
    assert (ours - theirs).tolist() == [1] * len(X)


def test_L14_counting_right_answers_only_is_another_classifier():
    differ = 0
    for seed in range(20):
        X, y, order = voted(seed)
        p = Perceptron(keep="vote", shuffle=False, epochs=3).fit(X, y)
        from_one, from_zero = survivors(X, y, order), survivors(X, y, order, 0, right_only=True)
        assert {a[2] - b[2] for a, b in zip(from_one, from_zero, strict=True)} == {1}
        differ += np.sum(p.predict(X) != sign(vote(from_zero, X)))
    assert differ > 0


@pytest.mark.parametrize("seed", range(5))
def test_L15_averaged_perceptron(seed):
    X, y, order = voted(seed)
    p = Perceptron(keep="average", shuffle=False, epochs=3).fit(X, y)
    # The running sum of the lecture.
    w, b, u, d, c = np.zeros(4), 0.0, np.zeros(4), 0.0, 1
    for i in order:
        if y[i] * (w @ X[i] + b) <= 0:
            w, b = w + y[i] * X[i], b + y[i]
            u, d = u + y[i] * c * X[i], d + y[i] * c
        c += 1
    assert np.allclose(p.coef_[0], w - u / c, rtol=1e-13, atol=1e-13)
    assert math.isclose(p.intercept_[0], b - d / c, rel_tol=1e-12, abs_tol=1e-12)
    # Equal to the mean of w_0 ... w_N, the start included.
    path = list(hypotheses(X, y, order))
    assert len(path) == len(order) + 1
    assert np.allclose(p.coef_[0], np.mean([w for w, _ in path], axis=0), rtol=1e-13, atol=1e-13)
    # Equal to the survivors, each weighed by its count.
    summed = sum(c * (X @ w + b) for w, b, c in survivors(X, y, order))
    assert np.allclose(p.decision_function(X), summed / len(path), rtol=1e-12, atol=1e-12)
    assert np.array_equal(p.predict(X)[summed != 0], sign(summed)[summed != 0])


@pytest.mark.parametrize("seed", range(20))
def test_L15_an_average_score_of_zero_is_positive(seed):
    X, y, order = voted(seed)
    p = Perceptron(keep="average", shuffle=False, epochs=3).fit(X, y)
    summed = sum(c * (X @ w + b) for w, b, c in survivors(X, y, order))
    assert p.predict(X)[summed == 0].tolist() == [1] * np.sum(summed == 0)


def test_L15_the_start_is_part_of_the_mean():
    X, y, order = voted(0)
    start = np.array([[40.0, -30.0, 20.0, 10.0]])
    p = Perceptron(shuffle=False, epochs=3, start=(start, 7.0)).fit(X, y)
    path = list(hypotheses(X, y, order, start[0], 7.0))
    assert np.allclose(p.coef_[0], np.mean([w for w, _ in path], axis=0), rtol=1e-12)
    assert math.isclose(p.intercept_[0], np.mean([b for _, b in path]), rel_tol=1e-12)


def test_L15_one_training_answers_as_all_three():
    X, y, _ = voted(0)
    logged = Perceptron(keep="vote", epochs=3, random_state=0).fit(X, y)
    for keep in ("last", "average", "vote"):
        alone = Perceptron(keep=keep, epochs=3, random_state=0).fit(X, y)
        answers = logged.using(keep).decision_function(X)
        assert np.array_equal(answers, alone.decision_function(X))


def test_L16_multiclass_perceptron():
    rng = np.random.default_rng(16)
    X, y = rng.integers(-4, 5, (60, 3)).astype(float), rng.integers(0, 4, 60)
    W, mistakes = np.zeros((4, 4)), 0
    for _ in range(3):
        for x, right in zip(np.column_stack([X, np.ones(60)]), y, strict=True):
            scores = W @ x
            rival = max((c for c in range(4) if c != right), key=lambda c: scores[c])
            if scores[right] <= scores[rival]:
                W[right] += x
                W[rival] -= x
                mistakes += 1
    p = textbook(epochs=3).fit(X, y)
    assert np.array_equal(np.column_stack([p.coef_, p.intercept_]), W)
    assert p.mistakes_ == mistakes
    assert np.array_equal(p.predict(X), np.argmax(X @ W[:, :-1].T + W[:, -1], axis=1))


@pytest.mark.parametrize("keep", ["last", "average"])
def test_L16_two_classes_are_the_binary_case(keep):
    # A third class is known but never seen: the other two learn -w and +w, mistake by mistake.
    X, y = whole_numbers(17, noise=3)
    binary, several = (Perceptron(keep=keep, shuffle=False) for _ in range(2))
    for _ in range(4):
        binary.partial_fit(X, y, classes=[-1, 1])
        several.partial_fit(X, y, classes=[-1, 1, 2])
    w = np.append(binary.coef_, binary.intercept_)
    W = np.column_stack([several.coef_, several.intercept_])
    assert np.array_equal(W, [-w, w, 0 * w])
    assert binary.history_["mistakes"].tolist() == several.history_["mistakes"].tolist()
    assert binary.history_["mistakes"].sum() > 10
    g = binary.decision_function(X)
    assert np.array_equal(several.decision_function(X), np.column_stack([-g, g, 0 * g]))


def test_L16_ties_are_mistakes_by_default():
    X, y = np.eye(3), [0, 1, 2]
    assert textbook(epochs=1).fit(X, y).history_["mistakes"][0] == 3
    # With ties="predict" the first best class answers, which is right for the first example.
    p = textbook(epochs=1, ties="predict").fit(X[:1].repeat(3, 0), y)
    assert p.history_["mistakes"][0] == 2


def noisy_split(seed):
    """200 examples of 100 features to learn from, 15 % of them mislabelled, and 1000 clean ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1200, 100))
    y = sign(X @ rng.standard_normal(100))
    flipped = np.flatnonzero(rng.random(200) < 0.15)
    y[flipped] *= -1
    return X[:200], y[:200], X[200:], y[200:]


def test_L17_overfitting_shows_on_held_out_data():
    curves = {"last": [], "average": []}
    for keep, seed in itertools.product(curves, range(10)):
        X, y, X_val, y_val = noisy_split(seed)
        p = Perceptron(keep=keep, epochs=60, patience=60, random_state=seed)
        p.fit(X, y, X_val=X_val, y_val=y_val)
        held_out = p.history_["held_out"]
        curves[keep].append(np.append(held_out, [held_out[-1]] * (60 - len(held_out))))
        # Meanwhile, training accuracy keeps improving.
        mistakes = p.history_["mistakes"]
        assert mistakes[:5].sum() > mistakes[5:10].sum() > mistakes[-5:].sum()
    for found in curves.values():
        mean = np.mean(found, axis=0)
        assert mean[1:5].mean() > mean[-5:].mean() + 0.01  # few epochs generalise better
    # So does averaging, once there are a few epochs to average over.
    assert np.mean(np.array(curves["average"])[:, 2:30]) > np.mean(
        np.array(curves["last"])[:, 2:30]
    )


def test_L17_a_rare_feature_of_one_class_gets_a_large_weight():
    # Feature 0 occurs in three examples, all mislabelled and all positive.
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, (300, 6)).astype(float)
    X[:, 0] = 0
    y = sign(X @ [0, 1, 2, 3, 4, 5])
    rare = np.flatnonzero(X @ [0, 1, 2, 3, 4, 5] < -8)[:3]
    X[rare, 0], y[rare] = 1, 1
    grown = []
    for epochs in (1, 5, 50):
        p = Perceptron(keep="vote", epochs=epochs, random_state=0).fit(X, y)
        last, average = p.using("last").coef_[0], p.using("average").coef_[0]
        grown.append(last[0])
        # Nothing ever pulls its weight back, so it counts the mistakes made on those examples.
        assert last[0] == sum(row in rare for row, *_ in p.model_.state.log)
        assert average[0] < last[0]
    assert grown == sorted(set(grown))
    assert last[0] > 2 * max(abs(last[1:]))  # learned from 1 % of the examples


# Geometry


@pytest.mark.parametrize("scale", [2.0**-20, 0.5, 3.0, 2.0**30])
def test_L21_scaling_leaves_the_mistakes_unchanged(scale):
    X, y = whole_numbers(21, noise=3)
    params = {"keep": "vote", "epochs": 8, "fit_intercept": False, "random_state": 0}
    p, q = Perceptron(**params).fit(X, y), Perceptron(**params).fit(X * scale, y)
    assert list(p.model_.state.log) == list(q.model_.state.log)
    assert np.array_equal(p.using("last").coef_ * scale, q.using("last").coef_)
    assert np.array_equal(p.predict(X), q.predict(X * scale))


def test_L21_a_bias_must_be_scaled_too():
    X, y = whole_numbers(21, noise=3)
    params = {"keep": "vote", "epochs": 8, "random_state": 0}
    p = Perceptron(**params).fit(X, y)
    scaled = np.column_stack([X * 8, np.full(len(X), 8.0)])
    q = Perceptron(**params, fit_intercept=False).fit(scaled, y)
    assert list(p.model_.state.log) == list(q.model_.state.log)
    # A constant feature that stays 1 is another problem.
    unscaled = Perceptron(**params).fit(X * 8, y)
    assert list(p.model_.state.log) != list(unscaled.model_.state.log)


@pytest.mark.parametrize("params", [{}, {"batch": "full"}, {"shuffle": "once"}, {"batch": 3}])
def test_L22_cycle_is_detected_and_proves_inseparability(params):
    with pytest.warns(NotSeparableWarning, match="proves"):
        p = textbook(epochs=100, random_state=0, **params).fit(XOR, XOR_LABELS)
    first, last, proof = p.history_.cycle
    assert proof
    assert 0 <= first < last <= 100
    # The proof: the corrections of the epochs between add up to zero, and there are some.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSeparableWarning)
        runs = [
            Perceptron(keep="vote", epochs=epochs, **{"shuffle": False, **params}, random_state=0)
            for epochs in (max(first, 1), last)
        ]
        logs = [list(run.fit(XOR, XOR_LABELS).model_.state.log) for run in runs]
    between = logs[1][len(logs[0]) if first else 0 :]
    assert between
    total = sum(amount * np.append(XOR[row], 1.0) for row, _, amount, _ in between)
    assert total.tolist() == [0.0, 0.0, 0.0]
    # By Gordan's theorem a combination of y x with such weights, none negative, rules out a w.
    assert all(amount * XOR_LABELS[row] > 0 for row, _, amount, _ in between)


def test_L22_a_cycle_goes_on_for_ever():
    with pytest.warns(NotSeparableWarning):
        p = textbook(epochs=50).fit(XOR, XOR_LABELS)
    first, last, _ = p.history_.cycle
    period = last - first
    mistakes = p.history_["mistakes"]
    assert np.array_equal(mistakes[first:-period], mistakes[first + period :])


@pytest.mark.parametrize("seed", range(10))
def test_L22_separable_data_does_not_cycle(seed):
    X, y = whole_numbers(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = textbook(epochs=10_000).fit(X, y)
    assert p.history_.stopped == "no mistakes"
    assert p.history_.cycle is None


def test_L22_a_cycle_of_rounded_numbers_proves_nothing():
    # A step of 0.1 is rounded: the weights repeat, but no sum was exact.
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        p = textbook(epochs=1000, eta=0.1).fit(XOR, XOR_LABELS)
    assert p.history_.cycle is None or not p.history_.cycle.proof
    assert not any("proves" in str(warning.message) for warning in told)


def test_L22_one_class_against_the_rest_says_nothing_of_all_classes_together():
    # The middle one of three points on a line cannot be cut off from the others, ...
    X, y = np.array([[-1.0], [0.0], [1.0]]), [0, 1, 2]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        textbook(multiclass="ovr", epochs=50).fit(X, y)
    # ... yet three weight vectors learned together distinguish all of them.
    assert textbook(epochs=50).fit(X, y).history_.stopped == "no mistakes"
    claim = "the classes are not linearly separable"
    assert not any(claim in str(warning.message) for warning in told)


def test_L22_no_cycle_is_looked_for_in_a_random_order():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = Perceptron(epochs=100, random_state=0).fit(XOR, XOR_LABELS)
    assert p.history_.cycle is None
    assert p.history_.stopped == "epochs"


# Networks, margins, bounds


def test_L18_every_boolean_function_is_two_levels_of_perceptrons():
    for table in itertools.product((0, 1), repeat=8):
        network = boolean_network(table)
        inputs = list(itertools.product((0, 1), repeat=3))
        assert network.predict(inputs).tolist() == list(table)
        assert network.units <= 4
    # One perceptron cannot compute XOR; two levels of them can.
    assert certify(XOR, XOR_LABELS).verdict == "not separable"
    assert boolean_network([0, 1, 1, 0]).predict(XOR).tolist() == [0, 1, 1, 0]


def test_L19_margin_of_a_hyperplane_and_of_a_set():
    # The margin of a set under weights is the signed minimum; it separates if that is positive.
    p = Perceptron(keep="average", shuffle=False, epochs=1).fit(XOR, XOR_LABELS)
    w, b = p.coef_[0], p.intercept_[0]
    run = certify(p, XOR, XOR_LABELS)
    assert run.margin == pytest.approx(min(XOR_LABELS * (XOR @ w + b)) / np.linalg.norm(w))
    assert run.margin < 0
    assert run.strict_margin == -math.inf  # as in another lecture
    p = textbook(fit_intercept=False).fit(SIX, SIX_LABELS)
    w = p.coef_[0]
    run = certify(p, SIX, SIX_LABELS)
    achieved = run.margin
    assert (
        run.strict_margin
        == achieved
        == pytest.approx(min(SIX_LABELS * (SIX @ w)) / np.linalg.norm(w))
    )
    # The margin of the data set is the largest over all hyperplanes.
    best = certify(SIX, SIX_LABELS, bias=False)
    assert best.margin.low == pytest.approx(1.0)
    assert achieved <= best.margin.high
    directions = np.linspace(0, 2 * math.pi, 1000)
    tried = [min(SIX_LABELS * (SIX @ [math.cos(t), math.sin(t)])) for t in directions]
    assert max(tried) <= best.margin.high
    assert max(tried) == pytest.approx(best.margin.low, abs=1e-4)


def test_L19_the_best_line_of_the_problem_set():
    found = certify(EIGHT, EIGHT_LABELS)
    assert found.verdict == "separable"
    # Halfway between (1, 1) and (-1, -1), at right angles to the line between them.
    assert found.margin.low == pytest.approx(math.sqrt(2))
    assert found.w[0] == pytest.approx(found.w[1])
    assert found.b == pytest.approx(0, abs=1e-12)
    assert set(found.support) == {0, 4}
    for seed in range(5):
        p = textbook(start="random", random_state=seed, epochs=100).fit(EIGHT, EIGHT_LABELS)
        assert certify(p, EIGHT, EIGHT_LABELS).margin <= found.margin.high


@pytest.mark.parametrize("seed", range(5))
def test_L20_mistake_bound_and_its_proof(seed):
    X, y = whole_numbers(seed)
    for bias in (False, True):
        data = certify(X, y, bias=bias)
        if data.verdict != "separable":
            continue
        p = Perceptron(keep="vote", epochs=10_000, fit_intercept=bias, random_state=seed)
        p.fit(X, y)
        run = certify(p, X, y)
        assert run.mistakes <= run.bound == pytest.approx((data.R / data.extended.low) ** 2)
        # w_k . w* >= k gamma and |w_k|^2 <= k R^2 after every mistake.
        assert len(run.progress) == run.mistakes
        assert run.inequalities_held
        along, least, square, most = run.progress.T
        k = np.arange(1, run.mistakes + 1)
        assert np.allclose(least, k * data.extended.low)
        assert np.allclose(most, k * data.R**2)
        assert np.all(along >= least - 1e-9)
        assert np.all(square <= most + 1e-9)


def test_L20_only_the_extended_margin_enters_the_bound():
    X, y = [[0.1], [0.05]], [1, -1]
    p = textbook(epochs=1000).fit(X, y)
    assert p.mistakes_ == 405
    found = certify(X, y)
    assert round((0.1 / found.margin.low) ** 2) == 16
    assert found.bound >= 405
    # For any other setting there is no bound.
    for params in ({"rule": "margin"}, {"batch": "full"}, {"start": "random"}, {"eta": (1, 0.5)}):
        run = certify(textbook(**params, random_state=0).fit(X, y), X, y)
        assert run.bound is None
        assert run.no_bound


def test_L20_classes_learned_together_double_the_square():
    X, y = EIGHT, np.array([0, 0, 1, 1, 2, 2, 2, 2])
    p = textbook(epochs=1000).fit(X, y)
    run = certify(p, X, y)
    assert run.extended_margin > 0
    assert p.mistakes_ <= run.bound == pytest.approx(2 * (run.R / run.extended_margin) ** 2)


def test_L22_repeated_weights_prove_inseparability():
    found = certify(XOR, XOR_LABELS)
    assert found.found_by == "repeated weights"
    assert found.shares == (Fraction(1, 4),) * 4
    total = sum(
        float(share) * XOR_LABELS[i] * np.append(XOR[i], 1.0)
        for i, share in zip(found.examples, found.shares, strict=True)
    )
    assert total.tolist() == [0.0, 0.0, 0.0]


def test_L23_separable_or_not_and_the_margin():
    assert certify(SIX, SIX_LABELS).verdict == "separable"
    assert certify(XOR, XOR_LABELS).verdict == "not separable"
    # More features than examples: separable, whatever the labels.
    rng = np.random.default_rng(23)
    for _ in range(10):
        X, y = rng.normal(size=(10, 12)), rng.integers(0, 2, 10)
        found = certify(X, y)
        assert found.verdict == "separable"
        assert found.verify(X, y)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_L24_shattering(n):
    corners = np.eye(n)
    # With a free bias n + 1 points in general position, and no n + 2; through the origin n.
    assert shattered(np.vstack([corners, np.zeros(n)]))
    assert shattered(corners, bias=False)
    rng = np.random.default_rng(n)
    assert not shattered(rng.normal(size=(n + 2, n)))
    assert not shattered(rng.normal(size=(n + 1, n)), bias=False)
    # At margin gamma in a ball of radius R: at most (R / gamma)^2 points, reached by the corners.
    gamma = 1 / math.sqrt(n)
    assert shattered(corners, margin=gamma * 0.999, bias=False)
    assert not shattered(corners, margin=gamma * 1.001, bias=False)


def test_L24_shattering_at_a_margin_with_a_free_bias():
    # ceil((R / gamma)^2) + 1 is 2 for R = gamma: two points at distance 2 R, and no third.
    ends = np.array([[-1.0, 0.0], [1.0, 0.0]])
    assert shattered(ends, margin=1.0)
    assert not shattered(ends, margin=1.001)
    angles = 2 * math.pi * np.arange(3) / 3
    triangle = np.column_stack([np.cos(angles), np.sin(angles)])
    assert shattered(triangle, margin=0.7)
    assert not shattered(triangle, margin=0.8)


@pytest.mark.parametrize("noise", [0, 3, 10])
def test_L25_mistakes_bounded_with_the_hinge_loss(noise):
    X, y = whole_numbers(25, noise=noise)
    p = Perceptron(keep="vote", epochs=20, random_state=0).fit(X, y)
    run = certify(p, X, y)
    assert run.mistakes <= run.hinge_bound
    # M <= (R / gamma)^2 + 2 L / gamma for any unit u and gamma, L over the mistakes made.
    rows = np.array([correction.row for correction in p.log_])
    extended = np.column_stack([X, np.ones(len(X))])
    rng = np.random.default_rng(0)
    for _ in range(20):
        u = rng.normal(size=X.shape[1] + 1)
        u /= np.linalg.norm(u)
        gamma = rng.uniform(0.01, run.R)
        missing = np.maximum(0.0, gamma - y[rows] * (extended[rows] @ u))
        assert run.mistakes <= (run.R / gamma) ** 2 + 2 * missing.sum() / gamma


def test_L25_risk_after_one_pass():
    X, y = whole_numbers(25)
    p = Perceptron(epochs=1, random_state=0).fit(X, y)
    run = certify(p, X, y)
    assert run.risk(0.05) == pytest.approx(p.mistakes_ / 40 + math.sqrt(2 * math.log(20) / 40))
    assert certify(Perceptron(epochs=2, random_state=0).fit(X, y), X, y).risk() is None


def test_L26_weights_are_a_signed_sum_of_the_mistakes():
    X, y = whole_numbers(26, noise=4)
    p = Perceptron(keep="vote", epochs=5, fit_intercept=False, random_state=0).fit(X, y)
    total = sum(amount * X[row] for row, _, amount, _ in p.log_)
    assert total.tolist() == p.using("last").coef_[0].tolist()
    # So scores need products of examples only: the Gram matrix gives the same verdict and margin.
    found, gram = certify(X, y), certify(X @ X.T, y, gram=True)
    assert found.verdict == gram.verdict
    X, y = EIGHT, EIGHT_LABELS
    margin = certify(X @ X.T, y, gram=True).margin
    assert margin.low == pytest.approx(certify(X, y).margin.low, rel=1e-5)


def hard_margin(X, y, **params):
    """The separator with the largest margin."""
    return LinearSVM(C=math.inf, **{"tol": 1e-9, "random_state": 0, **params}).fit(X, y)


def test_L23_the_hard_margin_says_whether_data_is_separable_and_its_margin():
    found = hard_margin(EIGHT, EIGHT_LABELS, fit_intercept=False).certificate_
    assert found.separates
    assert found.margin == pytest.approx((math.sqrt(2), math.sqrt(2)))
    with pytest.warns(NotSeparableWarning, match="no separator"):
        found = hard_margin(XOR, XOR_LABELS, bias="free").certificate_
    assert not found.separates
    assert found.margin[1] < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_L23_more_features_than_examples_are_separable(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(10, 12)), np.tile([-1, 1], 5)
    assert hard_margin(X, y, fit_intercept=False).certificate_.separates


@pytest.mark.parametrize("bias", [False, True])
def test_L24_points_in_general_position_are_shattered_up_to_their_number(bias):
    # With a free bias three points of the plane can be shattered, four not; without, two and three.
    points = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.5], [0.3, 0.4]])[: 4 if bias else 3]
    how = {"bias": "free"} if bias else {"fit_intercept": False}

    def shattered(X):
        for signs in itertools.product([-1, 1], repeat=len(X)):
            if len(set(signs)) == 2 and not hard_margin(X, signs, **how).certificate_.separates:
                return False
        return True

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSeparableWarning)
        assert shattered(points[:-1])
        assert not shattered(points)


def test_L24_the_bound_by_margin_holds_for_points_that_are_shattered():
    # Unit vectors along the axes have margin 1 / sqrt(n), and (R / gamma)^2 = n of them there are.
    for n in (2, 3, 4):
        for signs in itertools.product([-1, 1], repeat=n):
            if len(set(signs)) == 2:
                low, _ = hard_margin(np.eye(n), signs, fit_intercept=False).certificate_.margin
                assert (1.0 / low) ** 2 == pytest.approx(n)


@pytest.mark.parametrize("seed", range(5))
def test_L25_the_svms_direction_bounds_mistakes_on_data_that_is_nearly_separable(seed):
    X, y = whole_numbers(seed, noise=3)
    svm = LinearSVM(loss="hinge", fit_intercept=False, random_state=0).fit(X, y)
    length = np.linalg.norm(svm.coef_)
    u, gamma, R = svm.coef_[0] / length, 1.0 / length, np.linalg.norm(X, axis=1).max()
    p = textbook(keep="vote", fit_intercept=False, epochs=1).fit(X, y)
    wrong = [row for row, _, _, _ in p.log_]
    total = np.maximum(0.0, gamma - y[wrong] * (X[wrong] @ u)).sum()
    assert len(wrong) <= (R / gamma) ** 2 + 2 * total / gamma


def test_L30_the_hard_margin_gives_the_best_line_of_the_problem_set():
    for how in ({"fit_intercept": False}, {"bias": "free"}):
        svm = hard_margin(EIGHT, EIGHT_LABELS, **how)
        np.testing.assert_allclose(svm.coef_, [[0.5, 0.5]], atol=1e-8)
        assert abs(float(svm.intercept_[0])) < 1e-8
        margins = EIGHT_LABELS * (EIGHT @ svm.coef_[0])
        assert margins.min() == pytest.approx(1.0)
        assert 1.0 / np.linalg.norm(svm.coef_) == pytest.approx(svm.certificate_.margin[0])


@pytest.mark.parametrize("seed", range(5))
def test_L30_no_other_separator_has_a_larger_margin(seed):
    X, y = whole_numbers(seed)
    low, high = hard_margin(X, y, bias="free").certificate_.margin
    rng = np.random.default_rng(seed)
    best = -math.inf
    for _ in range(200):
        w, b = rng.normal(size=X.shape[1]), rng.normal()
        best = max(best, np.min(y * (X @ w + b)) / np.linalg.norm(w))
    for epochs in (50, 200):
        p = Perceptron(keep="last", epochs=epochs, random_state=seed).fit(X, y)
        best = max(best, np.min(y * p.decision_function(X)) / np.linalg.norm(p.coef_))
    assert best <= high
    assert low == pytest.approx(high, rel=1e-6)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_L31_the_soft_margin_costs_less_than_any_other_weights(C):
    X, y = whole_numbers(0, noise=4)
    svm = LinearSVM(C=C, loss="hinge", fit_intercept=False, tol=1e-9, random_state=0).fit(X, y)

    def lecture(w, C):
        """|w|^2 + C sum xi, as printed: its C is twice ours."""
        return w @ w + C * losses.hinge(y * (X @ w)).sum()

    least = lecture(svm.coef_[0], 2 * C)
    assert svm.certificate_.primal == pytest.approx(least / 2)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(50):
            assert lecture(svm.coef_[0] + size * rng.normal(size=X.shape[1]), 2 * C) >= least
    mistakes = np.sum(y * (X @ svm.coef_[0]) <= 0)
    assert mistakes <= losses.hinge(y * (X @ svm.coef_[0])).sum() + 1e-9


def test_L32_the_dual_has_the_same_value_and_makes_the_weights():
    X, y = whole_numbers(0, noise=4)
    svm = LinearSVM(C=0.5, loss="hinge", bias="free", tol=1e-9, random_state=0).fit(X, y)
    alpha, b = svm.certificate_.alpha, svm.intercept_[0]
    assert np.all((alpha >= 0.0) & (alpha <= 0.5))
    assert abs(alpha @ y) < 1e-9
    K = X @ X.T
    dual = alpha.sum() - (alpha * y) @ K @ (alpha * y) / 2
    primal = svm.coef_[0] @ svm.coef_[0] / 2
    primal += 0.5 * losses.hinge(y * svm.decision_function(X)).sum()
    assert dual == pytest.approx(primal, rel=1e-8)
    # Classify using only the support vectors.
    support = svm.certificate_.support
    assert np.all(alpha[support] > 0.0)
    assert len(support) < len(y)
    scores = (alpha * y)[support] @ K[support] + b
    np.testing.assert_allclose(scores, svm.decision_function(X), atol=1e-9)


def test_L32_other_examples_could_be_left_out():
    X, y = whole_numbers(1)
    svm = hard_margin(X, y, bias="free")
    support = svm.certificate_.support
    alone = hard_margin(X[support], y[support], bias="free")
    np.testing.assert_allclose(alone.coef_, svm.coef_, rtol=1e-6)
