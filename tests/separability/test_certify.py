"""Certificates: never a wrong verdict, and a verifier that believes nothing."""

import dataclasses
import math
import time
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from interpreted import told_by_both
from naive_separability import separable
from profiles import tries
from random_sets import random_set, signs_of
from strategies import real_numbers, whole_numbers

from widemargin import DataError, KernelPerceptron, PassiveAggressive, Perceptron, certify, load
from widemargin.certificates.certificate import Bracket, Certificate
from widemargin.certificates.verifier import UNDECIDED, CertificateError
from widemargin.data.rows import Rows
from widemargin.separability.cascade import (
    find_duplicates,
    find_nearest_point,
    run_exact_simplex,
    run_perceptron,
    solve_linear_program,
)
from widemargin.separability.exact_simplex import decide_exactly
from widemargin.separability.lifting import convex_dependency, solve_exactly
from widemargin.separability.margins import radius
from widemargin.separability.problem import SeparationProblem

SQUARE = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
OR, XOR = [0, 1, 1, 1], [0, 1, 1, 0]


def blobs(seed=0, n=60, d=4, apart=4.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, 0] += apart * (2 * y - 1)
    return X, y


# Verdicts


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(3, 10))]
)
def test_random_small_sets(seed):
    rng = np.random.default_rng(seed)
    for turn in range(120):
        X, y = random_set(rng)
        bias = bool(rng.integers(2))
        found = certify(X, y, bias=bias, tol=None if turn % 4 else 1e-6)
        truth = separable(X.tolist(), signs_of(y), bias)
        assert found.verdict == ("separable" if truth else "not separable"), (X.tolist(), y, bias)
        assert found.verify(X, y)
        assert len(found.examples) <= X.shape[1] + (2 if bias else 1)


@pytest.mark.parametrize(
    "step",
    [find_duplicates, run_perceptron, find_nearest_point, run_exact_simplex, solve_linear_program],
)
def test_every_step_alone_is_never_wrong(step):
    # The cheap ones hide the others in `certify`.
    rng, decided = np.random.default_rng(1), 0
    for _ in range(150):
        X, y = random_set(rng)
        bias = float(rng.integers(2))
        if not bias and np.any(np.all(X == 0.0, axis=1)):
            continue  # found before any of these steps
        signs = signs_of(y)
        rows = Rows.of(X, bias=bias)
        blank = Certificate(
            UNDECIDED, np.array([-1, 1]), rows.n, rows.width, bias, radius(rows, gram=False)
        )
        problem = SeparationProblem(
            rows, np.array(signs, float), blank, X, np.array(signs), math.inf
        )
        found = step(problem)
        if found is not None:
            decided += 1
            truth = separable(X.tolist(), signs, bias)
            assert found.verdict == ("separable" if truth else "not separable")
    assert decided > 20


@pytest.mark.parametrize(
    ("X", "y", "bias", "verdict"),
    [
        ([[1.0]], [0], True, "separable"),
        ([[0.0]], [0], True, "separable"),
        ([[0.0]], [0], False, "not separable"),
        ([[1.0]], [1], False, "separable"),
        ([[1.0], [-1.0]], [1, 1], False, "not separable"),
        ([[1.0], [-1.0]], [1, 1], True, "separable"),
        ([[1.0, 2.0], [1.0, 2.0]], [0, 1], True, "not separable"),
        ([[0.0, 0.0], [-0.0, 0.0]], [0, 1], True, "not separable"),
        ([[1.0], [2.0], [3.0]], [0, 1, 0], True, "not separable"),
        ([[1.0], [2.0], [3.0]], [0, 0, 1], True, "separable"),
        ([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0, 1, 0], True, "not separable"),
        # 0.1 + 0.2 is not 0.3: the middle of the outer two is not quite the third.
        ([[0.1, 1.0], [0.3, 1.0], [0.2, 1.0]], [0, 0, 1], True, "not separable"),
        ([[1e300], [-1e300]], [0, 1], True, "separable"),
        ([[1e-300], [2e-300]], [0, 1], True, "separable"),
        ([[5e-324], [0.0]], [0, 1], True, "separable"),
        ([[1e300, 1e-300], [1e300, 2e-300]], [0, 1], True, "separable"),
        ([[1.0, 0.0], [1e-200, 1e-250]], [1, 1], False, "separable"),
        ([[1.0, 1e-200], [-1.0, 1e-200]], [1, 1], False, "separable"),
        ([[1e200, 1e-200], [-1e200, -1e-200]], [1, 1], False, "not separable"),
        (  # the weights of the nearest point are lost
            [
                [329381.14029474906],
                [1038982627.6321402],
                [2600592572.9454722],
                [-0.3278220622002616],
                [622758.1477646403],
                [8.453117955132259e-09],
            ],
            [0, 1, 1, 0, 1, 1],
            True,
            "not separable",
        ),
        ([[], []], [0, 1], True, "not separable"),
        ([[], []], [1, 1], True, "separable"),
    ],
)
def test_degenerate_sets(X, y, bias, verdict):
    found = certify(np.array(X), y, bias=bias)
    assert found.verdict == verdict
    assert found.verify(np.array(X), y)


