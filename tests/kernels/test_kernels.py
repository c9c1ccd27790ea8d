"""Kernels and what is built on them, against twins that write everything out.

Tests named after an item of the lectures are listed in `docs/lectures.md`.
"""

# ruff: noqa: N802 - tests carry the numbers of the items

import itertools
import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries

from widemargin import (
    DataError,
    KernelPerceptron,
    KernelSVM,
    Perceptron,
    certify,
    check_kernel,
    gram_matrix,
)
from widemargin.data.rows import Rows, frozen
from widemargin.kernels.blocks import block, diagonal, is_near
from widemargin.kernels.kernel import Kernel, make_kernel
from widemargin.kernels.points import points_of
from widemargin.kernels.strings import NGrams
from widemargin.loops.kernel.bits import bit_rows, bit_sums, pack_bits
from widemargin.loops.kernel.panels import gaussian_rows, gaussian_sums, pack
from widemargin.loops.lowlevel.panel_products import PANEL


def naive_kernel(kernel, x, z):
    """One value, as the lecture writes it."""
    x, z = np.asarray(x, float), np.asarray(z, float)
    distance = math.sqrt(sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))
    return {
        "linear": lambda: float(x @ z),
        "poly": lambda: (kernel.gamma * float(x @ z) + kernel.coef0) ** kernel.degree,
        "rbf": lambda: math.exp(-kernel.gamma * distance**2),
        "laplace": lambda: math.exp(-kernel.gamma * distance),
        "laplacian": lambda: math.exp(-kernel.gamma * float(np.abs(x - z).sum())),
    }[kernel.name]()


KERNELS = [
    make_kernel("linear"),
    make_kernel("poly", degree=1),
    make_kernel("poly", degree=2, coef0=0.0),
    make_kernel("poly", degree=7, gamma=0.3, coef0=0.5),
    make_kernel("rbf", gamma=0.7),
    make_kernel("laplace", sigma=0.8),
    make_kernel("laplacian", gamma=0.3),
]


def some_rows(n, width, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, width)) * (rng.random((n, width)) < 0.5)
    return X.astype(dtype)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_hold_what_the_formulas_say(kernel, dtype):
    A, B = some_rows(7, 5, 0, dtype), some_rows(9, 5, 1, dtype)
    B[0] = A[3]
    expected = [[naive_kernel(kernel, a, b) for b in B] for a in A]
    close = {"rtol": 2e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-7, "atol": 1e-12}
    wide = np.zeros((9, 4000), dtype)
    wide[:, ::800] = B
    thin = np.zeros((7, 4000), dtype)
    thin[:, ::800] = A
    forms = [np.asarray, scipy.sparse.csr_matrix]
    for left, right in [(A, B), (thin, wide)]:
        for first in forms:
            for second in forms:
                a, b = points_of(kernel, first(left)), points_of(kernel, second(right))
                np.testing.assert_allclose(block(kernel, a, b), expected, **close)
                np.testing.assert_allclose(block(kernel, a, b, threads=2), expected, **close)
    a = points_of(kernel, A)
    expected = [naive_kernel(kernel, x, x) for x in A]
    np.testing.assert_allclose(diagonal(kernel, a), expected, **close)


def test_a_block_is_written_where_it_is_asked_for():
    kernel = make_kernel("rbf", gamma=1.0)
    a = points_of(kernel, some_rows(4, 3, 0))
    work = np.full((6, 8), 5.0)
    block(kernel, a, a, out=work[:4, :4])
    np.testing.assert_array_equal(work[:4, :4], block(kernel, a, a))
    assert np.all(work[4:] == 5.0)
    assert np.all(work[:, 4:] == 5.0)


@tries(25)
@given(st.lists(st.floats(-800.0, 0.0), min_size=1, max_size=40))
def test_the_exponential_is_exact_enough(values):
    from widemargin.loops.kernel.values import finish_distances

    nothing = frozen(np.zeros(0))
    for dtype, lowest, error in [(np.float64, -708.0, 1e-15), (np.float32, -87.0, 5e-7)]:
        x = np.array([values], dtype)
        K = -x
        finish_distances(K, nothing, nothing, 1.0, False)
        expected = np.exp(x.astype(np.float64))
        normal = x >= lowest
        np.testing.assert_allclose(K[normal], expected[normal], rtol=error)
        assert np.all(K[~normal] == 0.0)


