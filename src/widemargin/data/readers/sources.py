"""Where bytes come from: files, globs, compressed files, standard input; in blocks of whole lines.

An uncompressed file is cut into byte ranges (path, start, end). The lines that begin within a range
belong to it, so that ranges can be read independently. Pipes and compressed files, which cannot be
read from the middle, are read from the start and cut after a line end.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import stat
import sys
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from widemargin.data.readers.recoded import UTF8, Recoded, is_utf8
from widemargin.errors import DataError
from widemargin.stores.addresses import (
    check_address,
    find_addresses,
    is_address,
    is_divisible,
    open_file,
    read_bytes,
    shown,
    size_of,
)

#: The name of standard input on the command line, and in error messages.
STANDARD_INPUT, _STANDARD_INPUT_NAME = "-", "<stdin>"
#: Number of bytes of text parsed at a time.
BLOCK_BYTES = 1 << 22
#: Bytes read past the end of a range at first, for the rest of its last line.
_BEYOND = 1 << 16
#: A longer line is an error: the file is probably not text.
_LONGEST_LINE = 1 << 30
_NEWLINE = 10
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
#: Bytes of a stream that can be peeked at.
_PEEKED = 1 << 16
_BOM = b"\xef\xbb\xbf"


class ReadBuffer(threading.local):
    """A buffer per thread, into which blocks are read one after another.

    Fresh memory costs about as much as reading into it: it took 0.2 s of the 2.3 s of processor
    time for a file of 1 GB.
    """

    def __init__(self) -> None:
        self.bytes = bytearray()

    def read(self, file: Any, size: int) -> int:
        """Read `size` bytes, or fewer if the file ends; returns how many."""
        if len(self.bytes) < size:
            self.bytes = bytearray(size)
        whole, done = memoryview(self.bytes), 0
        while done < size and (found := file.readinto(whole[done:size])):
            done += found
        return done


class LineBlock(Protocol):
    """Some whole lines of a source, which may not have been read yet."""

    @property
    def source(self) -> str:
        """The name of the file in error messages."""

    @property
    def first(self) -> bool:
        """Whether the file begins with these lines."""

    def load(self, buffer: ReadBuffer | None = None) -> np.ndarray:
        """The bytes, ending with a line end; possibly in `buffer`, valid until it is reused."""


@dataclass(frozen=True)
class Range:
    """The lines of a file that begin at byte `start` or later, but before byte `end`."""

    path: str
    start: int
    end: int

    @property
    def source(self) -> str:
        """The name of the file in error messages."""
        return name_of(self.path)

    @property
    def first(self) -> bool:
        """Whether the file begins with these lines."""
        return self.start == 0

    def first_line(self) -> int:
        """The number, from 1, of the first line that belongs to the range."""
        lines, left = 1, self.start
        with open_file(self.path) as file:
            while left > 0 and (piece := file.read(min(left, 1 << 20))):
                lines += piece.count(b"\n")
                left -= len(piece)
            # A line that extends beyond the start belongs to the previous range.
            return lines if self.start == 0 or piece.endswith(b"\n") else lines + 1

    def load(self, buffer: ReadBuffer | None = None) -> np.ndarray:
        """Read the range: from its first line's start to its last line's end."""
        buffer = ReadBuffer() if buffer is None else buffer
        with _open_range(self) as file:
            # Start one byte early: if that is a line end, the range starts with a line. Read past
            # the end, to the end of the last line.
            start = max(0, self.start - 1)
            inside = self.end - start
            file.seek(start)
            size = buffer.read(file, inside + _BEYOND)
            text = buffer.bytes
            if self.start == 0:
                _check_beginning(bytes(text[: min(size, _PEEKED)]), self.source)
            begins = text.find(b"\n", 0, size) + 1 if self.start > 0 else 0
            if begins >= inside or (begins == 0 and self.start > 0):
                return _as_lines(b"", first=False)  # an earlier line covers the whole range
            ends = text.find(b"\n", inside - 1, size) + 1
            whole: Any = memoryview(text)
            if ends == 0:
                whole = bytes(whole[:size]) + _rest_of_line(file, self.source)
                ends = len(whole)
            return _as_lines(whole[begins:ends], first=self.start == 0)


@dataclass(frozen=True)
class Lines:
    """Lines that have already been read."""

    source: str
    text: np.ndarray
    first: bool = False

    def load(self, buffer: ReadBuffer | None = None) -> np.ndarray:
        """The bytes."""
        return self.text


def are_paths(given: Any) -> bool:
    """Whether this is the name of a file, or a sequence of names."""
    if isinstance(given, (str, os.PathLike)):
        return True
    return isinstance(given, Sequence) and all(isinstance(p, (str, os.PathLike)) for p in given)


def find_files(patterns: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files that names and patterns such as `logs/*.gz` stand for, in the order given."""
    alone = isinstance(patterns, (str, os.PathLike)) or not isinstance(patterns, Iterable)
    names: list[Any] = [patterns] if alone else list(patterns)  # type: ignore[arg-type]
    strange = [name for name in names if not isinstance(name, (str, os.PathLike))]
    if strange:
        kind = type(strange[0]).__name__
        raise DataError(f"expected the name of a file, or a list of names, found {kind}")
    found: list[str] = []
    for pattern in map(os.fspath, names):
        if is_address(pattern):
            found += find_addresses(pattern)
            continue
        if pattern == STANDARD_INPUT or os.path.exists(pattern) or not glob.has_magic(pattern):
            found.append(pattern)
            continue
        matches = sorted(glob.glob(pattern, recursive=True))
        if not matches:
            raise DataError(f"{pattern}: no file matches")
        found += matches
    if not found:
        raise DataError("no file was given")
    for number, path in enumerate(found):
        if path != STANDARD_INPUT:
            check_readable(path)
        if path in found[:number] and not is_seekable(path):
            raise DataError(f"{name_of(path)}: is given twice, but can be read only once")
    return found


