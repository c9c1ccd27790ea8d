"""Iterative parameter mixing: each partition learns for an epoch, then the weights are mixed.

    w = 0
    for each epoch:
        for each partition i, at the same time:
            w_i = w, changed by one epoch over the partition
        w = w + sum_i (w_i - w) / P                 (mix="uniform")
        w = w + sum_i (w_i - w) / P_c, column by column, P_c partitions having changed column c
                                                    (mix="touched")

The average is taken over all hypotheses of all partitions. With the uniform mixture, the mistakes
of all epochs, each weighted by 1/P, are at most (R / gamma)^2: R. McDonald, K. Hall and
G. Mann (2010), Distributed training strategies for the structured perceptron, NAACL, theorem 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import frozen
from widemargin.distribute.first_pass import Loaded, order_generator
from widemargin.errors import DataError
from widemargin.loops.linear.passes import COUNT, SCALE, SEEN, TURN
from widemargin.modelfile.packing import pack_sparse, unpack_sparse
from widemargin.online.learn import learn_once
from widemargin.online.orders import orders
from widemargin.online.passes import Window
from widemargin.online.scores import best_class, deployed_scores
from widemargin.online.settings import Settings
from widemargin.online.state import State

MIXTURES = ("uniform", "touched")
#: Changes of more than this fraction of all weights are sent as full vectors. Up to five sixths,
#: that takes more bytes, but leaving columns out and putting them back takes longer than sending.
DENSE = 0.5
#: Two changes that together have more than this fraction of all columns are added as full vectors:
#: merging two halves of 262,144 columns takes 20 ms, adding all columns 1 ms.
MERGED = 0.5


@dataclass(frozen=True)
class Weights:
    """Weights to be sent to the partitions, without zeros where that is smaller."""

    packed: dict[str, np.ndarray]

    @classmethod
    def of(cls, W: np.ndarray) -> Weights:
        """Pack a copy of weights, which may change later."""
        packed = pack_sparse("W", W)
        return cls({name: array.copy() if array is W else array for name, array in packed.items()})

    @cached_property
    def whole(self) -> np.ndarray:
        """The weights, unpacked once for all partitions of a worker."""
        return frozen(unpack_sparse("W", self.packed))

    def __getstate__(self) -> dict[str, Any]:
        return {"packed": self.packed}

    def __sizeof__(self) -> int:
        """The bytes that travel."""
        return object.__sizeof__(self) + sum(array.nbytes for array in self.packed.values())


class Epoch(NamedTuple):
    """How every partition learns in an epoch."""

    settings: Settings
    bias: float
    seed: int
    epoch: int  # from 0


@dataclass(frozen=True)
class Change:
    """The changes of one or several partitions in an epoch, summed over them.

    Attributes
    ----------
    places : array or None
        The columns that changed, ascending, the bias after all features; None means all columns.
    moved : array (k, columns)
        w_i - w, in float64.
    gathered : array (k, columns) or (0, columns)
        The sum of w_t - w over all hypotheses w_t, for the average; empty if there is no average.
    touched : array
        How many partitions changed each column.
    width : int
        The number of columns of all weights, including the bias.
    partitions, examples, mistakes, updates, loss
        The number of partitions, and the counts of the epoch.
    votes : float
        How many hypotheses `gathered` is summed over.
    longest : float
        The squared norm of the longest feature difference, where that is measured.
    """

    places: np.ndarray | None
    moved: np.ndarray
    gathered: np.ndarray
    touched: np.ndarray
    width: int
    partitions: int
    examples: int
    mistakes: int
    updates: int
    loss: float
    votes: float = 0.0
    longest: float = 0.0

    def __sizeof__(self) -> int:
        """The bytes that travel."""
        arrays = (self.places, self.moved, self.gathered, self.touched)
        known = sum(array.nbytes for array in arrays if array is not None)
        return object.__sizeof__(self) + known


def learn_partition(loaded: Loaded, start: Weights, how: Epoch) -> Change:
    """Learn from a partition for one epoch."""
    settings, n = how.settings, len(loaded.learned)
    before = loaded.pick(start.whole)
    state = State.begin(before, settings.keep, settings.joint)
    if n == 0:
        return _change(loaded, before, state, (0, 0, 0, 0.0))
    state.clock[:, TURN] = how.epoch * n
    # With "once", all epochs use the permutation of the first.
    epoch = 0 if settings.shuffle == "once" else how.epoch
    rng = order_generator(how.seed, loaded.number, epoch)
    order = next(orders(loaded.learned, settings.shuffle, rng))
    window = Window(loaded.ready_rows(how.bias), loaded.codes, loaded.price, order)
    try:
        tallies = learn_once(window, state, settings)
    except DataError as error:
        raise DataError(f"{error} (partition {loaded.number + 1})") from None
    mistakes, updates = (sum(int(tally[i]) for tally in tallies) for i in range(2))
    loss = sum(float(tally.loss) for tally in tallies) / len(tallies)
    return _change(loaded, before, state, (n, mistakes, updates, loss))


def _change(
    loaded: Loaded, before: np.ndarray, state: State, counts: tuple[int, int, int, float]
) -> Change:
    """The difference between a state and the weights it started from."""
    moved = np.subtract(state.last(), before, dtype=np.float64)
    gathered = np.empty((0, moved.shape[1]))
    if len(state.U):
        count, votes = state.clock[:, [COUNT]], state.clock[:, [SEEN]] + 1.0
        if np.all(state.clock[:, SCALE] == 1.0):
            gathered = count * moved
            gathered -= state.U
        else:  # the same, for weights shrunk by a penalty
            gathered = count * state.W.astype(np.float64) - state.U - votes * before
    moved, gathered = loaded.unpicked(moved), loaded.unpicked(gathered)
    touched = np.any(moved != 0.0, axis=0)
    differs = touched | np.any(gathered != 0.0, axis=0)
    dense = np.count_nonzero(differs) > DENSE * (loaded.width + 1)
    partitions = int(counts[0] > 0)
    if dense and loaded.whole:
        every = touched.astype(np.uint32)
        return Change(None, moved, gathered, every, loaded.width + 1, partitions, *counts)
    order = loaded.ascending
    chosen = order[differs[order]]
    found = Change(
        loaded.places[chosen].astype(np.uint32 if loaded.width < 1 << 32 else np.uint64),
        np.ascontiguousarray(moved[:, chosen]),
        np.ascontiguousarray(gathered[:, chosen]),
        touched[chosen].astype(np.uint32),
        loaded.width + 1,
        partitions,
        *counts,
    )
    return _spread(found) if dense else found


def _spread(change: Change) -> Change:
    """The same change as full vectors over all columns."""
    if change.places is None:
        return change

    def spread(array: np.ndarray) -> np.ndarray:
        room = np.zeros((len(array), change.width), array.dtype)
        room[:, change.places] = array
        return room

    return replace(
        change,
        places=None,
        moved=spread(change.moved),
        gathered=spread(change.gathered),
        touched=spread(change.touched[None])[0],
    )


def add_changes(one: Change, other: Change) -> Change:
    """Add the changes of two groups of partitions."""
    counts = {
        name: getattr(one, name) + getattr(other, name)
        for name in ("partitions", "examples", "mistakes", "updates", "loss", "votes")
    }
    counts["longest"] = max(one.longest, other.longest)
    known = [len(change.places) for change in (one, other) if change.places is not None]
    if len(known) < 2 or sum(known) > MERGED * one.width:
        one, other = _spread(one), _spread(other)
        summed = (one.moved + other.moved, one.gathered + other.gathered)
        return Change(None, *summed, one.touched + other.touched, one.width, **counts)
    assert one.places is not None
    assert other.places is not None
    places, mine, theirs = merged(one.places, other.places)

    def added(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        total = np.zeros((len(a), len(places)), a.dtype)
        total[:, mine] = a
        total[:, theirs] += b
        return total

    touched = added(one.touched[None], other.touched[None])[0]
    moved, gathered = added(one.moved, other.moved), added(one.gathered, other.gathered)
    return Change(places, moved, gathered, touched, one.width, **counts)


def merged(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The union of two ascending arrays, and the positions of the members of each in it.

    Examples
    --------
    >>> [found.tolist() for found in merged(np.array([1, 4, 6]), np.array([2, 4]))]
    [[1, 2, 4, 6], [0, 2, 3], [1, 2]]
    """
    both = np.concatenate([one, other])
    order = np.argsort(both, kind="stable")  # merges the two runs, which is fast
    ascending = both[order]
    new = np.ones(len(both), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    at = np.empty(len(both), np.int64)
    at[order] = np.cumsum(new) - 1
    return ascending[new], at[: len(one)], at[len(one) :]


class Mixture(NamedTuple):
    """The mixture of the weights of all partitions after an epoch: what the driver needs.

    Attributes
    ----------
    places : array or None
        The columns that changed, ascending; None means all columns.
    W : array (k, columns)
        The mixed weights of these columns.
    gathered, examples, mistakes, updates, loss, votes, longest
        As for `Change`.
    """

    places: np.ndarray | None
    W: np.ndarray
    gathered: np.ndarray
    examples: int
    mistakes: int
    updates: int
    loss: float
    votes: float
    longest: float


def mix_weights(change: Change, start: Weights, mix: str) -> Mixture:
    """Mix the changes of all partitions into the weights that they started from."""
    return mixture_of(change, start.whole, mix)


def mixture_of(change: Change, W: np.ndarray, mix: str) -> Mixture:
    """Mix the changes of all partitions into weights with a column for each feature."""
    before = W if change.places is None else W[:, change.places.astype(np.int64)]
    shares = max(1, change.partitions) if mix == "uniform" else np.maximum(1, change.touched)
    with np.errstate(over="ignore"):  # infinite weights are reported by `take_mixture`
        made = (before.astype(np.float64) + change.moved / shares).astype(W.dtype)
    counts = (change.examples, change.mistakes, change.updates, change.loss, change.votes)
    return Mixture(change.places, made, change.gathered, *counts, change.longest)


def apply_mixture(state: State, mixture: Mixture) -> float:
    """Make the mixture the next starting point, in place; returns how far the weights moved.

    With c votes so far and U such that the sum of all hypotheses is c W - U, the new sum adds
    n W + `gathered`, for n examples. So U grows by (c + n) (W' - W) - `gathered`.
    """
    state.pass_over(mixture.examples)
    return take_mixture(state.W, state.U, state.clock[:, [COUNT]], mixture)


def take_mixture(W: np.ndarray, U: np.ndarray, count: Any, mixture: Mixture) -> float:
    """Replace weights and the sums for their average, after `count` votes in total."""
    at: Any = slice(None) if mixture.places is None else mixture.places.astype(np.int64)
    moved = np.subtract(mixture.W, W[:, at], dtype=np.float64)
    W[:, at] = mixture.W
    if len(U):
        growth = count * moved
        growth -= mixture.gathered
        U[:, at] += growth
    distance = math.sqrt(float(np.sum(moved * moved)))
    if not math.isfinite(distance):
        raise DataError("the weights are too large for a float; scale the features down")
    return distance


def count_right(loaded: Loaded, deployed: Weights, divisor: np.ndarray, bias: float) -> int:
    """How many of the held-out examples of a partition the deployed weights get right."""
    if not len(loaded.held_out):
        return 0
    W, rows = loaded.pick(deployed.whole), loaded.ready_rows(bias)
    found = deployed_scores(W, divisor, rows, loaded.held_out)
    return int(np.count_nonzero(best_class(found) == loaded.codes[loaded.held_out]))
