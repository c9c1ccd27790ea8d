"""Learners beside exact rational arithmetic at the edges of floats: right, or refused by name.

A float that is rounded is not wrong; a score whose error is larger than the rounding of its own
terms can explain is. So scores are compared with the exact sum over the same weights, and where
no step rounds (powers of two), the weights themselves with those that fractions learn.
"""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries

from widemargin import DataError, KernelPerceptron, LinearSVM, PassiveAggressive, Perceptron
from widemargin.data.rows import Rows

TINY, HUGE = 5e-324, 1.7976931348623157e308
#: Numbers at the edges, and among them ordinary ones.
EDGES = [0.0, -0.0, 1.0, -3.0, 0.1, 1e-300, -1e-300, 1e300, -1e300, 2.2250738585072014e-308, TINY]
EDGES += [-TINY, HUGE, 1e-160, 1e160, 2.0**-1030, 1e8, 1.0 + 2.0**-52]
LEARNERS = {
    "perceptron": lambda: Perceptron(keep="last", epochs=3, shuffle=False),
    "average": lambda: Perceptron(epochs=3, shuffle=False),
    "pa": lambda: PassiveAggressive(keep="last", epochs=3, shuffle=False),
    "svm": lambda: LinearSVM(epochs=50, random_state=0),
}


def exact_scores(learner, X):
    """The scores of the learner's weights without rounding, and the sizes of their terms."""
    w, b = learner.coef_.astype(float).ravel(), float(np.ravel(learner.intercept_)[0])
    found = []
    for row in X.tolist():
        terms = [Fraction(x) * Fraction(v) for x, v in zip(row, w.tolist(), strict=True)]
        terms.append(Fraction(b))
        found.append((sum(terms), sum(map(abs, terms))))
    return found


@pytest.mark.parametrize("name", LEARNERS)
@given(st.data())
@tries(20)
def test_scores_are_exact_up_to_their_own_rounding_or_refused(name, data):
    width = data.draw(st.integers(1, 4))
    n = data.draw(st.integers(2, 6))
    cells = st.lists(st.sampled_from(EDGES), min_size=width, max_size=width)
    X = np.array(data.draw(st.lists(cells, min_size=n, max_size=n)))
    y = np.arange(n) % 2
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            learner = LEARNERS[name]().fit(X, y)
            scores = learner.decision_function(X)
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017
            return
    assert np.all(np.isfinite(scores))
    exactly = exact_scores(learner, X)
    for row, score, (exact, size) in zip(X.tolist(), scores.tolist(), exactly, strict=True):
        # One rounding a term and a sum, and what underflows; the average is divided afterwards.
        room = size * 8 * (width + 2) * Fraction(2) ** -52 + (width + 2) * Fraction(TINY)
        # In `coef_`, weights below the normal numbers are rounded to multiples of TINY.
        room += sum(abs(Fraction(x)) for x in row) * Fraction(TINY)
        assert abs(Fraction(score) - exact) <= room
        if abs(exact) > room:
            assert (score >= 0.0) == (exact >= 0)
    assert learner.predict(X).tolist() == [int(score >= 0.0) for score in scores.tolist()]


@given(st.integers(-480, 480), st.integers(0, 2**32))
@tries(30)
def test_powers_of_two_of_any_size_are_learned_without_rounding(power, seed):
    rng = np.random.default_rng(seed)
    X = np.ldexp(rng.integers(-4, 5, (8, 3)).astype(float), power)
    y = np.arange(8) % 2
    learner = Perceptron(keep="last", epochs=6, shuffle=False, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X, y)
    w, counts = exact_perceptron(X, y, 6)
    assert [Fraction(v) for v in learner.coef_.ravel().tolist()] == w
    assert [epoch.mistakes for epoch in learner.history_] == counts[: len(learner.history_)]


def exact_perceptron(X, y, epochs):
    """The perceptron without a bias in fractions: weights, and the mistakes of every epoch."""
    w, counts = [Fraction(0)] * X.shape[1], []
    for _ in range(epochs):
        counts.append(0)
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            x, sign = list(map(Fraction, row)), 1 if label else -1
            if sign * sum(v * a for v, a in zip(w, x, strict=True)) <= 0:
                w = [v + sign * a for v, a in zip(w, x, strict=True)]
                counts[-1] += 1
        if not counts[-1]:
            break
    return w, counts


@pytest.mark.parametrize("scale", [1e-140, 1e-8, 1.0, 1e8, 1e140])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_objective_of_an_svm_is_that_of_its_weights(loss, scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2)) * scale
    y = np.arange(12) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = LinearSVM(loss=loss, C=1.0, random_state=0).fit(X, y)
    w, b = learner.coef_.ravel().tolist(), float(learner.intercept_[0])
    primal = (sum(Fraction(v) ** 2 for v in w) + Fraction(b) ** 2) / 2
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        score = sum(Fraction(v) * Fraction(x) for v, x in zip(w, row, strict=True)) + Fraction(b)
        short = max(Fraction(0), 1 - (1 if label else -1) * score)
        primal += short if loss == "hinge" else short**2
    found = learner.certificate_
    assert math.isclose(found.primal, float(primal), rel_tol=1e-9)
    assert found.dual <= found.primal * (1.0 + 1e-12)
    assert found.gap <= 1e-3 or learner.history_.stopped in ("epochs", "no progress")


@pytest.mark.parametrize("value", [1e200, 1e-200, HUGE, TINY])
def test_kernels_of_numbers_whose_products_get_lost_are_refused_or_finite(value):
    X, y = np.array([[value, 1.0], [-value, 1.0], [value, -1.0], [-value, -1.0]]), [0, 1, 0, 1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kernel in ("linear", "poly", "rbf"):
            try:
                learner = KernelPerceptron(kernel=kernel, epochs=2, random_state=0).fit(X, y)
                assert np.all(np.isfinite(learner.decision_function(X)))
            except (DataError, ValueError) as error:
                assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize(("value", "power"), [(HUGE, 1023), (TINY, -1074), (3.0, 2)])
def test_the_size_of_values_is_a_power_of_two_that_is_a_float(value, power):
    assert Rows.of(np.array([[0.0], [value]])).typical_value() == math.ldexp(1.0, power)
