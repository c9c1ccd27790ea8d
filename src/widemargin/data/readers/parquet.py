"""Parquet: typed columns, in batches of rows. The types determine which columns can be features."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np

from widemargin.data.readers.blocks import RecordBlock, RecordReader, Row
from widemargin.data.readers.cell_values import check_value
from widemargin.data.readers.columns import (
    CellError,
    ChosenColumns,
    TableOptions,
    kind_of_type,
)
from widemargin.data.readers.conversions import as_kind, refuse_dates
from widemargin.errors import DataError
from widemargin.stores.addresses import open_file, shown


class Parquet(RecordReader):
    """A Parquet file; its rows are counted from 1, as lines are."""

    typed = True
    header = True

    def __init__(self, stream: BinaryIO | str | os.PathLike[str], source: str, opts: TableOptions):
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.source = source
        self.missing = frozenset(opts.missing_values)
        self._converts = opts.converts
        self._categories: frozenset[str] = frozenset()  # even if they hold numbers
        self._groups = opts.row_groups
        if not isinstance(stream, (str, os.PathLike)) and not stream.seekable():
            raise DataError(f"{source}: Parquet cannot be read from a pipe; give a file")
        try:
            self._file = pq.ParquetFile(stream)
            names = self._file.schema_arrow.names
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise DataError(
                f"{source}: not a Parquet file, or damaged ({_first_line(error)})"
            ) from None
        twice = [name for i, name in enumerate(names) if name in names[:i]]
        if twice:
            raise DataError(f"{source}: two columns are called {twice[0]!r}")
        self.names = names

    def blocks(self, size: int, choice: ChosenColumns) -> Iterator[RecordBlock]:
        """Batches of about `size` bytes, of the columns that are used."""
        about = self._file.metadata
        total = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        rows = max(1, int(size / max(1.0, total / max(1, about.num_rows))))
        columns = [*choice.features, *([choice.label] if choice.label is not None else [])]
        chosen = range(about.num_row_groups) if self._groups is None else self._groups
        size = min(rows, 1 << 20)
        for group in _neighbours(chosen):
            first = 1 + sum(about.row_group(i).num_rows for i in range(group[0]))
            yield from self._batches(size, columns, group, first)

    def _batches(
        self, size: int, columns: list[str], groups: list[int], first: int
    ) -> Iterator[RecordBlock]:
        """Batches of consecutive row groups; `first` is the number of their first row."""
        import pyarrow as pa

        batches = self._file.iter_batches(batch_size=size, columns=columns, row_groups=groups)
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise DataError(
                    f"{self.source}: damaged near row {first} ({_first_line(error)})"
                ) from None
            if batch is None:
                return
            places = np.arange(batch.num_rows)
            yield RecordBlock(self._plain(pa.Table.from_batches([batch])), places, places + first)
            first += batch.num_rows

    def _plain(self, table: Any) -> Any:
        """The same table in float64, integers, boolean and string."""
        import pyarrow as pa

        fields = []
        for field in table.schema:
            kind = kind_of_type(field.name, field.type)
            plain = {"boolean": pa.bool_(), "category": pa.string()}.get(kind, pa.float64())
            if pa.types.is_integer(field.type):
                plain = field.type
            fields.append((field.name, plain))
        return table.cast(pa.schema(fields), safe=False)

    def infer(
        self, block: RecordBlock | None, choice: ChosenColumns
    ) -> tuple[dict[str, str], list[Any]]:
        """What the columns hold, and the first labels."""
        types = self._file.schema_arrow
        declared = _pandas_categoricals(types)
        asked: set[str] = set()
        kinds = {}
        try:
            for name in choice.features:
                found = kinds[name] = kind_of_type(name, types.field(name).type)
                if name in choice.text:
                    kinds[name] = "text"
                elif name in choice.categories or name in declared:
                    kinds[name] = "category"
                    asked.add(name)
                if found == "boolean" != kinds[name] or (found, kinds[name]) == ("number", "text"):
                    raise CellError(f"column {name!r} holds {found}s, where strings are needed")
            if choice.label is not None:
                kind_of_type(choice.label, types.field(choice.label).type)
        except CellError as bad:
            raise DataError(f"{self.source}: {bad.reason}") from None
        self._categories = frozenset(asked)
        if block is None:
            return kinds, []
        try:
            refuse_dates(block.data, kinds, choice.categories, self.missing)
        except DataError as error:
            raise DataError(f"{self.source}: {error}") from None
        if choice.label is None:
            return kinds, []
        return kinds, block.data[choice.label].unique().to_pylist()

    def read(self, block: RecordBlock, kinds: dict[str, str]) -> Any | None:
        """The columns of a block in their types; None if anything is doubtful."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = block.data.select(list(kinds))
        columns = {}
        for name, kind in kinds.items():
            found = table.schema.field(name).type
            same = kind == kind_of_type(name, found) or (kind, found) == ("text", pa.string())
            try:
                if kind == "label":
                    columns[name] = table[name]
                elif same or self._may_convert(name):
                    columns[name] = as_kind(name, table[name], kind, self.missing)
                else:
                    return None
            except DataError:
                return None
        table = pa.table(columns)
        try:
            table.validate(full=True)
        except pa.ArrowException:
            return None
        for name, found in zip(table.column_names, table.schema.types, strict=True):
            if found == pa.string() and pc.any(pc.match_substring(table[name], "\0")).as_py():
                return None
        return table

    def _may_convert(self, name: str) -> bool:
        """Whether the cells of a column may have another type than its kind."""
        return self._converts or name in self._categories

    def _row(
        self, block: RecordBlock, i: int, kinds: dict[str, str], label: str | None
    ) -> Row | str | None:
        place = f"{self.source}:{int(block.lines[i])}: "
        values = {}
        name = ""
        try:
            for name, kind in kinds.items():
                value = block.data[name][i].as_py()
                values[name] = check_value(value, kind, self.missing, self._may_convert(name))
            name = label or ""
            said = block.data[label][i].as_py() if label is not None else None
        except UnicodeDecodeError:
            return f"{place}column {name!r}: bytes that are not UTF-8"
        except CellError as bad:
            return f"{place}column {name!r}: {bad.reason}"
        return Row(int(block.lines[i]), place, said, values)


