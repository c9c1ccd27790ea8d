"""Blocks of kernel values: products by BLAS, the rest by compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.points import Points
from widemargin.loops.kernel.bits import bit_rows, bit_sums
from widemargin.loops.kernel.panels import gaussian_rows, gaussian_sums
from widemargin.loops.kernel.values import (
    city_distances_dense,
    city_distances_sparse,
    finish_distances,
    finish_powers,
)
from widemargin.loops.lowlevel.panel_products import PANEL
from widemargin.threads import run_all, split

#: Very sparse rows are multiplied with this many bytes of dense columns at a time.
_PIECE_BYTES = 1 << 25
#: The work on a block is divided between threads if it has at least this many values.
_SHARED = 1 << 18


def block(
    kernel: Kernel, A: Points, B: Points, out: np.ndarray | None = None, threads: int = 1
) -> np.ndarray:
    """The values K[i, j] = K(a_i, b_j).

    Parameters
    ----------
    kernel : Kernel
        What to compute.
    A, B : Points
        The examples. For "precomputed" the values are read from A, in the columns B.index; if A
        holds none (a support whose values were not stored), from B in the columns A.index.
    out : array of shape (A.n, B.n), optional
        Where to write the values. Reuse it, because fresh memory is slow, and make it contiguous:
        the front of a flat array is faster than the corner of a matrix.
    threads : int
        Threads for the work after the products (BLAS uses its own threads).

    Returns
    -------
    array of float32 if both A and B are, else of float64
    """
    if out is None:
        out = np.empty((A.n, B.n), np.promote_types(A.dtype, B.dtype))
    if not out.size:
        return out
    if kernel.is_precomputed:
        out[:] = _given(A, B)
    elif kernel.on_objects:
        out[:] = _ask(kernel, A, B)
    elif kernel.name == "laplacian":
        _spread(lambda part: _city(kernel, A, B, out, part), A.n, out, threads)
    else:
        products(A, B, out)
        finish(kernel, out, A, B, threads)
    return out


def are_bits(A: Points, B: Points) -> bool:
    """Whether all nonzero values of all vectors are the same number."""
    return (
        A.bits is not None
        and B.bits is not None
        and (A.bits.value == B.bits.value or 0.0 in (A.bits.value, B.bits.value))
    )


def is_near(kernel: Kernel, A: Points, B: Points) -> bool:
    """Whether `write_near` and `add_near` can compute these values."""
    return kernel.name == "rbf" and (are_bits(A, B) or (A.packs and B.packs))


def write_near(
    kernel: Kernel,
    A: Points,
    which: np.ndarray,
    B: Points,
    out: np.ndarray,
    slots: np.ndarray,
    columns: slice = slice(None),
) -> None:
    """Write out[slots[k], j] = K(a, b_j) for a = A[which[k]], on this thread only.

    Only the given columns are written; they must start at a panel boundary. The time per row does
    not depend on the number of rows, whereas BLAS is fast only for many.
    """
    first, last, _ = columns.indices(B.n)
    rows, to = which.astype(np.uint64), slots.astype(np.uint64)
    p, q = frozen(A.squares), frozen(B.squares)
    if are_bits(A, B):
        assert A.bits is not None
        assert B.bits is not None
        ends = np.uint64(first), np.uint64(last)
        unit = A.bits.value * B.bits.value
        bit_rows(A.bits.rows, rows, p, B.bits.words, q, kernel.gamma, unit, out, to, *ends)
        return
    ends = np.uint64(first // PANEL), np.uint64(-(-last // PANEL))
    gaussian_rows(A.dense, rows, p, B.packed, q, kernel.gamma, out, to, *ends)


def add_near(kernel: Kernel, A: Points, B: Points, weights: np.ndarray, S: np.ndarray) -> None:
    """Add the sums of weights[c, i] K(a_i, b_j) to S[c, j], on this thread only."""
    p, q, weights = frozen(A.squares), frozen(B.squares), frozen(weights)
    if are_bits(A, B):
        assert A.bits is not None
        assert B.bits is not None
        unit = A.bits.value * B.bits.value
        bit_sums(A.bits.rows, p, B.bits.words, q, kernel.gamma, unit, weights, S)
        return
    gaussian_sums(A.dense, p, B.packed, q, kernel.gamma, weights, S)


def finish(kernel: Kernel, K: np.ndarray, A: Points, B: Points, threads: int = 1) -> None:
    """Turn the products K[i, j] = a_i . b_j into kernel values, in place."""
    if kernel.name == "poly":
        d, gamma, coef0 = np.uint64(kernel.degree), kernel.gamma, kernel.coef0
        _spread(lambda part: finish_powers(K[part], gamma, coef0, d), A.n, K, threads)
    elif kernel.name in ("rbf", "laplace"):
        p, q = frozen(A.squares), frozen(B.squares)
        root, gamma = kernel.name == "laplace", kernel.gamma
        _spread(lambda part: finish_distances(K[part], p[part], q, gamma, root), A.n, K, threads)


@np.errstate(over="ignore", invalid="ignore")  # values that are not finite become a DataError
def products(A: Points, B: Points, out: np.ndarray) -> None:
    """Write a_i . b_j into out."""
    a, b = A.dense, B.dense
    if a is not None and b is not None:
        np.matmul(a, b.T, out=out, casting="same_kind")
        return
    if a is None and b is None and A.n < B.n:  # unpack the shorter side
        out.T[:] = _sparse_products(B, A)
    elif a is None:
        out[:] = _sparse_products(A, B)
    else:
        out.T[:] = _sparse_products(B, A)


def diagonal(kernel: Kernel, A: Points) -> np.ndarray:
    """The values K(a_i, a_i), in float64."""
    if kernel.is_precomputed:
        assert A.rows is not None
        found = A.rows.to_matrix()[np.arange(A.n), A.index]
        return np.asarray(found, dtype=np.float64).ravel()
    if kernel.on_objects:
        assert A.objects is not None
        return np.array([_value(kernel, x, x, i, i) for i, x in enumerate(A.objects)])
    if kernel.name in ("rbf", "laplace", "laplacian"):
        return np.ones(A.n)
    if kernel.name == "linear":
        return A.squares.copy()
    with np.errstate(over="ignore"):
        return (kernel.gamma * A.squares + kernel.coef0) ** kernel.degree


def check_values(K: np.ndarray, A: Points, B: Points) -> None:
    """Raise an error naming the first pair of examples whose kernel value is not finite."""
    bad = ~np.isfinite(K)
    if bad.any():
        i, j = divmod(int(np.argmax(bad)), K.shape[1])
        raise DataError(
            f"the kernel of rows {int(A.index[i])} and {int(B.index[j])} is {K[i, j]}; it must be a"
            " finite number (if it is too large: scale the features or gamma down)"
        )


def refuse_underflow(kernel: Kernel, A: Points) -> None:
    """Raise an error if all kernel values are rounded to nearly 0 although the vectors are not."""
    if A.rows is None or kernel.is_precomputed or kernel.on_objects:
        return
    largest = float(np.max(diagonal(kernel, A), initial=0.0))
    if largest < float(np.finfo(A.dtype).tiny) and np.any(A.rows.stored.values):
        raise DataError(
            f"the largest kernel value of an example with itself is {largest:g}, which is too small"
            f" for {A.dtype}; scale the features or gamma up"
        )


def _spread(work: Any, n: int, K: np.ndarray, threads: int) -> None:
    """Divide the rows of a large block between threads."""
    parts = split(n, threads, least=1) if K.size >= _SHARED else [slice(0, n)]
    run_all(work, parts, threads)


def _given(A: Points, B: Points) -> np.ndarray:
    """Values from a precomputed matrix."""
    assert A.rows is not None
    if not A.rows.width:
        return _given(B, A).T
    if len(B.index) and int(B.index.max()) >= A.rows.width:
        raise DataError(
            f"a precomputed matrix must have one column for each of at least"
            f" {int(B.index.max()) + 1} training examples, found {A.rows.width}"
        )
    found = A.rows.to_matrix()[:, B.index]
    return found.toarray() if A.rows.is_sparse else found


def _ask(kernel: Kernel, A: Points, B: Points) -> np.ndarray:
    """Values of a user's function, checked."""
    assert A.objects is not None
    assert B.objects is not None
    at_once = getattr(kernel.function, "block", None)
    if at_once is not None:
        found = np.asarray(at_once(A.objects, B.objects), dtype=np.float64)
        if found.shape != (A.n, B.n):
            raise DataError(f"the kernel's block has shape {found.shape}, expected {(A.n, B.n)}")
    else:
        found = np.array(
            [
                [_value(kernel, x, z, i, j) for j, z in zip(B.index, B.objects, strict=True)]
                for i, x in zip(A.index, A.objects, strict=True)
            ]
        )
    check_values(found, A, B)
    return found


