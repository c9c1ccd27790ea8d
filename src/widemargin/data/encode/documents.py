"""Accepts documents from users: one column of strings in any common container."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from widemargin.errors import DataError

#: Maximum number of column names shown in an error.
_SHOWN = 3


def strings_of(documents: Any) -> Iterable[str]:
    """The strings of a list, an array, a Series, or a frame or table of one column.

    The strings themselves are not checked.

    >>> " ".join(strings_of(np.array([["one"], ["two"]])))
    'one two'
    """
    if isinstance(documents, str | bytes):
        raise _refused("a single string: put it into a list")
    if isinstance(documents, Mapping):
        raise _refused(f"{_kind(documents)}: pass one of its columns")
    if isinstance(documents, AbstractSet):
        raise _refused(f"{_kind(documents)}, which has no order: pass a list")
    if isinstance(documents, np.ndarray):
        return _strings_of_array(documents)
    names = getattr(documents, "column_names", None)  # an Arrow table
    if names is None and len(getattr(documents, "shape", ())) == 2:
        names = getattr(documents, "columns", None)  # a pandas or Polars frame
    column = documents if names is None else _only_column(documents, list(names))
    if hasattr(column, "to_pylist"):  # the items of an Arrow array are not strings
        return column.to_pylist()
    if not isinstance(column, Iterable) or len(getattr(column, "shape", (1,))) != 1:
        raise _refused(f"{_kind(column)}: pass a list, a Series or one column of strings")
    return column


def _strings_of_array(array: np.ndarray) -> Iterable[str]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise _refused(f"an array of shape {array.shape}: pass one column of it")
    if array.dtype.kind not in "OUT":
        raise _refused(f"an array of {array.dtype}: pass strings")
    return array


def _only_column(frame: Any, names: list[Any]) -> Any:
    if len(names) != 1:
        shown = ", ".join([*map(str, names[:_SHOWN]), *(["..."] if len(names) > _SHOWN else [])])
        one = repr(names[0]) if names else "'text'"
        raise _refused(f"{len(names)} columns ({shown}): pass one, such as frame[{one}]")
    return frame[names[0]]


def _kind(found: Any) -> str:
    """The name of a value's type, with an article."""
    name = type(found).__name__
    if found is None:
        return "None"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def not_a_string(position: int, found: Any) -> DataError:
    """The error for a document that is not a string."""
    shown = "" if found is None else f" ({found!r:.40})"
    return DataError(f"document {position}: expected a string, found {_kind(found)}{shown}")


def _refused(found: str) -> DataError:
    return DataError(f"expected a list or one column of documents, found {found}")