@pytest.mark.parametrize("y", [OR, XOR])
@pytest.mark.parametrize("bias", [True, False, 10.0])
def test_however_the_examples_are_stored(y, bias):
    X = SQUARE + 1.0
    wanted = certify(X, y, bias=bias)
    twice = scipy.sparse.csr_matrix(
        (np.full(16, 0.5) * np.repeat(X.ravel(), 2), np.tile([0, 0, 1, 1], 4), np.arange(0, 17, 4))
    )
    for other in (
        X.tolist(),
        X.astype(np.float32),
        X.astype(np.int16),
        np.asfortranarray(X),
        scipy.sparse.csr_matrix(X),
        scipy.sparse.csc_array(X),
        twice,
    ):
        found = certify(other, y, bias=bias)
        assert found.verdict == wanted.verdict
        assert found.shares == wanted.shares
        assert found.margin == wanted.margin or np.allclose(found.margin, wanted.margin)
        assert found.verify(other, y)
        assert found.verify(X, y)


@pytest.mark.parametrize("exponent", range(1, 13))
def test_thin_margins_are_decided(exponent):
    # Points on both sides of a hyperplane through general directions, so near to it.
    rng = np.random.default_rng(exponent)
    n, d, thin = 40, 5, 10.0**-exponent
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    X = rng.normal(size=(n, d))
    y = np.where(np.arange(n) % 2, 1, -1)
    X += np.outer(y * thin * (1.0 + rng.random(n)) - X @ u, u)
    found = certify(X, y)
    assert found.verdict == "separable"
    assert found.verify(X, y)
    assert 0.0 <= found.margin.low <= found.margin.high
    assert found.margin.high > thin * 0.5
    # A point in the middle of the other class, whose hull is as thin.
    X[0] = X[y == 1].mean(axis=0)
    mixed = certify(X, y)
    assert mixed.verdict == "not separable"
    assert mixed.verify(X, y)


def test_long_weights_are_exact():
    # 60 directions: elimination in fractions would take long, and floats would round.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    y = rng.integers(0, 2, 400)
    found = certify(X, y)
    assert found.verdict == "not separable"
    assert len(found.examples) <= 62
    total = [Fraction(0)] * 61
    for i, share in zip(found.examples.tolist(), found.shares, strict=True):
        assert share > 0
        for j, value in enumerate([*X[i].tolist(), 1.0]):
            total[j] += share * Fraction(value) * (1 if y[i] else -1)
    assert total == [0] * 61
    assert sum(found.shares) == 1


def test_wide_data_is_separable():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(50, 3000, density=0.01, random_state=rng, format="csr")
    y = rng.integers(0, 2, 50)
    found = certify(X, y)
    assert found.verdict == "separable"
    assert found.margin.gap <= 1e-6
    assert found.verify(X, y)


def test_no_time_is_no_verdict():
    X, y = blobs(apart=0.2)
    found = certify(X, y, max_seconds=0.0)
    assert found.verdict == "undecided"
    assert found.margin.low <= found.margin.high
    assert found.verify(X, y)
    assert "undecided" in repr(found)


# Margins


