"""JSON lines: one object per line. Arrow reads them; where it fails, values are parsed here."""

from __future__ import annotations

import json
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from widemargin.data.readers.blocks import RecordBlock, RecordReader, Row, find_lines
from widemargin.data.readers.cell_values import check_value, shown
from widemargin.data.readers.columns import (
    CellError,
    ChosenColumns,
    TableOptions,
    TableSchema,
    infer_kind,
    kind_of_type,
)
from widemargin.data.readers.conversions import as_kind
from widemargin.data.readers.parser import clean
from widemargin.errors import DataError

_SPACE = " \t\r"
#: A line with more brackets than this is not passed to Arrow.
_DEEPEST = 1000


class JsonLines(RecordReader):
    """A table with one object per line: keys are columns, and an absent key is a missing value.

    Keys that are not used are ignored, and so are keys that do not occur in the first chunk, unless
    a model needs them. If all keys that it needs are absent there, this must be another file: they
    are not among the `names`. Blank lines are skipped. If a pipe is `live`, its first records need
    not have the label.
    """

    typed = True
    header = True

    def __init__(self, source: str, options: TableOptions, live: bool = False):
        self.source = source
        self._schema = options.schema
        self._label = _later_label(options) if live else None
        self.missing = frozenset(options.missing_values)
        self._converts = options.converts
        self._categories: frozenset[str] = frozenset()  # requested by the user
        self.names: list[str] = []
        self._types: dict[str, Any] = {}

    def records(self, data: bytes, final: bool) -> tuple[np.ndarray, np.ndarray, int]:
        """Where nonempty lines start, their numbers, and where the last one ends."""
        ends = find_lines(np.frombuffer(data, np.uint8))
        if not len(ends):
            return ends, ends, 0
        starts = np.concatenate([[0], ends[:-1] + 1])
        kept = np.flatnonzero(ends > starts)
        return starts[kept], kept, int(ends[-1]) + 1

    def begin(self, block: RecordBlock) -> RecordBlock:
        """Find the keys and their types."""
        import pyarrow as pa

        table = self._parse(block, None)
        if table is None:
            self._types = self._types_one_by_one(block)
        else:
            self._types = dict(zip(table.column_names, table.schema.types, strict=True))
        self._types = {
            name: pa.string() if pa.types.is_timestamp(found) else found
            for name, found in self._types.items()
        }
        if self._schema is not None:
            self._add_absent(self._schema)
        self.names = list(self._types)
        if not self.names:
            for row in self.rows(block, TableSchema(()), None):
                if isinstance(row, str):
                    raise DataError(row)
        return block

    def _add_absent(self, schema: TableSchema) -> None:
        """The keys that the model needs and that no record has so far, unless all are absent."""
        import pyarrow as pa

        if not any(name in self._types for name, _ in schema.columns):
            return
        types = {"number": pa.float64(), "boolean": pa.bool_()}
        for name, kind in schema.columns:
            self._types.setdefault(name, types.get(kind, pa.string()))
        if self._label is not None:
            whole = schema.label_kind == "whole"
            self._types.setdefault(self._label, pa.int64() if whole else pa.string())

    def _types_one_by_one(self, block: RecordBlock) -> dict[str, Any]:
        """The type of the first value of each key, in a block that Arrow cannot read."""
        import pyarrow as pa

        types: dict[str, Any] = {}
        for i in range(len(block.starts)):
            try:
                pairs = walk_object(_line(block, i))
            except CellError:
                continue
            for key, value, _ in pairs:
                kind = {bool: pa.bool_(), int: pa.float64(), float: pa.float64(), str: pa.string()}
                if value is None:
                    types.setdefault(key, pa.null())
                elif types.get(key, pa.null()) == pa.null():
                    types[key] = kind.get(type(value), pa.list_(pa.null()))
        return types

    def infer(self, block: RecordBlock, choice: ChosenColumns) -> tuple[dict[str, str], list[Any]]:
        """What the columns hold, and the first labels."""
        import pyarrow as pa

        self._categories = choice.categories
        kinds = {}
        for name in choice.features:
            found = self._types[name]
            if name in choice.text or name in choice.categories:
                kinds[name] = "text" if name in choice.text else "category"
            elif pa.types.is_nested(found):
                kinds[name] = "category"  # an error with its line when it is read
            else:
                kinds[name] = kind_of_type(name, found)
        strings = {name: "text" for name, kind in kinds.items() if kind == "category"}
        if choice.label is not None:
            strings[choice.label] = "label"
        table = self.read(block, strings)
        if table is None:
            return kinds, self._labels_one_by_one(block, choice.label)
        for name in strings:
            if name != choice.label and name not in choice.categories:
                cells = clean(table[name], self.missing).combine_chunks()
                kind = infer_kind(name, cells, choice, self.source, block.lines)
                # A string that looks like a number or a boolean is still a string.
                kinds[name] = "category" if kind != "text" else kind
        labels = table[choice.label].unique().to_pylist() if choice.label is not None else []
        return kinds, labels

    def _labels_one_by_one(self, block: RecordBlock, label: str | None) -> list[Any]:
        rows = self.rows(block, TableSchema(()), label)
        return [row.label for row in rows if isinstance(row, Row)]

    def read(self, block: RecordBlock, kinds: dict[str, str]) -> Any | None:
        """The columns of a block, read by Arrow; None if anything is doubtful."""
        import pyarrow as pa

        if not all(map(_is_unicode, kinds)):
            return None
        types = {"number": pa.float64(), "boolean": pa.bool_()}
        fields, others = [], []
        for name, kind in kinds.items():
            found, wanted = self._types[name], types.get(kind, pa.string())
            if kind == "label":
                wanted = found if pa.types.is_primitive(found) else wanted
            elif self._may_convert(name) and _has_other_kind(name, found, kind):
                others.append(name)
                wanted = found
            fields.append((name, wanted))
        table = self._parse(block, pa.schema(fields))
        if table is None:
            return None
        try:
            for name in others:
                cells = as_kind(name, table[name], kinds[name], self.missing)
                table = table.set_column(table.column_names.index(name), name, cells)
        except DataError:
            return None
        return table

    def _may_convert(self, name: str) -> bool:
        """Whether the cells of a column may have another type than its kind."""
        return self._converts or name in self._categories

    def _parse(self, block: RecordBlock, schema: Any) -> Any | None:
        import pyarrow as pa
        from pyarrow import json as arrow_json

        data, starts = block.data, block.starts
        if not len(starts) or not _lines_are_objects(data, starts):
            return None
        if b"\0" in data or b"\\u0000" in data or _may_be_deep(data, starts):
            return None
        if not _is_utf8(data):
            return None
        try:
            table = arrow_json.read_json(
                pa.BufferReader(data),
                read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=schema,
                    unexpected_field_behavior="infer" if schema is None else "ignore",
                ),
            )
        except pa.ArrowException:
            return None
        return table if table.num_rows == len(starts) else None

    def _row(
        self, block: RecordBlock, i: int, kinds: dict[str, str], label: str | None
    ) -> Row | str | None:
        line = int(block.lines[i])
        place, said, values = f"{self.source}:{line}: ", None, dict.fromkeys(kinds)
        text = block.data[block.starts[i] : block.data.index(b"\n", block.starts[i])]
        if not text.strip():
            return None
        try:
            for key, value, at in walk_object(_line(block, i)):
                if key == label:
                    place, said = f"{self.source}:{line}:{at + 1}: ", value
                elif key in kinds:
                    try:
                        values[key] = check_value(
                            value, kinds[key], self.missing, self._may_convert(key)
                        )
                    except CellError as bad:
                        raise CellError(f"key {key!r}: {bad.reason}", at) from None
        except CellError as bad:
            column = "" if bad.at is None else f"{bad.at + 1}:"
            cut = block.cut and i == len(block.starts) - 1
            hint = " (the last line is cut short?)" if cut else ""
            return f"{self.source}:{line}:{column} {bad.reason}{hint}"
        return Row(line, place, said, values)