def test_the_exponential_keeps_nan():
    from widemargin.loops.kernel.values import finish_distances

    for dtype in (np.float32, np.float64):
        K = np.array([[np.nan, 0.0, np.inf]], dtype)
        finish_distances(K, np.zeros(0), np.zeros(0), 1.0, False)
        np.testing.assert_array_equal(K, np.array([[np.nan, 1.0, 0.0]]))


def test_points_that_were_taken_give_the_same_values():
    X = some_rows(20, 6, 3)
    which = np.array([4, 0, 17, 4])
    for kernel in KERNELS:
        for data in (X, scipy.sparse.csr_matrix(X)):
            points = points_of(kernel, data)
            whole = block(kernel, points, points)
            taken, part = points.take(which), points.take(slice(3, 9))
            np.testing.assert_allclose(block(kernel, taken, part), whole[which, 3:9], atol=1e-14)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.by_products], ids=str)
@given(st.integers(0, 10_000), st.integers(1, 6))
@tries(8)
def test_columns_of_zeros_change_no_value(kernel, form, seed, used):
    rng = np.random.default_rng(seed)
    A, B = np.zeros((7, 12)), rng.integers(-2, 3, (300, 12)) / 2.0
    at = np.sort(rng.permutation(12)[:used])
    A[:, at] = rng.choice([-1.5, 1.0, 2.0], (7, used))
    a, b = points_of(kernel, form(A)), points_of(kernel, form(B))
    np.testing.assert_array_equal(a.used, at)
    which = rng.permutation(300)[:270]
    whole = block(kernel, a, b)
    for some in (slice(3, 290), which):
        kept = b.keep(a.used, some)
        assert kept.rows.width == used
        np.testing.assert_array_equal(kept.index, np.arange(300)[some])
        np.testing.assert_array_equal(kept.squares, b.squares[some])
        # These products are exact in any order, so the values are the same to the bit.
        np.testing.assert_array_equal(block(kernel, a.narrow, kept), whole[:, some])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_empty_columns_of_hashed_rows_take_neither_time_nor_memory(dtype):
    rng = np.random.default_rng(0)
    places = rng.integers(0, 60, (90, 4))  # some columns occur twice in a row, some not at all
    A, B = (
        scipy.sparse.csr_matrix(
            (rng.normal(size=4 * n).astype(dtype), some.ravel(), np.arange(0, 4 * n + 1, 4)),
            shape=(n, 60),
        )
        for n, some in ((40, places[:40]), (50, places[40:]))
    )
    hashed = np.sort(rng.choice(1 << 24, 60, replace=False))
    wide = [
        scipy.sparse.csr_matrix((M.data, hashed[M.indices], M.indptr), shape=(M.shape[0], 1 << 24))
        for M in (A, B)
    ]
    linear = make_kernel("linear")
    first, second = (points_of(linear, M) for M in wide)
    assert not first.is_dense
    tracemalloc.start()
    found = block(linear, first, second)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6
    np.testing.assert_allclose(found, A.toarray() @ B.toarray().T, rtol=1e-5, atol=1e-6)
    apart = points_of(linear, wide[1][:, ::-1].tocsr())
    assert not np.any(block(linear, first, apart))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.integers(0, 10_000))
@tries(8)
def test_millions_of_columns_take_no_time_and_change_no_bit(dtype, seed):
    rng, most = np.random.default_rng(seed), 1 << 40
    wide = np.unique(rng.integers(most, size=40))
    some = []
    for n, columns in ((9, wide[:30]), (50, wide[5:]), (3, wide[:0])):
        rows = scipy.sparse.random(n, len(columns), 0.1, random_state=rng, dtype=dtype).tocsr()
        places = np.searchsorted(wide, columns)[rows.indices] if len(columns) else rows.indices
        widened = [
            scipy.sparse.csr_matrix((rows.data, at, rows.indptr), shape=(n, width))
            for at, width in ((places, 200), (wide[places], most))
        ]
        some.append([points_of(make_kernel("linear"), one) for one in widened])
    for a, b in itertools.product(some, some):
        if a[1].dense is None and b[1].dense is None:
            found = block(make_kernel("linear"), a[1], b[1])  # dense columns would not fit
            np.testing.assert_array_equal(found, block(make_kernel("linear"), a[0], b[0]))