@pytest.mark.parametrize("bias", [True, False, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_margin_closes(seed, bias):
    X, y = blobs(seed)
    found = certify(X, y, bias=bias, tol=1e-8)
    assert found.verdict == "separable"
    assert found.margin.gap <= 1e-8
    assert found.extended.gap <= 1e-8
    assert found.verify(X, y)
    scores = np.where(y, 1, -1) * (X @ found.w + found.b)
    distances = scores / np.linalg.norm(found.w)
    assert distances.min() == pytest.approx(found.margin.low, rel=1e-9)
    # The margin is held by the support alone.
    alone = certify(X[found.support], y[found.support], bias=bias, tol=1e-8)
    assert alone.margin.low == pytest.approx(found.margin.low, rel=1e-7)
    if bias is False:
        assert found.extended == found.margin
    else:
        constant = float(bias)
        lengths = np.sqrt((X**2).sum(axis=1) + constant**2)
        assert pytest.approx(lengths.max(), rel=1e-12) == found.R
        assert found.extended.high <= found.margin.high * (1 + 1e-12)
    assert found.bound == pytest.approx((found.R / found.extended.low) ** 2)


def test_margin_of_the_extended_examples():
    # The lecture's example: the free-bias margin would allow 16 mistakes, the run makes 405.
    X, y = [[0.1], [0.05]], [1, 0]
    found = certify(X, y)
    assert found.margin.low == pytest.approx(0.025)
    assert (0.1 / found.margin.low) ** 2 == pytest.approx(16)
    assert found.bound > 405


def test_asking_for_a_margin():
    exact = math.sqrt(2) / 4
    for asked, verdict in ((0.35, "separable"), (exact * 1.001, "not separable")):
        found = certify(SQUARE, OR, margin=asked)
        assert found.verdict == verdict
        assert found.asked == asked
        assert found.verify(SQUARE, OR)
        assert f"margin of {asked:g}" in repr(found)
    # So near to the largest margin, which no fraction is, that nothing is said.
    assert certify(SQUARE, OR, margin=exact).verdict in ("undecided", "separable", "not separable")
    # A margin that is a fraction can be asked for exactly.
    ends = np.array([[-1.0], [1.0]])
    assert certify(ends, [0, 1], margin=1.0).verdict == "separable"
    assert certify(ends, [0, 1], margin=math.nextafter(1.0, 2.0)).verdict != "separable"
    # If the hulls meet there is no margin at all; one class alone has any.
    meeting = certify(SQUARE, XOR, margin=0.1)
    assert meeting.verdict == "not separable"
    assert meeting.verify(SQUARE, XOR)
    assert certify(SQUARE, [1, 1, 1, 1], margin=100.0).verdict == "separable"


@pytest.mark.parametrize(
    ("how", "proof"),
    [
        ({}, "the hulls of the classes meet"),
        ({"margin": 2.0}, "the hulls of the classes come closer than twice 2"),
        ({"bias": False}, "with one class negated, the hull of the examples contains the origin"),
        (
            {"bias": False, "margin": 2.0},
            "with one class negated, the hull of the examples comes closer to the origin than 2",
        ),
    ],
)
def test_the_proof_in_words(how, proof):
    # The hulls of 1 and 2 do not meet, but no line through the origin has them on different sides.
    X, y = [[1.0], [2.0 if how else 1.0]], [0, 1]
    found = certify(X, y, **how)
    assert found.verdict == "not separable"
    assert f"\n{proof}: " in repr(found)
    assert found.verify(X, y)


@pytest.mark.parametrize(
    ("X", "y", "verdict"),
    [
        ([[3, 4], [-3, -4]], [1, 0], "separable"),
        ([[0, 0], [6, 8]], [0, 1], "separable"),
        ([[1, 1], [7, 9], [20, 9]], [0, 1, 1], "separable"),
        # As floats, 6.1 and 0.1 are a little less than 6 apart.
        ([[0.1, 0.0], [6.1, 8.0]], [0, 1], "not separable"),
    ],
)
def test_asking_for_exactly_the_margin_that_there_is(X, y, verdict):
    # No float weights of length 1 reach it: 3/5 and 4/5 are rounded.
    found = certify(X, y, margin=5.0)
    assert found.verdict == verdict
    assert found.verify(X, y)
    assert certify(X, y, margin=math.nextafter(5.0, 6.0)).verdict == "not separable"


def test_the_bound_names_the_perceptron_that_it_is_about():
    # With a constant feature as large as the values, which is the default, there are two mistakes.
    X, y = [[1000.0], [-1000.0]], [1, -1]
    made = {
        bias: Perceptron(shuffle=False, fit_intercept=bias).fit(X, y) for bias in (True, "auto")
    }
    found = certify(X, y)
    assert made[True].mistakes_ == math.floor(found.bound) == 1 < made["auto"].mistakes_ == 2
    assert "a perceptron with a constant feature of 1 makes at most 1 mistake\n" in repr(found)
    assert "a perceptron without bias makes at most 1 mistake\n" in repr(certify(X, y, bias=False))
    assert "a kernel perceptron makes" in repr(certify(X, y, kernel="linear"))


def test_a_margin_that_cannot_be_measured_is_unknown():
    found = certify([[1e-200], [2e-200]], [0, 1])
    assert found.verdict == "separable"
    assert "margin unknown" in repr(found)
    assert found.bound_in_words == ""
    # Kernel values whose rounding alone decides: the margin is not below zero, if there is one.
    X = np.array([[-0.6964725717157348], [0.9790577987150164], [0.7114122077852246]])
    X = np.vstack([X, [[0.04804787335714822], [2.9574160210732092]]])
    found = certify(X @ X.T, [1, 0, 0, 0, 1], gram=True)
    assert found.verdict == "separable"
    assert found.margin.low == 0.0
    assert found.verify(X @ X.T, [1, 0, 0, 0, 1])


@given(real_numbers(classes=2), st.booleans())
def test_perceptrons_keep_to_the_bound(data, bias):
    X, y = data
    found = certify(X, y, bias=bias)
    if found.verdict == "separable":
        p = Perceptron(epochs=50, fit_intercept=bias, random_state=0).fit(X, y)
        assert p.mistakes_ <= found.bound


@given(whole_numbers(classes=2), st.booleans(), st.integers(-20, 20))
def test_scaling_changes_no_verdict(data, bias, power):
    X, y = data
    found, other = certify(X, y, bias=bias), certify(X * 2.0**power, y, bias=bias)
    assert found.verdict == other.verdict
    if found.verdict == "separable" and other.margin.gap <= 1e-6:
        assert other.margin.low == pytest.approx(found.margin.low * 2.0**power, rel=1e-5)


# Several classes, and Gram matrices


def test_several_classes():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array(["a", "b", "c", "c"])
    pairs = certify(X, y)
    assert pairs.verdict == "separable"
    assert list(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs["a", "b"].margin.low == pytest.approx(0.5)
    assert pairs.verify(X, y)
    rest = certify(X, y, multiclass="rest")
    assert rest.verdict == "not separable"  # b lies between
    assert [rest[name].verdict for name in "abc"] == ["separable", "not separable", "separable"]
    assert rest.verify(X, y)
    assert "b / rest: not separable" in repr(rest)
    with pytest.raises(CertificateError):
        rest.verify(X, y[::-1])


@pytest.mark.parametrize("bias", [True, False])
def test_linear_gram_matrix_gives_the_same(bias):
    X, y = blobs(n=20)
    found = certify(X, y, bias=bias)
    gram = certify(X @ X.T, y, bias=bias, gram=True)
    assert gram.verdict == found.verdict == "separable"
    assert gram.margin.low == pytest.approx(found.margin.low, rel=1e-5)
    assert gram.extended.low == pytest.approx(found.extended.low, rel=1e-5)
    assert pytest.approx(found.R) == gram.R
    assert gram.verify(X @ X.T, y)
    bad = certify(SQUARE @ SQUARE.T, XOR, bias=bias, gram=True)
    assert bad.verdict == "not separable"
    assert bad.verify(SQUARE @ SQUARE.T, XOR)


def test_polynomial_kernel_separates_xor():
    K = (1.0 + SQUARE @ SQUARE.T) ** 2
    found = certify(K, XOR, gram=True)
    assert found.verdict == "separable"
    assert found.verify(K, XOR)
    # Its margin is that of the monomials, written out.
    x, z = SQUARE.T
    root = math.sqrt(2.0)
    phi = np.column_stack([x * x, z * z, root * x * z, root * x, root * z])
    assert found.margin.low == pytest.approx(certify(phi, XOR).margin.low, rel=1e-6)
    three = certify(K, [0, 1, 2, 0], gram=True)
    assert three.verdict == "separable"
    assert three.verify(K, [0, 1, 2, 0])


# The verifier


@pytest.fixture(scope="module", params=[np.asarray, scipy.sparse.csr_matrix])
def proofs(request):
    X, y = blobs()
    X = request.param(X)
    mixed = np.random.default_rng(0).integers(0, 2, len(y))
    return (X, y, certify(X, y)), (X, mixed, certify(X, mixed))


def test_forged_separators_are_refused(proofs):
    (X, y, good), _ = proofs
    thin = good.margin_evidence
    forged = [
        {"w": -good.w},
        {"w": None},
        {"w": good.w[:-1]},
        {"w": good.w * 0.0},
        {"w": good.w * np.nan},
        {"b": good.b + 2 * good.margin.high},
        {"R": good.R * (1 - 1e-12)},
        {"margin": Bracket(good.margin.low * (1 + 1e-8), good.margin.high)},
        {"margin": Bracket(good.margin.low, good.margin.low * (1 - 1e-8))},
        {"margin_evidence": None},
        {"margin_evidence": thin._replace(shares=-thin.shares)},
        {"margin_evidence": thin._replace(examples=thin.examples[:1], shares=thin.shares[:1])},
        {"margin_evidence": thin._replace(examples=thin.examples * 0)},
        {"extended": Bracket(good.extended.low, good.extended.low * (1 - 1e-8))},
        {"extended": good.margin},
        {"asked": good.margin.high * 1.001},
        {"verdict": "not separable"},
        {"verdict": "certainly"},
        {"constant": 0.0},
        {"n": good.n + 1},
    ]
    assert good.verify(X, y)
    for claims in forged:
        with pytest.raises(CertificateError):
            dataclasses.replace(good, **claims).verify(X, y)
    with pytest.raises(CertificateError):
        good.verify(X, 1 - y)
    with pytest.raises(CertificateError, match="labels"):
        good.verify(X, y + 1)
    with pytest.raises(CertificateError):
        good.verify(X[::-1], y)


def test_forged_combinations_are_refused(proofs):
    _, (X, y, good) = proofs
    first, *rest = good.shares
    bit = Fraction(1, 10**300)
    forged = [
        {"shares": (first + bit, rest[0] - bit, *rest[1:])},
        {"shares": (first * 2, *rest)},
        {"shares": (-first, *rest)},
        {"shares": good.shares[:-1]},
        {"examples": good.examples[:-1]},
        {"examples": good.examples[::-1]},
        {"examples": good.examples * 0},
        {"examples": good.examples + X.shape[0]},
        {"shares": (), "examples": good.examples[:0]},
        {"verdict": "separable"},
        {"verdict": "separable", "w": np.ones(X.shape[1])},
    ]
    assert good.verify(X, y)
    for claims in forged:
        with pytest.raises(CertificateError):
            dataclasses.replace(good, **claims).verify(X, y)
    moved = X.copy()
    moved[good.examples[0], 0] = np.nextafter(moved[good.examples[0], 0], np.inf)
    with pytest.raises(CertificateError):
        good.verify(moved, y)


def test_verifier_is_exact_where_floats_are_not():
    # In floats the scores of both are 0; in truth they are 1 and -1.
    big = 2.0**60
    X = np.array([[big, 1.0, -big], [big, -1.0, -big]])
    claim = Certificate(
        "separable", np.array([0, 1]), 2, 3, 0.0, R=1e19, w=np.ones(3), found_by="hand"
    )
    assert claim.verify(X, [1, 0])
    with pytest.raises(CertificateError):
        claim.verify(X, [0, 1])
    # Zero is not above zero.
    X[:, 1] = 0.0
    with pytest.raises(CertificateError):
        claim.verify(X, [1, 0])


def test_verifier_takes_fractions():
    third = np.array([Fraction(1, 3), Fraction(-1, 3)], dtype=object)
    X = np.array([[1.0, 1.0 - 2.0**-53], [1.0 - 2.0**-53, 1.0]])
    claim = Certificate("separable", np.array([0, 1]), 2, 2, 0.0, R=2.0, w=third)
    assert claim.verify(X, [1, 0])
    with pytest.raises(CertificateError):
        claim.verify(X, [0, 1])


# Exact arithmetic


@pytest.mark.parametrize("k", [1, 2, 5, 12])
@pytest.mark.parametrize("kind", ["small", "large", "fractions"])
def test_lifting_solves_exactly(k, kind):
    rng = np.random.default_rng(k)
    if kind == "fractions":  # of floats, made whole
        A = np.array([[int(v * 2.0**60) for v in row] for row in rng.normal(size=(k, k))], object)
    else:
        most = 10 if kind == "small" else 2**52
        A = rng.integers(-most, most, (k, k)).astype(object)
    b = rng.integers(-(2**40), 2**40, k).astype(object)
    above, below = solve_exactly(A, b)
    assert not np.any(A @ np.array(above, object) - b * below)


def test_lifting_knows_when_there_is_no_answer():
    singular = np.array([[1, 2], [2, 4]], object)
    assert solve_exactly(singular, np.array([1, 1], object)) is None
    # The first prime divides the determinant: another is taken.
    assert solve_exactly(np.array([[4194301]], object), np.array([1], object)) == ([1], 4194301)
    assert convex_dependency(np.array([[1.0], [2.0]])) is None
    assert convex_dependency(np.array([[0.0, 0.0]])) == [1]


@pytest.mark.parametrize("seed", range(3))
def test_exact_simplex(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        X, y = random_set(rng)
        points = X * np.array(signs_of(y))[:, None]
        weights, w = decide_exactly(points)
        assert (w is not None) == separable(X.tolist(), signs_of(y), bias=False)
        exact = [[Fraction(v) for v in point] for point in points.tolist()]
        if w is not None:
            assert all(sum(a * b for a, b in zip(w, z, strict=True)) > 0 for z in exact)
        else:
            assert sum(weights) == 1
            assert min(weights) >= 0
            columns = zip(*exact, strict=True)
            assert all(sum(a * b for a, b in zip(weights, c, strict=True)) == 0 for c in columns)
    assert decide_exactly(np.array([[1.0], [-1.0]]), deadline=time.monotonic() - 1.0) == (
        None,
        None,
    )


# Trainings


def test_certificate_of_a_training():
    X = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]], dtype=float)
    y = np.array([-1, 1, 1, -1, -1, 1])
    p = Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y)
    assert p.certificate_.mistakes == 3
    assert p.certificate_.bound is None
    found = certify(p, X, y)
    assert found.bound == pytest.approx(5.0)
    assert found.gamma.low == pytest.approx(1.0)
    assert found.progress.shape == (3, 4)
    assert found.inequalities_held
    assert found.hinge_bound >= 3
    assert found.risk() is None  # two epochs
    assert "held" in repr(found)
    last = p.using("last")
    w = last.coef_[0]
    assert certify(last, X, y).margin == pytest.approx(min(y * (X @ w)) / np.linalg.norm(w))
    # A model that came from a file says the same.
    assert certify(p.model_, X, y).bound == found.bound


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"rule": "margin"}, "rule"),
        ({"start": "random"}, "start"),
        ({"eta": (1.0, 0.5)}, "step size"),
        ({"batch": 2}, "several"),
        ({"class_weight": "balanced"}, "weighted"),
    ],
)
def test_no_bound_for_other_trainings(params, reason):
    X, y = blobs()
    p = Perceptron(random_state=0, **params).fit(X, y)
    assert reason in p.certificate_.no_bound
    found = certify(p, X, y)
    assert found.bound is None
    assert found.hinge_bound is None
    assert "no bound" in repr(found)
    assert "no bound" in repr(PassiveAggressive().fit(X, y).certificate_)


