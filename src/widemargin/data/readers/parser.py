"""From blocks of a table to columns and labels: by Arrow, or line by line where it fails.

A block that Arrow rejects, or that holds anything doubtful, is halved until the remainder is small.
The remainder is read line by line, which finds the exact line and column of an error, or reads what
Arrow cannot.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.readers.blocks import RecordBlock
from widemargin.data.readers.cell_values import parse_label
from widemargin.data.readers.chunk import Labels
from widemargin.data.readers.columns import BLANKS, CellError, TableOptions, TableSchema

#: Blocks with fewer records are not halved again, but read record by record.
_FEW = 64
#: The metadata key of a table under which its schema is stored.
SCHEMA_KEY = b"widemargin"


class ParsedBlock(NamedTuple):
    """The content of a block: rows, and messages about bad lines."""

    table: Any
    labels: Labels
    lines: np.ndarray
    bad: list[str]


class BlockParser:
    """Parses blocks of one file; blocks may be parsed in parallel."""

    def __init__(self, form: Any, schema: TableSchema, label: str | None, options: TableOptions):
        self._form = form
        self._schema = schema
        self._label = label
        self._missing = frozenset(options.missing_values)
        self._needed = options.need_label
        self._most = options.skip_bad + 1
        described = json.dumps(schema.describe()).encode()
        self._metadata = {SCHEMA_KEY: described}

    def parse(self, block: RecordBlock) -> ParsedBlock:
        """The rows of a block, and error messages, up to one more than allowed."""
        part = self._parse(block, self._most)
        table = part.table.combine_chunks().replace_schema_metadata(self._metadata)
        return part._replace(table=table)

    def _parse(self, block: RecordBlock, most: int) -> ParsedBlock:
        part = self._parse_at_once(block)
        if part is not None:
            return part
        n = len(block.starts)
        if n <= _FEW:
            return self._parse_one_by_one(block, most)
        first = self._parse(block.part(0, n // 2), most)
        if len(first.bad) >= most:
            return first
        return _concatenate(first, self._parse(block.part(n // 2, n), most - len(first.bad)))

    def _parse_at_once(self, block: RecordBlock) -> ParsedBlock | None:
        """The rows of a block, read by Arrow, if all of them are good."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kinds = dict(self._schema.columns)
        if self._label is not None:
            kinds[self._label] = "label"
        table = self._form.read(block, kinds)
        if table is None:
            return None
        columns = {}
        for name, kind in self._schema.columns:
            column = table[name]
            if kind == "number" and not pc.all(pc.is_finite(column), min_count=0).as_py():
                return None
            columns[name] = clean(column, self._missing) if kind == "category" else column
        labels = _NO_LABELS
        if self._label is not None:
            found = self._labels(table[self._label])
            if found is None:
                return None
            labels = found
        return ParsedBlock(pa.table(columns), labels, block.lines, [])

    def _labels(self, column: Any) -> Labels | None:
        """The labels of a column, if all of them are good."""
        coded = column.combine_chunks().dictionary_encode()
        values = coded.dictionary.to_pylist()
        codes = coded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        if coded.null_count:
            values.append(None)
        try:
            return _number_labels([self._read_label(value) for value in values], codes)
        except CellError:
            return None

    def _read_label(self, value: Any) -> int | str | None:
        kind = self._schema.label_kind or "string"
        return parse_label(value, kind, self._missing, self._needed)

    def _parse_one_by_one(self, block: RecordBlock, most: int) -> ParsedBlock:
        """The rows of a block in plain Python, which finds what is wrong and where."""
        import pyarrow as pa

        rows, labels, bad = [], [], []
        for row in self._form.rows(block, self._schema, self._label):
            if isinstance(row, str):
                bad.append(row)
            else:
                try:
                    labels.append(self._read_label(row.label) if self._label is not None else None)
                    rows.append(row)
                except CellError as wrong:
                    bad.append(f"{row.label_place}column {self._label!r}: {wrong.reason}")
            if len(bad) >= most:
                break
        types = {"number": pa.float64(), "boolean": pa.bool_()}
        columns = {
            name: pa.array([row.values[name] for row in rows], types.get(kind, pa.string()))
            for name, kind in self._schema.columns
        }
        lines = np.array([row.line for row in rows], np.int64)
        return ParsedBlock(
            pa.table(columns), _number_labels(labels, np.arange(len(labels))), lines, bad
        )


_NO_LABELS = Labels(np.zeros(0, np.int64), np.zeros(0, np.int64))


def _number_labels(values: list[int | str | None], codes: np.ndarray) -> Labels:
    """Number the distinct labels in order of first appearance."""
    number: dict[Any, int] = {}
    own = [-1 if value is None else number.setdefault(value, len(number)) for value in values]
    if not len(codes):
        return _NO_LABELS
    recoded = np.array(own, np.int64)[codes]
    return Labels(np.array(list(number)) if number else _NO_LABELS.values, recoded)


def _concatenate(a: ParsedBlock, b: ParsedBlock) -> ParsedBlock:
    import pyarrow as pa

    labels = _number_labels(
        [*a.labels.values.tolist(), *b.labels.values.tolist(), None],
        np.concatenate(
            [
                np.where(a.labels.codes < 0, -1, a.labels.codes),
                np.where(b.labels.codes < 0, -1, b.labels.codes + len(a.labels.values)),
            ]
        ),
    )
    lines = np.concatenate([a.lines, b.lines])
    return ParsedBlock(pa.concat_tables([a.table, b.table]), labels, lines, a.bad + b.bad)


def clean(column: Any, missing: frozenset[str]) -> Any:
    """Strings stripped of white space, with null for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    stripped = pc.ascii_trim(column, characters=BLANKS)
    absent = pc.is_in(stripped, value_set=pa.array(sorted(missing), pa.string()))
    if not pc.any(absent, min_count=0).as_py():
        return stripped
    return pc.if_else(absent, pa.scalar(None, pa.string()), stripped)
