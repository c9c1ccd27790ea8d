"""Several labels per row: an indicator matrix, or a collection of labels for every row.

As in scikit-learn, a list of lists of numbers is an indicator matrix if all of them have the same
length; other lists hold labels. Sets always hold labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.encode.labels import codes_of, encode_labels
from widemargin.errors import DataError
from widemargin.parameters.values import check_choice

_SETS: dict[str, Any] = {kind.__name__: kind for kind in (set, frozenset)}
_ROWS: dict[str, Any] = {**_SETS, "list": list, "tuple": tuple}
_MATRICES = ("array", "csr_matrix", "csr_array")


class Kind(NamedTuple):
    """The form in which labels are given and predictions are returned.

    Attributes
    ----------
    form : {"array", "csr_matrix", "csr_array", "list", "tuple", "set", "frozenset"}
        An indicator matrix of this type, or a list of rows of this type.
    dtype : str
        The type of the numbers of an indicator matrix.
    """

    form: str
    dtype: str = "<i8"

    @property
    def has_columns(self) -> bool:
        """Whether labels are the columns of a matrix rather than names."""
        return self.form not in _ROWS

    @classmethod
    def of(cls, given: Any) -> Kind:
        """The kind in a file's description."""
        kind = cls(*given)
        check_choice("kind", kind.form, (*_ROWS, *_MATRICES))
        if not isinstance(kind.dtype, str) or np.dtype(kind.dtype).kind not in "iub":
            raise ValueError(f"an indicator matrix of {kind.dtype!r:.20}")
        return kind

    def give_back(self, found: np.ndarray, classes: np.ndarray) -> Any:
        """Boolean predictions of shape (n, labels), converted to this form."""
        if not self.has_columns:
            names, make = classes.tolist(), _ROWS[self.form]
            return [make(names[j] for j in np.flatnonzero(row)) for row in found]
        if self.form == "array":
            return found.astype(self.dtype)
        import scipy.sparse

        return getattr(scipy.sparse, self.form)(found.astype(self.dtype))


@dataclass(frozen=True)
class LabelSets:
    """The labels of every row.

    Attributes
    ----------
    kind : Kind
        How they were given.
    classes : array
        The labels that occur, sorted; for a matrix, the numbers of its columns.
    n : int
        Number of rows.
    rows, codes : arrays
        Row rows[i] has the label classes[codes[i]]; ordered by label.
    """

    kind: Kind
    classes: np.ndarray
    n: int
    rows: np.ndarray
    codes: np.ndarray

    def column(self, code: int) -> np.ndarray:
        """1 for the rows that have a label, 0 for the others."""
        first, after = np.searchsorted(self.codes, (code, code + 1))
        found = np.zeros(self.n, np.int64)
        found[self.rows[first:after]] = 1
        return found

    def matrix(self) -> np.ndarray:
        """The indicator matrix, as bool."""
        found = np.zeros((self.n, len(self.classes)), bool)
        found[self.rows, self.codes] = True
        return found

    def among(self, classes: np.ndarray) -> LabelSets:
        """The same rows with only those labels that are among these classes."""
        if self.kind.has_columns:
            if len(self.classes) != len(classes):
                raise DataError(
                    f"y has {len(self.classes)} columns, but the model has {len(classes)} labels"
                )
            return self
        places = codes_of(self.classes, classes) if len(self.classes) else np.zeros(0, np.int64)
        codes = places[self.codes]
        known = codes >= 0
        return replace(self, classes=classes, rows=self.rows[known], codes=codes[known])


def read_label_sets(y: Any) -> LabelSets | None:
    """Read multilabel targets; None if y has one label per row."""
    if hasattr(y, "tocsr"):
        form = "csr_array" if type(y).__name__.endswith("_array") else "csr_matrix"
        return _of_matrix(y.tocoo(), form)
    if hasattr(y, "__array__") or hasattr(y, "dtype"):
        if getattr(y, "ndim", 2) == 1 and getattr(y.dtype, "kind", "") != "O":
            return None
        y = np.asarray(y)
        if y.ndim == 2:
            return _of_array(y) if y.shape[1] > 1 else None
        if y.ndim != 1 or y.dtype.kind != "O" or not len(y) or isinstance(y[0], str):
            return None
        y = y.tolist()
    if not isinstance(y, (list, tuple)) or not len(y):
        return None
    first = y[0].tolist() if isinstance(y[0], np.ndarray) else y[0]
    if not isinstance(first, tuple(_ROWS.values())):
        return None
    kind = next(name for name, made in _ROWS.items() if isinstance(first, made))
    if kind not in _SETS:
        lengths = {len(row) if hasattr(row, "__len__") else -1 for row in y}
        if lengths == {1}:
            return None
        if len(lengths) == 1 and not any(isinstance(cell, str) for row in y for cell in row):
            return _of_array(np.asarray(y))
    return _of_names(y, Kind(kind))


def _of_array(y: np.ndarray) -> LabelSets:
    if y.dtype.kind not in "biuf":
        raise DataError(
            "y has several columns of values other than 0 and 1: pass a list of sets of labels"
        )
    strange = y[(y != 0) & (y != 1)]
    if len(strange):
        raise DataError(
            f"y has {y.shape[1]} columns with values such as {strange[0]}: to give several labels"
            " per row, pass one column of 0 and 1 per label, or a list of sets of labels"
        )
    kept = y.dtype if y.dtype.kind in "iub" else np.dtype(np.int64)
    codes, rows = np.nonzero(y.T)
    return LabelSets(Kind("array", kept.str), np.arange(y.shape[1]), len(y), rows, codes)


def _of_matrix(y: Any, form: str) -> LabelSets:
    if len(y.data) and not np.all((y.data == 0) | (y.data == 1)):
        strange = y.data[(y.data != 0) & (y.data != 1)][0]
        raise DataError(f"y has values such as {strange}; an indicator matrix holds only 0 and 1")
    kept = y.dtype if y.dtype.kind in "iub" else np.dtype(np.int64)
    there = y.data != 0
    order = np.lexsort((y.row[there], y.col[there]))
    rows, codes = y.row[there][order].astype(np.int64), y.col[there][order].astype(np.int64)
    return LabelSets(Kind(form, kept.str), np.arange(y.shape[1]), y.shape[0], rows, codes)


def _of_names(y: Sequence[Any], kind: Kind) -> LabelSets:
    for i, row in enumerate(y):
        if isinstance(row, str) or not hasattr(row, "__iter__"):
            raise DataError(
                f"row {i} of y is {row!r}, not a {kind.form}: pass a collection of labels, which"
                " may be empty, for every row"
            )
    sizes = [len(row) for row in y]
    names = list(chain.from_iterable(y))
    if not names:
        return LabelSets(kind, np.zeros(0, np.int64), len(y), *np.zeros((2, 0), np.int64))
    # As objects, because an array would turn all labels into strings if one is a string.
    mixed = len({isinstance(name, str) for name in names}) > 1
    classes, codes = encode_labels(np.array(names, dtype=object) if mixed else names)
    rows = np.repeat(np.arange(len(y)), sizes)
    order = np.lexsort((rows, codes))
    return LabelSets(kind, classes, len(y), rows[order], codes[order])