def test_bound_for_classes_learned_together():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0], [0.0, 2.0]])
    y = [0, 1, 2, 0]
    p = Perceptron(keep="last", epochs=100, random_state=0).fit(X, y)
    found = certify(p, X, y)
    assert found.extended_margin > 0.0
    assert p.mistakes_ <= found.bound == pytest.approx(2 * (found.R / found.extended_margin) ** 2)
    alone = Perceptron(multiclass="ovr").fit(X, y)
    assert "rest" in certify(alone, X, y).no_bound


@pytest.mark.parametrize("learner", [Perceptron, KernelPerceptron])
@pytest.mark.parametrize("held_out", [False, True])
@tries(10)
@given(data=real_numbers(classes=2, least=8))
def test_hinge_bound_needs_no_separability(learner, held_out, data):
    X, y = data
    more = {"X_val": X[::-2], "y_val": 1 - y[::-2]} if held_out else {}
    for keep in ("vote", "average"):
        for shuffle in (True, "draw"):
            p = learner(keep=keep, epochs=9, shuffle=shuffle, random_state=0).fit(X, y, **more)
            found = certify(p, X, y)
            if found.hinge_bound is not None:
                assert p.mistakes_ <= found.hinge_bound
            if found.progress is not None:
                assert found.inequalities_held


