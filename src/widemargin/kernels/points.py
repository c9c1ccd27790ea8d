"""Examples in the form that kernels read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.kernels.kernel import Kernel
from widemargin.loops.kernel.bits import WORD, pack_bits
from widemargin.loops.kernel.panels import LONGEST, pack
from widemargin.loops.lowlevel.panel_products import PANEL, suits_this_processor
from widemargin.loops.storage import squared_norms
from widemargin.markup.reprs import brief_repr

#: Sparse rows are multiplied as dense ones if at least one value in this many is nonzero ...
_DENSE_ENOUGH = 32
#: ... and the dense copy takes no more bytes than this.
_DENSE_BYTES = 1 << 29
#: Use float64 if rounding would change the exponent by more than this.
_ROUNDING = 1e-4
#: Columns that are zero in all vectors are left out if they make up at least one in this many ...
_IDLE = 32
#: ... and rows are then copied this many at a time.
_PIECE = 256
#: Cached other forms of the vectors.
_FORMS = ("dense", "narrow", "packed", "bits")


class Bits(NamedTuple):
    """Vectors whose values are 0 or one common number, as bits: by vector, and by word."""

    rows: np.ndarray
    words: np.ndarray
    value: float


@dataclass(frozen=True)
class Points:
    """Examples, ready for `block`: vectors, any objects, or rows of a matrix of kernel values.

    Attributes
    ----------
    n : int
        The number of examples.
    rows : Rows or None
        The vectors, without bias; or the rows of a precomputed matrix.
    objects : list or None
        Examples that are not vectors.
    index : array of int64
        Positions in the set from which these examples were taken: columns of a precomputed matrix.
    """

    n: int
    rows: Rows | None
    objects: list[Any] | None
    index: np.ndarray

    __repr__ = brief_repr

    @property
    def dtype(self) -> np.dtype:
        """The type of the kernel values."""
        return np.dtype(np.float64) if self.rows is None else self.rows.dtype

    def without_values(self) -> Points:
        """The same rows of a precomputed matrix, as row numbers only.

        A model stores no more than this of its support: `block` then reads the values of new
        examples.
        """
        empty = Rows.of(np.empty((self.n, 0), self.dtype), bias=0.0)
        return Points(self.n, empty, None, self.index)

    @cached_property
    def squares(self) -> np.ndarray:
        """The squared length of every vector, in float64; computed once."""
        assert self.rows is not None
        found = np.empty(self.n)
        squared_norms(self.rows.without_duplicates().stored, found)
        return found

    @property
    def is_dense(self) -> bool:
        """Whether products use a dense copy of the vectors."""
        if self.rows is None or not self.rows.is_sparse:
            return self.rows is not None
        cells = self.rows.n * self.rows.width
        small = cells * self.rows.dtype.itemsize <= _DENSE_BYTES
        return small and cells <= _DENSE_ENOUGH * self.rows.stored_values

    @cached_property
    def dense(self) -> np.ndarray | None:
        """The vectors as a dense matrix, unless they are too sparse for one; computed once."""
        if self.rows is None or not self.is_dense:
            return None
        matrix = self.rows.to_matrix()
        return frozen(matrix.toarray()) if self.rows.is_sparse else matrix

    @cached_property
    def used(self) -> np.ndarray | None:
        """The columns where some vector is nonzero, if leaving out the others is worthwhile."""
        if self.rows is None or not self.is_dense:
            return None
        stored, width = self.rows.stored, self.rows.width
        if self.rows.is_sparse:
            some = np.zeros(width, np.bool_)
            some[stored.indices[: stored.starts[-1]]] = True
        else:  # testing bits is faster than comparing numbers; -0.0 counts as nonzero
            some = np.bitwise_or.reduce(stored.values.view(f"u{self.dtype.itemsize}"), axis=0) != 0
        found = np.flatnonzero(some)
        return frozen(found) if 0 < len(found) <= width - width / _IDLE else None

    @cached_property
    def narrow(self) -> Points:
        """The same vectors without unused columns, copied once if there are any."""
        return self if self.used is None else self.keep(self.used, slice(None))

    def keep(self, columns: np.ndarray, which: np.ndarray | slice) -> Points:
        """Some columns of some vectors, as dense vectors.

        Products with vectors that are zero in the other columns do not change, and the squared
        lengths remain those over all columns.
        """
        assert self.rows is not None
        matrix, index = self.rows.to_matrix(), self.index[which]
        if isinstance(which, slice):
            matrix = matrix[which]
        values = np.empty((len(index), len(columns)), self.dtype)
        for begin in range(0, len(index), _PIECE):
            some = slice(begin, begin + _PIECE)
            piece = matrix[some if isinstance(which, slice) else which[some].astype(np.int64)]
            piece = piece.toarray() if self.rows.is_sparse else piece
            np.take(piece, columns, axis=1, out=values[some], mode="clip")
        kept = Points(len(index), Rows.of(values, bias=0.0), None, index)
        known = vars(self).get("squares")
        squares = self.take(which).squares if known is None else known[which]
        vars(kept)["squares"] = frozen(squares)
        return kept

    @property
    def packs(self) -> bool:
        """Whether compiled products of these vectors are faster than BLAS."""
        if self.dtype != np.float32 or self.dense is None:
            return False
        return self.dense.shape[1] <= LONGEST and suits_this_processor()

    @cached_property
    def packed(self) -> np.ndarray:
        """The vectors in panels, as the compiled products need them; computed once."""
        assert self.dense is not None
        panels = np.empty((-(-self.n // PANEL), self.dense.shape[1], PANEL), np.float32)
        pack(self.dense, panels)
        return frozen(panels)

    @cached_property
    def bits(self) -> Bits | None:
        """The vectors as bits if all their nonzero values are the same; computed once."""
        if self.dense is None:
            return None
        rows = np.zeros((self.n, -(-self.dense.shape[1] // WORD)), np.uint32)
        value = pack_bits(frozen(self.dense), rows)
        if math.isnan(value):
            return None
        return Bits(frozen(rows), frozen(np.ascontiguousarray(rows.T)), value)

    def __getstate__(self) -> dict[str, Any]:
        # Other forms of the same vectors are recomputed when needed.
        return {name: x for name, x in vars(self).items() if name not in _FORMS}

    def prepare(self, kernel: Kernel) -> None:
        """Compute what the kernel needs from every point; subsets taken later share it."""
        if self.rows is not None and not kernel.is_precomputed:
            vars(self).update(dense=self.dense)
            if kernel.name in ("rbf", "laplace"):
                vars(self).update(squares=self.squares)

    def take(self, which: np.ndarray | slice) -> Points:
        """Some of the points, in the order given. A slice of dense vectors is not copied."""
        places = np.arange(self.n)[which] if isinstance(which, slice) else which.astype(np.int64)
        objects = None if self.objects is None else [self.objects[i] for i in places.tolist()]
        rows = None
        if self.rows is not None and isinstance(which, slice) and not self.rows.is_sparse:
            part = self.rows.stored._replace(values=frozen(self.rows.stored.values[which]))
            rows = replace(self.rows, stored=part, n=len(places))
        elif self.rows is not None:
            rows = self.rows.take(places)
        taken = Points(len(places), rows, objects, self.index[places])
        # Pass on what has already been computed.
        for name in {"squares", "dense"} & vars(self).keys():
            known = vars(self)[name]
            if name == "squares" or (rows is not None and rows.is_sparse):
                vars(taken)[name] = None if known is None else frozen(known[which])
        return taken


def points_of(kernel: Kernel, X: Any) -> Points:
    """Examples in the form that the kernel reads.

    Float32 values are kept where they are accurate enough. They are not where rows are far from the
    origin: Euclidean distances are computed from products, which then lose too many digits.

    Parameters
    ----------
    kernel : Kernel
        What will be computed.
    X : array, scipy sparse matrix, Rows, or a sequence of objects for a function
        The examples; for "precomputed" the matrix of values, one row per example.
    """
    index = np.arange(len_of(X))
    if kernel.on_objects:
        return Points(len_of(X), None, _objects(X), index)
    rows = Rows.of(X, bias=0.0)
    rows.check_finite()
    points = Points(rows.n, rows, None, index)
    if rows.dtype == np.float32 and _needs_double(kernel, points):
        rows = Rows.of(rows.to_matrix(), bias=0.0, dtype=np.float64)
        points = Points(rows.n, rows, None, index)
    return points


def len_of(X: Any) -> int:
    """The number of examples."""
    if isinstance(X, Rows):
        return X.n
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _needs_double(kernel: Kernel, points: Points) -> bool:
    """Whether float32 is too imprecise for the distances."""
    if kernel.name == "laplace":  # the root of a small difference of large squares
        return True
    if kernel.name != "rbf":
        return False
    error = kernel.gamma * float(np.max(points.squares, initial=0.0)) * np.finfo(np.float32).eps
    return not error < _ROUNDING


def _objects(X: Any) -> list[Any]:
    """Examples for a user's function as a list: the rows of a matrix, or the items."""
    if isinstance(X, Rows):
        X = X.to_matrix()
    if hasattr(X, "tocsr"):
        X = X.toarray()
    if isinstance(X, str) or not (isinstance(X, Sequence) or hasattr(X, "__getitem__")):
        raise DataError(f"examples must come in a list or an array, found {type(X).__name__}")
    return list(np.asarray(X)) if hasattr(X, "__array__") else list(X)
