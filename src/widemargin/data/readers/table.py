"""From tables to chunks of columns: CSV, TSV, JSON lines and Parquet, through Arrow.

A file is cut into blocks of whole records; the first blocks determine the type of each column, and
all blocks are parsed accordingly.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, Self

import numpy as np

from widemargin.data.readers.blocks import RecordBlock, Row, cut_blocks
from widemargin.data.readers.cell_values import label_kind
from widemargin.data.readers.chunk import Chunk, Labels, Texts
from widemargin.data.readers.columns import (
    BLANKS,
    FIRST,
    ChosenColumns,
    Column,
    TableOptions,
    TableSchema,
    choose,
    infer_kind,
)
from widemargin.data.readers.delimited import Delimited, find_delimiter
from widemargin.data.readers.formats import TABLES
from widemargin.data.readers.jsonl import JsonLines
from widemargin.data.readers.parquet import Parquet
from widemargin.data.readers.parser import SCHEMA_KEY, BlockParser, clean
from widemargin.data.readers.sources import read_piece
from widemargin.data.readers.weights import take_weights
from widemargin.errors import DataError
from widemargin.markup.words import several
from widemargin.parameters.values import check_choice
from widemargin.threads import map_in_order

#: From this many examples on, labels of which half are distinct are not classes.
_MANY = 1000
#: Size in bytes of the sample that decides the types: the minimum, and about how much is enough.
_SAMPLE, _ENOUGH = 1 << 16, 1 << 22


def read_table(
    stream: BinaryIO | str | os.PathLike[str],
    name: str,
    format: str,
    options: TableOptions | None = None,
    chunk_bytes: int = 1 << 22,
    threads: int = 1,
    live: bool = False,
) -> TableChunks:
    """Read a table in chunks, in memory that does not grow with the file.

    Parameters
    ----------
    stream : binary file, or a path
        The table, not compressed. Parquet needs a path, or a seekable file.
    name : str
        The name of the file in error messages.
    format : "csv", "tsv", "jsonl" or "parquet"
        Cells may be quoted; in TSV only without tabs and line ends, unless `options.quote` decides.
    options : TableOptions
        Which columns to use, and how.
    chunk_bytes : int
        Approximate size of a chunk.
    threads : int
        Number of chunks parsed in parallel; it does not affect the chunks.
    live : bool
        Yield the records of a pipe as soon as they arrive, if `options` has the schema.

    Returns
    -------
    TableChunks
        An iterator over chunks; the `raw` of each is a pyarrow.Table of the features, numbers as
        float64. Types are decided by the first chunk (at most 4 MB of it) and apply to all; a
        column without any value there is taken to hold numbers.

    Examples
    --------
    >>> import io
    >>> chunks = read_table(io.BytesIO(b"size,kind\\n1.5,cat\\n2,dog\\n"), "pets.csv", "csv")
    >>> [(chunk.n, chunk.raw.column_names, chunk.labels.values) for chunk in chunks]
    [(2, ['size'], array(['cat', 'dog'], dtype='<U3'))]
    """
    return TableChunks(stream, name, format, options or TableOptions(), chunk_bytes, threads, live)


class TableChunks:
    """Iterates over the chunks of a table.

    Attributes
    ----------
    schema : TableSchema or None
        What the columns hold; known after the first chunk.
    bad : list of str
        For each line that was skipped, what was wrong with it.
    """

    def __init__(
        self,
        stream: BinaryIO | str | os.PathLike[str],
        source: str,
        format: str,
        options: TableOptions,
        chunk_bytes: int,
        threads: int,
        live: bool,
    ):
        check_choice("format", format, TABLES)
        self.source = source
        self.schema: TableSchema | None = None
        self.bad: list[str] = []
        self._options = options
        # The first record alone does not show what columns hold: that must be known beforehand.
        self._live = live and (options.schema is not None or bool(options.text))
        # Several threads would wait for more blocks before yielding the first.
        self._threads = 1 if self._live else threads
        self._missing = frozenset(options.missing_values)
        self._format: Any
        self._chunks = self._read(stream, format, max(64, chunk_bytes))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Chunk:
        return next(self._chunks)

    def _read(self, stream: Any, format: str, size: int) -> Iterator[Chunk]:
        if format == "parquet":
            yield from self._read_parquet(stream, size)
        elif isinstance(stream, (str, os.PathLike)):
            with open(stream, "rb") as file:
                yield from self._read_lines(file, format, size)
        else:
            yield from self._read_lines(stream, format, size)

    def _read_parquet(self, stream: Any, size: int) -> Iterator[Chunk]:
        self._format = parquet = Parquet(stream, self.source, self._options)
        choice = choose(parquet.names, self._options, self.source)
        parquet.infer(None, choice)  # reject bad types before reading anything
        blocks = parquet.blocks(size, choice)
        first = next(blocks, None)
        if first is not None:
            yield from self._parse_all(choice, first, [first], blocks)
        elif self._options.schema is None:
            raise DataError(f"{self.source}: no examples found")

    def _read_lines(self, stream: Any, format: str, size: int) -> Iterator[Chunk]:
        if format == "jsonl":
            self._format = JsonLines(self.source, self._options, self._live)
        else:
            delimiter = self._options.delimiter or "\t"
            if format == "csv" and self._options.delimiter is None:
                start = read_piece(stream, _SAMPLE, self._live)
                while self._live and b"\n" not in start and (more := stream.read1(_SAMPLE)):
                    start += more
                delimiter, stream = (
                    find_delimiter(start, self._options.decimal),
                    _Again(start, stream),
                )
            self._format = Delimited(self.source, delimiter, format == "csv", self._options)
        blocks = cut_blocks(stream, self.source, size, self._format.records, self._live)
        head, length = [], 0
        for block in blocks:
            head.append(block)
            length += len(block.data)
            if length >= _SAMPLE or (self._live and self._can_begin(head)):
                break
        sample = _join(head)
        if len(sample.data) > _ENOUGH:
            sample = sample.part(0, max(2, int(np.searchsorted(sample.starts, _ENOUGH))))
        if not len(sample.starts):
            if self._options.schema is None:
                raise DataError(f"{self.source}: no examples found")
            return
        without_header = self._format.begin(sample)
        choice = choose(self._format.names, self._options, self.source)
        if without_header is not sample:
            named = next(i for i, block in enumerate(head) if len(block.starts))
            head[named] = head[named].part(1, len(head[named].starts))
        if not len(without_header.starts):
            if self._options.schema is None:
                raise DataError(f"{self.source}: there are no rows, only the names of columns")
            return
        yield from self._parse_all(choice, without_header, head, blocks)

    def _can_begin(self, head: list[RecordBlock]) -> bool:
        """Whether the first records of a pipe name all columns, so that they can be parsed."""
        sample = _join(head)
        if not len(sample.starts):
            return False
        try:
            records = self._format.begin(sample)
            choose(self._format.names, self._options, self.source)
        except DataError:
            return False
        return len(records.starts) > 0

    def _parse_all(
        self,
        choice: ChosenColumns,
        sample: RecordBlock,
        head: list[RecordBlock],
        blocks: Iterator[RecordBlock],
    ) -> Iterator[Chunk]:
        """Decide the types by a sample, then parse all blocks."""
        schema = self.schema = self._find_schema(choice, sample)
        parser = BlockParser(self._format, schema, choice.label, self._options)

        def everything() -> Iterator[RecordBlock]:
            while head:
                yield head.pop(0)
            yield from blocks

        for part in map_in_order(parser.parse, everything(), self._threads):
            for message in part.bad:
                if len(self.bad) >= self._options.skip_bad:
                    raise DataError(message + self._already())
                self.bad.append(message)
            if part.table.num_rows:
                labels = part.labels if choice.label is not None else None
                self._check_classes(choice.label, labels)
                table, weights = part.table, None
                if choice.weight is not None:
                    places = partial(_place, self.source, part.lines)
                    table, weights = take_weights(table, choice.weight, places)
                yield Chunk(table, table.num_rows, labels, weights, self.source, part.lines)

    def _check_classes(self, column: str | None, labels: Labels | None) -> None:
        if labels is None:
            return
        distinct, n = len(labels.values), len(labels.codes)
        if n >= _MANY and 2 * distinct > n:
            raise DataError(
                f"{self.source}: column {column!r} has {distinct:,} different labels in {n:,}"
                " examples; name the column that holds the classes (label)"
            )

    def _already(self) -> str:
        skipped = len(self.bad)
        return f" ({several(skipped, 'bad line')} skipped before)" * (skipped > 0)

    def _find_schema(self, choice: ChosenColumns, sample: RecordBlock) -> TableSchema:
        known = _with_weight(self._options.schema, choice)
        form = self._format
        if known is not None and (choice.label is None or known.label_kind is not None):
            return known
        if isinstance(form, Delimited):
            kinds, labels = _infer_delimited(form, sample, choice)
        else:
            kinds, labels = form.infer(sample, choice)
        missing = self._missing
        labels = [
            label
            for value in labels
            if not isinstance(label := _stripped(value), str) or label not in missing
        ]
        kind = label_kind(labels, form.typed) if choice.label is not None else None
        if known is not None:
            columns = known.columns
        else:
            columns = tuple(Column(name, kinds[name]) for name in choice.features)
        for name, kind_found in columns:
            if name == choice.weight and kind_found != "number":
                raise DataError(f"{self.source}: the weight column {name!r} does not hold numbers")
        width = len(form.names) if isinstance(form, Delimited) else 0
        first = FIRST if known is None else known.first
        return TableSchema(columns, choice.label, kind, form.header, width, first)


def _place(source: str, lines: np.ndarray, row: int) -> str:
    """Where a row is, for an error message."""
    return f"{source}:{lines[row]}"


def _with_weight(schema: TableSchema | None, choice: ChosenColumns) -> TableSchema | None:
    """A known schema plus the weight column, which the schema of a model does not have."""
    if schema is None or choice.weight is None or choice.weight in dict(schema.columns):
        return schema
    return replace(schema, columns=(*schema.columns, Column(choice.weight, "number")))


class _Again:
    """A stream preceded by first bytes that were already read from it."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head, self._stream = head, stream

    def read(self, size: int) -> bytes:
        """Read at most this many bytes."""
        piece, self._head = self._head[:size], self._head[size:]
        return piece or self._stream.read(size)

    def read1(self, size: int) -> bytes:
        """Read what has arrived, at most this many bytes."""
        return self.read(size) if self._head else self._stream.read1(size)


