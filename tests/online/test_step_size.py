"""`eta="auto"`: a step size for logistic regression that follows the scale of the examples."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries
from sklearn.metrics import log_loss

import widemargin
from widemargin import OnlineLogistic, Perceptron
from widemargin.data.rows import Rows
from widemargin.online.rules import step_size


def examples(n=120, d=5, classes=3):
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (n, d)).astype(float)
    return X, np.argmax(
        X @ rng.standard_normal((d, classes)) + rng.standard_normal(classes), axis=1
    )


def eta_of(learner):
    return learner.model_.state.eta


def test_the_step_on_a_typical_example_is_about_three():
    X, y = examples()
    eta = eta_of(OnlineLogistic(random_state=0).fit(X, y))
    mean = float(np.mean(np.sum(X * X, axis=1)))
    assert math.log2(eta).is_integer()
    assert 3 / math.sqrt(2) <= eta * mean <= 3 * math.sqrt(2)


@tries(25)
@given(st.integers(-300, 300), st.booleans())
def test_a_change_of_unit_changes_nothing(exponent, sparse):
    X, y = examples()
    kind = sp.csr_array if sparse else np.asarray
    one = OnlineLogistic(random_state=0).fit(kind(X), y)
    other = OnlineLogistic(random_state=0).fit(kind(np.ldexp(X, exponent)), y)
    np.testing.assert_array_equal(
        one.predict_proba(kind(X)), other.predict_proba(kind(np.ldexp(X, exponent)))
    )


def test_rows_with_greater_weights_take_the_same_steps():
    X, y = examples()
    one = OnlineLogistic(random_state=0).fit(X, y)
    other = OnlineLogistic(random_state=0).fit(X, y, sample_weight=np.full(len(y), 1024.0))
    assert eta_of(other) == eta_of(one) / 1024
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_rows_that_are_skipped_or_held_out_do_not_count():
    X, y = examples()
    weight = np.ones(len(y))
    weight[::2], X[::2] = 0.0, X[::2] * 1000
    learned = OnlineLogistic(random_state=0).fit(X, y, sample_weight=weight)
    assert eta_of(learned) == eta_of(OnlineLogistic(random_state=0).fit(X[1::2], y[1::2]))


def test_training_goes_on_with_the_same_step(tmp_path):
    X, y = examples()
    whole = OnlineLogistic(random_state=0, shuffle=False)
    whole.partial_fit(X[:60], y[:60], classes=range(3))
    whole.save(tmp_path / "m.wm")
    loaded = widemargin.load(tmp_path / "m.wm")
    assert loaded.eta == "auto"
    assert eta_of(loaded) == eta_of(whole)
    for learner in (whole, loaded):
        learner.partial_fit(1000 * X[60:], y[60:])
    assert eta_of(loaded) == eta_of(whole)
    np.testing.assert_array_equal(loaded.coef_, whole.coef_)


def test_a_step_size_that_was_given_is_taken():
    X, y = examples()
    for eta in (0.01, (0.5, 0.5)):
        learned = OnlineLogistic(eta=eta, epochs=1, shuffle=False).fit(X, y)
        again = Perceptron(rule="logistic", eta=eta, epochs=1, shuffle=False).fit(X, y)
        np.testing.assert_array_equal(learned.coef_, again.coef_)


def test_it_may_decay():
    X, y = examples()
    decaying = OnlineLogistic(eta=("auto", 0.5), random_state=0).fit(X, y)
    fixed = OnlineLogistic(eta=(eta_of(decaying), 0.5), random_state=0).fit(X, y)
    np.testing.assert_array_equal(decaying.coef_, fixed.coef_)


def test_single_examples_are_learned_from_as_rows_are():
    learner = OnlineLogistic()
    for number in range(20):
        learner.learn_one({"a": 10.0, "b": float(number % 2)}, number % 2)
    assert eta_of(learner) == step_size(math.log2(100.0))
    assert learner.predict_one({"a": 10.0, "b": 1.0}) in (0, 1)


def test_probabilities_of_pixels_are_of_use(digits):
    X, y = digits
    learner = OnlineLogistic(random_state=0).fit(X[:1200], y[:1200])
    coarse = OnlineLogistic(eta=1.0, random_state=0).fit(X[:1200], y[:1200])
    found, before = (log_loss(y[1200:], one.predict_proba(X[1200:])) for one in (learner, coarse))
    assert found < before / 3


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


@pytest.mark.parametrize("X", [np.zeros((3, 2)), np.empty((0, 2)), np.full((2, 2), 1e308)])
def test_there_is_always_a_step(X):
    assert 0.0 < step_size(Rows.of(X).log2_squared_length()) < math.inf


def test_other_rules_need_a_number():
    with pytest.raises(ValueError, match="eta='auto' is for the logistic rule"):
        Perceptron(eta="auto").fit(*examples())
