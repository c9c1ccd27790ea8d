"""Lossless storage of sparse weight tables: most rows have a few weights, many have none.

One bit per row says whether it has weights (or such rows are listed, if they are few), and one bit
per cell of such a row whether it has one; the weights follow. A 16-bit integer takes one byte if
the integers of its row fit into 8 bits times a common power of two, as `round_rows` makes them.
Everything is compressed where that is shorter. A chunker with 262,144 rows of 48 cells (50 MB)
takes 4 MB this way.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from widemargin.modelfile.checks import check_room, check_shape
from widemargin.parameters.values import check_probability, check_whole

#: Rows per block.
_BLOCK = 1 << 14
#: Marks a row whose weights take more than a byte, in place of its power of two.
_WIDE = 255
#: The types of weights.
_KINDS = ("float32", "float16", "int16")
#: Defaults for smaller models, see `ParserModel.smaller`: bits per weight, and the share of the
#: largest weight that features must exceed. Chosen on dev sets, one seed each: LAS of English
#: 81.21 -> 81.31 and of Greek 81.83 -> 81.88, English UPOS 95.16 -> 95.18 and XPOS 94.50 -> 94.44;
#: a share of 0.04 lost 0.1 to 0.9 points.
SMALL_BITS, SMALL_SHARE = 6, 0.02
#: Compression level: 6 is zlib's usual compromise.
_LEVEL = 6


def pack_rows(name: str, table: np.ndarray) -> dict[str, np.ndarray]:
    """A table, or a vector of weights, as arrays for a file.

    Examples
    --------
    >>> table = np.zeros((100, 16), np.float32)
    >>> table[7, 3] = 0.5
    >>> packed = pack_rows("W", table)
    >>> {key: array.shape for key, array in packed.items()}
    {'W.rows': (1,), 'W.cells': (2,), 'W.float32': (4,)}
    >>> np.array_equal(unpack_rows("W", packed, table.shape), table)
    True
    """
    flat = table.reshape(len(table), math.prod(table.shape[1:]))
    used, filled, values, widths = [], [], [], []
    for a in range(0, len(flat), _BLOCK):
        block = np.ascontiguousarray(flat[a : a + _BLOCK])
        there = block.view(f"u{block.itemsize}") != 0  # compare bits, because of -0.0
        rows = there.any(axis=1)
        used.append(rows)
        filled.append(there[rows].ravel())
        values.append(block[there])
        widths.append(there[rows].sum(axis=1))
    nothing = np.zeros(0, bool)
    found = np.concatenate([np.zeros(0, table.dtype), *values])
    packed = {
        f"{name}.rows": pack_flags(np.concatenate([nothing, *used])),
        f"{name}.cells": _squeezed(np.packbits(np.concatenate([nothing, *filled]))),
    }
    if found.dtype != np.int16:
        return {**packed, f"{name}.{found.dtype}": _squeezed(found)}
    return {**packed, **_pack_bytes(name, found, np.concatenate([*widths, np.zeros(0, int)]))}


def _pack_bytes(name: str, values: np.ndarray, widths: np.ndarray) -> dict[str, np.ndarray]:
    """Integers, in single bytes for rows that allow it; `widths` says how many each row has."""
    sizes = np.abs(values.astype(np.int32))
    starts = (np.cumsum(widths) - widths).astype(np.int64)
    together = np.bitwise_or.reduceat(sizes, starts) if len(starts) else sizes
    power = np.log2(together & -together).astype(np.uint8)  # of the lowest bit that is set
    most = np.maximum.reduceat(sizes, starts) if len(starts) else sizes
    power[(most >> power) > 127] = _WIDE
    wide = np.repeat(power == _WIDE, widths)
    if wide.mean() > 0.5 if len(wide) else True:
        return {f"{name}.int16": _squeezed(values)}
    small = (values[~wide] >> np.repeat(power, widths)[~wide]).astype(np.int8)
    return {
        f"{name}.powers": _squeezed(power),
        f"{name}.int8": _squeezed(small),
        f"{name}.int16": _squeezed(values[wide]),
    }


def unpack_rows(name: str, arrays: Mapping[str, np.ndarray], shape: Sequence[int]) -> np.ndarray:
    """Undo `pack_rows`."""
    used = packed_rows(name, arrays, shape[0])
    width = math.prod(shape[1:])
    size = len(used) * width
    cells = arrays[f"{name}.cells"]
    stored = sum(part.nbytes for key, part in arrays.items() if key.startswith(f"{name}."))
    if f"{name}.values" in arrays:  # early files of format 4
        kind = arrays[f"{name}.values"].dtype
        check_room(shape, kind, stored)
    else:
        kind = np.dtype(next(one for one in _KINDS if f"{name}.{one}" in arrays))
        check_room(shape, kind, stored)
        cells = _unsqueezed(cells, np.dtype(np.uint8), -(-size // 8))
    check_shape(f"{name}.cells", cells, (-(-size // 8),), kinds="u")
    there = np.unpackbits(cells, count=size).view(bool).reshape(len(used), width)
    table = np.zeros(shape, kind)
    block = np.zeros(there.shape, kind)
    block[there] = _values(name, arrays, kind, there)
    table.reshape(len(table), width)[used] = block
    return table


def _values(
    name: str, arrays: Mapping[str, np.ndarray], kind: np.dtype, there: np.ndarray
) -> np.ndarray:
    """The weights in order; `there` says for every cell whether it has one."""
    count = int(np.count_nonzero(there))
    if f"{name}.values" in arrays:
        return arrays[f"{name}.values"]
    if f"{name}.powers" not in arrays:
        return _unsqueezed(arrays[f"{name}.{kind}"], kind, count)
    powers = _unsqueezed(arrays[f"{name}.powers"], np.dtype(np.uint8), len(there))
    each = np.repeat(powers, there.sum(axis=1))
    wide = each == _WIDE
    values = np.zeros(count, np.int16)
    values[wide] = _unsqueezed(arrays[f"{name}.int16"], kind, int(wide.sum()))
    small = _unsqueezed(arrays[f"{name}.int8"], np.dtype(np.int8), int((~wide).sum()))
    values[~wide] = small.astype(np.int16) << each[~wide]
    return values


def _squeezed(array: np.ndarray) -> np.ndarray:
    """The bytes of an array, compressed if that is shorter.

    The first bytes of all numbers are stored first, then the second ones, and so on, because the
    last bytes are much alike.
    """
    plain = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), array.itemsize)
    raw = plain.T.tobytes()
    made = zlib.compress(raw, _LEVEL)
    return np.frombuffer(made if len(made) < len(raw) else raw, np.uint8)


def _unsqueezed(packed: np.ndarray, kind: np.dtype, count: int) -> np.ndarray:
    """Undo `_squeezed` for this many numbers."""
    size, raw = count * kind.itemsize, packed.tobytes()
    if len(raw) < size:
        reader = zlib.decompressobj()
        try:
            raw = reader.decompress(raw, size + 1)
        except zlib.error as error:
            raise ValueError(f"the weights cannot be decompressed: {error}") from None
        if len(raw) == size and not reader.eof:
            raise ValueError("the compressed weights are truncated")
    if len(raw) != size:
        raise ValueError(f"there are {len(raw):,} bytes of weights instead of {size:,}")
    plain = np.frombuffer(raw, np.uint8).reshape(kind.itemsize, count)
    return np.ascontiguousarray(plain.T).view(kind).reshape(count)


def round_rows(whole: np.ndarray, bits: int) -> np.ndarray:
    """16-bit integers, each row rounded to the upper bits of its largest one.

    A row is divided by the smallest power of two that leaves `bits` bits, sign included, rounded,
    and multiplied back. Rows with the overall largest number keep it, so that the scale is the
    same.

    Examples
    --------
    >>> round_rows(np.array([[100, 3], [1000, 3]], np.int16), 4).tolist()
    [[96, 0], [1000, 3]]
    """
    flat = whole.reshape(len(whole), -1)
    most = (1 << (bits - 1)) - 1
    made = np.empty_like(flat)
    largest = max(int(np.abs(flat[a : a + _BLOCK].astype(np.int32)).max()) for a in _blocks(flat))
    for a in _blocks(flat):
        block = flat[a : a + _BLOCK].astype(np.int32)
        size = np.abs(block).max(axis=1)
        unit = 1 << np.ceil(np.log2(np.maximum(size, 1) / (most + 0.5))).clip(0).astype(np.int32)
        rounded = np.rint(block / unit[:, None]).clip(-most, most).astype(np.int32) * unit[:, None]
        rounded[size == largest] = block[size == largest]
        made[a : a + _BLOCK] = rounded
    return made.reshape(whole.shape)


def check_rounding(bits: int, share: float) -> None:
    """Check the parameters for making a model smaller."""
    check_whole("bits", bits, least=2, most=16)
    check_probability("share", share)


def _blocks(flat: np.ndarray) -> range:
    return range(0, len(flat), _BLOCK)


def packed_rows(name: str, arrays: Mapping[str, np.ndarray], size: int) -> np.ndarray:
    """Which rows of a packed table, of `size` rows in all, have weights."""
    return np.flatnonzero(unpack_flags(arrays[f"{name}.rows"], size)).astype(np.uint32)


def pack_flags(flags: np.ndarray) -> np.ndarray:
    """Flags as bits (uint8) or, where that is shorter, as the indices of those set (uint32)."""
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
