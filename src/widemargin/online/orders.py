"""The order of the examples in each epoch, as index arrays from a seeded generator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.linear.orders import RUN
from widemargin.modelfile.packing import pack_value, unpack_value

#: False: the given order. "once": one permutation. "rows": a new permutation in every epoch.
#: True: the same, but so that rows are read from memory in short runs (see `mixed`).
#: "draw": as many examples as there are, drawn with replacement.
Shuffle = bool | Literal["once", "rows", "draw"]
SHUFFLES = (True, False, *get_args(get_args(Shuffle)[1]))

#: `mixed` cuts rows into runs of _RUN neighbours and takes rows in turn from _STREAMS runs.
_RUN, _STREAMS = int(RUN), 32


def orders(which: np.ndarray, shuffle: Shuffle, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the order of each epoch, indefinitely.

    Parameters
    ----------
    which : array of uint64
        The rows to learn from, in ascending order.
    shuffle : bool or str
        How to order them, see `Shuffle`.
    rng : numpy Generator
        Random generator; it is used once per epoch, before the epoch.
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


class ResumableOrders:
    """The orders of successive epochs, which can be resumed after an interruption.

    Parameters
    ----------
    which : array of uint64
        The rows to order, ascending.
    shuffle : bool or str
        How to order them, see `Shuffle`.
    """

    def __init__(self, which: np.ndarray, shuffle: Shuffle) -> None:
        self.which, self.shuffle = which, shuffle
        self._orders: Iterator[np.ndarray] | None = None

    def next(self, states: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
        """Return the order of the next epoch.

        The generator is in its state at the start of this epoch. `states["run"]` is its state at
        the start of the run, which determines the permutation of "once".
        """
        if self._orders is None:
            if self.shuffle == "once":
                rng.bit_generator.state = states["run"]
            self._orders = orders(self.which, self.shuffle, rng)
        return next(self._orders)


class EpochOrders:
    """The order of each epoch of one training, and what a checkpoint needs to draw it again.

    Parameters
    ----------
    which, shuffle
        See `ResumableOrders`.
    rng : numpy Generator
        Source of randomness. The training may draw from it too, within an epoch.
    """

    def __init__(self, which: np.ndarray, shuffle: Shuffle, rng: np.random.Generator) -> None:
        self._turns, self._rng = ResumableOrders(which, shuffle), rng
        self._states: dict[str, Any] = {"run": rng.bit_generator.state}

    @property
    def missed(self) -> np.ndarray:
        """The examples that an epoch may miss: none, unless they are drawn with replacement."""
        which = self._turns.which
        return which if self._turns.shuffle == "draw" else which[:0]

    def begin(self, resumed: bool) -> np.ndarray:
        """The order of the next epoch, or of the one that was interrupted."""
        now = self._rng.bit_generator.state
        if resumed:
            self._rng.bit_generator.state = self._states["epoch"]
        else:
            self._states["epoch"] = now
        order = self._turns.next(self._states, self._rng)
        if resumed:
            self._rng.bit_generator.state = now
        return order

    def about(self) -> dict[str, Any]:
        """The current and earlier states of the generator, as JSON."""
        now = self._rng.bit_generator.state
        return {"generators": pack_value(self._states), "generator": pack_value(now)}

    def resume(self, about: dict[str, Any]) -> None:
        """Undo `about`."""
        self._states = read_states(about["generators"], self._rng)
        self._rng.bit_generator.state = unpack_value(about["generator"])


def read_states(packed: Any, rng: np.random.Generator, *others: str) -> dict[str, Any]:
    """The states of a generator that a checkpoint holds; raises an error if they are none.

    Those of the run and the epoch must be there, and `others`.
    """
    states = unpack_value(packed)
    if not isinstance(states, dict) or not {"run", "epoch", *others} <= states.keys():
        raise ValueError("states of the random generator are missing")
    trial = type(rng.bit_generator)()
    for state in states.values():
        trial.state = state
    return states


def generator_of(state: Mapping[str, Any]) -> np.random.Generator:
    """A generator in the state that a file holds; raises an error if it is none.

    Examples
    --------
    >>> generator_of({"bit_generator": "seed"})
    Traceback (most recent call last):
        ...
    ValueError: 'seed' is not a random generator
    """
    kind = getattr(np.random, state["bit_generator"], None)
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise ValueError(f"{state['bit_generator']!r:.40} is not a random generator")
    made = kind()
    made.state = state
    return np.random.Generator(made)


def unpack_state(packed: Any) -> Mapping[str, Any] | None:
    """The state of a random generator in a description, if there is one; an error if it is none."""
    state = unpack_value(packed)
    if state is not None:
        generator_of(state)
    return state


def mixed(which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Permute rows in an order that reads memory efficiently.

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


def is_all(which: np.ndarray) -> bool:
    """Whether `which` is simply 0, 1, 2, ...; as it is sorted, its two ends suffice."""
    return which[0] == 0 and which[-1] == len(which) - 1
