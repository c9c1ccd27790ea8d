"""Comparisons with scikit-learn, wherever the two can be compared exactly.

Its SGDClassifier scales the step of the bias by 0.01 on sparse rows and does not penalise it, so
those comparisons add the constant feature as a column of the data instead.
"""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.linear_model import Perceptron as TheirPerceptron

from widemargin import OnlineLogistic, PassiveAggressive, Perceptron

pytestmark = [
    pytest.mark.filterwarnings("ignore::widemargin.NotSeparableWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

EPOCHS = 7
FORMS = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
CLASSES = pytest.mark.parametrize("classes", [2, 3])
#: Ours, set to learn as theirs does: in the given order, one class against the rest, the last
#: weights; with or without a bias, whose steps are those of a constant feature 1.
OURS = {"keep": "last", "shuffle": False, "multiclass": "ovr", "epochs": EPOCHS}
WITH_BIAS = {**OURS, "fit_intercept": True}
#: Theirs, without early stopping and with a constant step.
THEIRS = {
    "penalty": None,
    "shuffle": False,
    "tol": None,
    "max_iter": EPOCHS,
    "learning_rate": "constant",
    "eta0": 1.0,
}


def whole_numbers(classes, n=60, d=6):
    """Inseparable examples with many ties, so that every epoch changes the weights."""
    rng = np.random.default_rng(classes)
    return rng.integers(-3, 4, (n, d)).astype(float), rng.integers(0, classes, n)


def real_numbers(classes, n=60, d=6):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(n, d))
    X[:, -1] = 1.0  # the constant feature
    y = np.argmax(X[:, :classes] + rng.normal(size=(n, classes)), axis=1)
    return X, y


def assert_same_weights(ours, theirs):
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.intercept_, theirs.intercept_)


def assert_close_weights(ours, theirs):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-12)


# The same weights


@CLASSES
def test_the_perceptron_has_the_weights_of_theirs(classes):
    X, y = whole_numbers(classes)
    theirs = TheirPerceptron(shuffle=False, tol=None, max_iter=EPOCHS).fit(X, y)
    assert_same_weights(Perceptron(**WITH_BIAS).fit(X, y), theirs)


@CLASSES
@FORMS
def test_the_perceptron_without_bias_has_the_weights_of_theirs(form, classes):
    X, y = whole_numbers(classes)
    theirs = SGDClassifier(loss="perceptron", fit_intercept=False, **THEIRS).fit(form(X), y)
    ours = Perceptron(fit_intercept=False, **OURS).fit(form(X), y)
    assert_same_weights(ours, theirs)


@CLASSES
@FORMS
def test_the_rule_margin_is_their_hinge_loss(form, classes):
    X, y = whole_numbers(classes)
    theirs = SGDClassifier(loss="hinge", fit_intercept=False, **THEIRS).fit(form(X), y)
    ours = Perceptron(rule="margin", target=1.0, fit_intercept=False, **OURS).fit(form(X), y)
    assert_same_weights(ours, theirs)


@CLASSES
def test_the_rule_margin_with_bias_is_their_hinge_loss(classes):
    X, y = whole_numbers(classes)
    theirs = SGDClassifier(loss="hinge", **THEIRS).fit(X, y)
    assert_same_weights(Perceptron(rule="margin", target=1.0, **WITH_BIAS).fit(X, y), theirs)


@CLASSES
@FORMS
@pytest.mark.parametrize(("rule", "rate"), [("pa1", "pa1"), ("pa2", "pa2")])
def test_passive_aggressive_has_the_weights_of_theirs(rule, rate, form, classes):
    X, y = real_numbers(classes)
    how = {**THEIRS, "learning_rate": rate, "eta0": 0.1}
    theirs = SGDClassifier(loss="hinge", fit_intercept=False, **how).fit(form(X), y)
    ours = PassiveAggressive(rule=rule, C=0.1, fit_intercept=False, **OURS).fit(form(X), y)
    assert_close_weights(ours, theirs)


def test_uncapped_passive_aggressive_reaches_the_margin_by_its_formula():
    X, y = real_numbers(2)
    w = np.zeros(X.shape[1])
    for _ in range(EPOCHS):
        for x, sign in zip(X, 2.0 * y - 1.0, strict=True):
            w += max(0.0, 1.0 - sign * (w @ x)) / (x @ x) * sign * x
    ours = PassiveAggressive(rule="pa", fit_intercept=False, **OURS).fit(X, y)
    np.testing.assert_allclose(ours.coef_[0], w, rtol=1e-9)


@CLASSES
@FORMS
def test_online_logistic_has_the_weights_of_their_log_loss(form, classes):
    X, y = real_numbers(classes)
    how = {**THEIRS, "eta0": 0.2}
    theirs = SGDClassifier(loss="log_loss", fit_intercept=False, **how).fit(form(X), y)
    ours = OnlineLogistic(eta=0.2, fit_intercept=False, **OURS).fit(form(X), y)
    assert_close_weights(ours, theirs)
    np.testing.assert_allclose(
        ours.predict_proba(form(X)), theirs.predict_proba(form(X)), rtol=1e-9
    )


@CLASSES
def test_online_logistic_with_bias_has_the_weights_of_their_log_loss(classes):
    X, y = real_numbers(classes)
    how = {**THEIRS, "eta0": 0.2}
    theirs = SGDClassifier(loss="log_loss", **how).fit(X[:, :-1], y)
    assert_close_weights(OnlineLogistic(eta=0.2, **WITH_BIAS).fit(X[:, :-1], y), theirs)


