"""Peeling: it may settle examples, and never changes a verdict."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from interpreted import told_by_both
from naive_separability import separable
from profiles import tries
from random_sets import sparse_matrix
from strategies import labels

from widemargin import certify
from widemargin.certificates.certificate import Certificate
from widemargin.certificates.verifier import UNDECIDED
from widemargin.data.rows import Rows
from widemargin.separability.cascade import SEARCH, decide, peel_features, try_steps
from widemargin.separability.margins import radius
from widemargin.separability.peeling import peel
from widemargin.separability.problem import SeparationProblem


@st.composite
def sparse_sets(draw):
    """A few examples, most of whose values are zero, as whole numbers or not; signs; a bias."""
    n, d = draw(st.integers(2, 8)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = sparse_matrix(rng, n, d, draw(st.floats(0.05, 0.6)))
    bias = draw(st.sampled_from((0.0, 1.0, 3.0)))
    if not bias:  # an example that is zero is found before anything else
        X = X[np.any(X != 0.0, axis=1)]
    if len(X) < 2:
        X = np.eye(2, d + 1)
    return X, np.where(draw(labels(len(X), 2)), 1, -1), bias


def problem_of(X, signs, bias):
    rows = Rows.of(scipy.sparse.csr_matrix(X), bias=bias)
    blank = Certificate(
        UNDECIDED, np.array([-1, 1]), rows.n, rows.width, bias, radius(rows, gram=False)
    )
    return SeparationProblem(rows, signs.astype(float), blank, rows.to_matrix(), signs, math.inf)


def naive_core(X, signs, bias):
    """The examples that are left when no column has one sign in all of them."""
    Z = np.column_stack([X, np.full(len(X), bias)]) * signs[:, None]
    left = list(range(len(X)))
    while True:
        for column in Z.T:
            found = {float(np.sign(column[i])) for i in left} - {0.0}
            if len(found) == 1:
                left = [i for i in left if column[i] == 0.0]
                break
        else:
            return left


def exact_scores(X, signs, w, b):
    """y (w . x + b) of every example, in fractions."""
    exact = [Fraction(float(v)) for v in w]
    return [
        int(y) * (sum(e * Fraction(v) for e, v in zip(exact, x, strict=True)) + Fraction(b))
        for x, y in zip(X.tolist(), signs, strict=True)
    ]


@tries(75)
@given(sparse_sets())
def test_what_is_left_is_what_must_be(data):
    X, signs, bias = data
    peeled = peel(Rows.of(scipy.sparse.csr_matrix(X), bias=bias), signs.astype(float))
    left = list(range(len(X))) if peeled is None else peeled.left.tolist()
    assert left == naive_core(X, signs, bias)


@tries(75)
@given(sparse_sets())
def test_verdicts_are_true_with_and_without(data):
    X, signs, bias = data
    truth = "separable" if separable(X.tolist(), signs.tolist(), bool(bias)) else "not separable"
    problem = problem_of(X, signs, bias)
    assert try_steps(problem, *SEARCH).verdict == truth
    found = decide(problem)
    assert found.verdict == truth
    assert found.verify(X, signs)
    alone = peel_features(problem)
    assert alone is None or alone.verdict == truth


@tries(75)
@given(sparse_sets(), st.integers(0, 2**32))
def test_extension_separates_all_that_was_taken_away(data, seed):
    X, signs, bias = data
    peeled = peel(Rows.of(scipy.sparse.csr_matrix(X), bias=bias), signs.astype(float))
    if peeled is None:
        return
    # Whatever the weights of the other columns are, and the others keep their scores.
    w = np.random.default_rng(seed).normal(size=X.shape[1] + 1)
    w[-1] *= bool(bias)
    w[peeled.columns.astype(int)] = 0.0
    before = exact_scores(X, signs, w[:-1], Fraction(w[-1]) * Fraction(bias))
    more = peeled.extend(w)
    after = exact_scores(X, signs, more[:-1], Fraction(more[-1]) * Fraction(bias))
    left = set(peeled.left.tolist())
    for i in range(len(X)):
        assert after[i] == before[i] if i in left else after[i] > 0


def test_sentences_are_peeled_to_the_end():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(300, 2000, density=0.01, random_state=rng, format="csr")
    y = rng.integers(0, 2, 300)
    found = certify(X, y, tol=None)
    assert (found.verdict, found.found_by) == ("separable", "peeling")
    assert found.verify(X, y)


def test_what_is_left_is_decided_by_the_other_steps():
    # Two words of their own settle two examples; XOR is left.
    X = np.zeros((6, 12))
    X[:4, :2] = [[0, 0], [0, 1], [1, 0], [1, 1]]
    X[4, [0, 5]] = 1.0
    X[5, [1, 7]] = 1.0
    for y, verdict in (([0, 1, 1, 0, 0, 1], "not separable"), ([0, 1, 1, 1, 0, 0], "separable")):
        found = certify(scipy.sparse.csr_matrix(X), y)
        assert found.verdict == verdict
        assert found.found_by.startswith("peeling, " if verdict == "not separable" else "peeling")
        assert found.verify(X, y)
        assert set(found.examples) <= {0, 1, 2, 3}


def test_weights_that_grow_beyond_floats_are_given_up():
    # Each word outweighs the next a thousand times: the last one would need 10^1200.
    n = 400
    X = scipy.sparse.diags([np.ones(n), np.full(n, 1000.0)], [0, 1], (n, n + 1), format="csr")
    y = np.arange(n) % 2
    peeled = peel(Rows.of(X, bias=1.0), np.where(y, 1.0, -1.0))
    assert len(peeled.left) == 0
    assert not np.all(np.isfinite(peeled.extend(np.zeros(n + 2))))
    found = certify(X, y, tol=None)
    assert found.verdict == "separable"
    assert found.found_by != "peeling"
    assert found.verify(X, y)


def test_nothing_to_peel():
    X = scipy.sparse.csr_matrix(np.array([[1.0, 0.0, 2.0], [2.0, 0.0, 1.0]]))
    assert peel(Rows.of(X, bias=1.0), np.array([1.0, -1.0])) is None


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_stored_zeros_are_no_values(zero):
    X = scipy.sparse.csr_matrix(np.array([[1.0, 5.0, 1.0, 0.0], [1.0, 0.0, 1.0, 7.0]]))
    X.data[[1, 5]] = zero
    assert certify(X, [0, 1], tol=None).verdict == "not separable"
    assert peel(Rows.of(X, bias=1.0), np.array([-1.0, 1.0])) is None


def test_interpreted_gives_the_same():
    script = """if True:
        import numpy as np, scipy.sparse
        from widemargin import certify
        rng = np.random.default_rng(0)
        for bias in (True, False):
            X = rng.integers(1, 4, (9, 12)) * (rng.random((9, 12)) < 0.2) * 1.0
            X[:, 0] = 1.0
            found = certify(scipy.sparse.csr_matrix(X), rng.integers(0, 2, 9), bias=bias, tol=None)
            print(found.verdict, found.found_by, found.w, found.b)
    """
    compiled, interpreted = told_by_both(script)
    assert compiled == interpreted
    assert "peeling" in compiled