def _value(kernel: Kernel, x: Any, z: Any, i: int, j: int) -> float:
    """One value of a user's function, for rows i and j of what it was given."""
    if kernel.function is None:
        raise DataError(
            f"the kernel is the function {kernel.called!r}, which a file cannot hold;"
            " supply it with `model.with_kernel(function)`"
        )
    found = kernel.function(x, z)
    try:
        return float(found)
    except (TypeError, ValueError):
        raise DataError(
            f"the kernel of rows {i} and {j} is {found!r}; it must be a number"
        ) from None


def _city(kernel: Kernel, A: Points, B: Points, out: np.ndarray, part: slice) -> None:
    """Write the L1 form for some rows of A."""
    assert A.rows is not None
    assert B.rows is not None
    first = A.take(part)
    a, b = first.rows, B.rows
    assert a is not None
    if a.is_sparse != b.is_sparse:  # the loop needs the same storage for both
        a, b = (type(a).of(_dense(side), bias=0.0) for side in (a, b))
    a, b = a.without_duplicates(), b.without_duplicates()
    if a.is_sparse:
        city_distances_sparse(a.stored, b.stored, np.zeros(a.width), out[part])
    else:
        city_distances_dense(a.stored, b.stored, out[part])
    nothing = frozen(np.zeros(0))
    finish_distances(out[part], nothing, nothing, kernel.gamma, False)