def _later_label(options: TableOptions) -> str | None:
    """The key of the labels, if it is known, and may be absent."""
    known = options.schema.label if options.schema is not None else None
    label = known if options.label is None else options.label
    return label if isinstance(label, str) and not options.need_label else None


def _has_other_kind(name: str, arrow_type: Any, kind: str) -> bool:
    """Whether these are numbers or booleans where another kind of column is needed."""
    import pyarrow as pa

    return pa.types.is_primitive(arrow_type) and kind_of_type(name, arrow_type) != kind


def _lines_are_objects(data: bytes, starts: np.ndarray) -> bool:
    """Whether every line begins with { and ends with }.

    Then, and if there are as many objects as lines, each line is one object. (Arrow also reads
    objects that span lines, and crashes if the first line is null.)
    """
    content = np.frombuffer(data, np.uint8)
    if np.any(content[starts] != ord("{")):
        return False
    ends = np.append(starts[1:], len(data)) - 1  # the newline, or the last of some blank lines
    last = content[ends - 1]
    for character in b"\n\r":
        while np.any(blank := last == character):
            ends = ends - blank
            last = content[ends - 1]
    return bool(np.all(last == ord("}")))


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8, which Arrow's JSON reader does not check."""
    import pyarrow as pa

    if data.isascii():
        return True
    edges = pa.py_buffer(np.array([0, len(data)], np.int64))
    whole = pa.Array.from_buffers(pa.large_string(), 1, [None, edges, pa.py_buffer(data)])
    try:
        whole.validate(full=True)
    except pa.ArrowException:
        return False
    return True


