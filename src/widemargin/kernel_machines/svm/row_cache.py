"""Rows of kernel values that are computed when they are first needed, in memory of a fixed size."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from widemargin.kernels.blocks import block, check_values, is_near, write_near
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.points import Points
from widemargin.loops.svm.smo import store_tile
from widemargin.threads import run_all

#: Values are computed in tiles of so many rows and columns. (They do not depend on the number of
#: threads: products of another shape may be rounded otherwise.)
_ROWS, _COLUMNS = 256, 512
#: A thread takes so many tiles at a time.
_SHARE = 8
#: Or so many panels of packed points. (What is computed with them is always rounded alike.)
_PANELS = 64


class Panel:
    """Kernel values between some examples and others: a row for each of the first that was needed.

    Parameters
    ----------
    kernel : Kernel
        What is computed.
    A, B : Points
        The examples that may have a row, and those that every row is about.
    store : array (capacity, B.n)
        Where rows are kept.
    enough : int
        With so many rows there, the one not used for longest makes room for a new one.
    threads : int
        Threads that may compute one row.
    """

    def __init__(
        self,
        kernel: Kernel,
        A: Points,
        B: Points,
        store: np.ndarray,
        enough: int,
        threads: int = 1,
    ) -> None:
        self.kernel, self.A, self.B, self.store, self.threads = kernel, A, B, store, threads
        self.capacity, self.enough = len(store), min(enough, len(store))
        self.computed = 0
        self._slot = np.full(A.n, -1)
        self._owner = np.full(self.capacity, -1)
        self._used = np.zeros(self.capacity, np.int64)
        self._clock, self._filled = 0, 0
        self._near = is_near(kernel, A, B)
        if self._near:
            whole = len(B.packed)
            step = max(1, whole) if threads == 1 else _PANELS
            self._parts = [slice(k, k + step) for k in range(0, whole, step)]
            return
        by_products = kernel.name not in ("function", "precomputed") and B.dense is not None
        width = _COLUMNS if by_products else max(1, B.n)
        starts = range(0, B.n, width)
        tiles = [(start, B.take(slice(start, min(start + width, B.n)))) for start in starts]
        self._shares = [tiles[k : k + _SHARE] for k in range(0, len(tiles), _SHARE)]

    def bring(self, which: np.ndarray) -> np.ndarray:
        """Compute the rows of these examples unless they are there; returns where they are.

        Rows of other examples may have to make room, which these do not before the next call.
        """
        self._clock += 1
        slots = self._slot[which]
        here = slots >= 0
        self._used[slots[here]] = self._clock
        missing = which[~here]
        if len(missing):
            room = self._make_room(len(missing))
            self._compute(missing, room)
            self._owner[room], self._slot[missing] = missing, room
            self._used[room] = self._clock
            slots = self._slot[which]
        return slots.astype(np.uint64)

    def _make_room(self, count: int) -> np.ndarray:
        """Slots for new rows: fresh ones up to `enough`, then those not used for longest."""
        fresh = max(0, min(count, self.enough - self._filled))
        old = np.flatnonzero(self._used[: self._filled] < self._clock)
        old = old[np.argsort(self._used[old], kind="stable")][: count - fresh]
        fresh = count - len(old)
        if self._filled + fresh > self.capacity:
            raise MemoryError("more kernel rows are needed at once than were allowed for")
        self._slot[self._owner[old]] = -1
        new = np.arange(self._filled, self._filled + fresh)
        self._filled += fresh
        return np.concatenate([np.sort(old), new])

    def _compute(self, which: np.ndarray, room: np.ndarray) -> None:
        """Write kernel values into slots, tile by tile: products and all in the nearest cache."""
        self.computed += len(which)
        if self._near:
            write = partial(write_near, self.kernel, self.A, which, self.B, self.store, room)
            run_all(write, self._parts, self.threads)
            return
        for start in range(0, len(which), _ROWS):
            A = self.A.take(which[start : start + _ROWS])
            slots = room[start : start + _ROWS].astype(np.uint64)
            run_all(partial(self._fill, A, slots), self._shares, self.threads)

    def _fill(self, A: Points, slots: np.ndarray, tiles: list[tuple[int, Points]]) -> None:
        """Compute some columns of some rows."""
        tile = np.empty(A.n * max(B.n for _, B in tiles), self.store.dtype)
        for start, B in tiles:
            K = tile[: A.n * B.n].reshape(A.n, B.n)
            block(self.kernel, A, B, out=K)
            # A sum is not finite if anything in it is not. (Those of distances are from 0 to 1.)
            if self.kernel.name in ("linear", "poly", "precomputed"):
                with np.errstate(over="ignore", invalid="ignore"):
                    suspect = not np.isfinite(K.sum())
                if suspect:
                    check_values(K, A, B)
            store_tile(K, self.store, slots, np.uint64(start))


class Room:
    """Memory that is lent again and again: fresh memory costs more than what is written into it."""

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype = dtype
        self._memory: dict[Any, np.ndarray] = {}

    def lend(self, name: Any, rows: int, columns: int) -> np.ndarray:
        """An array of this shape, in memory that nobody else uses under this name."""
        memory = self._memory.get(name)
        if memory is None or memory.size < rows * columns:
            memory = self._memory[name] = np.empty(rows * columns, self._dtype)
        return memory[: rows * columns].reshape(rows, columns)