@pytest.mark.parametrize("learner", [Perceptron, KernelPerceptron])
def test_hinge_bound_of_the_same_examples_in_several_calls(learner):
    X, y = blobs(apart=0.3)
    p = learner(keep="vote", random_state=0)
    for _ in range(4):
        p.partial_fit(X, y)
    found = certify(p, X, y)
    assert found.epochs == 4
    assert found.mistakes <= found.hinge_bound
    assert found.progress is None


@pytest.mark.parametrize("learner", [Perceptron, KernelPerceptron])
@pytest.mark.parametrize("keep", ["vote", "average"])
def test_no_bound_after_continuing_from_an_earlier_epoch(learner, keep):
    X, y = blobs(apart=0.5)
    p = learner(keep=keep, epochs=30, patience=5, random_state=0)
    p.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    assert p.history_.went_back
    assert not certify(p, X[:40], y[:40]).no_bound
    p.partial_fit(X[:40], y[:40])
    found = certify(p, X[:40], y[:40])
    assert "undone" in found.no_bound
    assert found.bound is found.hinge_bound is None


@pytest.mark.parametrize("keep", ["last", "vote"])
@pytest.mark.parametrize("learner", [Perceptron, KernelPerceptron])
def test_no_bound_for_weighted_examples(learner, keep, tmp_path):
    X, y = np.array([[1.0, 1.0], [1.0, -0.2]]), [1, 0]
    how = {"fit_intercept": False} if learner is Perceptron else {"kernel": "linear"}
    p = learner(**how, keep=keep, shuffle=False, epochs=2000).fit(X, y, sample_weight=[1000.0, 1.0])
    assert p.mistakes_ > certify(X, y, bias=False).bound
    p.save(tmp_path / "p.wm")
    for one in (p, load(tmp_path / "p.wm"), p.partial_fit(X, y)):
        found = certify(one, X, y)
        assert "weighted" in found.no_bound
        assert found.bound is found.hinge_bound is None
    equal = learner(**how, keep=keep, shuffle=False).fit(X, y, sample_weight=[1.0, 1.0])
    assert not certify(equal, X, y).no_bound


