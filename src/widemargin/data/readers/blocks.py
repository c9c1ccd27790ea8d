"""Cuts a file of lines into blocks of whole records, for all table readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from widemargin.data.readers.columns import TableSchema
from widemargin.data.readers.sources import read_piece
from widemargin.errors import DataError

#: Maximum size of a single record (with an unclosed quote it would be the whole file).
_LONGEST = 1 << 26


class RecordBlock(NamedTuple):
    """Consecutive records: record i starts at starts[i], on line lines[i].

    The data are bytes that end with a newline, or a pyarrow.Table.
    """

    data: Any
    starts: np.ndarray
    lines: np.ndarray
    cut: bool = False  # whether the file ends here, without a newline

    def part(self, first: int, last: int) -> RecordBlock:
        """Some of the records."""
        starts, lines = self.starts[first:last], self.lines[first:last]
        if not isinstance(self.data, bytes):
            return RecordBlock(self.data.slice(first, last - first), starts, lines)
        whole = last >= len(self.starts)
        begin = int(starts[0]) if len(starts) else len(self.data)
        end = len(self.data) if whole else int(self.starts[last])
        return RecordBlock(self.data[begin:end], starts - begin, lines, self.cut and whole)


class Row(NamedTuple):
    """A single record: its line, the prefix of an error about its label, and its values."""

    line: int
    label_place: str
    label: Any
    values: dict[str, Any]


class RecordReader:
    """A format whose records can be read one by one, to report what is wrong with them."""

    def rows(
        self, block: RecordBlock, schema: TableSchema, label: str | None
    ) -> Iterator[Row | str]:
        """The rows of a block one by one, as values or as an error message."""
        kinds = dict(schema.columns)
        for i in range(len(block.starts)):
            row = self._row(block, i, kinds, label)
            if row is not None:
                yield row

    def _row(
        self, block: RecordBlock, i: int, kinds: dict[str, str], label: str | None
    ) -> Row | str | None:
        """One row, or an error message; None for a blank line."""
        raise NotImplementedError


#: Takes bytes, and whether they are the last; returns where records start, their lines within
#: these bytes (from 0), and where the last whole record ends.
FindRecords = Callable[[bytes, bool], tuple[np.ndarray, np.ndarray, int]]


def cut_blocks(
    stream: BinaryIO, source: str, size: int, find_records: FindRecords, live: bool = False
) -> Iterator[RecordBlock]:
    """Read a stream in blocks of whole records, of about `size` bytes.

    For a `live` stream, a block is whatever has arrived so far.
    """
    rest, line = b"", 1
    first, final = True, False
    while not final:
        piece = read_piece(stream, size, live)
        final = not piece if live else len(piece) < size
        data = rest + piece if rest else piece
        if first:
            first = False
            if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise DataError(
                    f"{source}:1: the text is UTF-16; give the encoding (--encoding utf-16), or"
                    " convert the file"
                )
            data = data.removeprefix(b"\xef\xbb\xbf")
        cut = final and bool(data) and not data.endswith(b"\n")
        if cut:
            data += b"\n"
        starts, lines, end = find_records(data, final)
        if end == 0 and len(data) > max(_LONGEST, 4 * size):
            raise DataError(
                f"{source}:{line}: a record of more than {len(data) >> 20} MB;"
                " is there an unclosed quote?"
            )
        rest, data = data[end:], data[:end]
        if data:
            yield RecordBlock(data, starts, lines + line, cut)
            line += data.count(b"\n")


def find_lines(content: np.ndarray) -> np.ndarray:
    """Where the newlines are."""
    return np.flatnonzero(content == ord("\n"))