def _without_unused_columns(left: Any, right: Any) -> tuple[Any, Any]:
    """Two sparse matrices without the columns that are empty on the left.

    The products are the same, to the bit; hashed texts have millions of columns, almost all unused.
    """
    used, places = np.unique(left.indices, return_inverse=True)
    width = len(used)
    left = type(left)((left.data, places, left.indptr), shape=(left.shape[0], width))
    places = np.searchsorted(used, right.indices)
    shared = np.flatnonzero(places < width)
    shared = shared[used[places[shared]] == right.indices[shared]]
    starts = np.searchsorted(shared, right.indptr)
    right = type(right)((right.data[shared], places[shared], starts), shape=(right.shape[0], width))
    return left, right


def _dense(rows: Any) -> np.ndarray:
    """Rows as a dense matrix."""
    return rows.to_matrix().toarray() if rows.is_sparse else rows.to_matrix()


def _sparse_products(A: Points, B: Points) -> np.ndarray:
    """Products of very sparse rows with any other rows, a few of the others at a time."""
    assert A.rows is not None
    assert B.rows is not None
    left, right = A.rows.to_matrix(), B.rows.to_matrix()
    if B.rows.is_sparse and left.nnz < left.shape[1]:
        left, right = _without_unused_columns(left, right)
    found = np.empty((A.n, B.n), np.promote_types(A.dtype, B.dtype))
    step = max(1, _PIECE_BYTES // (max(1, right.shape[1]) * B.rows.dtype.itemsize))
    for begin in range(0, B.n, step):
        piece = right[begin : begin + step]
        columns = piece.T.toarray() if B.rows.is_sparse else np.ascontiguousarray(piece.T)
        found[:, begin : begin + step] = left @ columns
    return found