#: Two examples, and labels for the opposite of what separates them best.
PAIR, RIGHT, WRONG = np.array([[1.0, 0.2], [-1.0, 0.2]]), np.array([1, 0]), np.array([0, 1])


@pytest.mark.parametrize("how", [{}, {"eta": 1000.0}, {"rule": "pa"}, {"class_weight": {0: 9.0}}])
@pytest.mark.parametrize("learner", [Perceptron, KernelPerceptron])
def test_no_bound_if_parameters_changed_between_calls(learner, how, tmp_path):
    plain = {"fit_intercept": False} if learner is Perceptron else {"kernel": "linear"}
    p = learner(shuffle=False, **plain, **how)
    p.partial_fit(PAIR, WRONG if how else RIGHT, classes=[0, 1])
    p.set_params(**{name: learner().get_params()[name] for name in how})
    for _ in range(5):
        p.partial_fit(PAIR, RIGHT)
    p.save(tmp_path / "p.wm")
    for one in (p, load(tmp_path / "p.wm")):
        found = certify(one, PAIR, RIGHT)
        assert bool(found.no_bound) == bool(how)
        assert (found.bound is None) == (found.hinge_bound is None) == bool(how)


def test_no_bound_if_class_weights_of_single_examples_changed():
    p = Perceptron(class_weight={0: 1000.0}, fit_intercept=False)
    for x, y in zip(PAIR.tolist(), WRONG.tolist(), strict=True):
        p.learn_one({"a": x[0], "b": x[1]}, y)
    p.set_params(class_weight=None)
    p.learn_one({"a": 1.0, "b": 0.2}, 1)
    assert "weighted" in p.certificate_.no_bound


