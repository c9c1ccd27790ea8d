"""Writing whole files, so that a failure leaves what was there before."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Sequence
from typing import Any

from widemargin.errors import ModelFileError
from widemargin.stores.addresses import is_address, write_bytes


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise an error that says why a file of this name cannot be written, if that is certain."""
    if is_address(path):
        return
    real = os.path.realpath(path)
    if os.path.exists(real) and not stat.S_ISREG(os.stat(real).st_mode):
        raise ModelFileError(f"{os.fspath(path)}: cannot save here: not a regular file")
    folder = os.path.dirname(real)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))


def write_file(path: str | os.PathLike[str], pieces: Sequence[Any]) -> None:
    """Write a file atomically.

    It is written to a temporary file in the same folder, synced to disk, and then renamed.
    """
    if is_address(path):
        write_bytes(str(path), b"".join(bytes(piece) for piece in pieces))
        return
    check_target(path)
    real = os.path.realpath(path)
    beside = f"{real}.{secrets.token_hex(4)}.tmp"
    try:
        with open(beside, "xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, real)
    except BaseException as error:
        if os.path.exists(beside):
            os.unlink(beside)
        if isinstance(error, OSError):
            error.filename = os.fspath(path)  # the user does not know the temporary file's name
        raise
    _sync_folder(os.path.dirname(real))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, atomically; a pipe or a device is written to."""
    content = text.encode()
    if is_address(path) or not os.path.exists(path) or os.path.isfile(path):
        write_file(path, [content])
        return
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        error.filename = os.fspath(path)
        raise


def _sync_folder(folder: str) -> None:
    """Sync the folder, so that the new name is on disk too."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # some systems cannot open folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
