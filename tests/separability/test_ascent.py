"""Margins by an ascent in the dual: the bracket holds the exact margin."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries

from widemargin import certify
from widemargin.certificates.certificate import Bracket
from widemargin.certificates.verifier import CertificateError
from widemargin.data.rows import Rows
from widemargin.separability import margins
from widemargin.separability.ascent import ascend
from widemargin.separability.nearest_point import HullPoints


def nearest_square(points):
    """The square of the shortest point of a hull, exactly: the best of all faces."""
    best = min(sum(v * v for v in point) for point in points)
    for size in range(2, len(points[0]) + 2):
        for face in itertools.combinations(points, size):
            weights = shortest(face)
            if weights is not None and all(a >= 0 for a in weights):
                mixed = [
                    sum(a * v for a, v in zip(weights, column, strict=True))
                    for column in zip(*face, strict=True)
                ]
                best = min(best, sum(v * v for v in mixed))
    return best


def shortest(face):
    """Weights, adding up to 1, of the shortest point of an affine hull; None if not unique."""
    k = len(face)
    rows = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in face] + [1, 0] for u in face]
    rows.append([Fraction(1)] * k + [0, 1])
    for j in range(k + 1):
        pivot = next((i for i in range(j, k + 1) if rows[i][j]), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [Fraction(v) / rows[j][j] for v in rows[j]]
        for i in range(k + 1):
            if i != j and rows[i][j]:
                rows[i] = [a - rows[i][j] * b for a, b in zip(rows[i], rows[j], strict=True)]
    return [row[-1] for row in rows[:k]]


def exact_squares(X, signs, bias):
    """The squares of the margin with a free bias and of the extended one, as fractions."""
    rows = [[Fraction(v) for v in x] for x in X.tolist()]
    turned = [
        [y * v for v in [*x, Fraction(bias)]] for x, y in zip(rows, signs.tolist(), strict=True)
    ]
    plus = [x for x, y in zip(rows, signs, strict=True) if y > 0]
    minus = [x for x, y in zip(rows, signs, strict=True) if y < 0]
    apart = [[a - b for a, b in zip(u, v, strict=True)] for u in plus for v in minus]
    return nearest_square(apart) / 4, nearest_square(turned)


@st.composite
def small_sets(draw):
    """Whole numbers, many zero, in three dimensions."""
    d, n = 3, draw(st.integers(2, 6))
    value = st.one_of(st.just(0), st.integers(-4, 4))
    X = draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=n, max_size=n))
    signs = draw(st.lists(st.sampled_from((-1, 1)), min_size=n, max_size=n))
    signs[:2] = [1, -1]
    return np.array(X, float), np.array(signs), draw(st.sampled_from((1.0, 2.0)))


@tries(25)
@given(small_sets())
def test_bracket_holds_the_exact_margin(data):
    X, signs, bias = data
    rows = Rows.of(scipy.sparse.csr_matrix(X), bias=bias)
    R = margins.radius(rows, gram=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(margins, "_FEW_SUPPORT", 0)
        patch.setattr(margins, "_SPARSE", 2.0)
        for extended, square in zip((False, True), exact_squares(X, signs, bias), strict=True):
            found = margins.measure(
                rows, signs.astype(float), extended, False, R, lambda bracket: bracket.gap <= 1e-7
            ).bracket
            assert found.low <= 0.0 or Fraction(found.low) ** 2 <= square
            if not extended and not np.any(X):
                assert found == (-math.inf, math.inf)  # no lengths to compare
                continue
            assert square <= Fraction(found.high) ** 2
            if square > 0:
                assert found.gap <= 1e-7


def words(seed, n=400, d=900, density=0.02):
    """Sparse examples, more than an active set is quick with, and labels that can be learned."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random(n, d, density=density, random_state=rng, format="csr")
    return X, (X @ rng.normal(size=d) > 0).astype(int)


@pytest.mark.parametrize("bias", [True, False, 0.25])
@pytest.mark.parametrize("seed", range(3))
def test_the_active_set_finds_the_same(seed, bias, monkeypatch):
    X, y = words(seed)
    found = certify(X, y, bias=bias)
    monkeypatch.setattr(margins, "_FEW_SUPPORT", 10**6)
    other = certify(X, y, bias=bias)
    for mine, theirs in ((found.margin, other.margin), (found.extended, other.extended)):
        assert mine.gap <= 1e-6
        assert mine.low <= theirs.high
        assert theirs.low <= mine.high
    assert found.verify(X, y)
    assert set(other.support) <= set(found.support)


