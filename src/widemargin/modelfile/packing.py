"""Strings, matrices and parameters as what a model file can hold: arrays and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from widemargin.modelfile.checks import check_ends, check_places, check_room, check_shape
from widemargin.parameters.values import make_generator, plain
from widemargin.threads import thread_count

#: Minimum number of rows of a matrix that are searched for zeros at a time: this many float32 side
#: by side fill cache lines, if the matrix is stored column by column. Of a narrow matrix, as many
#: rows as have this many cells: a million rows of eight took 200 ms with 64 at a time, and take 30
#: this way.
_ROWS, _CELLS = 64, 1 << 18
#: Number of rows restored at a time: a loop over single rows takes 0.2 s for a million of them, and
#: a list of the positions of all values would take twice their memory.
_ROWS_AT_ONCE = 1 << 14


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