def _stripped(value: Any) -> Any:
    return value.strip(BLANKS) if isinstance(value, str) else value


def _infer_delimited(
    form: Delimited, block: RecordBlock, choice: ChosenColumns
) -> tuple[dict[str, str], list[Any]]:
    """What the columns of CSV hold, and the first labels."""
    import pyarrow as pa

    used = [*choice.features, *([choice.label] if choice.label is not None else [])]
    lines = block.lines
    table = form.read(block, dict.fromkeys(used, "text"))
    if table is None:
        as_text = TableSchema(tuple(Column(name, "text") for name in used))
        rows = [row for row in form.rows(block, as_text, None) if isinstance(row, Row)]
        lines = np.array([row.line for row in rows], np.int64)
        table = pa.table({n: pa.array([row.values[n] for row in rows], pa.string()) for n in used})
    kinds = {}
    for name in choice.features:
        cells = table[name] if name in choice.text else clean(table[name], form.missing)
        kinds[name] = infer_kind(name, cells, choice, form.source, lines, form.decimal)
    labels: list[Any] = []
    if choice.label is not None:
        labels = clean(table[choice.label], form.missing).unique().to_pylist()
    return kinds, labels


def _join(blocks: list[RecordBlock]) -> RecordBlock:
    """Join consecutive blocks of lines."""
    if len(blocks) == 1:
        return blocks[0]
    if not blocks:
        return RecordBlock(b"", np.zeros(0, np.int64), np.zeros(0, np.int64))
    before = np.cumsum([0, *(len(block.data) for block in blocks[:-1])])
    return RecordBlock(
        b"".join(block.data for block in blocks),
        np.concatenate([block.starts + at for block, at in zip(blocks, before, strict=True)]),
        np.concatenate([block.lines for block in blocks]),
        blocks[-1].cut,
    )