def check_readable(path: str) -> None:
    """Raise an error that says why, if a file cannot be read."""
    if is_address(path):
        check_address(path)
        return
    try:
        kind = os.stat(path).st_mode
    except OSError as error:
        raise DataError(f"{path or repr(path)}: {error.strerror}") from None
    if stat.S_ISDIR(kind):
        raise DataError(f"{path}: is a folder, not a file")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path}: Permission denied")


def name_of(path: str) -> str:
    """The name of a source in error messages."""
    return _STANDARD_INPUT_NAME if path == STANDARD_INPUT else shown(path)


def is_seekable(path: str) -> bool:
    """Whether the file can be read again, and from any position."""
    if is_address(path):
        return is_divisible(path)
    return path != STANDARD_INPUT and stat.S_ISREG(os.stat(path).st_mode)


def compression_of(path: str) -> str:
    """The compression of a regular file, recognised from its first bytes, or an empty string."""
    if is_address(path):
        return _recognised(read_bytes(path, 0, 6))
    with open(path, "rb") as file:
        return _recognised(file.read(6))


def _recognised(head: bytes) -> str:
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


def open_bytes(path: str, encoding: str = UTF8) -> io.BufferedReader:
    """Open a source for sequential reading, decompressed and in UTF-8."""
    stream = _open_decompressed(path)
    if is_utf8(encoding):
        return stream
    return io.BufferedReader(Recoded(stream, encoding, name_of(path)), _PEEKED)


def _open_decompressed(path: str) -> io.BufferedReader:
    raw: Any = sys.stdin.buffer if path == STANDARD_INPUT else open_file(path)
    try:
        head = raw.peek(6)[:6]
    except OSError as error:  # a folder, say, or standard input that is closed
        raise DataError(f"{name_of(path)}: {error.strerror}") from None
    kind, file = _recognised(head), raw
    if not kind:
        return raw
    if kind == "gzip":
        raw = gzip.GzipFile(fileobj=raw)
    elif kind == "bzip2":
        raw = bz2.BZ2File(raw)
    elif kind == "xz":
        raw = lzma.LZMAFile(raw)  # noqa: SIM115
    else:
        import pyarrow

        raw = pyarrow.CompressedInputStream(raw, kind)
    return io.BufferedReader(_Guarded(raw, file, path), _PEEKED)