def _pandas_categoricals(schema: Any) -> frozenset[str]:
    """The columns of integers that were categoricals in pandas.

    Parquet and `pandas.read_parquet` only remember categoricals of strings, but pandas describes
    all of them in the metadata of the file.
    """
    import pyarrow as pa

    try:
        about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        named = {
            column["name"]
            for column in about.get("columns", ())
            if column["pandas_type"] == "categorical"
        }
    except (ValueError, TypeError, KeyError, AttributeError):  # written by something else
        return frozenset()
    return frozenset(f.name for f in schema if f.name in named and pa.types.is_integer(f.type))


def row_group_sizes(path: str) -> list[int]:
    """Bytes of each row group of a file, before compression."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_file(path) as stream:
            about = pq.ParquetFile(stream).metadata
            return [about.row_group(i).total_byte_size for i in range(about.num_row_groups)]
    except pa.ArrowException as error:
        raise DataError(
            f"{shown(path)}: not a Parquet file, or damaged ({_first_line(error)})"
        ) from None


def _neighbours(groups: Iterable[int]) -> list[list[int]]:
    """Group numbers into runs of consecutive ones.

    >>> _neighbours([0, 1, 4, 5, 7])
    [[0, 1], [4, 5], [7]]
    """
    runs: list[list[int]] = []
    for group in groups:
        if runs and runs[-1][-1] == group - 1:
            runs[-1].append(group)
        else:
            runs.append([group])
    return runs


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].rstrip(".")
