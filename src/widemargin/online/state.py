"""The state of a linear learner between examples, as plain arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin.data.rows import Rows
from widemargin.loops.linear.passes import COUNT, SCALE, SEEN, TURN
from widemargin.markup.reprs import brief_repr
from widemargin.modelfile.checks import check_places, check_shape
from widemargin.modelfile.packing import pack_sparse, unpack_sparse
from widemargin.online.columns import Columns
from widemargin.online.mistake_log import MistakeLog

#: Number of weights processed at a time, so that this takes little memory; and where nothing is
#: written, so that what is computed from them stays in the cache.
_PART, _CACHED_PART = 1 << 24, 1 << 15
KEEPS = ("last", "average", "vote")


@dataclass
class State:
    """The weights, and whatever else `keep` needs. Learning changes the arrays in place.

    Attributes
    ----------
    W : array (k, d + 1)
        The weights, unscaled; k is 1 for two classes. The last column is the bias.
    U : array (k, d + 1) of float64, or (0, d + 1)
        Turns the last weights into their average.
    clock : array (1, 4), or (k, 4) if every class is a separate problem
        See `widemargin.loops.linear.passes`.
    log : MistakeLog or None
        All corrections, if they are kept.
    start : array (k, d + 1)
        The initial weights, which the log needs (empty without a log).
    joint : bool
        Whether all classes are learned together.
    columns : Columns or None
        If given, only columns that occurred have weights: W, U and start have a column for each of
        their numbers, and d is that of these arrays. The log has all columns.
    eta : float
        The step size that `eta="auto"` stands for.
    """

    W: np.ndarray
    U: np.ndarray
    clock: np.ndarray
    log: MistakeLog | None
    start: np.ndarray
    joint: bool
    columns: Columns | None = None
    eta: float = 1.0

    __repr__ = brief_repr

    @classmethod
    def begin(
        cls,
        W: np.ndarray,
        keep: str,
        joint: bool,
        columns: Columns | None = None,
        own: bool = False,
        eta: float = 1.0,
    ) -> State:
        """Start learning from weights W, which are copied unless `own` is true.

        Parameters
        ----------
        W : array (k, d + 1)
            The first hypothesis.
        keep : {"last", "average", "vote"}
            Which hypothesis will be deployed. "vote" also allows the other two.
        joint : bool
            Whether all classes are learned together.
        columns : Columns, optional
            The columns that W has weights for; otherwise all.
        eta : float
            The step size that `eta="auto"` stands for.
        """
        W = np.ascontiguousarray(W) if own else np.array(W, order="C")
        U = np.zeros_like(W, dtype=np.float64) if keep != "last" else np.empty((0, W.shape[1]))
        clocks = 1 if joint else len(W)
        return cls(
            W,
            U,
            np.tile([1.0, 1.0, 0.0, 0.0], (clocks, 1)),
            MistakeLog() if keep == "vote" else None,
            W.copy() if keep == "vote" else np.empty((0, W.shape[1])),
            joint,
            columns,
            eta,
        )

    @property
    def width(self) -> int:
        """Number of features, without the bias."""
        return self.W.shape[1] - 1 if self.columns is None else self.columns.width

    @property
    def seen(self) -> int:
        """Number of examples seen."""
        return int(self.clock[0, SEEN])

    @property
    def count(self) -> float:
        """The clock's c; without a penalty the number of votes: examples plus one."""
        return float(self.clock[0, COUNT])

    def last(self) -> np.ndarray:
        """The last weights, w_N."""
        return np.array(self._last(slice(None)), order="K")

    def average(self) -> np.ndarray:
        """The mean of w_0 ... w_N: (c w - u) / (N + 1), which is w - u/c without a penalty."""
        c, n = self.clock[:, [COUNT]], self.clock[:, [SEEN]] + 1.0
        mean = np.divide(self.U, n, order="K")
        np.subtract(self.W * (c / n), mean, out=mean)
        return mean.astype(self.W.dtype)

    def deployed(
        self, keep: str, dtype: Any = None, sparse: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weights to score with, and the divisor of their scores.

        Dividing the score rather than the weights keeps an exact tie a tie.

        Parameters
        ----------
        keep : {"last", "average", "vote"}
            Which hypothesis.
        dtype : dtype, optional
            The type of the rows to score, if it differs from that of the weights.
        sparse : bool
            Whether these rows are sparse; determines the fastest memory layout.
        """
        by_feature: Any = "F" if sparse and len(self.W) > 1 else "C"
        found = np.empty(self.W.shape, dtype or self.W.dtype, order=by_feature)
        count = self.clock[:, [COUNT]]
        for part in _parts(self.W):
            if keep == "last":
                found[:, part] = self._last(part)
            else:
                summed = self.W[:, part] * count - self.U[:, part]
                found[:, part] = summed.astype(self.W.dtype)
        return found, np.ones(len(self.clock)) if keep == "last" else self.clock[:, SEEN] + 1.0

    def distance_from(self, before: np.ndarray) -> float | None:
        """How far the last weights are from earlier ones; None if those had other classes."""
        if self.columns is not None:  # columns that were added later had the weight 0
            before = resized(before, self.W.shape[1] - 1)
        if before.shape != self.W.shape:
            return None
        squares = (
            np.square(self._last(part) - before[:, part], dtype=float).sum()
            for part in _parts(self.W, _CACHED_PART)
        )
        return math.sqrt(sum(squares))

    def _last(self, part: slice) -> np.ndarray:
        """The last weights of some columns."""
        W = self.W[:, part]
        if self.clock[:, SCALE].tolist() == [1.0] * len(self.clock):
            return W
        return (W * self.clock[:, [SCALE]]).astype(W.dtype)

    def pass_over(self, examples: int) -> None:
        """Count examples without learning, for instance while only one class is known."""
        self.clock[:, COUNT] += examples * self.clock[:, SCALE]
        self.clock[:, [SEEN, TURN]] += examples

    def copy(self) -> State:
        """An independent copy of the state."""
        return replace(
            self,
            W=self.W.copy(order="K"),
            U=self.U.copy(order="K"),
            clock=self.clock.copy(),
            log=None if self.log is None else self.log.copy(),
            columns=None if self.columns is None else self.columns.copy(),
        )

    def become(self, other: State) -> None:
        """Take over the arrays of another state."""
        self.W, self.U, self.clock = other.W, other.U, other.clock
        self.log, self.start, self.joint = other.log, other.start, other.joint
        self.columns, self.eta = other.columns, other.eta

    def arrays(self) -> dict[str, np.ndarray]:
        """The state as arrays for a file."""
        weights = {"W": self.W, "U": self.U}
        if self.log is not None:
            weights["start"] = self.start
        arrays, numbers = {"clock": self.clock}, self.W.shape[1] - 1
        if self.eta != 1.0:
            arrays["eta"] = np.array([self.eta])
        if self.columns is not None:
            numbers = self.columns.count
            arrays["columns.ids"] = self.columns.ids
            arrays["columns.width"] = np.array([self.columns.width])
        for name, array in weights.items():
            arrays |= pack_sparse(name, resized(array, numbers))
        if self.log is not None:
            arrays |= self.log.arrays()
        return arrays

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], bias: float, joint: bool, logged: bool) -> State:
        """Undo `arrays`."""
        W, columns = unpack_sparse("W", arrays), None
        if "columns.ids" in arrays:
            columns = Columns.of(arrays["columns.ids"], int(arrays["columns.width"][0]))
            if W.shape[1] != columns.count + 1:
                raise ValueError(f"{W.shape[1]} weights for {columns.count} columns")
        found = cls(
            W,
            unpack_sparse("U", arrays),
            arrays["clock"],
            MistakeLog.of(arrays, bias) if logged else None,
            unpack_sparse("start", arrays) if logged else np.empty((0, W.shape[1])),
            joint,
            columns,
            1.0 if "eta" not in arrays else arrays["eta"].item(),
        )
        if found.start.dtype == np.float32:  # as version 0.1 left it when W became float64
            found.start = found.start.astype(np.promote_types(found.start.dtype, found.W.dtype))
        found._check()
        return found

    def _check(self) -> None:
        """Raise a ValueError if arrays from a file do not fit each other."""
        if self.W.ndim != 2 or not self.W.size:
            raise ValueError(f"weights have the shape {self.W.shape}")
        k, wide = self.W.shape
        check_shape("W", self.W, (k, wide))
        check_shape("U", self.U, (k, wide), (0, wide))
        check_shape("clock", self.clock, (1 if self.joint else k, 4))
        check_shape("start", self.start, (0 if self.log is None else k, wide))
        if self.log is not None and self.start.dtype != self.W.dtype:
            raise ValueError(f"the first weights are of the type {self.start.dtype}")
        if self.U.dtype != np.float64 or self.clock.dtype != np.float64 or self.W.itemsize < 4:
            raise ValueError("weights are of an unknown type")
        if not (np.all(np.isfinite(self.clock)) and np.all(np.abs(self.clock[:, SEEN]) <= 1 << 53)):
            raise ValueError("the clock does not count examples")
        if not (isinstance(self.eta, float) and 0.0 < self.eta < math.inf):
            raise ValueError("the step size is not a positive number")
        for part in self.log.parts if self.log is not None else ():
            check_places("log.label", part.entries.label, k)
            if part.support.width > self.width:  # weights may have room for more
                raise ValueError(f"a log of {part.support.width} columns for {self.width}")

    def check_use(self, classes: int, keep: str) -> None:
        """Raise a ValueError unless this state, from a file, can score this many classes."""
        if not classes or len(self.W) != (1 if classes <= 2 else classes):
            raise ValueError(f"{len(self.W)} vectors of weights for {classes} classes")
        self.check_keep(keep)

    def check_keep(self, keep: str) -> None:
        """Raise a ValueError unless this state, from a file, has what such learning needs."""
        there = {"last": True, "average": len(self.U) > 0, "vote": self.log is not None}
        if not there.get(keep):
            raise ValueError(f"the state lacks what keep={keep!r:.20} needs")

    def lay_out(self, sparse: bool) -> None:
        """Choose the memory layout of the weights that is fastest for such rows.

        If all classes are learned together from sparse rows, the weights of a feature are
        contiguous; otherwise those of a class.
        """
        by_feature = sparse and self.joint and len(self.W) > 1
        arrange = np.asfortranarray if by_feature else np.ascontiguousarray
        self.W, self.U = arrange(self.W), arrange(self.U)

    def widen(self, width: int) -> None:
        """Make room for more features, whose weights start at zero."""
        if self.columns is None:
            self._resize(width)
        else:
            self.columns = self.columns.copy(width)

    def prepare_rows(self, rows: Rows) -> Rows:
        """Return rows in the form that the loops learn from; new columns get weights."""
        if self.columns is None:
            return rows
        if not rows.is_sparse:
            self.W, self.U, self.start = map(self.columns.spread, (self.W, self.U, self.start))
            self.columns = None
            return rows
        rows = self.columns.number(rows)
        room = self.W.shape[1] - 1
        if self.columns.count > room:
            # Exactly what is needed at first; later doubling, so that growing costs less than
            # learning.
            self._resize(max(self.columns.count, 2 * room if room > 1 else 0))
        return rows

    def matching(
        self, rows: Rows, weights: np.ndarray, threads: int = 1
    ) -> tuple[Rows, np.ndarray]:
        """Return rows and weights of this state such that the loops can multiply them."""
        if self.columns is None:
            return rows, weights
        if not rows.is_sparse:
            return rows, self.spread(weights)
        return self.columns.look_up(rows, weights.shape[1] - 1, threads), weights

    def weights_at(self, columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Pick the weights of some columns from weights of this state; -1 is the bias."""
        if self.columns is not None:
            numbers = self.columns.find(columns.astype(np.uint64), weights.shape[1] - 1)
            columns = np.where(columns < 0, -1, numbers.astype(np.int64))
        return weights[:, columns]

    def spread(self, weights: np.ndarray) -> np.ndarray:
        """Convert weights as stored in this state to weights of all columns."""
        return weights if self.columns is None else self.columns.spread(weights)

    def _resize(self, width: int) -> None:
        self.W, self.U, self.start = (
            resized(array, width) for array in (self.W, self.U, self.start)
        )

    def rearrange(self, classes: int, places: np.ndarray, spread: float) -> None:
        """Make room for more classes: the old ones move to `places`, in order.

        The vector w of two classes becomes the rows -w and +w, times `spread`, as joint learning
        from the same examples would have given. New classes start at zero.

        With one-vs-rest learning, each class has its own clock and history: those of the new
        classes start at the current time, as if they had made no mistakes so far.
        """

        def moved(array: np.ndarray) -> np.ndarray:
            if not len(array):
                return array
            if len(array) == 1:
                array = np.vstack([-array, array]) * array.dtype.type(spread)
            room = np.zeros((classes, array.shape[1]), array.dtype)
            room[places] = array
            return room

        binary = len(self.W) == 1
        self.W, self.U, self.start = moved(self.W), moved(self.U), moved(self.start)
        if not self.joint:
            self.clock = np.tile(self.clock[0], (classes, 1))
        if self.log is not None:
            self.log = self.log.relabelled(places, spread if binary else None)


def _parts(W: np.ndarray, most: int = _PART) -> Iterator[slice]:
    """Yield slices of the columns of weights, so that work on one of them takes little memory."""
    width = max(1, most // max(1, len(W)))
    yield from (slice(first, first + width) for first in range(0, W.shape[1], width))


def resized(array: np.ndarray, width: int) -> np.ndarray:
    """Insert zeros before the last column, which is the bias, or remove columns before it."""
    if width == array.shape[1] - 1:
        return array
    order: Any = "C" if array.flags.c_contiguous else "F"
    room = np.zeros((len(array), width + 1), array.dtype, order=order)
    kept = min(width, array.shape[1] - 1)
    room[:, :kept] = array[:, :kept]
    room[:, -1] = array[:, -1]
    return room
