"""Arrays next to protected pages: an out-of-bounds access kills the process, which is a finding.

Hand-written LLVM checks nothing, and numba's bounds checks do not cover it. So the arrays that
readers and encoders create are placed right before (or, every other run, right after) a page that
may be neither read nor written.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import mmap
from typing import Any

import numpy as np

from fuzz import readers

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)
#: Modules whose arrays compiled code reads and writes.
MODULES = (
    *("data.readers.svmlight", "data.readers.vw", "data.readers.labelled"),
    *("data.encode.hashed", "data.encode.text", "data.encode.pieces", "data.encode.names"),
)
_behind = True


def place(shape: Any, kind: Any = np.float64) -> np.ndarray:
    """An array that ends at a protected page, or begins right after one."""
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    kind = np.dtype(kind)
    size = math.prod(shape) * kind.itemsize
    pages = -(-max(size, 1) // _PAGE)
    room = mmap.mmap(-1, (pages + 2) * _PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    for page in (start, start + (pages + 1) * _PAGE):
        if _LIBC.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(_PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = (pages + 1) * _PAGE - size if _behind else _PAGE
    return np.frombuffer(room, kind, math.prod(shape), offset).reshape(shape)


def moved(array: Any) -> np.ndarray:
    """A copy of an array next to a protected page."""
    array = np.asarray(array)
    found = place(array.shape, array.dtype)
    found[...] = array
    return found


class Numpy:
    """numpy with new arrays placed next to protected pages."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: Any = np.float64) -> np.ndarray:
        """Like numpy's, but filled with ones, because nothing may depend on the content."""
        found = place(shape, dtype)
        found.reshape(-1).view(np.uint8)[:] = 0xA5
        return found

    def zeros(self, shape: Any, dtype: Any = np.float64) -> np.ndarray:
        """As numpy's."""
        return place(shape, dtype)

    def full(self, shape: Any, value: Any, dtype: Any = None) -> np.ndarray:
        """As numpy's."""
        return moved(np.full(shape, value, dtype))

    def zeros_like(self, array: Any, dtype: Any = None) -> np.ndarray:
        """As numpy's."""
        return place(array.shape, dtype or array.dtype)

    def append(self, *arrays: Any) -> np.ndarray:
        """As numpy's."""
        return moved(np.append(*arrays))

    def concatenate(self, arrays: Any) -> np.ndarray:
        """As numpy's."""
        return moved(np.concatenate(arrays))


def guard(run: int = 0) -> None:
    """Make readers and encoders use such arrays from now on."""
    global _behind
    _behind = run % 2 == 0
    for name in MODULES:
        importlib.import_module(f"widemargin.{name}").np = Numpy()  # type: ignore[attr-defined]
    plain = readers.as_text
    readers.as_text = lambda data: moved(plain(data))
    import widemargin.data.encode.text as text

    made = text.texts_of
    text.texts_of = lambda documents: type(made([]))(*map(moved, made(documents)))


def vectors(data: bytes) -> None:
    """Hand-written LLVM on rows of weights: their sums, and the best path."""
    from widemargin.loops.jit import jit
    from widemargin.loops.lowlevel.vectors import (
        HEAD,
        add_rows,
        add_split_rows,
        fetch_rows,
        max_plus,
    )

    global _loops
    if _loops is None:

        @jit()
        def sums(W, ids, first, count, ahead, s):  # type: ignore[no-untyped-def]
            fetch_rows(W, ids, first, count)
            add_rows(W, ids, first, count, ahead, s, np.uint64(0))

        @jit()
        def best(v, A, s, out):  # type: ignore[no-untyped-def]
            zero = np.uint64(0)
            max_plus(v, zero, np.uint64(len(A)), A, zero, s, zero, out, zero)

        @jit()
        def split_sums(heads, tails, ids, count, s):  # type: ignore[no-untyped-def]
            zero = np.uint64(0)
            add_split_rows(heads, tails, ids, zero, count, count, s, zero)

        _loops = sums, best, split_sums
    if len(data) < 6:
        return
    width = (8, 16, 32, 48, 64, 80, 128)[data[0] % 7]
    rows, count = 1 + data[1] % 40, 1 + data[2] % 12
    whole = data[3] % 2 == 1
    numbers = np.resize(np.frombuffer(data, np.uint8), rows * width).reshape(rows, width)
    W = moved(numbers.astype(np.int16 if whole else np.float32))
    ids = moved((np.resize(np.frombuffer(data, np.uint8), 2 * count) % rows).astype(np.uint32))
    s = moved(np.zeros((1, width), np.int32 if whole else np.float32))
    one, several = np.uint64(0), np.uint64(count)
    _loops[0](W, ids, one, several, several, s)
    np.testing.assert_array_equal(s[0], W[ids[:count]].astype(s.dtype).sum(axis=0))
    if not whole:
        n = min(rows, width)
        v, A = moved(W[:1]), moved(W[:n])
        out = moved(np.zeros((1, width), np.float32))
        _loops[1](v, A, s, out)
        np.testing.assert_array_equal(out[0], s[0] + (v[0, :n, None] + A).max(axis=0))
    elif width in (HEAD + 16, 2 * HEAD):
        heads, tails = numbers[:, :HEAD].astype(np.int16), moved(W[: 1 + rows // 2, HEAD:].copy())
        heads[:, -1] %= len(tails)
        right = np.concatenate([heads[:, :-1], tails[heads[:, -1]]], axis=1)[ids[:count]].sum(
            axis=0
        )
        s = moved(np.zeros((1, width), np.float32))
        _loops[2](moved(heads), tails, ids, several, s)
        np.testing.assert_array_equal(s[0, : len(right)], right)


_loops: Any = None