@pytest.mark.parametrize("free", [True, False])
def test_it_comes_close_by_itself(free):
    X, y = words(3)
    rows = Rows.of(X, bias=0.0 if free else 1.0)
    points = HullPoints(rows, np.where(y, 1.0, -1.0), factors=np.full(rows.n, 2.0))
    steps = list(ascend(points, free))
    groups = 2 if free else 1
    for step in steps:
        assert np.all(step.weights > 0.0)
        assert np.isclose(step.weights.sum(), groups)
        assert np.allclose(step.scores, points.scores(points.combine(step.which, step.weights)))
    last = steps[-1]
    # The products of all support with the nearest point are equal (in every class).
    for side in (points.signs > 0.0, points.signs < 0.0) if free else (points.signs != 0.0,):
        chosen = last.scores[last.which][side[last.which]]
        assert np.ptp(chosen) <= 1e-9 * last.point.square
        assert np.min(last.scores[side]) >= np.min(chosen) - 1e-9 * last.point.square
    # It goes on from what is nearly right already.
    start = np.zeros(rows.n)
    start[last.which] = last.weights
    first = next(ascend(points, free, start))
    assert np.isclose(first.point.square, last.point.square, rtol=1e-6)


def test_all_digits_are_found_in_the_end():
    # The ascent stops short of this; the active set goes on from its support.
    X, y = words(4, n=320)
    found = certify(X, y, tol=1e-10)
    assert found.margin.gap <= 1e-10
    assert found.extended.gap <= 1e-10
    assert found.verify(X, y)


@pytest.mark.parametrize("free", [True, False])
def test_it_ends_where_there_is_no_margin(free):
    X, y = words(8, n=60, d=80)
    X = scipy.sparse.vstack([X, X[:1]]).tocsr()
    signs = np.where([*y, 1 - y[0]], 1.0, -1.0)
    points = HullPoints(Rows.of(X, bias=0.0 if free else 1.0), signs)
    steps = list(ascend(points, free))
    assert steps
    assert min(step.point.square for step in steps) < 1e-4 * np.max(points.squares())
    # No hyperplane reaches more than the truth, which is nothing.
    assert all(np.min(step.scores) <= 0.0 for step in steps)


def test_asking_for_a_margin_of_sparse_examples():
    X, y = words(5)
    gamma = certify(X, y).margin
    assert certify(X, y, margin=gamma.low * 0.999, tol=None).verdict == "separable"
    below = certify(X, y, margin=gamma.high * 1.001, tol=None)
    assert below.verdict == "not separable"
    assert below.verify(X, y)


def test_brackets_of_sparse_examples_can_be_refused():
    X, y = words(6)
    good = certify(X, y)
    for claims in (
        {"margin": Bracket(good.margin.low, good.margin.low * (1 - 1e-7))},
        {"extended": Bracket(good.extended.low, good.extended.low * (1 - 1e-7))},
        {"margin": Bracket(good.margin.high * (1 + 1e-7), good.margin.high * 2)},
    ):
        with pytest.raises(CertificateError):
            dataclasses.replace(good, **claims).verify(X, y)
    # As short as it is, to the last digit: only whole numbers can tell.
    short = good.margin_evidence
    part = X[short.examples].toarray()
    signs = np.where(y[short.examples], 1, -1).tolist()
    shares = [Fraction(v) for v in short.shares.tolist()]
    totals = {s: 2 * sum(a for a, t in zip(shares, signs, strict=True) if t == s) for s in (1, -1)}
    weights = [s * a / totals[s] for a, s in zip(shares, signs, strict=True)]
    square = sum(
        sum(a * Fraction(v) for a, v in zip(weights, column, strict=True) if v) ** 2
        for column in part.T.tolist()
    )
    high = float(square) ** 0.5
    while Fraction(high) ** 2 < square:
        high = np.nextafter(high, np.inf)
    while Fraction(np.nextafter(high, 0.0)) ** 2 >= square:
        high = np.nextafter(high, 0.0)
    assert dataclasses.replace(good, margin=Bracket(good.margin.low, float(high))).verify(X, y)
    lower = Bracket(good.margin.low, float(np.nextafter(high, 0.0)))
    with pytest.raises(CertificateError, match="has length"):
        dataclasses.replace(good, margin=lower).verify(X, y)


def test_no_time_leaves_a_true_bracket():
    X, y = words(7)
    found = certify(X, y, max_seconds=0.0)
    assert found.margin.low <= found.margin.high
    assert found.verify(X, y)
