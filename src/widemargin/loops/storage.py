"""How rows are stored; nothing above this file depends on it.

A row is one example. `Dense` and `Sparse` hold many; the functions here work on row `i`, each
written once for either storage:

    dot(rows, i, w)         w . x
    dots(rows, i, W, s)     s[c] = W[c] . x for every class c
    add(w, a, rows, i)      w += a x
    norm2(rows, i)          x . x
    look_ahead(rows, order, j)   fetch the rows that come next into the cache

For anything else (signs, absolute values, fingerprints), a loop reads the rows itself: it chooses
between two functions with `pick_storage`, or takes sparse rows only.

A bias is the weight of a constant feature, so it is stored as one: x is extended by the number
`rows.bias` (1 with a bias, 0 without), and its weight is the last entry of w.

Compiled, each call is replaced by the function for the storage at hand; with the compiler off
the same functions are picked when called.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from widemargin.loops.jit import INLINE, OPTIONS, SUMS, jit, overload
from widemargin.loops.lowlevel.prefetch import prefetch


class Dense(NamedTuple):
    """Rows of a C-ordered matrix."""

    values: np.ndarray
    bias: float


class Sparse(NamedTuple):
    """Compressed sparse rows: row i is values[starts[i]:starts[i + 1]], in columns indices[...].

    Indices and starts are unsigned, which saves the test for a negative index on every access.
    """

    values: np.ndarray
    indices: np.ndarray
    starts: np.ndarray
    bias: float


# Unsigned like the starts: numba turns int64 + uint64 into a float.
_ONE = np.uint64(1)
#: Values between two fetches: one fetch for a cache line of float32, or for every second line of
#: float64. A constant, because a division here would cost more than the fetches.
_FETCH = np.uint64(16)
#: How many examples ahead a row is fetched, and where it starts, which must be known earlier still.
#: Measured on 200,000 sparse rows of 66 features in random order: 1 to 8 examples ahead differ by
#: less than the noise (45 to 54 ms an epoch); without fetching it is 129 ms.
_ROW_AHEAD, _START_AHEAD = 4, 8


def dot(rows, i, w):
    """The product w . x for row i."""
    return pick_storage(rows, _dot_dense, _dot_sparse)(rows, i, w)


def _dot_dense(rows, i, w):
    x = rows.values[i]
    s = w.dtype.type(0)
    for j in range(len(x)):
        s += x[j] * w[j]
    return s + rows.bias * w[len(w) - 1]


def _dot_sparse(rows, i, w):
    s = w.dtype.type(0)
    for k in range(rows.starts[i], rows.starts[i + _ONE]):
        s += rows.values[k] * w[rows.indices[k]]
    return s + rows.bias * w[len(w) - 1]


def dots(rows, i, W, s):
    """s[c] = W[c] . x for every class c."""
    return pick_storage(rows, _dots_dense, _dots_sparse)(rows, i, W, s)


def _dots_dense(rows, i, W, s):
    # Two classes at a time: x is then read half as often.
    x = rows.values[i]
    for c in range(0, len(W) - 1, 2):
        w, v = W[c], W[c + 1]
        a = b = w.dtype.type(0)
        for j in range(len(x)):
            a += x[j] * w[j]
            b += x[j] * v[j]
        s[c] = a + rows.bias * w[len(w) - 1]
        s[c + 1] = b + rows.bias * v[len(v) - 1]
    if len(W) % 2:
        s[len(W) - 1] = dot(rows, i, W[len(W) - 1])


def _dots_sparse(rows, i, W, s):
    # W is stored feature by feature: the weights of one feature for all classes share cache lines.
    V = W.T
    for c in range(len(s)):
        s[c] = rows.bias * V[len(V) - 1, c]
    for k in range(rows.starts[i], rows.starts[i + _ONE]):
        x = rows.values[k]
        v = V[rows.indices[k]]
        for c in range(len(s)):
            s[c] += x * v[c]


def add(w, a, rows, i):
    """Add: w += a x for row i."""
    return pick_storage(rows, _add_dense, _add_sparse)(w, a, rows, i)


def _add_dense(w, a, rows, i):
    x = rows.values[i]
    a_ = w.dtype.type(a)
    for j in range(len(x)):
        w[j] += a_ * x[j]
    w[len(w) - 1] += a_ * w.dtype.type(rows.bias)


def _add_sparse(w, a, rows, i):
    a_ = w.dtype.type(a)
    for k in range(rows.starts[i], rows.starts[i + _ONE]):
        w[rows.indices[k]] += a_ * rows.values[k]
    w[len(w) - 1] += a_ * w.dtype.type(rows.bias)


def norm2(rows, i):
    """The square x . x for row i, in double precision."""
    return pick_storage(rows, _norm2_dense, _norm2_sparse)(rows, i)


def _norm2_dense(rows, i):
    x = rows.values[i]
    q = rows.bias * rows.bias
    for j in range(len(x)):
        q += np.float64(x[j]) * np.float64(x[j])
    return q


def _norm2_sparse(rows, i):
    q = rows.bias * rows.bias
    for k in range(rows.starts[i], rows.starts[i + _ONE]):
        q += np.float64(rows.values[k]) * np.float64(rows.values[k])
    return q


def look_ahead(rows, order, j):
    """Prefetch what the examples after order[j] need; this affects only the time."""
    return pick_storage(rows, _look_ahead_dense, _look_ahead_sparse)(rows, order, j)


def _look_ahead_dense(rows, order, j):
    # At the end of the order its last row is fetched again: cheaper than a branch, before and
    # after which numba would count references to the arrays.
    width = np.uint64(rows.values.shape[1])
    start = order[min(j + _ROW_AHEAD, len(order) - 1)] * width
    for k in range(start, start + width, _FETCH):
        prefetch(rows.values, k)


def _look_ahead_sparse(rows, order, j):
    prefetch(rows.starts, order[min(j + _START_AHEAD, len(order) - 1)])
    i = order[min(j + _ROW_AHEAD, len(order) - 1)]
    for k in range(rows.starts[i], rows.starts[i + _ONE], _FETCH):
        prefetch(rows.values, k)
        prefetch(rows.indices, k)


def pick_storage(rows: Any, dense: Any, sparse: Any) -> Any:
    """Choose by storage: of a value or, while numba compiles, of a type."""
    kind = getattr(rows, "instance_class", type(rows))  # numba's name for the class of its type
    return sparse if issubclass(kind, Sparse) else dense


# What numba puts in the place of each call.


@overload(dot, jit_options=SUMS | INLINE)
def _dot_of_dense(rows, i, w):
    return pick_storage(rows, _dot_dense, None)


# In order: in any order, LLVM would load the weights by vector gathers, which take twice as long,
# above all where the previous examples have just changed these weights.
@overload(dot, jit_options=OPTIONS | INLINE)
def _dot_of_sparse(rows, i, w):
    return pick_storage(rows, None, _dot_sparse)


@overload(dots, jit_options=SUMS | INLINE)
def _dots(rows, i, W, s):
    return pick_storage(rows, _dots_dense, _dots_sparse)


@overload(add, jit_options=OPTIONS | INLINE)
def _add(w, a, rows, i):
    return pick_storage(rows, _add_dense, _add_sparse)


@overload(norm2, jit_options=SUMS | INLINE)
def _norm2(rows, i):
    return pick_storage(rows, _norm2_dense, _norm2_sparse)


@overload(look_ahead, jit_options=OPTIONS | INLINE)
def _look_ahead(rows, order, j):
    return pick_storage(rows, _look_ahead_dense, _look_ahead_sparse)


@jit()
def squared_norms(rows, out):
    """out[i] = x . x for every row i, in double precision."""
    for i in range(np.uint64(len(out))):
        out[i] = norm2(rows, i)


@jit()
def repeats_column(indices, starts, last):
    """Whether a sparse row stores a column twice; `last` has a 0 for every column.

    Changes last[c], to 1 + the last row that stores column c. Costs one pass over the columns.
    """
    for i in range(np.uint64(len(starts)) - _ONE):
        for p in range(starts[i], starts[i + _ONE]):
            c = indices[p]
            if last[c] == i + _ONE:
                return True
            last[c] = i + _ONE
    return False
