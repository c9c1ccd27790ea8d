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
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, TypeVar

import numpy as np

from widemargin import __version__
from widemargin.errors import ModelFileError
from widemargin.parameters import make_generator, plain
from widemargin.stores.addresses import open_file, size_of
from widemargin.stores.writing import write_file
from widemargin.threads import thread_count

Model = TypeVar("Model")
#: A model as arrays and a description.
Contents = tuple[dict[str, np.ndarray], dict[str, Any]]
#: Written to every file. Files of a higher format are rejected.
FORMAT = 4
_SEAL, _SEAL_BYTES = "sha256", 32
#: Types of numbers, as safetensors calls them.
KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2"}
KINDS |= {"I8": "|i1", "U64": "<u8", "U32": "<u4", "U8": "|u1"}
_KINDS = {numpy: name for name, numpy in KINDS.items()}
#: Minimum number of rows of a matrix that are searched for zeros at a time: this many float32 side
#: by side fill cache lines, if the matrix is stored column by column. Of a narrow matrix, as many
#: rows as have this many cells: a million rows of eight took 200 ms with 64 at a time, and take 30
#: this way.
_ROWS, _CELLS = 64, 1 << 18
#: Number of rows restored at a time: a loop over single rows takes 0.2 s for a million of them, and
#: a list of the positions of all values would take twice their memory.
_ROWS_AT_ONCE = 1 << 14
#: Headers longer than this are rejected: as JSON they take up to twenty times as much memory.
LONGEST_HEADER = 1 << 26
#: Array names are plain words, separated by dots and slashes.
_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.\-]*(/[A-Za-z0-9_][A-Za-z0-9_.\-]*)*")
_LONGEST_NAME, _MOST_DIMENSIONS = 200, 8
#: An array stored without its zeros may unpack to at most this many bytes, or to this many times
#: its size in the file, whichever is more. (The widest text encoder has 2^30 columns, with a count
#: of 4 bytes for each, and a small collection of texts uses few of them.)
_MOST_UNPACKED, _MOST_TIMES = 1 << 32, 1 << 10
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


def pack(arrays: dict[str, Any], about: dict[str, str]) -> list[Any]:
    """Lay out arrays and strings as safetensors does, as pieces to be written one by one.

    The last array given is the last in the file; among the others, wide types come first, so that
    all are aligned and can be mapped into memory.
    """
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    *others, last = plain
    order = [*sorted(others, key=lambda name: -plain[name].itemsize), last]
    header: dict[str, Any] = {"__metadata__": about}
    end = 0
    for name in order:
        start, end = end, end + plain[name].nbytes
        header[name] = {
            "dtype": _KINDS[plain[name].dtype.str],
            "shape": plain[name].shape,
            "data_offsets": [start, end],
        }
    described = json.dumps(header, ensure_ascii=False).encode("utf-8", "surrogatepass")
    described += b" " * (-len(described) % 8)
    bodies = [plain[name].reshape(-1).view(np.uint8).data for name in order]
    return [len(described).to_bytes(8, "little"), described, *bodies]


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


def read_header(file: BinaryIO, length: int, longest: int = LONGEST_HEADER) -> tuple[Any, int]:
    """The header of a file of this length, as JSON, and its size; names of arrays are unique.

    Raises one of `MISFITS`, such as ValueError, if there is none; `check_layout` checks the rest.
    """
    size = int.from_bytes(file.read(8), "little")
    if length < 8 or size > min(length - 8, longest):
        raise ValueError("cut short")
    return json.loads(file.read(size), object_pairs_hook=_different), size