def schema_of(table: Any) -> TableSchema | None:
    """The schema that a reader stored in a table, if any."""
    packed = (table.schema.metadata or {}).get(SCHEMA_KEY)
    return None if packed is None else TableSchema.restore(json.loads(packed))


def texts_of_column(table: Any, column: str | list[str] | tuple[str, ...]) -> Texts:
    """Documents in the memory of a column of strings, without copying it.

    A missing text is an empty document. A column in several chunks is combined first; several
    columns are joined, row by row, with a newline in between.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(column, str) and len(column) == 1:
        column = column[0]
    if isinstance(column, str):
        strings = table[column]
    else:
        parts = [pc.fill_null(pc.cast(table[name], pa.large_string()), "") for name in column]
        strings = pc.binary_join_element_wise(*parts, pa.scalar("\n", pa.large_string()))
    if isinstance(strings, pa.ChunkedArray):
        if strings.num_chunks == 1:
            strings = strings.chunk(0)
        else:
            strings = (
                pa.concat_arrays(strings.chunks) if strings.num_chunks else pa.array([], "str")
            )
    if pa.types.is_dictionary(strings.type):
        strings = strings.cast(strings.type.value_type)
    wide = pa.types.is_large_string(strings.type)
    if not wide and not pa.types.is_string(strings.type):
        raise DataError(f"column {column!r} holds {strings.type}, not text")
    _, offsets, content = strings.buffers()
    n = len(strings)
    if n == 0:
        empty = np.zeros(0, np.uint64)
        return Texts(np.zeros(0, np.uint8), empty, empty)
    kind = np.int64 if wide else np.int32
    edges = np.frombuffer(offsets, kind)[strings.offset : strings.offset + n + 1].astype(np.uint64)
    starts, ends = edges[:-1], edges[1:]
    if strings.null_count:
        absent = strings.is_null().to_numpy(zero_copy_only=False)
        ends = np.where(absent, starts, ends)
    buffer = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    return Texts(buffer, starts, ends)
