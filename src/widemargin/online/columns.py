"""Numbers the columns that occur, so that learners of wide sparse rows have weights only for these.

Hashed text has a million columns, of which a few thousand documents use tens of thousands. The
weights to learn, average, compare and save are then a small part of classes x columns. Sums over a
row add the same values in the same order as with all columns, so results are bit-identical.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.loops.linear.columns import look_up_columns, number_columns
from widemargin.loops.storage import Sparse
from widemargin.markup.words import several
from widemargin.modelfile.checks import check_places
from widemargin.threads import run_all, split

#: With fewer weights than this, numbering columns does not pay. Chosen by hand: making them takes
#: about as long as numbering one row.
_FEW = 1 << 16
#: Columns of wider rows are not counted before they are numbered: counting takes a byte per column.
_COUNTABLE = 1 << 28


class Columns:
    """Columns numbered 1, 2, 3, ... in the order in which they first occurred.

    Weights of numbered columns have a column for each number, and before them column 0, which
    stands for all columns that never occurred: its weights are always zero.

    Parameters
    ----------
    width : int
        The number of columns of the rows.

    Attributes
    ----------
    width : int
        The number of columns of the rows.
    count : int
        The number of numbers in use, including 0.

    Examples
    --------
    >>> import scipy.sparse
    >>> columns = Columns(1000)
    >>> rows = Rows.of(scipy.sparse.csr_matrix(([1.0, 2.0, 3.0], [907, 3, 907], [0, 2, 3])))
    >>> columns.number(rows).stored.indices.tolist(), columns.ids.tolist()
    ([1, 2, 1], [907, 3])
    """

    def __init__(self, width: int) -> None:
        self.width, self.count = width, 1
        self._ids = np.zeros(8, np.uint64)
        self._table = np.zeros(16, np.uint32)

    def __repr__(self) -> str:
        return f"Columns({several(self.count - 1, 'column')} of {self.width})"

    @classmethod
    def of(cls, ids: np.ndarray, width: int) -> Columns:
        """Give some columns the numbers 1, 2, 3, ..."""
        check_places("columns.ids", ids, width)
        columns = cls(width)
        columns._add(ids)
        if columns.count != len(ids) + 1:
            raise ValueError("a column is listed twice")
        return columns

    @property
    def ids(self) -> np.ndarray:
        """The columns, in the order of their numbers."""
        narrow = np.uint32 if self.width <= 1 << 32 else np.uint64
        return self._ids[1 : self.count].astype(narrow)

    def copy(self, width: int | None = None) -> Columns:
        """Make a copy that numbers new columns independently."""
        other = Columns(self.width if width is None else width)
        other.count, other._ids, other._table = self.count, self._ids.copy(), self._table.copy()
        return other

    def number(self, rows: Rows) -> Rows:
        """Return rows with numbers instead of columns; new columns get a number.

        Values and their order stay the same.
        """
        return self._with(rows, self._add(_used(rows)), self.count)

    def look_up(self, rows: Rows, limit: int, threads: int = 1) -> Rows:
        """Return rows with numbers instead of columns: below `limit`, and 0 for all others."""
        return self._with(rows, self.find(_used(rows), limit, threads), limit)

    def find(self, columns: np.ndarray, limit: int, threads: int = 1) -> np.ndarray:
        """Return the numbers of columns; 0 for those without one, and for numbers from `limit`."""
        columns, found = frozen(columns), np.empty(len(columns), np.uint32)
        run_all(
            lambda part: look_up_columns(
                columns[part],
                self._ids,
                self._table,
                self._shift,
                np.uint64(limit),
                found[part],
            ),
            split(len(found), threads, least=1 << 16),
            threads,
        )
        return found

    def spread(self, weights: np.ndarray) -> np.ndarray:
        """Convert weights of numbered columns, the bias last, to weights of all columns."""
        order: Any = "C" if weights.flags.c_contiguous else "F"
        full = np.zeros((len(weights), self.width + 1), weights.dtype, order=order)
        mine = min(self.count, weights.shape[1] - 1)
        full[:, self._ids[1:mine].astype(np.int64)] = weights[:, 1:mine]
        full[:, -1] = weights[:, -1]
        return full

    @property
    def _shift(self) -> np.uint64:
        return np.uint64(65 - len(self._table).bit_length())

    def _add(self, columns: np.ndarray) -> np.ndarray:
        """Return the numbers of columns; new ones get one."""
        numbers = np.empty(len(columns), np.uint32)
        done = 0
        while True:
            done, self.count = number_columns(
                frozen(columns), done, self._ids, self._table, self._shift, self.count, numbers
            )
            if done == len(columns):
                return numbers
            self._grow()

    def _grow(self) -> None:
        """Double the capacity; half of the slots of the table stay empty."""
        known, self.count = self.ids, 1
        self._ids = np.zeros(2 * len(self._ids), np.uint64)
        self._table = np.zeros(2 * len(self._table), np.uint32)
        self._add(known)

    @staticmethod
    def _with(rows: Rows, numbers: np.ndarray, width: int) -> Rows:
        stored = Sparse(rows.stored.values, frozen(numbers), rows.stored.starts, rows.bias)
        return replace(rows, stored=stored, width=width)


def _used(rows: Rows) -> np.ndarray:
    """The columns of all values that belong to a row."""
    return rows.stored.indices[: int(rows.stored.starts[-1])]


def columns_for(rows: Rows, vectors: int) -> Columns | None:
    """Decide whether weights for the columns that occur are better than weights for all columns.

    They are better if they save more weights than there are values to look up.

    Parameters
    ----------
    rows : Rows
        The examples, or the first of them.
    vectors : int
        The number of weight vectors.
    """
    values = max(_FEW, rows.stored_values)
    if not rows.is_sparse or vectors * rows.width <= values:
        return None
    if rows.width <= _COUNTABLE:
        occurs = np.zeros(rows.width, bool)
        occurs[_used(rows)] = True
        if vectors * (rows.width - np.count_nonzero(occurs)) <= values:
            return None
    return Columns(rows.width)
