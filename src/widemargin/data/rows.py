"""Rows: the one data type for examples, dense or compressed sparse."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.errors import DataError
from widemargin.loops.storage import Dense, Sparse, repeats_column
from widemargin.markup.reprs import brief_repr

#: The typical sizes of values and rows are estimated from this many rows.
_SAMPLED = 250
#: A pass over columns is used with at most this many columns per stored value.
_COLUMNS_PER_VALUE = 4
#: The smallest numbers whose squares keep full precision.
_SMALLEST = {
    np.dtype(kind): np.sqrt(np.finfo(kind).tiny / np.finfo(kind).eps)
    for kind in (np.float32, np.float64)
}


@dataclass(frozen=True)
class Rows:
    """Examples in the form that the loops read, sharing memory with the original data.

    Attributes
    ----------
    stored : Dense or Sparse
        What the loops take. Every array in it is a read-only view.
    n, width : int
        The number of rows, and of features (without the bias).
    distinct : bool
        Whether each column is known to be stored at most once per row.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows.of(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> rows.n, rows.width, rows.is_sparse
    (2, 2, False)
    """

    stored: Any
    n: int
    width: int
    distinct: bool = False

    __repr__ = brief_repr

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle, which does not record that arrays are read-only."""
        *arrays, bias = state["stored"]
        stored = type(state["stored"])(*map(frozen, arrays), bias)
        vars(self).update(state, stored=stored)

    @classmethod
    def of(cls, X: Any, bias: float = 1.0, dtype: Any = None) -> Rows:
        """Take a matrix (an array or a scipy sparse matrix) as rows.

        Parameters
        ----------
        X : array, scipy sparse matrix or Rows
            Float32 and float64 stay as they are; other numbers become float64. C-ordered arrays and
            CSR matrices are not copied.
        bias : float
            Extend every row by a constant feature of this value; 0 means no bias.
        dtype : dtype, optional
            Use a float at least as wide as this, such as the type a model was trained in.
        """
        if isinstance(X, Rows):
            return replace(X, stored=X.stored._replace(bias=float(bias)))
        if _is_scipy_sparse(X):
            return cls._of_sparse(X, bias, dtype)
        X = np.asarray(X)
        if X.ndim != 2:
            raise DataError(f"rows must form a matrix with 2 dimensions, found {X.ndim}")
        values = _plain(X, _float_type(X.dtype, dtype))
        return cls(Dense(frozen(values), float(bias)), *values.shape)

    @classmethod
    def _of_sparse(cls, X: Any, bias: float, dtype: Any) -> Rows:
        X = X.tocsr()
        n, width = X.shape
        values = _plain(X.data, _float_type(X.dtype, dtype))
        starts = _plain(X.indptr, np.int64)
        indices = _plain(X.indices)
        if indices.dtype not in (np.int32, np.int64):
            indices = indices.astype(np.int64)
        unsigned = indices.view(f"u{indices.itemsize}")
        # A wrong index would access memory out of bounds. As unsigned, negative ones are huge.
        stored = min(len(values), len(indices))
        if len(starts) != n + 1 or starts[0] != 0 or starts[-1] > stored:
            raise DataError(f"sparse rows must start at 0 and end within {stored} stored values")
        if n and np.any(starts[1:] < starts[:-1]):
            raise DataError("sparse rows must not end before they start")
        values, unsigned = values[: starts[-1]], unsigned[: starts[-1]]  # there may be unused room
        if len(unsigned) and unsigned.max() >= width:
            raise DataError(f"a column index lies outside 0 ... {width - 1}")
        return cls(
            Sparse(frozen(values), frozen(unsigned), frozen(starts.view("u8")), float(bias)),
            n,
            width,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        return self.n, self.width

    @property
    def is_sparse(self) -> bool:
        """Whether only nonzero values are stored."""
        return isinstance(self.stored, Sparse)

    @property
    def dtype(self) -> np.dtype:
        """The type of the values, also used for the learned weights."""
        return self.stored.values.dtype

    @property
    def bias(self) -> float:
        """The constant feature that extends every row, or 0."""
        return self.stored.bias

    @property
    def stored_values(self) -> int:
        """How many numbers a pass over all rows reads."""
        return len(self.stored.values) if self.is_sparse else self.stored.values.size

    @property
    def values_per_row(self) -> float:
        """The mean number of values in a row, the constant feature included."""
        return self.stored_values / max(1, self.n) + 1.0

    @cached_property
    def everything(self) -> np.ndarray:
        """The indices of all rows, in storage order."""
        return frozen(np.arange(self.n, dtype=np.uint64))

    def __sizeof__(self) -> int:
        """The bytes of the rows, with their arrays."""
        arrays = (part for part in self.stored if isinstance(part, np.ndarray))
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays)

    def with_bias(self, bias: float) -> Rows:
        """The same rows, extended by another constant feature."""
        if bias == self.stored.bias:
            return self
        return replace(self, stored=self.stored._replace(bias=float(bias)))

    def typical_value(self) -> float:
        """The power of two nearest to the median size of the nonzero values.

        It is estimated from a few hundred evenly spaced rows; 1 if they are all zero.
        """
        values = self._sample().stored.values
        sizes = np.abs(values[values != 0.0])
        if not len(sizes) or np.isnan(np.max(sizes)):
            return 1.0
        # as np.median, which imports numpy.ma
        low, high = (len(sizes) - 1) // 2, len(sizes) // 2
        middle = float(np.mean(np.partition(sizes, (low, high))[low : high + 1]))
        if not 0.0 < middle < math.inf:
            return 1.0
        return 2.0 ** min(round(math.log2(middle)), sys.float_info.max_exp - 1)

    def log2_squared_length(self, which: np.ndarray | None = None) -> float:
        """The binary logarithm of the mean squared length of these rows, without their bias.

        It is estimated from a few hundred evenly spaced rows; 0 if they are all zero. A logarithm,
        because squares may be beyond the range of numbers.
        """
        if not self.n:
            return 0.0
        sample = self._sample(which)
        values = sample.stored.values.astype(np.float64)
        largest = float(np.max(np.abs(values), initial=0.0))
        if not 0.0 < largest < math.inf:
            return 0.0
        scale = math.frexp(largest)[1]  # a power of two, so that scaled rows give the same digits
        scaled = np.ldexp(values, -scale)
        return 2.0 * scale + math.log2(float(np.vdot(scaled, scaled)) / sample.n)

    def _sample(self, which: np.ndarray | None = None) -> Rows:
        """A few hundred of these rows, evenly spaced, with each column at most once per row."""
        n = self.n if which is None else len(which)
        places = np.linspace(0, n - 1, min(n, _SAMPLED)).astype(np.uint64)
        return self.take(places if which is None else which[places]).without_duplicates()

    def take(self, which: np.ndarray) -> Rows:
        """Copy some rows, in the order given."""
        if not self.is_sparse:
            values = frozen(self.stored.values[which])
            return Rows(Dense(values, self.stored.bias), len(which), self.width)
        which = which.astype(np.int64)
        first, end = self.stored.starts[which], self.stored.starts[which + 1]
        starts = np.zeros(len(which) + 1, np.uint64)
        np.cumsum(end - first, out=starts[1:])
        # Signed, because numpy checks unsigned indices one by one before it uses them.
        places = np.arange(int(starts[-1]))
        places += np.repeat((first - starts[:-1]).view(np.int64), (end - first).view(np.int64))
        values, indices = self.stored.values[places], self.stored.indices[places].astype(np.uint64)
        taken = Sparse(frozen(values), frozen(indices), frozen(starts), self.bias)
        return Rows(taken, len(which), self.width, self.distinct)

    def to_matrix(self) -> Any:
        """The rows as an array or a scipy CSR matrix, sharing memory."""
        if not self.is_sparse:
            return self.stored.values
        import scipy.sparse

        kind = f"i{self.stored.indices.itemsize}"
        parts = (self.stored.values, self.stored.indices.view(kind), self.stored.starts.view("i8"))
        return scipy.sparse.csr_matrix(parts, shape=(self.n, self.width), copy=False)

    def without_duplicates(self, in_order: bool = True) -> Rows:
        """The same rows with each column stored at most once per row, as norms need it.

        Unless columns are needed in order, rows of distinct columns are not sorted: where there are
        not many more columns than values, a look at all columns costs a twentieth of sorting them.
        """
        if self.distinct or not self.is_sparse or self._is_sorted():
            return self
        if not in_order and self.width <= _COLUMNS_PER_VALUE * self.stored_values:
            last = np.zeros(self.width, np.uint64)
            if not repeats_column(self.stored.indices, self.stored.starts, last):
                return replace(self, distinct=True)
        matrix = self.to_matrix().copy()
        matrix.sum_duplicates()
        return replace(Rows.of(matrix, bias=self.bias), distinct=True)

    def _is_sorted(self) -> bool:
        """Whether the columns of every sparse row are ascending."""
        starts = self.stored.starts
        columns = self.stored.indices[: starts[-1]]
        rise = np.ones(len(columns) + 1, bool)
        np.greater(columns[1:], columns[:-1], out=rise[1:-1])
        rise[starts] = True  # the first column of a row may be lower than the last of another
        return bool(rise.all())

    def widened(self, width: int) -> Rows:
        """The same rows with more features, all of them zero."""
        if width == self.width:
            return self
        if self.is_sparse:
            return replace(self, width=width)
        values = np.zeros((self.n, width), self.dtype)
        values[:, : self.width] = self.stored.values
        return Rows(Dense(frozen(values), self.stored.bias), self.n, width)

    def check_finite(self) -> None:
        """Raise an error that names the first value that is not finite, if any."""
        values = self.stored.values
        finite = np.isfinite(values)
        if finite.all():
            return
        at = int(np.argmin(finite.ravel()))
        if self.is_sparse:
            row = int(np.searchsorted(self.stored.starts, np.uint64(at), side="right")) - 1
            column = int(self.stored.indices[at])
        else:
            row, column = divmod(at, self.width)
        kind = "NaN" if np.isnan(values.flat[at]) else "infinity"
        raise DataError(
            f"Input X contains {kind} (row {row}, column {column}):"
            " only finite numbers can be learned from; remove or impute the others"
        )

    def check_scale(self) -> None:
        """Raise an error if the values are so small or large that products under- or overflow.

        All rows are checked only if the largest value of a thousand rows is unusual. (The loops
        notice single rows that are too large, because their scores overflow.)
        """
        limit = _SMALLEST[self.dtype]
        values = self.stored.values.ravel()
        sample = values[: 1000 * max(1, len(values) // max(1, self.n))]
        if limit <= np.abs(sample).max(initial=0.0) <= 1.0 / limit:
            return
        self.check_finite()
        largest = float(np.max(np.abs(values), initial=0.0))
        if 0.0 < largest < limit or largest > 1.0 / limit:
            small = largest < limit
            raise DataError(
                f"the largest value is {largest:.3g}, whose square is too"
                f" {'small' if small else 'large'} for {self.dtype};"
                f" scale the features {'up' if small else 'down'}"
            )


def stacked(parts: list[Rows]) -> Rows:
    """Stack rows of the same width; the bias is that of the first."""
    if len(parts) == 1:
        return parts[0]
    stack = Stack()
    stack.reserve(sum(part.stored.values.size for part in parts), sum(part.n for part in parts))
    for part in parts:
        stack.add(part)
    return stack.rows(parts[0].width)


class Stack:
    """Stacks rows that arrive in parts.

    They are copied to their final place immediately, so that the buffers they came in can be
    reused: fresh memory costs more than the copy.

    Parameters
    ----------
    parts : int
        The expected number of parts, if known; otherwise 0.
    """

    def __init__(self, parts: int = 0) -> None:
        self._parts, self._added, self._n, self._filled = parts, 0, 0, 0
        self._first: Rows | None = None
        self._values = self._indices = self._starts = np.empty(0)
        self._distinct = True
        self._reserved = 0, 0

    def reserve(self, values: int, rows: int) -> None:
        """Reserve room for exactly this many values and rows in total."""
        self._reserved = values, rows

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take so far."""
        if self._first is None:
            return 0
        each = self._values.itemsize + (self._indices.itemsize if self._first.is_sparse else 0)
        return self._filled * each

    def add(self, rows: Rows) -> None:
        """Append rows."""
        stored, sparse = rows.stored, rows.is_sparse
        self._added += 1
        if self._first is None:
            self._first = rows
        self._distinct &= rows.distinct
        indices = stored.indices if sparse else np.empty(0, np.uint32)
        ends = stored.starts[1:] if sparse else np.empty(0, np.uint64)
        self._append(stored.values.ravel(), indices, ends, rows.n)

    def extend(self, values: np.ndarray, indices: np.ndarray, ends: np.ndarray) -> None:
        """Append sparse rows that have each column at most once.

        Row i ends at ends[i] and starts where the previous row ends.
        """
        if self._first is None:
            nothing = Sparse(values[:0], indices[:0], np.zeros(1, np.uint64), 0.0)
            self._first = Rows(nothing, 0, 0, distinct=True)
        self._append(values, indices, ends, len(ends))

    def _append(self, values: np.ndarray, indices: np.ndarray, ends: np.ndarray, rows: int) -> None:
        if self._n == 0 and self._filled == 0:
            self._values, self._indices = np.empty(0, values.dtype), np.empty(0, indices.dtype)
            self._starts = np.zeros(1, np.uint64)
        filled, n = self._filled + len(values), self._n + rows
        known, lines = self._reserved
        self._values = self._roomy(self._values, self._filled, filled, known)
        self._values[self._filled : filled] = values
        if len(ends):
            self._indices = self._roomy(self._indices, self._filled, filled, known)
            self._indices[self._filled : filled] = indices
            self._starts = self._roomy(self._starts, self._n + 1, n + 1, lines + 1)
            np.add(ends, np.uint64(self._filled), out=self._starts[self._n + 1 : n + 1])
        self._filled, self._n = filled, n

    def mark(self) -> None:
        """Count one of the expected parts as complete."""
        self._added += 1

    def _roomy(self, array: np.ndarray, used: int, needed: int, reserved: int) -> np.ndarray:
        """The array, or a longer copy of it if it lacks room."""
        if needed <= len(array):
            return array
        size = reserved
        if reserved < needed:
            # Enough for all parts if they are alike; memory that is never written costs nothing.
            expected = needed * self._parts * 5 // (4 * max(1, self._added)) if self._parts else 0
            size = max(expected, needed, 3 * len(array) // 2)
        longer = np.empty(size, array.dtype)
        longer[:used] = array[:used]
        return longer

    def rows(self, width: int) -> Rows:
        """All rows, with `width` features; the bias is that of the first."""
        assert self._first is not None
        bias, values = self._first.bias, self._values[: self._filled]
        if not self._first.is_sparse:
            return Rows(Dense(frozen(values.reshape(self._n, width)), bias), self._n, width)
        indices, starts = self._indices[: self._filled], self._starts[: self._n + 1]
        stored = Sparse(frozen(values), frozen(indices), frozen(starts), bias)
        return Rows(stored, self._n, width, self._distinct)


def _float_type(found: np.dtype, at_least: Any) -> np.dtype:
    """The float in which to compute: float32 only if everything is."""
    if found.kind not in "fiub":
        raise DataError(f"rows must hold real numbers, found {found}")
    kept = found if found in (np.float32, np.float64) else np.dtype(np.float64)
    return kept if at_least is None else np.promote_types(kept, at_least)


def _plain(array: Any, dtype: Any = None) -> np.ndarray:
    """The array in C order and aligned, as loops need it; it is copied only if it is not so."""
    ordered = np.ascontiguousarray(array, dtype)
    return ordered if ordered.flags.aligned else ordered.copy()


def frozen(array: np.ndarray) -> np.ndarray:
    """A read-only view: numba treats writable arrays as another type and would compile again."""
    view = array.view()
    view.setflags(write=False)
    return view


def _is_scipy_sparse(X: Any) -> bool:
    """Whether X is a scipy sparse matrix, without importing scipy to find out."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(X)