def _may_be_deep(data: bytes, starts: np.ndarray) -> bool:
    """Whether a line has so many brackets that Arrow, which recurses, could run out of stack."""
    if data.count(b"[") + data.count(b"{") <= len(starts) + _DEEPEST:
        return False
    opening = np.frombuffer(data, np.uint8) | np.uint8(0x20) == ord("{")  # a [ becomes a {
    return bool(np.any(np.add.reduceat(opening, starts, dtype=np.int64) > _DEEPEST))


def _line(block: RecordBlock, i: int) -> str:
    """A line as text. Raises CellError."""
    start = int(block.starts[i])
    line = block.data[start : block.data.index(b"\n", start)]
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        at = len(line[: error.start].decode())
        wrong = f"the byte 0x{line[error.start]:02x} is not UTF-8"
        raise CellError(f"{wrong}; give the encoding (latin-1, perhaps)", at) from None
    if "\0" in text:
        raise CellError("a NUL byte; is this text in UTF-8?", text.index("\0"))
    return text


def _read_constant(word: str) -> float:
    """NaN, which is missing; infinity is an error."""
    if word == "NaN":
        return float("nan")
    raise CellError(f"{word} is not a finite number")


def _read_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise CellError(f"{shown(text)} is too large for a number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_read_constant, parse_float=_read_float)


def walk_object(text: str) -> list[tuple[str, Any, int]]:
    """The keys and values of the object in a line, and the position of each value.

    Raises CellError, with the position (from 0) of the error.
    """
    pairs: list[tuple[str, Any, int]] = []
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise CellError("expected an object: {...}", at)
    at = _skip(text, at + 1)
    seen: set[str] = set()
    while not (text[at : at + 1] == "}" and not pairs):
        if text[at : at + 1] != '"':
            raise CellError('expected a key in double quotes, or "}"', at)
        key, end = _decode(text, at, lambda at: scanstring(text, at + 1, True))
        if not _is_unicode(key):
            raise CellError(f"key {key!r}: half of a surrogate pair", at)
        if key in seen:
            raise CellError(f"key {key!r} occurs twice", at)
        seen.add(key)
        at = _skip(text, end)
        if text[at : at + 1] != ":":
            raise CellError(f"expected a colon after the key {key!r}", at)
        at = _skip(text, at + 1)
        value, end = _decode(text, at, lambda at: _DECODER.raw_decode(text, at), key)
        if isinstance(value, str) and not _is_unicode(value):
            raise CellError(f"key {key!r}: half of a surrogate pair", at)
        pairs.append((key, value, at))
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
            if text[at : at + 1] == "}":
                raise CellError("a comma before the closing brace", at)
        elif text[at : at + 1] != "}":
            raise CellError('expected "," or "}"', at)
        else:
            break
    at = _skip(text, at + 1)
    if at < len(text):
        raise CellError(f"more after the object: {shown(text[at:], 20)}", at)
    return pairs


def _decode(text: str, at: int, decode: Any, key: str | None = None) -> Any:
    """A string or value, and where it ends. Raises CellError with the position."""
    try:
        return decode(at)
    except json.JSONDecodeError as error:
        reason = error.msg[0].lower() + error.msg[1:]
        raise CellError(f"not JSON: {reason}", error.pos) from None
    except CellError as bad:
        raise CellError(f"key {key!r}: {bad.reason}", at) from None
    except RecursionError:
        raise CellError("not JSON: nested too deeply", at) from None
    except ValueError:  # more digits than Python's limit
        raise CellError(f"key {key!r}: a number with too many digits", at) from None


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
