"""Peeling: remove the examples that single features decide, and put them back afterwards.

In bags of words most examples have a word that only one class uses. A large enough weight puts them
on the right side, whatever the other weights are. Once these examples are removed, more words are
used by only one class. What remains in the end, often nothing, is separable if and only if the
whole is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.loops.separability.peeling import count_signs, extend_pass, list_columns, peel_pass


class Peeled(NamedTuple):
    """Which examples were removed, and which columns decided them."""

    rows: Rows
    signs: np.ndarray
    tops: np.ndarray  # column j has values in the examples members[tops[j]:tops[j + 1]]
    members: np.ndarray
    by: np.ndarray  # the column that decided each example; larger than the width for the rest
    columns: np.ndarray  # in the order in which they decided examples

    @property
    def left(self) -> np.ndarray:
        """The examples that no column decides."""
        return np.flatnonzero(self.by > self.rows.width)

    def core(self) -> tuple[Rows, np.ndarray]:
        """Return the remaining examples, in the columns that they use, and these columns."""
        part = self.rows.to_matrix()[self.left]
        used = np.unique(part.indices[part.data != 0.0])
        return Rows.of(part[:, used], bias=self.rows.bias), used

    def extend(self, w: np.ndarray) -> np.ndarray:
        """Return weights that also put the removed examples on the right side.

        Parameters
        ----------
        w : array
            The weights of all columns, with that of the constant one last: weights that separate
            the remaining examples, and zeros elsewhere. The result is not finite if weights grow
            too large.
        """
        w = w.copy()
        with np.errstate(over="ignore", invalid="ignore"):  # uncompiled, numpy would warn
            extend_pass(
                self.rows.stored, self.signs, self.tops, self.members, self.by, self.columns, w
            )
        return w


def peel(rows: Rows, signs: np.ndarray) -> Peeled | None:
    """Remove the examples that single columns decide; None if there are none.

    Parameters
    ----------
    rows : Rows
        Sparse rows, each of which stores a column at most once.
    signs : array of +1 and -1
    """
    signs = frozen(signs)
    plus, minus = np.zeros(rows.width, np.int64), np.zeros(rows.width, np.int64)
    count_signs(rows.stored, signs, plus, minus)
    if not np.any((plus == 0) != (minus == 0)):
        return None
    tops = np.empty(rows.width + 1, np.uint64)
    members = np.empty(int(np.sum(plus) + np.sum(minus)), np.uint64)
    list_columns(rows.stored, signs, plus, minus, tops, members)
    by, columns = np.empty(rows.n, np.uint64), np.empty(rows.width + 1, np.uint64)
    count = peel_pass(rows.stored, signs, plus, minus, tops, members, by, columns)
    return Peeled(rows, signs, tops, members, by, columns[: int(count)])
