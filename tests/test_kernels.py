"""Kernels and what is built on them, against twins that write everything out."""

import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin import DataError, check_kernel
from widemargin.kernels.blocks import block, diagonal
from widemargin.kernels.kernel import Kernel, make_kernel
from widemargin.kernels.points import points_of
from widemargin.kernels.strings import NGrams
from widemargin.rows import Rows


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


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-800.0, 0.0), min_size=1, max_size=40))
def test_the_exponential_is_exact_enough(values):
    from widemargin.loops.kernels import finish_distances

    nothing = np.zeros(0)
    for dtype, lowest, error in [(np.float64, -708.0, 1e-15), (np.float32, -87.0, 5e-7)]:
        x = np.array([values], dtype)
        K = -x
        finish_distances(K, nothing, nothing, 1.0, False)
        expected = np.exp(x.astype(np.float64))
        normal = x >= lowest
        np.testing.assert_allclose(K[normal], expected[normal], rtol=error)
        assert np.all(K[~normal] == 0.0)


def test_the_exponential_keeps_nan():
    from widemargin.loops.kernels import finish_distances

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
    ("params", "said"),
    [
        ({"kernel": "sigmoid"}, "unknown"),
        ({"kernel": "rbf", "sigma": 1.0, "gamma": 1.0}, "not both"),
        ({"kernel": "poly", "sigma": 1.0}, "sigma has no meaning"),
        ({"kernel": "rbf", "gamma": -1.0}, "positive"),
        ({"kernel": "rbf", "gamma": math.inf}, "positive"),
        ({"kernel": "rbf", "sigma": 1e-200}, "overflow"),
        ({"kernel": "rbf", "gamma": "scale"}, "needs vectors"),
        ({"kernel": "poly", "degree": 2.5}, "whole number"),
        ({"kernel": "poly", "coef0": -1.0}, "no kernel"),
    ],
)
def test_what_is_no_kernel_is_refused(params, said):
    with pytest.raises(ValueError, match=said):
        make_kernel(**params)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels_come_back_from_json(kernel):
    assert Kernel.from_dict(kernel.to_dict()) == kernel


def test_l27_legal_kernels_and_others():
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


@settings(max_examples=50, deadline=None)
@given(st.text("abc", max_size=12), st.text("abc", max_size=12), st.integers(1, 4))
def test_l29_the_string_kernel_counts_shared_pieces(s, t, n):
    expected = naive_ngrams(n, s, t)
    assert NGrams(n, normalize=False)(s, t) == expected
    norm = math.sqrt(naive_ngrams(n, s, s) * naive_ngrams(n, t, t))
    assert NGrams(n)(s, t) == pytest.approx(expected / norm if norm else 0.0)