def test_columns_are_left_out_only_if_it_pays():
    kernel = make_kernel("rbf", gamma=1.0)
    X = np.ones((3, 100))
    assert points_of(kernel, X).used is None
    X[:, 7] = 0.0
    points = points_of(kernel, X)
    assert points.used is None
    assert points.narrow is points
    X[:, 7:11] = 0.0
    assert len(points_of(kernel, X).used) == 96
    assert points_of(kernel, np.zeros((3, 100))).used is None
    thin = scipy.sparse.csr_matrix(([1.0], ([0], [9])), shape=(3, 100))
    assert points_of(kernel, thin).used is None


@given(
    st.integers(0, 10_000),
    st.integers(1, 20),
    st.integers(1, 300),
    st.integers(1, 40),
)
@tries(20)
def test_panels_give_what_products_give(seed, m, n, width):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m + 3, width)).astype(np.float32)
    Z = rng.normal(size=(n, width)).astype(np.float32)
    P = np.full((-(-n // PANEL), width, PANEL), np.nan, np.float32)
    pack(frozen(Z), P)
    which, slots = rng.permutation(m + 3)[:m], rng.permutation(m + 5)[:m]
    p, q = ((side.astype(float) ** 2).sum(axis=1) for side in (X, Z))
    first = int(rng.integers(0, len(P)))
    last = int(rng.integers(first, len(P))) + 1

    def near(which, slots, first, last):
        K = np.full((m + 5, n), 7.0, np.float32)
        rows, to = which.astype(np.uint64), slots.astype(np.uint64)
        edges = np.uint64(first), np.uint64(last)
        gaussian_rows(frozen(X), rows, frozen(p), frozen(P), frozen(q), 0.1, K, to, *edges)
        return K

    K = near(which, slots, first, last)
    expected = np.full(K.shape, 7.0)
    some = slice(first * PANEL, last * PANEL)
    apart = ((X[which][:, None].astype(float) - Z[None, some]) ** 2).sum(axis=2)
    expected[slots, some] = np.exp(-0.1 * apart)
    np.testing.assert_allclose(K, expected, rtol=2e-5, atol=1e-6)
    # A value is the same to the bit whatever is computed beside it.
    one = near(which[-1:], slots[-1:], last - 1, last)
    end = slice((last - 1) * PANEL, last * PANEL)
    np.testing.assert_array_equal(one[slots[-1], end], K[slots[-1], end])

    W = (rng.normal(size=(4, m + 3)) * (rng.random((4, m + 3)) < 0.3)).astype(np.float32)
    S = np.ones((4, n))
    gaussian_sums(frozen(X), frozen(p), frozen(P), frozen(q), 0.1, frozen(W), S)
    every = np.exp(-0.1 * ((X[:, None].astype(float) - Z[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(S, 1.0 + W @ every, rtol=2e-5, atol=1e-5)


@given(
    st.integers(0, 10_000),
    st.integers(1, 9),
    st.integers(1, 1100),
    st.integers(1, 200),
    st.sampled_from([(np.float32, 1.0), (np.float64, 1.0), (np.float64, -2.5)]),
)
@tries(20)
def test_bits_give_what_products_give(seed, m, n, width, of):
    dtype, value = of
    rng = np.random.default_rng(seed)
    X, Z = (value * (rng.random((k, width)) < 0.3).astype(dtype) for k in (m + 3, n))
    A, B = (np.zeros((len(side), -(-width // 32)), np.uint32) for side in (X, Z))
    for side, bits in ((X, A), (Z, B)):
        assert pack_bits(frozen(side), bits) == (value if side.any() else 0.0)
    p, q = (frozen((side.astype(float) ** 2).sum(axis=1)) for side in (X, Z))
    P, unit = frozen(np.ascontiguousarray(B.T)), value**2
    which, slots = rng.permutation(m + 3)[:m], rng.permutation(m + 5)[:m]
    first = int(rng.integers(0, n))
    last = int(rng.integers(first, n)) + 1
    K = np.full((m + 5, n), 7.0, dtype)
    ends = np.uint64(first), np.uint64(last)
    rows, to = which.astype(np.uint64), slots.astype(np.uint64)
    bit_rows(frozen(A), rows, p, P, q, 0.1, unit, K, to, *ends)
    every = np.exp(-0.1 * ((X[:, None].astype(float) - Z[None]) ** 2).sum(axis=2))
    expected = np.full(K.shape, 7.0)
    expected[slots, first:last] = every[which, first:last]
    near = {"rtol": 2e-5 if dtype == np.float32 else 1e-12}
    np.testing.assert_allclose(K, expected, **near)

    W = (rng.normal(size=(4, m + 3)) * (rng.random((4, m + 3)) < 0.3)).astype(dtype)
    S = np.ones((4, n))
    bit_sums(frozen(A), p, P, q, 0.1, unit, frozen(W), S)
    np.testing.assert_allclose(S, 1.0 + W @ every, atol=near["rtol"], **near)


def test_only_one_value_besides_zero_makes_bits():
    X = np.array([[0.0, 3.0, 0.0], [3.0, 0.0, 0.0]])
    kernel = make_kernel("rbf", gamma=0.1)
    points = points_of(kernel, X)
    assert points.bits.value == 3.0
    assert points_of(kernel, np.vstack([X, [[0.0, 1.0, 0.0]]])).bits is None
    assert points_of(kernel, np.array([[1.0, -1.0]])).bits is None
    assert points_of(kernel, -X).bits.value == -3.0
    nothing = points_of(kernel, 0.0 * X)
    assert is_near(kernel, points, nothing)
    assert is_near(kernel, points, points)
    assert not is_near(kernel, points, points_of(kernel, 2.0 * X))
    assert not is_near(make_kernel("linear"), points, points)


def test_words_for_gamma_mean_what_scikit_learn_means():
    from sklearn.svm import SVC

    X = some_rows(30, 4, 5) + 3.0
    y = np.arange(30) % 2
    for gamma in ("scale", "auto"):
        theirs = SVC(gamma=gamma).fit(X, y)._gamma
        for data in (X, scipy.sparse.csr_matrix(X)):
            ours = make_kernel("rbf", gamma=gamma, rows=Rows.of(data)).gamma
            assert ours == pytest.approx(theirs)


def test_far_from_the_origin_float32_is_not_trusted():
    X = (np.array([[0.0], [1.0], [2.0]]) + 30000.0).astype(np.float32)
    kernel = make_kernel("rbf", gamma=1.0)
    points = points_of(kernel, X)
    np.testing.assert_allclose(
        block(kernel, points, points)[0], np.exp([0.0, -1.0, -4.0]), rtol=1e-5
    )


@pytest.mark.parametrize(
    ("dtype", "power"),
    [
        *((np.float64, power) for power in (-1000, -530, -300, -60, 60, 300, 530, 1000)),
        *((np.float32, power) for power in (-120, -60, -20, -10, 10, 20, 60, 120)),
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        lambda: KernelPerceptron(kernel="linear", shuffle=False),
        lambda: KernelPerceptron(kernel="poly", coef0=0.0, degree=3, shuffle=False),
        lambda: KernelSVM(kernel="linear", C=np.inf),
        lambda: KernelSVM(kernel="poly", gamma=1.0, coef0=0.0, degree=3, C=np.inf),
    ],
)
def test_any_scale_gives_the_same_answers_or_an_error(make, dtype, power):
    X, y = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, -0.5]]), [1, 1, 0, 0]
    scaled = (X * 2.0**power).astype(dtype)
    try:
        found = make().fit(scaled, y).predict(scaled)
    except DataError:
        assert abs(power) >= (300 if dtype == np.float64 else 20)
        return
    assert found.tolist() == y


def test_kernel_values_that_are_all_rounded_to_zero_are_refused():
    for work in (
        lambda X: KernelPerceptron(kernel="linear").fit(X, [0, 1]),
        lambda X: KernelSVM(kernel="linear").fit(X, [0, 1]),
        lambda X: gram_matrix(X, "linear"),
        lambda X: certify(X, [0, 1], kernel="linear"),
    ):
        with pytest.raises(DataError, match="too small for float64; scale the features"):
            work([[1e-200], [-1e-200]])
    # Vectors of zeros are not rounded.
    assert gram_matrix([[0.0], [0.0]], "linear").tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_values_that_overflow_are_one_error(form):
    X, y = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 1.0], [3.0, 0.0]]), [0, 1, 0, 1]
    few = KernelSVM(kernel="linear", low_rank=2)
    for learner in (KernelPerceptron(kernel="linear"), KernelSVM(kernel="linear"), few):
        with pytest.raises(DataError, match=r"the kernel of rows|too large"):
            learner.fit(form(1e154 * X), y)
    with pytest.raises(DataError, match=r"whose square is too large"):
        few.fit(form(1e153 * X), y)
    with pytest.raises(DataError, match=r"the kernel of rows|too large"):
        KernelPerceptron(kernel="linear").fit(1e140 * X, y).predict(form(1e300 * X))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"kernel": "sigmoid"}, "unknown"),
        ({"kernel": "rbf", "sigma": 1.0, "gamma": 1.0}, "not both"),
        ({"kernel": "poly", "sigma": 1.0}, "sigma=1.0 has no effect"),
        ({"kernel": "rbf", "gamma": -1.0}, "positive"),
        ({"kernel": "rbf", "gamma": math.inf}, "positive"),
        ({"kernel": "rbf", "sigma": 1e-200}, "overflow"),
        ({"kernel": "rbf", "gamma": "scale"}, "needs vectors"),
        ({"kernel": "poly", "degree": 2.5}, "whole number"),
        ({"kernel": "poly", "coef0": -1.0}, "at least 0"),
    ],
)
def test_what_is_no_kernel_is_refused(params, said):
    with pytest.raises(ValueError, match=said):
        make_kernel(**params)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels_come_back_from_json(kernel):
    assert Kernel.from_dict(kernel.to_dict()) == kernel


def test_L27_legal_kernels_and_others():
    X = some_rows(40, 3, 7)
    for name in ("linear", "poly", "rbf", "laplace", "laplacian"):
        assert check_kernel(name, X)
    assert check_kernel("precomputed", X @ X.T)
    assert not check_kernel(lambda x, z: -float(np.sum((x - z) ** 2)), X)
    assert not check_kernel(lambda x, z: float(x[0]), X)
    assert not check_kernel("precomputed", -X @ X.T)
    with pytest.raises(DataError, match="rows 0 and 0 is nan"):
        check_kernel(lambda x, z: math.nan, X)
    with pytest.raises(DataError, match="must be square"):
        check_kernel("precomputed", X)


def naive_ngrams(n, s, t):
    def pieces(string):
        return [string[i : i + n] for i in range(len(string) - n + 1)]

    return float(sum(p == q for p in pieces(s) for q in pieces(t)))


@tries(25)
@given(st.text("abc", max_size=12), st.text("abc", max_size=12), st.integers(1, 4))
def test_L29_the_string_kernel_counts_shared_pieces(s, t, n):
    expected = naive_ngrams(n, s, t)
    assert NGrams(n, normalize=False)(s, t) == expected
    norm = math.sqrt(naive_ngrams(n, s, s) * naive_ngrams(n, t, t))
    assert NGrams(n)(s, t) == pytest.approx(expected / norm if norm else 0.0)


def products_of_two(X):
    """The map (x1^2, x2^2, x1 x2, x2 x1) of L28, in any number of variables."""
    return np.einsum("ni,nj->nij", X, X).reshape(len(X), -1)


def told(learner):
    """The corrections of a fit: row, class, amount, clock."""
    return [tuple(correction) for correction in learner.log_]


@tries(13)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.sampled_from(["joint", "ovr"]))
def test_L28_the_explicit_and_the_implicit_run_are_the_same(seed, classes, multiclass):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (30, 3)).astype(float)
    y = rng.integers(0, classes, 30)
    y[:classes] = np.arange(classes)
    how = {"keep": "vote", "shuffle": False, "epochs": 4, "multiclass": multiclass}
    explicit = Perceptron(fit_intercept=False, **how).fit(products_of_two(X), y)
    T = rng.integers(-3, 4, (10, 3)).astype(float)
    for memory in ("1GB", 1):  # all kernel values at once, and block by block
        implicit = KernelPerceptron(
            kernel="poly", degree=2, coef0=0.0, max_memory=memory, **how
        ).fit(X, y)
        # Classes that are learned apart stand one after the other in the log of the linear one.
        assert sorted(told(implicit)) == sorted(told(explicit))
        for keep in ("last", "average", "vote"):
            np.testing.assert_allclose(
                implicit.using(keep).decision_function(T),
                explicit.using(keep).decision_function(products_of_two(T)),
                rtol=1e-12,
                atol=1e-12,
            )


