"""Typed columns (of data frames, Parquet and JSON lines) as the kind that a model needs.

Where needed, whole numbers become categories of the same digits, 0 and 1 become booleans, and
booleans become 0 and 1. NaN is missing, as in pandas.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from widemargin.data.readers.columns import CellError, dates_among, kind_of_type
from widemargin.data.readers.parser import clean
from widemargin.errors import DataError

#: What the cells of each kind of column are called in error messages.
_CELLS = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "strings",
    "text": "texts",
}


def kind_of(name: str, arrow_type: Any) -> str:
    """The kind of column for an Arrow type. Raises DataError if there is none."""
    try:
        return kind_of_type(name, arrow_type)
    except CellError as bad:
        raise DataError(bad.reason) from None


def refuse_dates(
    table: Any, kinds: Mapping[str, str], declared: Collection[str], missing: frozenset[str]
) -> None:
    """Raise DataError if a column of strings holds dates, unless it was declared a category."""
    import pyarrow as pa

    for name, kind in kinds.items():
        if kind == "category" and name not in declared:
            column = table[name]
            if pa.types.is_dictionary(column.type):
                continue  # declared by whoever made the table
            present = clean(column.cast(pa.string()), missing).drop_null()
            refused = dates_among(present)
            if refused:
                raise DataError(f"column {name!r} holds {refused}")


def decoded(cells: Any) -> Any:
    """One array, with dictionary-encoded values decoded."""
    import pyarrow as pa

    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if isinstance(cells, pa.ChunkedArray):  # no chunks, or several dictionaries
        cells = pa.concat_arrays(cells.chunks) if cells.num_chunks else pa.array([], cells.type)
    dictionary = pa.types.is_dictionary(cells.type)
    return cells.cast(cells.type.value_type) if dictionary else cells


def as_kind(name: str, column: Any, kind: str, missing: frozenset[str]) -> Any:
    """The cells of a column, converted to this kind. Raises DataError.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_kind("code", pa.array([1.0, float("nan")]), "category", frozenset()).to_pylist()
    ['1', None]
    """
    import pyarrow as pa

    cells = decoded(column)
    types = {"number": pa.float64(), "boolean": pa.bool_()}
    if cells.null_count == len(cells):
        return pa.nulls(len(cells), types.get(kind, pa.string()))
    found = kind_of(name, cells.type)
    if kind == "number" and found in ("number", "boolean"):
        return _numbers(name, cells)
    if kind == "boolean" and found == "boolean":
        return cells
    if kind == "boolean" and found == "number":
        return _booleans(name, cells)
    if kind in ("category", "text") and found == "category":
        strings = cells.cast(pa.string())
        return strings if kind == "text" else clean(strings, missing)
    if kind == "category" and found == "number":
        return _digits(name, cells)
    raise DataError(f"column {name!r} holds {_CELLS[found]}, where {_CELLS[kind]} are needed")


def _numbers(name: str, cells: Any) -> Any:
    """Finite float64; NaN becomes null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.uint8())
    numbers = cells.cast(pa.float64(), safe=False)
    finite = pc.is_finite(numbers)
    if pc.all(finite, min_count=0).as_py():
        return numbers
    endless = pc.index(pc.is_inf(numbers), True).as_py()
    if endless >= 0:
        raise DataError(f"row {endless}: column {name!r} is infinite; remove or impute it")
    return pc.if_else(finite, numbers, pa.scalar(None, pa.float64()))


def _booleans(name: str, cells: Any) -> Any:
    """0 and 1 as booleans."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = _numbers(name, cells)
    if not pc.all(pc.is_in(numbers, pa.array([None, 0.0, 1.0]))).as_py():
        raise DataError(
            f"column {name!r} holds numbers other than 0 and 1, where booleans are needed"
        )
    return numbers.cast(pa.bool_())


def _digits(name: str, cells: Any) -> Any:
    """Whole numbers as strings of digits."""
    import pyarrow as pa

    if not pa.types.is_integer(cells.type):
        try:
            cells = _numbers(name, cells).cast(pa.int64())  # raises unless all are whole
        except pa.ArrowInvalid:
            raise DataError(f"column {name!r} holds fractions, where strings are needed") from None
    return cells.cast(pa.string())
