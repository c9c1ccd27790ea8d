"""The common base of tagger and parser training: sentences in pieces, and the best weights."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Protocol

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.lowlevel.vectors import aligned
from widemargin.modelfile.checks import check_counts
from widemargin.online.orders import EpochOrders
from widemargin.training.checkpoints import check_alike
from widemargin.training.run import Counts, Training

#: Rows of weights that are averaged at once.
_BLOCK = 1 << 12


class Averaged(NamedTuple):
    """Weights, and the sums for their average over time, W - U / clock, which change in place.

    The clock starts at 1: with the weights at the start, N decisions have seen N + 1 weights.
    """

    W: np.ndarray
    U: np.ndarray  # empty if no average is computed
    clock: np.ndarray

    @classmethod
    def zeros(cls, *shape: int) -> Averaged:
        """Zero weights, before the first decision."""
        return cls(aligned(shape, np.float32), np.zeros(shape), np.ones(1))

    def mean(self, out: np.ndarray | None = None) -> np.ndarray:
        """The average, or the last weights if no average is computed; `out` may be W."""
        out = np.empty_like(self.W) if out is None else out
        if not len(self.U):
            out[:] = self.W
            return out
        share = 1.0 / self.clock[0]
        for a in range(0, len(out), _BLOCK):
            block = self.U[a : a + _BLOCK] * share
            np.subtract(self.W[a : a + _BLOCK], block, out=out[a : a + _BLOCK], casting="same_kind")
        return out


class Spread(Protocol):
    """Turns a training into one that runs elsewhere, on partitions of its sentences.

    The result is stored in the original training.
    """

    @property
    def about(self) -> list[Any]:
        """Identifies the way of spreading, so that only matching checkpoints are resumed."""

    def __call__(self, training: SentenceTraining) -> Training:
        """Spread the sentences of a training."""


class SentenceTraining(Training):
    """Learns from sentences in compiled passes over pieces of an epoch.

    Parameters
    ----------
    sentences : int
        How many there are.
    shuffle : bool
        Whether to visit them in a new order in each epoch.
    rng : numpy Generator
        Source of randomness.
    score : callable, optional
        The held-out score of weights.
    """

    def __init__(
        self,
        sentences: int,
        shuffle: bool,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None,
    ) -> None:
        everything = np.arange(sentences, dtype=np.uint64)
        self.rng, self._score = rng, score
        self._orders = EpochOrders(everything, "rows" if shuffle else False, rng)
        self._pieces: list[np.ndarray] = []
        self._epoch, self._done = 0, 0  # the epoch from 1, and how many of its pieces are done
        self._scored: np.ndarray | None = None
        self._best: np.ndarray | None = None

    # To be implemented by subclasses

    def cut(self, order: np.ndarray) -> list[np.ndarray]:
        """Cut the order of an epoch into pieces that take less than a tenth of a second."""
        raise NotImplementedError

    def learn_piece(self, piece: np.ndarray, epoch: int, counts: Counts) -> None:
        """Learn from some sentences in order, in the epoch with this number from 1."""
        raise NotImplementedError

    def deployed(self) -> np.ndarray:
        """A copy of the weights to predict with at this point."""
        raise NotImplementedError

    def carried(self) -> dict[str, np.ndarray]:
        """The arrays that training changes in place."""
        raise NotImplementedError

    # To be implemented by subclasses that train on partitions in parallel

    #: The squared norm of the longest feature difference, where that is measured.
    longest: float = 0.0

    @property
    def sizes(self) -> np.ndarray:
        """How many words each sentence has."""
        raise NotImplementedError

    @property
    def averaged(self) -> Averaged:
        """The weights as they are."""
        raise NotImplementedError

    def part(self, first: int, end: int) -> Callable[[np.random.Generator], SentenceTraining]:
        """A function that makes a training on some consecutive sentences, from zero weights.

        It can be sent to another process.
        """
        raise NotImplementedError

    def start_from(self, W: np.ndarray) -> None:
        """Start from given weights instead of zero."""
        raise NotImplementedError

    # An epoch

    def begin_epoch(self, epoch: int, resumed: bool) -> None:
        """Choose the order of the sentences, and cut it into pieces."""
        self._epoch = epoch
        self._pieces = self.cut(self._orders.begin(resumed))
        if not resumed:
            self._done = 0

    def learn(self, counts: Counts) -> Generator[float, None, None]:
        """Learn from one piece after another."""
        sentences = sum(map(len, self._pieces))
        behind = sum(map(len, self._pieces[: self._done]))
        for piece in self._pieces[self._done :]:
            self.learn_piece(frozen(piece), self._epoch, counts)
            self._done += 1
            behind += len(piece)
            yield behind / sentences

    # Held-out sentences

    def score(self) -> float:
        """The held-out score of the weights to predict with."""
        assert self._score is not None
        self._scored = self.deployed()
        return self._score(self._scored)

    def snapshot(self) -> np.ndarray:
        """The weights that were scored last."""
        assert self._scored is not None
        return self._scored

    def restore(self, snapshot: np.ndarray) -> None:
        """Use these weights to predict."""
        self._best = snapshot

    def answer(self) -> np.ndarray:
        """The weights to deploy after training."""
        return self.deployed() if self._best is None else self._best

    # Checkpoints

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays that training changes, and the position in the epoch."""
        return self.carried(), {"done": self._done, **self._orders.about()}

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        check_counts(about, "done")
        check_alike(arrays, self.carried())
        for name, mine in self.carried().items():
            mine[:] = arrays[name]
        self._done = about["done"]
        self._orders.resume(about)

    def pack_snapshot(self, snapshot: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Weights as arrays."""
        return {"W": snapshot}, {}

    def unpack_snapshot(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> np.ndarray:
        """Undo `pack_snapshot`."""
        check_alike(arrays, {"W": self.carried()["W"]})
        return arrays["W"]
