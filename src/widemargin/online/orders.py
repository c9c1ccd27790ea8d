"""Which examples come next: the orders of an epoch, as index arrays from a seeded generator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.linear.orders import RUN, interleave_runs, keep_active

#: False: as given. "once": permuted once. "rows": every epoch in a fresh permutation.
#: True: the same, but drawn so that rows are read from memory in short runs (see `mixed`).
#: "draw": examples drawn with replacement, as many as there are.
Shuffle = bool | Literal["once", "rows", "draw"]
SHUFFLES = (True, False, *get_args(get_args(Shuffle)[1]))

#: `mixed` takes rows in turn from so many runs of so many neighbouring rows.
_RUN, _STREAMS = int(RUN), 32
#: `stirred` shuffles so many runs together.
_STIRRED = 16


def orders(which: np.ndarray, shuffle: Shuffle, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the order of one epoch after the other, for ever.

    Parameters
    ----------
    which : array of uint64
        The rows to learn from, in ascending order.
    shuffle : bool or str
        How to order them, see `Shuffle`.
    rng : numpy Generator
        Where chance comes from; it is used once an epoch, before the epoch.
    """
    if shuffle == "once":
        which = rng.permutation(which)
    while True:
        if shuffle is True:
            order = mixed(which, rng)
        elif shuffle == "rows":
            order = rng.permutation(which)
        elif shuffle == "draw":
            order = rng.choice(which, len(which))
        else:
            order = which
        yield frozen(order)


def mixed(which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Permute rows so that the memory can keep up.

    A row fetched from a random place costs about twice as much as its neighbour. So the rows are
    cut, at a random place, into runs of 64; the runs are permuted; and 32 runs at a time are read
    side by side, one row from each in turn. Neighbours in the order come from all over the data,
    yet every run is read from front to back. Few rows are simply permuted.

    Examples
    --------
    >>> import numpy as np
    >>> order = mixed(np.arange(10_000, dtype=np.uint64), np.random.default_rng(0))
    >>> np.array_equal(np.sort(order), np.arange(10_000))
    True
    """
    n = len(which)
    if n <= _RUN * _STREAMS:
        return rng.permutation(which)
    cut = int(rng.integers(_RUN))
    runs = rng.permutation((n - cut) // _RUN).astype(np.uint64) * np.uint64(_RUN) + np.uint64(cut)
    step = np.arange(_RUN, dtype=np.uint64)[:, None]
    together = len(runs) // _STREAMS * _STREAMS
    # Written in place: fresh memory costs more here than the arithmetic.
    at = np.empty(n, np.uint64)
    inside = at[: len(runs) * _RUN]
    side_by_side, rest = inside[: together * _RUN], inside[together * _RUN :]
    np.add(
        runs[:together].reshape(-1, 1, _STREAMS),
        step,
        out=side_by_side.reshape(-1, _RUN, _STREAMS),
    )
    np.add(runs[together:], step, out=rest.reshape(_RUN, -1))
    # the rows before the first whole run and after the last one
    edges = np.r_[:cut, cut + len(inside) : n].astype(np.uint64)
    at[len(inside) :] = rng.permutation(edges)
    return at if is_all(which) else which[at]


def stirred(which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Permute rows so that the memory can keep up and no row keeps its neighbours.

    In `mixed` a row always follows its neighbour at the same distance. A learner that comes back
    to the same rows until nothing changes (dual coordinate descent) then settles into a cycle of
    errors that repeat. So here runs of 64 rows are permuted as there, but 16 runs at a time are
    shuffled together. Few rows are simply permuted.

    Examples
    --------
    >>> import numpy as np
    >>> order = stirred(np.arange(10_000, dtype=np.uint64), np.random.default_rng(0))
    >>> np.array_equal(np.sort(order), np.arange(10_000))
    True
    """
    n, window = len(which), _RUN * _STIRRED
    if n <= 2 * window:
        return rng.permutation(which)
    cut = int(rng.integers(_RUN))
    runs = rng.permutation(np.arange((n - cut) // _RUN, dtype=np.uint64))
    # One shuffle for all windows: they hold other rows every time, and a draw for each costs more.
    together, rest = (
        rng.permutation(np.arange(length, dtype=np.uint64)) for length in (window, n % window)
    )
    out = np.empty(n, np.uint64)
    interleave_runs(frozen(which), runs, np.uint64(cut), together, rest, out)
    return out


def awake_of(which: np.ndarray, asleep: np.ndarray) -> np.ndarray:
    """The rows of `which` that are not asleep.

    >>> awake_of(np.array([0, 2, 3], np.uint64), np.array([0, 0, 1, 0], np.uint8)).tolist()
    [0, 3]
    """
    out = np.empty(len(which), np.uint64)
    return frozen(out[: keep_active(frozen(which), asleep, out)])


def is_all(which: np.ndarray) -> bool:
    """Whether `which` is simply 0, 1, 2, ...: its first and last say so, as it is sorted."""
    return which[0] == 0 and which[-1] == len(which) - 1