def test_L28_the_map_with_the_root_of_two_gives_the_same_mistakes():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] * X[:, 1] > 0.1).astype(int)
    phi = np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, math.sqrt(2.0) * X[:, 0] * X[:, 1]])
    how = {"keep": "vote", "shuffle": False, "epochs": 5, "ties": "predict"}
    explicit = Perceptron(fit_intercept=False, **how).fit(phi, y)
    implicit = KernelPerceptron(kernel="poly", degree=2, coef0=0.0, **how).fit(X, y)
    assert told(implicit) == told(explicit)


def test_L28_degree_six_in_a_hundred_variables_is_one_product():
    assert math.comb(100 + 6 - 1, 6) == pytest.approx(1.6e9, rel=0.01)
    X = np.eye(100)[:2] + 1.0
    assert gram_matrix(X, "poly", degree=6, coef0=0.0)[0, 1] == float(X[0] @ X[1]) ** 6


def test_L26_the_bound_holds_in_feature_space():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([0, 1, 1, 0])
    assert certify(X, y).verdict == "not separable"
    found = certify(X, y, kernel="poly", degree=2)
    assert found.verdict == "separable"
    assert found.verify(gram_matrix(X, "poly", degree=2), y)
    # By hand: w = sum_j a_j x_j with a = (K with signs)^-1 1 has all four on the margin.
    K = gram_matrix(X, "poly", degree=2) * np.outer(2 * y - 1, 2 * y - 1)
    a = np.linalg.solve(K, np.ones(4))
    assert np.all(a > 0)
    assert found.margin.low == pytest.approx(1.0 / math.sqrt(a @ K @ a), rel=1e-5)
    assert pytest.approx(3.0) == found.R
    learner = KernelPerceptron(kernel="poly", degree=2, epochs=1000, shuffle=False).fit(X, y)
    assert learner.history_.stopped == "no mistakes"
    told = certify(learner, X, y)
    assert 0 < told.mistakes <= told.bound == pytest.approx(found.bound)
    assert told.mistakes <= told.hinge_bound


