"""From files of any kind to chunks of raw examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from widemargin.data.readers.chunk import Chunk
from widemargin.data.readers.columns import TableOptions, TableSchema
from widemargin.data.readers.formats import (
    CORPORA,
    DELIMITED,
    FORMATS,
    TABLES,
    format_of,
    format_of_nothing,
)
from widemargin.data.readers.headers import HeaderLine
from widemargin.data.readers.labelled import parse_fasttext, parse_labelled, parse_plain
from widemargin.data.readers.pieces import Parse, SkippedLines, chunks_of
from widemargin.data.readers.recoded import UTF8, check_encoding, is_utf8
from widemargin.data.readers.sources import (
    BLOCK_BYTES,
    Range,
    compression_of,
    find_files,
    is_seekable,
    lines_of,
    name_of,
    open_bytes,
    ranges_of,
)
from widemargin.data.readers.svmlight import parse_lines
from widemargin.data.readers.vw import parse_vw_lines
from widemargin.errors import DataError
from widemargin.parameters.values import check_choice
from widemargin.stores.addresses import is_address, size_of


@dataclass(frozen=True)
class ReadOptions:
    """How to read files.

    Attributes
    ----------
    format : str or None
        One of `FORMATS`; None: recognised from the name or the first lines.
    among : tuple of str
        The formats that are accepted.
    encoding : str
        The character encoding of the text in the files.
    table : TableOptions
        Which columns of a table are used, and how.
    skip_bad : int
        Maximum number of bad lines to skip, in all files together.
    dtype : float32 or float64
        The type of the values of vectors.
    threads : int
        The number of threads that parse.
    block : int
        Approximate number of bytes of text that are parsed at a time.
    live : bool
        Yield the lines of a pipe as soon as they arrive.
    """

    format: str | None = None
    among: tuple[str, ...] = tuple(FORMATS)
    encoding: str = UTF8
    table: TableOptions = field(default_factory=TableOptions)
    skip_bad: int = 0
    dtype: Any = np.float64
    threads: int = 1
    block: int = BLOCK_BYTES
    live: bool = False

    def __post_init__(self) -> None:
        if self.format is not None:
            if self.format in CORPORA:
                raise ValueError(
                    f"format={self.format!r} is for sentences: choose a tagger, parser, annotator"
                    " or tokenizer (--learner)"
                )
            check_choice("format", self.format, self.among)
        check_encoding(self.encoding)


class Files:
    """Files of the same format that are read one after another.

    Parameters
    ----------
    patterns : str, path, or list of them
        Names, patterns such as `logs/*.gz`, or "-" for standard input.
    options : ReadOptions
        How to read them.

    Attributes
    ----------
    format : str
        Their format.
    schema : TableSchema or None
        What the columns of tables hold; known after the first chunk.
    skipped : SkippedLines
        Counts the bad lines.
    """

    def __init__(
        self,
        patterns: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        options: ReadOptions | None = None,
    ) -> None:
        self.options = options or ReadOptions()
        self.paths = find_files(patterns)
        self.skipped = SkippedLines(self.options.skip_bad)
        self.schema: TableSchema | None = self.options.table.schema
        self._opened: dict[str, Any] = {}
        self.format = self.options.format or self._find_format()
        self._check_cells()
        labelled = self.format == "labelled-text"
        self._header = HeaderLine(self.options.table.header) if labelled else None
        if self.format == "parquet" and not is_utf8(self.options.encoding):
            raise DataError(f"{name_of(self.paths[0])}: text in Parquet is always UTF-8")

    def _check_cells(self) -> None:
        """Refuse options about lines of cells for files that have none."""
        told, usual = self.options.table, TableOptions()
        names = {"delimiter", "decimal", "header"}
        if self.format in DELIMITED:
            return
        if self.format == "labelled-text":
            names.remove("header")
        for name in sorted(names):
            value = getattr(told, name)
            if value != getattr(usual, name):
                raise ValueError(f"{name}={value!r} has no effect for {self.format} files")

    def _find_format(self) -> str:
        among = self.options.among
        if self.options.table.chooses_columns:  # only a table has columns to choose
            among = tuple(name for name in among if name != "labelled-text")
        found, nothing = {}, ""
        for path in self.paths:
            stream = open_bytes(path, self.options.encoding)
            try:
                head = stream.peek(1 << 16)
            finally:
                if is_seekable(path):
                    stream.close()
                else:
                    self._opened[path] = stream
            if not head.strip() and not self.options.table.need_label:  # there is nothing to answer
                nothing = nothing or format_of_nothing(name_of(path), among)
            elif head or len(self.paths) == 1:  # an empty file fits any format
                delimited = self.options.table.delimiter is not None
                found[format_of(name_of(path), head, among, delimited)] = name_of(path)
        if len(found) > 1:
            kinds = ", ".join(f"{path} is {format}" for format, path in found.items())
            raise DataError(f"files of different formats cannot be read together: {kinds}")
        return next(iter(found), nothing or "svmlight")

    @property
    def readable_again(self) -> bool:
        """Whether the files can be read more than once."""
        return all(is_seekable(path) for path in self.paths)

    @property
    def size(self) -> int:
        """Bytes on disk; 0 if unknown."""
        return sum(map(self.bytes_of, self.paths)) if self.readable_again else 0

    @staticmethod
    def bytes_of(path: str) -> int:
        """Bytes of one of the files, as they are stored."""
        return size_of(path)

    @property
    def expected_chunks(self) -> int:
        """The expected number of chunks; 0 if unknown."""
        if not self.readable_again or not all(map(self._can_be_cut, self.paths)):
            return 0
        return sum(-(-size_of(path) // self.options.block) for path in self.paths)

    def chunks(self) -> Iterator[Chunk]:
        """Read everything from front to back."""
        for path in self.paths:
            yield from self.read_file(path)

    def read_file(self, path: str, row_groups: Sequence[int] | None = None) -> Iterator[Chunk]:
        """Read one of the files from front to back, or some row groups of a Parquet file."""
        if self.format in TABLES:
            yield from self._table(path, row_groups)
            return
        ranges = self._ranges(path)
        if ranges is not None:
            yield from self.read(ranges)
            return
        with self._open(path) as stream:
            live = not is_seekable(path) and self.options.live
            blocks = lines_of(stream, name_of(path), self.options.block, live)
            # Several threads would wait for more blocks before yielding the first.
            threads = 1 if live else self.options.threads
            yield from chunks_of(blocks, self._parse, self.skipped, threads, self._header)

    def ranges(self, size: int | None = None) -> list[Range] | None:
        """The byte ranges in which the files can be read in any order; None if they cannot.

        Each has about `size` bytes; by default the size of a block.
        """
        if self.format in TABLES or not self.readable_again:
            return None
        found = [self._ranges(path, size) for path in self.paths]
        return None if None in found else [one for some in found for one in some or []]

    def read(self, ranges: Sequence[Range]) -> Iterator[Chunk]:
        """Read some ranges, in any order; line numbers count from the first of them."""
        threads = self.options.threads
        copies = self.format == "svmlight"
        return chunks_of(ranges, self._parse, self.skipped, threads, self._header, copies)

    def _ranges(self, path: str, size: int | None = None) -> list[Range] | None:
        if path in self._opened or not is_seekable(path) or not self._can_be_cut(path):
            return None
        return ranges_of(path, size or self.options.block)

    def _can_be_cut(self, path: str) -> bool:
        """Whether reading a file can start in the middle, at the next line end."""
        return is_utf8(self.options.encoding) and not compression_of(path)

    def _open(self, path: str) -> Any:
        return self._opened.pop(path, None) or open_bytes(path, self.options.encoding)

    @property
    def _parse(self) -> Parse:
        parsers: dict[str, Callable[..., Any]] = {
            "svmlight": partial(parse_lines, dtype=self.options.dtype),
            "vw": partial(
                parse_vw_lines,
                dtype=self.options.dtype,
                need_label=self.options.table.need_label,
            ),
            "fasttext": parse_fasttext,
            "labelled-text": parse_labelled,
            "text": parse_plain,
        }
        return parsers[self.format]

    def _table(self, path: str, row_groups: Sequence[int] | None) -> Iterator[Chunk]:
        from widemargin.data.readers.table import read_table

        left = self.skipped.left(path)
        options = replace(
            self.options.table, schema=self.schema, skip_bad=left, row_groups=row_groups
        )
        with self._open(path) as stream:
            local = is_seekable(path) and not is_address(path)
            source: Any = path if self.format == "parquet" and local else stream
            chunks = read_table(
                source,
                name_of(path),
                self.format,
                options,
                threads=self.options.threads,
                live=self.options.live and not is_seekable(path),
            )
            for chunk in chunks:
                self.schema = chunks.schema
                yield chunk
            self.skipped.lines |= {(path, message) for message in chunks.bad}
