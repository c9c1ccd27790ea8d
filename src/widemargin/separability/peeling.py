"""Takes away the examples that single features settle, and puts them back.

In bags of words most examples hold a word that only one class uses. With a weight large enough that
word puts them on the right side, whatever the other weights are. Without these examples more words
are used by one class only. What is left in the end, often nothing, is as separable as the whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.loops.separability.peeling import count_signs, extend_pass, list_columns, peel_pass


class Peeled(NamedTuple):
    """Which examples were taken away, and by which columns."""

    rows: Rows
    signs: np.ndarray
    tops: np.ndarray  # column j has values in the examples members[tops[j]:tops[j + 1]]
    members: np.ndarray
    by: np.ndarray  # the column that settled each example; for those left, one that is none
    columns: np.ndarray  # in the order in which they settled examples

    @property
    def left(self) -> np.ndarray:
        """The examples that no column settles."""
        return np.flatnonzero(self.by > self.rows.width)

    def core(self) -> tuple[Rows, np.ndarray]:
        """What is left, in the columns that it uses; and these columns."""
        part = self.rows.to_matrix()[self.left]
        used = np.unique(part.indices[part.data != 0.0])
        return Rows.of(part[:, used], bias=self.rows.bias), used

    def extend(self, w: np.ndarray) -> np.ndarray:
        """Weights that also put the examples taken away on the right side.

        Parameters
        ----------
        w : array
            The weights of all columns, the constant one's last: those that separate what is left,
            and zeros elsewhere. They may come out as not finite, if they grow too much.
        """
        w = w.copy()
        with np.errstate(over="ignore", invalid="ignore"):  # interpreted, it would be told
            extend_pass(
                self.rows.stored, self.signs, self.tops, self.members, self.by, self.columns, w
            )
        return w


def peel(rows: Rows, signs: np.ndarray) -> Peeled | None:
    """Take away what single columns settle; None if no column does.

    Parameters
    ----------
    rows : Rows
        Sparse, with each column stored at most once a row.
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
