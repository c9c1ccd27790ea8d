"""Converts text in any character encoding to UTF-8, which all readers parse."""

from __future__ import annotations

import codecs
import io
from typing import Any

from widemargin.errors import DataError

UTF8 = "utf-8"


def check_encoding(encoding: str) -> None:
    """Raise an error if Python does not know a character encoding of this name."""
    try:
        "".encode(encoding)
        codecs.getincrementaldecoder(encoding)
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"encoding={encoding!r} is unknown; give a name such as 'latin-1', 'cp1252' or 'utf-16'"
        ) from None


def not_encoded(source: str, line: int, byte: int, encoding: str) -> DataError:
    """The error for a byte that is not part of a text in this encoding."""
    return DataError(
        f"{source}:{line}: the byte 0x{byte:02x} is not {encoding}:"
        " give the encoding (latin-1, perhaps), or convert the file"
    )


def is_utf8(encoding: str) -> bool:
    """Whether this is a name of UTF-8, with or without a byte order mark, which is ignored."""
    return codecs.lookup(encoding).name in (UTF8, "utf-8-sig")


class Recoded(io.RawIOBase):
    """A stream of bytes in some encoding, read as UTF-8.

    Parameters
    ----------
    stream : buffered binary stream
        The bytes; closed with this stream.
    encoding : str
        Their encoding.
    source : str
        The name of the file in error messages.
    """

    def __init__(self, stream: Any, encoding: str, source: str) -> None:
        self._stream, self._encoding, self._source = stream, encoding, source
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._line, self._ended = 1, False

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what has arrived; returns the number of bytes, or 0 at the end."""
        while not self._ready and not self._ended:
            piece = self._stream.read1(len(buffer))
            self._ended = not piece
            text = self._decode(piece)
            self._line += text.count("\n")
            self._ready = text.encode(UTF8)
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _decode(self, piece: bytes) -> str:
        before = self._decoder.getstate()
        try:
            return self._decoder.decode(piece, final=self._ended)
        except UnicodeDecodeError as error:
            # What was decoded includes the bytes of a character that began in the previous piece.
            good = piece[: max(0, error.start - len(before[0]))]
            self._decoder.setstate(before)
            line = self._line + self._decoder.decode(good).count("\n")
            raise DataError(
                f"{self._source}:{line}: byte 0x{error.object[error.start]:02x} is not"
                f" {self._encoding}; give another encoding, or convert the file"
            ) from None

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()
        super().close()
