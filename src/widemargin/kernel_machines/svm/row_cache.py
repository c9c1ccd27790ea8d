"""A cache of kernel rows of fixed size, and reusable buffers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from widemargin.kernels.blocks import block, check_values, is_near, write_near
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.points import Points
from widemargin.loops.lowlevel.panel_products import PANEL
from widemargin.loops.svm.smo import store_tile
from widemargin.threads import run_all

# Chosen by hand; benchmarks/RESULTS.md (section "kernel_svm") gives times measured with them.

#: Values are computed in tiles of this many rows and columns, 512 kB in float32. The tiles must not
#: depend on the number of threads, because products of another shape may be rounded differently.
_ROWS, _COLUMNS = 256, 512
#: Number of tiles that a thread takes at a time; it affects only the time.
_TILES_PER_TASK = 8
#: The same in columns, as whole panels, for points whose values do not depend on the shape.
_COLUMNS_PER_TASK = 64 * PANEL


def refuse_not_finite(kernel: Kernel, K: np.ndarray, A: Points, B: Points) -> None:
    """Raise an error naming the first pair of examples whose kernel value is not finite."""
    if kernel.name not in ("linear", "poly", "precomputed"):
        return  # kernels of distances are always finite
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = not np.isfinite(K.sum())  # the sum is not finite if any value is not
    if suspect:
        check_values(K, A, B)


class RowCache:
    """A cache of kernel rows: values between some examples and others, most recently used.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    A, B : Points
        The examples that may have rows, and those of the columns.
    store : array (capacity, B.n)
        The memory for the rows.
    enough : int
        From this number of rows on, a new row replaces the least recently used one.
    threads : int
        The number of threads that compute rows.
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
            step = max(1, B.n) if threads == 1 else _COLUMNS_PER_TASK
            self._parts = [slice(k, k + step) for k in range(0, B.n, step)]
            return
        by_products = kernel.name not in ("function", "precomputed") and B.dense is not None
        width = _COLUMNS if by_products else max(1, B.n)
        starts = range(0, B.n, width)
        tiles = [(start, B.take(slice(start, min(start + width, B.n)))) for start in starts]
        step = _TILES_PER_TASK
        self._tasks = [tiles[k : k + step] for k in range(0, len(tiles), step)]

    def fetch(self, which: np.ndarray) -> np.ndarray:
        """Compute the rows of these examples unless they are cached; return their slots.

        Rows of other examples may be replaced. These rows stay until the next call.
        """
        self._clock += 1
        slots = self._slot[which]
        here = slots >= 0
        self._used[slots[here]] = self._clock
        missing = which[~here]
        if len(missing):
            new = self._make_room(len(missing))
            self._compute(missing, new)
            self._owner[new], self._slot[missing] = missing, new
            self._used[new] = self._clock
            slots = self._slot[which]
        return slots.astype(np.uint64)

    def _make_room(self, count: int) -> np.ndarray:
        """Return slots for new rows: fresh ones up to `enough`, then the least recently used."""
        fresh = max(0, min(count, self.enough - self._filled))
        old = np.flatnonzero(self._used[: self._filled] < self._clock)
        old = old[np.argsort(self._used[old], kind="stable")][: count - fresh]
        fresh = count - len(old)
        if self._filled + fresh > self.capacity:
            raise MemoryError("max_memory is too small to hold all kernel rows needed; raise it")
        self._slot[self._owner[old]] = -1
        new = np.arange(self._filled, self._filled + fresh)
        self._filled += fresh
        return np.concatenate([np.sort(old), new])

    def _compute(self, which: np.ndarray, slots: np.ndarray) -> None:
        """Write kernel values into slots by tiles, each of which stays in the processor's cache."""
        self.computed += len(which)
        if self._near:
            write = partial(write_near, self.kernel, self.A, which, self.B, self.store, slots)
            run_all(write, self._parts, self.threads)
            return
        for start in range(0, len(which), _ROWS):
            A = self.A.take(which[start : start + _ROWS])
            some = slots[start : start + _ROWS].astype(np.uint64)
            run_all(partial(self._fill, A, some), self._tasks, self.threads)

    def _fill(self, A: Points, slots: np.ndarray, tiles: list[tuple[int, Points]]) -> None:
        """Compute some columns of some rows."""
        tile = np.empty(A.n * max(B.n for _, B in tiles), self.store.dtype)
        for start, B in tiles:
            K = tile[: A.n * B.n].reshape(A.n, B.n)
            block(self.kernel, A, B, out=K)
            refuse_not_finite(self.kernel, K, A, B)
            store_tile(K, self.store, slots, np.uint64(start))


class GivenRows:
    """Kernel rows that are all in memory, with the interface of a `RowCache` for readers."""

    def __init__(self, store: np.ndarray) -> None:
        self.store = store

    def fetch(self, which: np.ndarray) -> np.ndarray:
        """Return the slots of these examples."""
        return which.astype(np.uint64)


class Buffers:
    """Reusable arrays: allocating fresh memory costs more than writing into it."""

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype = dtype
        self._memory: dict[Any, np.ndarray] = {}

    def get(self, name: Any, rows: int, columns: int) -> np.ndarray:
        """Return an array of this shape, to be overwritten after the next call with this name."""
        memory = self._memory.get(name)
        if memory is None or memory.size < rows * columns:
            memory = self._memory[name] = np.empty(rows * columns, self._dtype)
        return memory[: rows * columns].reshape(rows, columns)