def circles(n, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.random(n) * 2 * math.pi
    radius = np.where(y == 1, 0.5, 1.0) + 0.1 * rng.random(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


@pytest.mark.parametrize(
    "params", [{"kernel": "rbf", "gamma": 2.0}, {"kernel": "poly", "degree": 2}]
)
def test_L26_circles_are_separable_in_feature_space(params):
    X, y = circles(80, 0)
    assert certify(X, y).verdict == "not separable"
    found = certify(X, y, **params)
    assert found.verdict == "separable"
    assert found.verify(gram_matrix(X, **params), y)
    for seed in range(3):
        learner = KernelPerceptron(**params, keep="last", epochs=1000, random_state=seed).fit(X, y)
        assert learner.history_.stopped == "no mistakes"
        told = certify(learner, X, y)
        assert told.mistakes <= told.bound
        assert 0.0 < told.margin <= found.margin.high * (1 + 1e-9)
        assert pytest.approx(np.max(np.diag(gram_matrix(X, **params)))) == told.R**2


def test_L26_one_point_with_two_labels_is_separable_nowhere():
    found = certify([[0.0], [1.0], [1.0]], [0, 0, 1], kernel="rbf", gamma=1.0)
    assert found.verdict == "not separable"


def test_certify_says_that_numbers_of_a_kernel_need_one():
    with pytest.raises(TypeError, match="give kernel="):
        certify([[0.0], [1.0]], [0, 1], gamma=1.0)


WORDS = ["banana", "bandana", "ananas", "cabana", "perceptron", "perception", "reception", "except"]
KIND = [0, 0, 0, 0, 1, 1, 1, 1]


def test_L29_strings_are_learned_from_through_a_function():
    def shared_letters(s, t):
        return float(len(set(s) & set(t)))

    for kernel in ("ngrams", NGrams(2), shared_letters):
        learner = KernelPerceptron(kernel=kernel, epochs=50, keep="last").fit(WORDS, KIND)
        assert learner.history_.stopped == "no mistakes"
        assert learner.predict(WORDS).tolist() == KIND
    assert learner.predict(np.array(["bananas", "concept"], object)).tolist() == [0, 1]


def test_L29_objects_of_any_kind_and_a_precomputed_matrix_are_the_same():
    bags = [frozenset(word) for word in WORDS]

    def shared(a, b):
        return float(len(a & b))

    how = {"keep": "vote", "shuffle": False, "epochs": 3}
    asked = KernelPerceptron(kernel=shared, **how).fit(bags, KIND)
    K = gram_matrix(bags, shared)
    given = KernelPerceptron(kernel="precomputed", **how).fit(K, KIND)
    assert told(asked) == told(given)
    np.testing.assert_array_equal(asked.decision_function(bags), given.decision_function(K))
