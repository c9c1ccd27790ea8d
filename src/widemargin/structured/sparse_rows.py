"""Tables of weights for files: most rows have a few weights, and many none.

A bit says of every row whether it has weights (or the rows that do are listed, if they are few),
and of every cell of such a row whether it has one; then follow the weights. Nothing is lost. A
chunker with 262,144 rows of 48 cells (50 MB) takes 4 MB so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from widemargin.modelfile import check_room, check_shape

#: Rows that are looked through at once.
_BLOCK = 1 << 14


def pack_rows(name: str, table: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of a file for a table, or for a vector of weights.

    Examples
    --------
    >>> table = np.zeros((100, 16), np.float32)
    >>> table[7, 3] = 0.5
    >>> packed = pack_rows("W", table)
    >>> {key: array.shape for key, array in packed.items()}
    {'W.rows': (1,), 'W.cells': (2,), 'W.values': (1,)}
    >>> np.array_equal(unpack_rows("W", packed, table.shape), table)
    True
    """
    flat = table.reshape(len(table), math.prod(table.shape[1:]))
    used, filled, values = [], [], []
    for a in range(0, len(flat), _BLOCK):
        block = np.ascontiguousarray(flat[a : a + _BLOCK])
        there = block.view(f"u{block.itemsize}") != 0  # bits, because of -0.0
        rows = there.any(axis=1)
        used.append(rows)
        filled.append(there[rows].ravel())
        values.append(block[there])
    nothing = np.zeros(0, bool)
    return {
        f"{name}.rows": pack_flags(np.concatenate([nothing, *used])),
        f"{name}.cells": np.packbits(np.concatenate([nothing, *filled])),
        f"{name}.values": np.concatenate([np.zeros(0, table.dtype), *values]),
    }


def unpack_rows(name: str, arrays: Mapping[str, np.ndarray], shape: Sequence[int]) -> np.ndarray:
    """Undo `pack_rows`."""
    values, cells = arrays[f"{name}.values"], arrays[f"{name}.cells"]
    stored = values.nbytes + cells.nbytes + arrays[f"{name}.rows"].nbytes
    check_room(shape, values.dtype, stored)
    table = np.zeros(shape, values.dtype)
    flat = table.reshape(len(table), math.prod(shape[1:]))
    used = packed_rows(name, arrays, shape[0])
    size = len(used) * flat.shape[1]
    check_shape(f"{name}.cells", cells, (-(-size // 8),), kinds="u")
    bits = np.unpackbits(cells, count=size).view(bool)
    there = bits.reshape(len(used), flat.shape[1])
    block = np.zeros(there.shape, values.dtype)
    block[there] = values
    flat[used] = block
    return table


def packed_rows(name: str, arrays: Mapping[str, np.ndarray], size: int) -> np.ndarray:
    """Which rows of a packed table, of `size` rows in all, have weights."""
    return np.flatnonzero(unpack_flags(arrays[f"{name}.rows"], size)).astype(np.uint32)


def pack_flags(flags: np.ndarray) -> np.ndarray:
    """Flags as bits (uint8) or, where that is shorter, as the places of those set (uint32)."""
    places = np.flatnonzero(flags).astype(np.uint32)
    bits = np.packbits(flags)
    return places if places.nbytes < bits.nbytes else bits


def unpack_flags(packed: np.ndarray, size: int) -> np.ndarray:
    """Undo `pack_flags` for this many flags."""
    check_room((size,), bool, packed.nbytes)
    if packed.dtype == np.uint8:
        check_shape("flags", packed, (-(-size // 8),), kinds="u")
        return np.unpackbits(packed, count=size).view(bool)
    flags = np.zeros(size, bool)
    flags[packed] = True
    return flags