class _Guarded(io.RawIOBase):
    """A decompressor whose errors are reported as errors of the file."""

    def __init__(self, stream: Any, file: Any, path: str) -> None:
        self._stream, self._file, self._path = stream, file, path

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            return self._stream.read(size) if size >= 0 else self._stream.read()
        except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
            raise DataError(
                f"{name_of(self._path)}: the compressed data are damaged or cut short ({error})"
            ) from None

    def readinto(self, buffer: Any) -> int:
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._stream.close()
        self._file.close()
        super().close()


def _open_range(part: Range) -> Any:
    """Open the file of a range; of a remote file, only the bytes needed are fetched."""
    if not is_address(part.path):
        return open(part.path, "rb", buffering=0)
    start = max(0, part.start - 1)
    return _Fetched(part.path, start, part.end + _BEYOND)


class _Fetched(io.RawIOBase):
    """Bytes of a remote file from `start`: those up to `end` in one request, later ones in more."""

    def __init__(self, path: str, start: int, end: int) -> None:
        self._path, self._at, self._have = path, start, read_bytes(path, start, end)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._at  # already at the position to read from

    def read(self, size: int = -1) -> bytes:
        if not self._have:
            end = min(self._at + size, size_of(self._path))
            self._have = read_bytes(self._path, self._at, end) if self._at < end else b""
        piece, self._have = self._have[:size], self._have[size:]
        self._at += len(piece)
        return piece

    def readinto(self, buffer: Any) -> int:
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def ranges_of(path: str, size: int = BLOCK_BYTES) -> list[Range]:
    """Cut an uncompressed file into ranges, each of about `size` bytes."""
    length = size_of(path)
    return [Range(path, start, min(start + size, length)) for start in range(0, length, size)]


def lines_of(
    stream: Any, source: str, size: int = BLOCK_BYTES, live: bool = False
) -> Iterator[Lines]:
    """Cut a stream after line ends, into blocks of about `size` bytes.

    For a `live` stream, a block is whatever has arrived so far.
    """
    first, rest = True, b""
    while True:
        piece = read_piece(stream, size, live)
        if first:
            _check_beginning((rest + piece)[:_PEEKED], source)
        if not piece:
            break
        cut = piece.rfind(b"\n") + 1
        if cut == 0:
            rest += piece
            _check_length(len(rest), source)
            continue
        yield Lines(source, _as_lines(rest + piece[:cut] if rest else piece[:cut], first), first)
        first, rest = False, piece[cut:]
    if rest:
        yield Lines(source, _as_lines(rest, first), first)


def read_piece(stream: Any, size: int, live: bool) -> bytes:
    """Read about `size` bytes; from a `live` stream, what has arrived, or else its next bytes."""
    return stream.read1(size) if live else read_up_to(stream, size)


def read_up_to(file: Any, size: int) -> bytes:
    """Read `size` bytes, or fewer if the source ends; a pipe returns them in small parts."""
    pieces, missing = [], size
    while missing > 0:
        piece = file.read(missing)
        if not piece:
            break
        if len(piece) == size:
            return piece
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _rest_of_line(file: Any, source: str) -> bytes:
    rest = b""
    while piece := file.read(1 << 16):
        cut = piece.find(b"\n")
        if cut >= 0:
            return rest + piece[: cut + 1]
        rest += piece
        _check_length(len(rest), source)
    return rest


def _check_length(length: int, source: str) -> None:
    if length > _LONGEST_LINE:
        raise DataError(f"{source}: a line is longer than {_LONGEST_LINE} bytes: not a text file?")


def _as_lines(text: Any, first: bool) -> np.ndarray:
    """Bytes as a read-only array that ends with a line end, without a file's byte order mark."""
    if first and bytes(text[:3]) == _BOM:
        text = text[3:]
    if len(text) and text[-1] != _NEWLINE:
        text = bytes(text) + b"\n"
    lines = np.frombuffer(text, np.uint8)
    lines.setflags(write=False)
    return lines


def _check_beginning(head: bytes, source: str) -> None:
    """Raise an error if these bytes cannot be lines of UTF-8."""
    if b"\n" not in head and head.count(b"\r") > 1:
        raise DataError(
            f"{source}: its lines end with a carriage return alone; end them with \\n or \\r\\n"
        )
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(
            f"{source}: is UTF-16; give the encoding (--encoding utf-16), or convert the file"
        )