def test_no_bound_after_a_warm_start():
    p = Perceptron(warm_start=True, shuffle=False, fit_intercept=False, keep="vote")
    assert not p.fit(PAIR, WRONG).certificate_.no_bound
    found = certify(p.fit(PAIR, RIGHT), PAIR, RIGHT)
    assert "start at zero" in found.no_bound
    assert found.bound is found.hinge_bound is found.progress is None


@pytest.mark.parametrize("learner", [Perceptron, partial(KernelPerceptron, kernel="linear")])
def test_no_bound_from_examples_that_allow_fewer_mistakes(learner):
    rng = np.random.default_rng(0)
    p = learner(random_state=0)
    p.partial_fit(rng.normal(size=(50, 2)), rng.integers(0, 2, 50), classes=[0, 1])
    X, y = [[1.0, 0.0], [-1.0, 0.0]], [1, 0]
    run = certify(p.partial_fit(X, y), X, y)
    assert run.mistakes > certify(X, y).bound
    assert (run.bound, run.hinge_bound, run.progress) == (None, None, None)
    assert "more mistakes than these examples allow" in run.no_bound


def test_no_bound_if_examples_were_drawn_in_some_calls_only():
    X, y = blobs(apart=0.3)
    p = Perceptron(shuffle="draw", random_state=0).partial_fit(X, y)
    assert not p.set_params(shuffle="draw").partial_fit(X, y).certificate_.no_bound
    assert "drawn" in p.set_params(shuffle=True).partial_fit(X, y).certificate_.no_bound


@pytest.mark.parametrize("times", [1, 50])
def test_hinge_bound_of_single_examples_that_come_again(times):
    X, y = blobs(n=40, d=2, apart=0.3)
    p = Perceptron()
    for _ in range(times):
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            p.learn_one({"a": x[0], "b": x[1]}, label)
    found = certify(p, X, y)
    assert found.mistakes <= found.hinge_bound
    assert (found.risk() is None) == (times > 1)
    twice = Perceptron().partial_fit(np.vstack([X, X]), np.append(y, y))
    found = certify(twice, X, y)
    assert found.mistakes <= found.hinge_bound
    assert found.risk() is None