def _different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, unless a name occurs twice in it."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def check_layout(header: dict[str, Any], room: int) -> None:
    """Raise a ValueError unless the arrays fill these bytes exactly, one after the other."""
    spans = []
    for name, spec in header.items():
        if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
            raise ValueError(f"an array has the invalid name {name[:50]!a}")
        kind, shape, (start, end) = spec["dtype"], spec["shape"], spec["data_offsets"]
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"{name} has the unknown type {str(kind)[:50]!a}")
        sizes = [start, end, *shape] if len(shape) <= _MOST_DIMENSIONS else [-1]
        if not all(type(size) is int and 0 <= size < 1 << 63 for size in sizes):
            raise ValueError(f"{name} has an impossible size")
        if math.prod(shape) * np.dtype(KINDS[kind]).itemsize != end - start:
            raise ValueError(f"{name} has {end - start} bytes, which do not fit its shape")
        spans.append((start, end))
    filled = 0
    for start, end in sorted(spans):
        if start != filled:
            raise ValueError("arrays overlap, or leave bytes between them")
        filled = end
    if filled != room:
        raise ValueError(f"{room} bytes of arrays, but the header says {filled}")


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


def pack_strings(name: str, strings: Sequence[str]) -> dict[str, np.ndarray]:
    """Convert strings to arrays: their concatenated UTF-8 bytes, and where each ends."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    return {
        f"{name}.bytes": np.frombuffer(b"".join(encoded), np.uint8),
        f"{name}.ends": np.cumsum([len(piece) for piece in encoded], dtype=np.int64),
    }


def unpack_strings(name: str, arrays: dict[str, np.ndarray]) -> list[str]:
    """Undo `pack_strings`."""
    content, ends = arrays[f"{name}.bytes"].tobytes(), arrays[f"{name}.ends"]
    check_ends(f"{name}.ends", ends, len(content))
    edges = [0, *ends.tolist()]
    return [content[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(edges)]


def check_ends(name: str, ends: np.ndarray, size: int) -> None:
    """Raise a ValueError unless these are the ends of parts that fill this size, in order."""
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise ValueError(f"{name} is not a list of whole numbers")
    rise = not len(ends) or (int(ends[0]) >= 0 and int(ends[-1]) == size)
    if not rise or np.any(ends[1:] < ends[:-1]):
        raise ValueError(f"{name} does not cut {size} entries into parts")


def check_places(name: str, places: np.ndarray, below: int, least: int = 0) -> None:
    """Raise a ValueError unless this lists integers of at least `least` and less than `below`.

    Compiled loops do not check bounds, so this must be checked beforehand.
    """
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ValueError(f"{name} is not a list of whole numbers")
    if places.size and (int(places.max()) >= below or int(places.min()) < least):
        raise ValueError(f"{name} has an entry outside {least} ... {below - 1}")


def check_shape(name: str, array: np.ndarray, *shapes: tuple[int, ...], kinds: str = "f") -> None:
    """Raise a ValueError unless an array has one of these shapes, and a type of these kinds."""
    if array.shape not in shapes or array.dtype.kind not in kinds:
        raise ValueError(f"{name} has the shape {array.shape} and the type {array.dtype}")


def check_room(shape: Sequence[int], kind: Any, stored: int) -> None:
    """Raise a ValueError if `stored` bytes in a file cannot plausibly unpack to this shape."""
    sizes = [*shape] if len(shape) <= _MOST_DIMENSIONS else [-1]
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        raise ValueError(f"an array cannot have the shape {list(shape)[:9]}")
    needed = math.prod(map(int, sizes)) * np.dtype(kind).itemsize
    if needed > max(_MOST_UNPACKED, _MOST_TIMES * stored):
        raise ValueError(f"{stored} bytes claim to hold an array of {needed} bytes")


def pack_sparse(name: str, given: np.ndarray) -> dict[str, np.ndarray]:
    """Convert a matrix or vector to arrays: as it is or, if that is smaller, without zeros.

    Examples
    --------
    >>> list(pack_sparse("W", np.eye(9)))
    ['W.values', 'W.columns', 'W.ends', 'W.shape']
    >>> list(pack_sparse("W", np.ones((2, 2))))
    ['W']
    """
    matrix = np.atleast_2d(given)
    kind = np.dtype(np.uint32 if matrix.shape[1] <= 1 << 32 else np.uint64)
    most = matrix.nbytes // (matrix.itemsize + kind.itemsize)
    values, columns, sizes = [], [], [np.zeros(0, np.int64)]
    step = max(_ROWS, _CELLS // max(1, matrix.shape[1]))
    for first in range(0, len(matrix), step):
        block = np.ascontiguousarray(matrix[first : first + step])
        there = block.view(f"u{block.itemsize}") != 0  # -0.0 is there, too
        most -= int(np.count_nonzero(there))
        if most < 0:
            return {name: given}
        places = np.flatnonzero(there)
        values.append(block.ravel()[places])
        columns.append((places % block.shape[1]).astype(kind))
        sizes.append(np.count_nonzero(there, axis=1))
    if not values:
        return {name: given}
    return {
        f"{name}.values": np.concatenate(values),
        f"{name}.columns": np.concatenate(columns),
        f"{name}.ends": np.cumsum(np.concatenate(sizes), dtype=np.int64),
        f"{name}.shape": np.array(given.shape),
    }


def unpack_sparse(name: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Undo `pack_sparse`."""
    if name in arrays:
        return arrays[name]
    values, columns = arrays[f"{name}.values"], arrays[f"{name}.columns"]
    shape, ends = arrays[f"{name}.shape"].tolist(), arrays[f"{name}.ends"]
    check_room(shape, values.dtype, values.nbytes + columns.nbytes + ends.nbytes)
    check_shape(f"{name}.values", values, columns.shape, kinds="fiu")
    check_places(f"{name}.columns", columns, shape[-1])
    check_ends(f"{name}.ends", ends, len(values))
    matrix = np.zeros(shape, values.dtype)
    rows = np.atleast_2d(matrix)
    if len(ends) != len(rows):
        raise ValueError(f"{name}.ends has {len(ends)} entries for {len(rows)} rows")
    sizes, start = np.diff(ends, prepend=0), 0
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        block = rows[first : first + _ROWS_AT_ONCE]
        row = np.repeat(np.arange(len(block)), sizes[first : first + _ROWS_AT_ONCE])
        end = start + len(row)
        block[row, columns[start:end]] = values[start:end]
        start = end
    return matrix


