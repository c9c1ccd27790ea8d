"""Remote files in object stores and on web servers, with addresses such as s3://bucket/rows.svm.

fsspec opens them with the installed drivers. Keys and passwords come from the drivers' own sources
(environment, configuration files, roles), and are neither shown nor stored.
"""

from __future__ import annotations

import glob
import io
import os
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from widemargin.errors import DataError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
#: Bytes to fetch at a time when a file is read from front to back.
_FETCHED = 1 << 22


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether this is the address of a remote file.

    Examples
    --------
    >>> is_address("s3://bucket/rows.svm"), is_address("C:/rows.svm"), is_address("rows.svm")
    (True, False, False)
    """
    return isinstance(path, str) and bool(_ADDRESS.match(path))


def shown(path: str) -> str:
    """A path for display: an address without passwords, signatures and keys.

    Examples
    --------
    >>> shown("https://me:secret@example.org/rows.svm?signature=abc")
    'https://example.org/rows.svm'
    """
    if not is_address(path):
        return path
    parts = urlsplit(path)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def find_addresses(pattern: str) -> list[str]:
    """The addresses that match a pattern; on the web, where "?" begins a query, only "*" counts."""
    web = pattern.lower().startswith(("http://", "https://"))
    if not (("*" in pattern) if web else glob.has_magic(pattern)):
        return [pattern]
    files, path = _find(pattern)
    matches = _carefully(pattern, lambda: sorted(files.glob(path)))
    if not matches:
        raise DataError(f"{shown(pattern)}: no file matches")
    return [files.unstrip_protocol(match) for match in matches]


def check_address(path: str) -> None:
    """Raise an error that says why an address cannot be read, if it cannot."""
    if _about(path).get("type") == "directory":
        raise DataError(f"{shown(path)}: is a folder, not a file")


def size_of(path: str) -> int:
    """The size of a local or remote file in bytes; 0 if a server does not report it."""
    if not is_address(path):
        return os.stat(path).st_size
    return int(_about(path).get("size") or 0)


def is_divisible(path: str) -> bool:
    """Whether an address can be read from any position."""
    about = _about(path)
    return about.get("size") is not None and about.get("partial", True) is not False


def stamp_of(path: str) -> list[Any]:
    """A fingerprint that shows whether a file has changed: its size, and its time or tag."""
    if not is_address(path):
        found = os.stat(path)
        return [found.st_size, found.st_mtime_ns]
    about = _about(path)
    keys = ("ETag", "etag", "LastModified", "mtime", "created")
    return [about.get("size"), *(str(about[key]) for key in keys if key in about)]


def open_file(path: str) -> io.BufferedReader:
    """Open a local or remote file for reading."""
    if not is_address(path):
        return open(path, "rb")
    files, inner = _find(path)
    raw = _carefully(path, lambda: files.open(inner, "rb", block_size=_FETCHED))
    return io.BufferedReader(_Guarded(raw, path), 1 << 16)


def read_bytes(path: str, start: int, end: int) -> bytes:
    """Read a range of bytes from an address; fewer if the file ends earlier."""
    files, inner = _find(path)
    return _carefully(path, lambda: files.cat_file(inner, start=start, end=end))


def write_bytes(path: str, content: bytes) -> None:
    """Write a whole file; stores replace an object atomically."""
    files, inner = _find(path)
    _carefully(path, lambda: files.pipe_file(inner, content))


def exists(path: str) -> bool:
    """Whether a local or remote file exists."""
    if not is_address(path):
        return os.path.exists(path)
    files, inner = _find(path)
    return bool(_carefully(path, lambda: files.exists(inner)))


class _Guarded(io.RawIOBase):
    """A remote file whose errors name its address."""

    def __init__(self, stream: Any, path: str) -> None:
        self._stream, self._path = stream, path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._stream.seekable())

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._stream.seek(offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())

    def readinto(self, buffer: Any) -> int:
        piece = _carefully(self._path, lambda: self._stream.read(len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _about(path: str) -> dict[str, Any]:
    files, inner = _find(path)
    found: dict[str, Any] = _carefully(path, lambda: files.info(inner))
    return found


def _find(path: str) -> tuple[Any, str]:
    """The file system of an address, and the path within it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise DataError(
            f"{shown(path)}: a URL needs fsspec, which is not installed:"
            " pip install 'widemargin[stores]'"
        ) from None
    try:
        files, inner = url_to_fs(path)
    except ImportError as error:
        raise DataError(f"{shown(path)}: {' '.join(str(error).split())}") from None
    except ValueError as error:
        raise DataError(f"{shown(path)}: {error}") from None
    return files, inner


def _carefully(path: str, action: Any) -> Any:
    """Do something with a remote file; errors name its address, but reveal no secrets."""
    try:
        return action()
    except DataError:
        raise
    except FileNotFoundError as error:
        raise DataError(f"{shown(path)}: {_why_not_found(error)}") from None
    except PermissionError:
        raise DataError(f"{shown(path)}: Permission denied") from None
    except Exception as error:  # drivers have their own exceptions
        told = " ".join(str(error).replace(path, shown(path)).split())
        raise DataError(f"{shown(path)}: {told or type(error).__name__}") from None


def _why_not_found(error: FileNotFoundError) -> str:
    """Why there is no such file; fsspec also says so if a server refuses or does not answer."""
    cause = error.__cause__
    status = getattr(cause, "status", 404)  # its full text has the address, and thus signatures
    if status != 404:
        return f"the server answered {status} {getattr(cause, 'message', '')}".rstrip()
    if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError):
        return str(cause)
    return "No such file or directory"
