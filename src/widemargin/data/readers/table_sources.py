"""Open what users pass as a table: files, tables with named columns, and arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.readers.frames import Frame, is_frame, not_a_table
from widemargin.data.readers.sources import are_paths
from widemargin.errors import DataError


def in_memory(X: Any) -> bool:
    """Whether a table is in memory rather than in files."""
    return is_frame(X) or not are_paths(X)


def open_table(X: Any, y: Any, options: ReadOptions, width: int | None = None) -> Files | Frame:
    """Open a table, from files or in memory, for reading in chunks.

    Parameters
    ----------
    X : data frame, Arrow table, dict of columns, array of shape (n, d), path or list of paths
        The table. The columns of an array are called x0, x1 and so on.
    y : array, str or None
        The labels; if they are in a column of the table, None or the name of that column.
    options : ReadOptions
        How to read it.
    width : int, optional
        The number of columns that an array must have.
    """
    named = y is None or isinstance(y, str)
    if in_memory(X):
        columns = X if is_frame(X) else columns_of(X)
        if columns is not X and width not in (None, len(columns)):
            raise DataError(
                f"X has {len(columns)} features, but TableClassifier is expecting {width} features"
                " as input"
            )
        return Frame(columns, None if named else y, options)
    if not named:
        raise DataError("the labels of a file are in one of its columns: give its name as y")
    return Files(X, options)


def columns_of(X: Any) -> dict[str, np.ndarray]:
    """The columns of an array, or of a list of rows, by the names x0, x1 and so on.

    Examples
    --------
    >>> columns_of([[1, 2], [3, 4]])
    {'x0': array([1, 3]), 'x1': array([2, 4])}
    """
    if hasattr(X, "tocsr"):
        raise TypeError(
            "sparse data was passed, but a table is dense: pass the file or data frame itself,"
            " use X.toarray(), or give the matrix to a learner such as Perceptron"
        )
    if not hasattr(X, "__array__") and not isinstance(X, Sequence):
        raise not_a_table(X)
    try:
        array = np.asarray(X)
    except ValueError:
        raise not_a_table(X) from None
    if isinstance(X, np.ndarray) and array.ndim == 1 and array.dtype.kind in "biuf":
        raise DataError(
            "found one row or one column of numbers, where a table is needed. Reshape your data:"
            " X.reshape(1, -1) is one row, X.reshape(-1, 1) is one column"
        )
    if array.ndim != 2:
        raise not_a_table(X)
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: pass real and imaginary parts as columns")
    if not array.shape[1]:
        raise DataError(
            f"found 0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
        )
    return {f"x{j}": column for j, column in enumerate(array.T)}


def one_row(x: Any) -> Any:
    """One example as a table: a dict from column to cell, or a row of a pandas data frame.

    Examples
    --------
    >>> one_row({"size": 3.5, "kind": "cat"})
    {'size': [3.5], 'kind': ['cat']}
    """
    if hasattr(x, "iloc") and not hasattr(x, "columns"):
        x = x.to_dict()
    if isinstance(x, Mapping) and not any(_is_sequence(cell) for cell in x.values()):
        return {name: [cell] for name, cell in x.items()}
    return x


def _is_sequence(cell: Any) -> bool:
    return hasattr(cell, "__len__") and not isinstance(cell, (str, bytes))