def pack_value(value: Any) -> Any:
    """Convert a parameter to JSON; types that JSON lacks are tagged with their names.

    A random generator, or any other object, cannot be stored and becomes None.
    """
    value = plain(value)
    if isinstance(value, np.generic):
        return pack_value(value.item())
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, tuple):
        return {"tuple": [pack_value(item) for item in value]}
    if isinstance(value, list):
        return [pack_value(item) for item in value]
    if isinstance(value, Mapping):
        return {"dict": [[pack_value(key), pack_value(item)] for key, item in value.items()]}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    return value if isinstance(value, str | int | float | None) else None


def pack_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a training as JSON, see `pack_value`."""
    return {name: pack_value(value) for name, value in params.items()}


def unpack_value(packed: Any) -> Any:
    """Undo `pack_value`."""
    if isinstance(packed, list):
        return [unpack_value(item) for item in packed]
    if not isinstance(packed, dict):
        return packed
    ((kind, content),) = packed.items()
    if kind == "array":
        return np.array(content)
    if kind == "bytes":
        return content.encode("latin-1")
    if kind == "dict":
        return {unpack_value(key): unpack_value(item) for key, item in content}
    return tuple(unpack_value(item) for item in content)


def unpack_params(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Undo `pack_params`; an error if a parameter that every loaded model uses is invalid.

    The others are validated when a training continues. Version 0.1 accepted whole floats as numbers
    of threads, and did not look at seeds that it did not need; these become None.
    """
    params = {name: unpack_value(value) for name, value in packed.items()}
    threads = params.get("n_jobs")
    if isinstance(threads, float) and threads.is_integer():
        threads = params["n_jobs"] = int(threads)
    thread_count(threads)
    try:
        make_generator(params.get("random_state"))
    except ValueError:
        params["random_state"] = None
    return params
