"""Model files: arrays and a description in one file, protected by a digest. No pickle.

The layout is that of safetensors: the length of a JSON header, the header, the arrays. Under
`__metadata__` the header holds one JSON string, `model`, that describes the model. The last array
of the file, `sha256`, is the digest of all bytes before it, so that a truncated or modified file is
rejected before any of its contents is used.

The description holds its format number and the version of widemargin that wrote it:

    1    widemargin 0.1, which did not write its version
    2    widemargin 0.2
    3    weights may be those of some columns, and stored without their zeros
    4    taggers and parsers, too, store only nonzero weights

A change that an older widemargin would misread gets a new number. This version reads all formats up
to its own; data that older files lack are filled in when the model is restored.

A digest detects damage, not malice: anybody can write a file with a correct digest. So the sizes
that a file claims are compared with its length before memory is allocated, and the arrays with each
other before compiled code follows the indices in them. Nothing in a file is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

import numpy as np

from widemargin import __version__
from widemargin.errors import ModelFileError
from widemargin.modelfile.layout import LONGEST_HEADER, check_layout, pack, read_header
from widemargin.stores.addresses import open_file, size_of
from widemargin.stores.writing import write_file

Model = TypeVar("Model")
#: A model as arrays and a description.
Contents = tuple[dict[str, np.ndarray], dict[str, Any]]
#: Written to every file. Files of a higher format are rejected.
FORMAT = 4
_SEAL, _SEAL_BYTES = "sha256", 32
#: The exceptions raised when a description does not fit its arrays.
MISFITS = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError),
    StopIteration,
)


def write_model_file(path: str | os.PathLike[str], arrays: dict[str, Any], about: dict) -> None:
    """Write arrays and a description atomically.

    The description is in ASCII, because labels may hold half of a surrogate pair.
    """
    described = json.dumps({**about, "format": FORMAT, "widemargin": __version__})
    pieces = pack({**arrays, _SEAL: np.zeros(_SEAL_BYTES, np.uint8)}, {"model": described})
    digest = hashlib.sha256()
    for piece in pieces[:-1]:
        digest.update(piece)
    write_file(path, [*pieces[:-1], digest.digest()])


class SavedModel:
    """A model that is described by `contents`, and can be saved."""

    def contents(self) -> Contents:
        """The model as arrays and a description."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a file, atomically."""
        write_model_file(path, *self.contents())


def read_model_file(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a file written by `write_model_file`, or raise an error that says why it is invalid."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = os.fspath(path)
    with open_file(path) as file:
        about = _check(path, file)
        file.seek(0)
        content = file.read()
    try:
        arrays = load(content)
    except (ValueError, TypeError, OverflowError, SafetensorError) as error:
        raise ModelFileError(f"{path}: damaged ({one_line(error)})") from None
    arrays.pop(_SEAL)
    return arrays, about


def restore(
    path: str | os.PathLike[str],
    arrays: dict[str, np.ndarray],
    about: dict[str, Any],
    make: Callable[[dict[str, np.ndarray], dict[str, Any]], Model],
) -> Model:
    """Apply `make` to the contents of a file; errors name the file."""
    try:
        return make(arrays, about)
    except ModelFileError:
        raise
    except MISFITS as error:
        raise ModelFileError(
            f"{path}: its description does not fit its arrays ({one_line(error)})"
        ) from None


def one_line(told: object, longest: int = 200) -> str:
    """A text as one line of limited length, such as an error that quotes the contents of a file."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(told))
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def learner_of(path: str | os.PathLike[str]) -> str:
    """The learner named in a file, without checking anything else; "" if none is named."""
    return str(description_of(path).get("learner", ""))


def description_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The description in a file, without checking anything else; empty if there is none."""
    with open_file(os.fspath(path)) as file:
        size = int.from_bytes(file.read(8), "little")
        if size > min(size_of(os.fspath(path)), LONGEST_HEADER):
            return {}
        try:
            about = json.loads(json.loads(file.read(size))["__metadata__"]["model"])
        except (ValueError, LookupError, TypeError, RecursionError):
            return {}
    return about if isinstance(about, dict) else {}


def _check(path: str, file: BinaryIO) -> dict[str, Any]:
    """Check sizes, format and digest, and return the description."""
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        header, size = read_header(file, length)
        about = json.loads(header.pop("__metadata__")["model"])
        form = about["format"]
        seal = header[_SEAL]["data_offsets"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        told = "cut short" if str(error) == "cut short" else "damaged"
        raise ModelFileError(f"{path}: not a widemargin model, or {told}") from None
    if type(form) is not int or form < 1:
        raise ModelFileError(f"{path}: not a widemargin model, or damaged (format {form!r:.50})")
    if not (isinstance(about.get("learner", ""), str) and about.get("learner", "").isprintable()):
        raise ModelFileError(f"{path}: damaged (made by the learner {about['learner']!r:.50})")
    if form > FORMAT:
        raise ModelFileError(f"{path}: {describe_newer(form, FORMAT, about)}")
    try:
        check_layout(header, length - 8 - size)
        if seal != [length - 8 - size - _SEAL_BYTES, length - 8 - size]:
            raise ValueError("the digest is not at the end")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{path}: cut short or damaged ({one_line(error)})") from None
    if _digest(file, length - _SEAL_BYTES) != file.read(_SEAL_BYTES):
        raise ModelFileError(f"{path}: its content does not match its digest: the file was altered")
    return about


def describe_newer(form: int, known: int, about: dict[str, Any]) -> str:
    """The error message for a file of a newer format."""
    version = one_line(about.get("widemargin", ""), 20)
    return (
        f"written by a newer widemargin{f' ({version})' if version else ''}; upgrade"
        f" (the file has format {form}, and widemargin {__version__} reads up to {known})"
    )


def _digest(file: BinaryIO, length: int) -> bytes:
    """SHA-256 of the first `length` bytes; the file position is left right after them."""
    digest = hashlib.sha256()
    file.seek(0)
    while length and (piece := file.read(min(length, 1 << 20))):
        digest.update(piece)
        length -= len(piece)
    return digest.digest()