@pytest.mark.parametrize("learner", [Perceptron, KernelPerceptron])
def test_rows_of_later_calls_have_numbers_of_their_own(learner, tmp_path):
    X, y = blobs(apart=0.3)
    half = np.repeat([0.0, 1.0], 30)
    first = learner(keep="vote", random_state=0)
    p = learner(keep="vote", random_state=0, validation=0.5, epochs=1, patience=None)
    for one in (first.partial_fit(X, y, sample_weight=half), p.fit(X, y)):
        before = len(one.log_)
        one.save(tmp_path / "p.wm")
        for each in (one, load(tmp_path / "p.wm")):
            each.partial_fit(X[:30], y[:30])
            later = {c.row for c in each.log_[before:]}
            assert later
            assert later <= set(range(60, 90))
            assert certify(each, X, y).progress is None


def test_risk_after_one_pass():
    X, y = blobs()
    found = certify(Perceptron(epochs=1, random_state=0).fit(X, y), X, y)
    assert found.risk(0.1) == pytest.approx(found.mistakes / 60 + math.sqrt(2 * math.log(10) / 60))
    half = certify(Perceptron(epochs=1, validation=0.5, random_state=0).fit(X, y), X, y)
    assert half.risk(0.1) == pytest.approx(half.mistakes / 30 + math.sqrt(2 * math.log(10) / 30))
    drawn = Perceptron(epochs=1, shuffle="draw", random_state=0).fit(X, y)
    assert certify(drawn, X, y).risk() is None


@pytest.mark.parametrize("learner", [Perceptron, partial(KernelPerceptron, kernel="linear")])
def test_no_risk_if_weights_may_have_seen_the_examples_or_labels_chose_them(learner):
    # Random labels, which the first call learns by heart: the second makes no mistake.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 100)), rng.integers(0, 2, 60)
    if learner is Perceptron:
        again = Perceptron(epochs=100, warm_start=True, random_state=0).fit(X, y)
        again.set_params(epochs=1).fit(X, y)
        assert again.mistakes_ == 0
        assert certify(again, X, y).risk() is None
        given = Perceptron(epochs=1, start=again.coef_, random_state=0).fit(X, y)
        assert certify(given, X, y).risk() is None
    for class_weight in ({0: 0.0, 1: 1.0}, "balanced"):
        one = learner(epochs=1, class_weight=class_weight, random_state=0).fit(X, y)
        assert certify(one, X, y).risk() is None
    for weights in (y, 1.0 + y):
        one = learner(epochs=1, random_state=0).fit(X, y, sample_weight=weights)
        assert certify(one, X, y).risk() is None


# Bad input


@pytest.mark.parametrize(
    ("X", "y", "how", "message"),
    [
        ([[np.nan]], [0], {}, "NaN"),
        ([[1.0], [np.inf]], [0, 1], {}, "infinity"),
        ([[2**53 + 1]], [0], {}, "exactly"),
        ([[1.0]], [0, 1], {}, "1 example but 2 labels"),
        (np.empty((0, 2)), [], {}, "no examples"),
        ([[1.0], [2.0]], [0.5, 1.0], {}, "continuous"),
        ([["a"]], [0], {}, "real numbers"),
        ([[1.0, 2.0]], [0], {"gram": True}, "square"),
        ([[1.0, 2.0], [3.0, 1.0]], [0, 1], {"gram": True}, "symmetric"),
    ],
)
def test_bad_examples(X, y, how, message):
    with pytest.raises(DataError, match=message):
        certify(X, y, **how)


@pytest.mark.parametrize(
    "how", [{"tol": -1.0}, {"margin": -1.0}, {"bias": -1.0}, {"multiclass": "joint"}]
)
def test_bad_parameters(how):
    with pytest.raises(ValueError, match=next(iter(how))):
        certify(SQUARE, OR, **how)


def test_bad_models():
    X, y = blobs()
    p = Perceptron().fit(X, y)
    with pytest.raises(TypeError, match="linear model"):
        certify("model", X, y)
    with pytest.raises(DataError, match="features"):
        certify(p, X[:, :2], y)
    with pytest.raises(DataError, match="label"):
        certify(p, X, y + 1)


def test_interpreted_gives_the_same():
    script = """if True:
        import numpy as np
        from widemargin import certify
        rng = np.random.default_rng(0)
        for bias in (True, False):
            for d in (1, 2, 3):
                X, y = rng.integers(-3, 4, (7, d)) * 0.1, rng.integers(0, 2, 7)
                found = certify(X, y, bias=bias)
                assert found.verify(X, y)
                print(found.verdict, found.shares, found.margin and f"{found.margin.low:.6g}")
    """
    compiled, interpreted = told_by_both(script)
    assert compiled.split() == interpreted.split()