@CLASSES
@pytest.mark.parametrize("power", [0.25, 0.5, 1.0])
def test_a_decaying_step_is_their_inverse_scaling(power, classes):
    X, y = real_numbers(classes)
    how = {**THEIRS, "learning_rate": "invscaling", "power_t": power, "eta0": 0.5}
    theirs = SGDClassifier(loss="log_loss", fit_intercept=False, **how).fit(X, y)
    ours = OnlineLogistic(eta=(0.5, power), fit_intercept=False, **OURS).fit(X, y)
    assert_close_weights(ours, theirs)


@CLASSES
@FORMS
def test_a_penalty_is_half_their_alpha(form, classes):
    X, y = real_numbers(classes)
    how = {**THEIRS, "eta0": 0.2, "penalty": "l2", "alpha": 0.02}
    theirs = SGDClassifier(loss="log_loss", fit_intercept=False, **how).fit(form(X), y)
    ours = OnlineLogistic(eta=0.2, l2=0.01, fit_intercept=False, **OURS).fit(form(X), y)
    assert_close_weights(ours, theirs)


@CLASSES
@pytest.mark.parametrize("alpha", [0.0, 0.02])
def test_the_average_is_theirs_with_the_start_counted_in(alpha, classes):
    X, y = real_numbers(classes)
    how = {**THEIRS, "eta0": 0.2, "penalty": "l2", "alpha": alpha, "average": True}
    theirs = SGDClassifier(loss="log_loss", fit_intercept=False, **how).fit(X, y)
    how = {**OURS, "keep": "average", "fit_intercept": False}
    ours = OnlineLogistic(eta=0.2, l2=alpha / 2, **how).fit(X, y)
    seen = EPOCHS * len(y)
    np.testing.assert_allclose(ours.coef_ * (seen + 1) / seen, theirs.coef_, rtol=1e-9)


@CLASSES
def test_sample_weights_are_theirs(classes):
    X, y = whole_numbers(classes)
    weight = 1.0 + np.arange(len(y)) % 3
    theirs = SGDClassifier(loss="perceptron", fit_intercept=False, **THEIRS)
    theirs.fit(X, y, sample_weight=weight)
    ours = Perceptron(fit_intercept=False, **OURS).fit(X, y, sample_weight=weight)
    assert_same_weights(ours, theirs)


def test_class_weights_are_theirs_for_two_classes():
    # With more classes, theirs weights only the positive class in every binary problem.
    X, y = whole_numbers(2)
    how = {"fit_intercept": False, "class_weight": {0: 2.0, 1: 4.0}}
    theirs = SGDClassifier(loss="perceptron", **THEIRS, **how).fit(X, y)
    assert_same_weights(Perceptron(**OURS, **how).fit(X, y), theirs)


def test_balanced_class_weights_are_theirs():
    X, y = whole_numbers(2)
    y[:15] = 0
    how = {**THEIRS, "loss": "perceptron", "fit_intercept": False, "class_weight": "balanced"}
    ours = Perceptron(fit_intercept=False, class_weight="balanced", **OURS).fit(X, y)
    np.testing.assert_allclose(ours.coef_, SGDClassifier(**how).fit(X, y).coef_, rtol=1e-9)


# The same optimum


def logistic_objective(W, X, y, l2):
    """The mean logistic loss plus l2 |w|^2: one row of W for two classes, else one per class."""
    scores = X @ W.T
    if len(W) == 1:
        loss = np.logaddexp(0.0, -(2 * y - 1) * scores[:, 0])
    else:
        loss = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(y)), y]
    return np.mean(loss) + l2 * np.sum(W**2)


@CLASSES
@pytest.mark.parametrize("l2", [0.002, 0.02])
def test_online_logistic_comes_to_the_optimum_of_logistic_regression(l2, classes):
    X, y = real_numbers(classes, n=400)
    # C sum(loss) + |w|^2 / 2 is a multiple of mean(loss) + l2 |w|^2 where C = 1 / (2 l2 n).
    C = 1.0 / (2.0 * l2 * len(y))
    best = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    how = {"keep": "average", "fit_intercept": False, "epochs": 300, "random_state": 0}
    ours = OnlineLogistic(eta=(0.5, 0.6), l2=l2, **how).fit(X, y)
    least = logistic_objective(best.coef_, X, y, l2)
    start = logistic_objective(np.zeros_like(best.coef_), X, y, l2)
    reached = logistic_objective(ours.coef_, X, y, l2)
    assert least <= reached < least + 1e-3 * (start - least)


@CLASSES
def test_full_batches_come_to_the_optimum_of_logistic_regression(classes):
    X, y = real_numbers(classes, n=100)
    l2 = 0.02
    C = 1.0 / (2.0 * l2 * len(y))
    best = LogisticRegression(C=C, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(X, y)
    how = {"keep": "last", "batch": "full", "fit_intercept": False, "epochs": 3000}
    ours = OnlineLogistic(eta=0.01, l2=l2, **how).fit(X, y)  # the step of a sum: eta n = 1
    np.testing.assert_allclose(ours.coef_, best.coef_, rtol=1e-4, atol=1e-6)
