"""Read tables in memory as if they were files: data frames, Arrow, dicts of columns.

What a cell means does not depend on where the table comes from: strings are stripped of blanks, and
"?", "NA" and the like are missing, as in files. NaN is also missing, as in pandas.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.data.encode.labels import check_label_count, encode_labels
from widemargin.data.readers.chunk import Chunk, Labels
from widemargin.data.readers.columns import (
    ChosenColumns,
    Column,
    TableSchema,
    choose,
    find_column,
    lacking_columns,
)
from widemargin.data.readers.conversions import as_kind, decoded, kind_of, refuse_dates
from widemargin.data.readers.files import ReadOptions
from widemargin.data.readers.parser import SCHEMA_KEY, clean
from widemargin.data.readers.weights import take_weights
from widemargin.errors import DataError

#: The name of a table in memory in error messages.
_SOURCE = "X"
_WANTED = (
    "a pandas or Polars data frame, an Arrow table, a dict of columns, an array with two"
    " dimensions, or the path of a file"
)


def is_frame(X: Any) -> bool:
    """Whether this is a table with named columns."""
    if isinstance(X, Mapping):
        return not hasattr(X, "tocsr")  # a scipy matrix may be a dict of its cells
    if hasattr(X, "iloc"):
        return hasattr(X, "columns")
    arrow = hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_arrow")  # the latter: Polars < 1.3
    return arrow and not _is_column(X)


def _is_column(X: Any) -> bool:
    """Whether this is a single column of a data frame or an Arrow table."""
    return hasattr(X, "to_frame") or hasattr(X, "dictionary_encode")


def arrow_table(X: Any) -> Any:
    """A data frame, dict of columns or Arrow table as an Arrow table with distinct names.

    Examples
    --------
    >>> arrow_table({"size": [1.5, None], "kind": ["cat", "dog"]}).column_names
    ['size', 'kind']
    """
    import pyarrow as pa

    if not is_frame(X):
        raise not_a_table(X)
    if isinstance(X, Mapping):
        named = list(X.items())
    elif hasattr(X, "iloc"):
        named = [(name, X.iloc[:, i]) for i, name in enumerate(X.columns)]
    else:
        table = pa.table(X) if hasattr(X, "__arrow_c_stream__") else X.to_arrow()
        named = list(zip(table.column_names, table.columns, strict=True))
    names = [str(name) for name, _ in named]
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise DataError(f"two columns are called {twice[0]!r}")
    columns = [_arrow_column(str(name), cells) for name, cells in named]
    lengths = {len(column): name for name, column in zip(names, columns, strict=True)}
    if len(lengths) > 1:
        told = " and ".join(f"{name!r} has {n:,} rows" for n, name in sorted(lengths.items())[:2])
        raise DataError(f"the columns have different lengths: {told}")
    return pa.table(dict(zip(names, columns, strict=True)))


def not_a_table(X: Any) -> DataError:
    """The error that says what to pass instead."""
    kind = type(X).__name__
    found = f"a single column ({kind})" if _is_column(X) else f"an object of type {kind}"
    return DataError(f"found {found}, where a table is needed; pass {_WANTED}")


def _arrow_column(name: str, cells: Any) -> Any:
    import pyarrow as pa

    if isinstance(cells, (pa.Array, pa.ChunkedArray)):
        return cells
    if hasattr(cells, "to_arrow"):
        return cells.to_arrow()
    if isinstance(cells, (str, bytes)) or not hasattr(cells, "__len__"):
        raise DataError(f"column {name!r} is {cells!r}, not a sequence of cells")
    try:
        return pa.array(cells, from_pandas=True)
    except OverflowError:
        raise DataError(
            f"column {name!r} holds a whole number of more than 64 bits: make it a float"
        ) from None
    except UnicodeEncodeError:
        raise DataError(f"column {name!r} holds half of a surrogate pair") from None
    except (pa.ArrowException, TypeError, ValueError):
        found = list(dict.fromkeys(type(cell).__name__ for cell in cells if cell is not None))
        raise DataError(
            f"column {name!r} holds values of the types {', '.join(found[:5])}:"
            " make all of them numbers, or all of them strings"
        ) from None


def column_of_strings(X: Any) -> str | None:
    """The first column of a table that holds strings; None if there is none, or no table."""
    fields = arrow_table(X).schema if is_frame(X) else []
    strings = [field.name for field in fields if kind_of(field.name, field.type) == "category"]
    return strings[0] if strings else None


class Frame:
    """A table in memory that is read like files: `chunks` yields all of it at once.

    Parameters
    ----------
    X : data frame, Arrow table or dict of columns
        The table.
    y : array, optional
        The labels, if they are not in the label column of the options.
    options : ReadOptions
        How to read it; without a schema, the types of the columns decide what they hold.
    """

    #: The number of chunks, and the names of the sources, as for files.
    expected_chunks, paths = 1, (_SOURCE,)

    def __init__(self, X: Any, y: Any, options: ReadOptions) -> None:
        self.options = options
        self._table, self._labels = arrow_table(X), y
        self._names = tuple(self._table.column_names)
        self._label: str | None = None
        self._weights: np.ndarray | None = None
        if options.table.weight is not None and options.table.need_label:
            self._take_weights(options.table.weight)
        if y is not None:
            self._label = self._name_of(y)
            check_label_count(self._table.num_rows, len(y))
        elif options.table.need_label:
            self._label, self._labels = self._take_labels()

    def chunks(self) -> Iterator[Chunk]:
        """The rows of the table."""
        n = self._table.num_rows
        if not n:
            return
        labels = None
        if self._labels is not None:
            labels = Labels(*encode_labels(self._labels))
        schema = self.options.table.schema or self._find_schema(labels)
        table = conform(self._table, schema, self.options.table.missing_values)
        yield Chunk(table, n, labels, self._weights, _SOURCE, np.arange(n))

    def _name_of(self, y: Any) -> str | None:
        """The name of labels that are passed separately from the table."""
        names, label = self._table.column_names, self.options.table.label
        if isinstance(label, str):
            return label
        if label is not None:
            raise ValueError(f"label={label} has no effect if y is given: name the column instead")
        name = getattr(y, "name", None)
        if name in names:
            raise DataError(
                f"column {name!r} of X has the same name as the labels y: pass y={name!r} if it"
                " holds them, or drop it"
            )
        return name if isinstance(name, str) else None

    def _take_labels(self) -> tuple[str, np.ndarray]:
        """The name of the label column and its content; strings are cleaned as in files."""
        import pyarrow as pa
        import pyarrow.compute as pc

        options = self.options.table
        column = options.schema.label if options.label is None and options.schema else options.label
        if column is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: give the labels, or the name"
                " of their column"
            )
        name = find_column(column, self._table.column_names, _SOURCE)
        cells = decoded(self._table[name])
        if kind_of(name, cells.type) == "category":
            cells = clean(cells.cast(pa.string()), frozenset(options.missing_values))
        if cells.null_count:
            row = pc.index(pc.is_null(cells), True).as_py()
            raise DataError(f"row {row}: the label is missing in column {name!r}")
        labels = cells.to_numpy(zero_copy_only=False)
        return name, labels.astype(str) if labels.dtype.kind == "O" else labels

    def _take_weights(self, column: str | int) -> None:
        """Take the weight column out of the table."""
        names = self._table.column_names
        if self.options.table.schema is not None and column not in names:
            return
        name = find_column(column, names, _SOURCE)
        if kind_of(name, self._table.schema.field(name).type) != "number":
            raise DataError(f"the weight column {name!r} does not hold numbers")
        self._table, self._weights = take_weights(self._table, name, lambda row: f"row {row}")

    def _find_schema(self, labels: Labels | None) -> TableSchema:
        """Which columns are used, and what they hold."""
        table, options = self._table, self.options.table
        labelled = self._label in self._names
        if labelled:
            options = replace(options, label=self._label)
        if self._weights is None:
            options = replace(options, weight=None)
        choice = choose(self._names, options, _SOURCE, labelled=labelled)
        used = [name for name in choice.features if name != choice.weight]
        kinds = {name: _kind_for(table, name, choice) for name in used}
        refuse_dates(table, kinds, choice.categories, frozenset(options.missing_values))
        columns = tuple(Column(name, kind) for name, kind in kinds.items())
        numbers = labels is not None and labels.values.dtype.kind in "iuf"
        return TableSchema(columns, self._label, "whole" if numbers else "string")


def _kind_for(table: Any, name: str, choice: ChosenColumns) -> str:
    from pyarrow import types

    found = table.schema.field(name).type
    if name in choice.text:
        return "text"
    if name in choice.categories:
        return "category"
    kind = kind_of(name, found)
    return "category" if kind == "number" and types.is_dictionary(found) else kind


def conform(table: Any, schema: TableSchema, missing: Sequence[str]) -> Any:
    """The columns of a schema, found by name, in the types that a reader of files yields.

    Where needed, whole numbers become categories of the same digits, 0 and 1 become booleans, and
    booleans become 0 and 1. Other columns of the table are left out.
    """
    import pyarrow as pa

    lacking = [column.name for column in schema.columns if column.name not in table.column_names]
    if lacking:
        raise lacking_columns(lacking, table.column_names, _SOURCE, schema)
    columns = {
        name: as_kind(name, table[name], kind, frozenset(missing)) for name, kind in schema.columns
    }
    described = json.dumps(schema.describe()).encode()
    return pa.table(columns).replace_schema_metadata({SCHEMA_KEY: described})
