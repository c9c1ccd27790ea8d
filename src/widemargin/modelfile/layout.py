"""The layout of safetensors: the length of a JSON header, the header, the arrays.

Model files, checkpoints and caches have it. The sizes that a file claims are compared with its
length before memory is allocated.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, BinaryIO

import numpy as np

from widemargin.modelfile.checks import MOST_DIMENSIONS

#: Types of numbers, as safetensors calls them.
KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2"}
KINDS |= {"I8": "|i1", "U64": "<u8", "U32": "<u4", "U8": "|u1"}
_KINDS = {numpy: name for name, numpy in KINDS.items()}
#: Headers longer than this are rejected: as JSON they take up to twenty times as much memory.
LONGEST_HEADER = 1 << 26
#: Array names are plain words, separated by dots and slashes.
_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.\-]*(/[A-Za-z0-9_][A-Za-z0-9_.\-]*)*")
_LONGEST_NAME = 200


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
        sizes = [start, end, *shape] if len(shape) <= MOST_DIMENSIONS else [-1]
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
