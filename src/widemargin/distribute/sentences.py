"""Taggers and parsers on partitions of their sentences, by iterative parameter mixing.

The driver reads the corpus, finds the labels, features and whatever else all sentences must agree
on, and sends each partition its sentences once. From then on only weights and their changes are
sent, as for linear learners; see `distribute.mixing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.distribute.engine import Engine
from widemargin.distribute.first_pass import order_generator
from widemargin.distribute.mixing import Change, Mixture, Weights, mixture_of, take_mixture
from widemargin.distribute.training import Mixing
from widemargin.separability.linear_trainings import NO_THEOREM
from widemargin.structured.sentence_training import SentenceTraining
from widemargin.training.run import Counts

#: Words per partition unless a number of partitions is requested. A tagger learns from this many in
#: about a second, a parser in ten.
_USUAL_WORDS = 200_000


class SentencePart(NamedTuple):
    """The sentences of one partition.

    Attributes
    ----------
    number : int
        The number of the partition, from 0.
    make : callable
        Makes a training on them from a random generator.
    """

    number: int
    make: Callable[[np.random.Generator], SentenceTraining]


class SentenceEpoch(NamedTuple):
    """How every partition learns in an epoch."""

    seed: int
    epoch: int  # from 0


def learn_sentences(part: SentencePart, start: Weights, how: SentenceEpoch) -> Change:
    """Learn from the sentences of a partition for one epoch."""
    training = part.make(order_generator(how.seed, part.number, how.epoch))
    first = start.whole.reshape(training.averaged.W.shape)
    training.start_from(first)
    began, counts = float(training.averaged.clock[0]), Counts()
    training.begin_epoch(how.epoch + 1, resumed=False)
    for _ in training.learn(counts):
        pass
    return _change(training, _rows(first), began, counts)


def _change(training: SentenceTraining, before: np.ndarray, began: float, counts: Counts) -> Change:
    """The difference between a training and the weights it started from, feature by feature.

    A `Change` has a column for each feature; here, weights have a row for each.
    """
    W, U, clock = training.averaged
    now, sums, count = _rows(W), _rows(U), float(clock[0])
    differs = np.any(now != before, axis=1)
    if len(sums):
        differs |= np.any(sums != 0.0, axis=1)
    places = np.flatnonzero(differs)
    moved = (now[places].astype(np.float64) - before[places]).T
    gathered = np.empty((0, len(places)))
    if len(sums):
        gathered = count * moved - sums[places].T
    return Change(
        places.astype(np.uint32 if len(now) < 1 << 32 else np.uint64),
        np.ascontiguousarray(moved),
        np.ascontiguousarray(gathered),
        np.any(moved != 0.0, axis=0).astype(np.uint32),
        len(now),
        1,
        counts.examples,
        counts.mistakes,
        counts.updates,
        counts.loss,
        count - began,
        training.longest,
    )


def mix_sentences(change: Change, start: Weights, mix: str) -> Mixture:
    """Mix the changes of all partitions into the weights that they started from."""
    return mixture_of(change, _rows(start.whole).T, mix)


def _rows(weights: np.ndarray) -> np.ndarray:
    """Weights with a row for each feature; for arc scores, a row is a single weight."""
    return weights.reshape(len(weights), -1) if len(weights) else np.empty((0, 1))


class MixedSentences(Mixing):
    """A tagger or a stage of a parser in training on partitions.

    Weights, their average, held-out scores and snapshots are those of `local`, the training that
    would learn from all sentences in this process.

    Parameters
    ----------
    engine : Engine
        Runs the training.
    local : SentenceTraining
        The training to distribute.
    partitions : int
        Number of parts to cut its sentences into.
    mix : {"uniform", "touched"}
        How to mix the partitions' weights.
    """

    learn_part = staticmethod(learn_sentences)
    mix_parts = staticmethod(mix_sentences)

    def __init__(self, engine: Engine, local: SentenceTraining, partitions: int, mix: str) -> None:
        self.engine, self.local, self.mix = engine, local, mix
        self.seed = int(local.rng.integers(1 << 62))
        edges = _edges(local.sizes, partitions)
        self.loaded = [
            engine.share(
                f"sentences, partition {i + 1}",
                SentencePart(i, local.part(int(edges[i]), int(edges[i + 1]))),
            )
            for i in range(len(edges) - 1)
        ]

    def start(self) -> tuple[np.ndarray, SentenceEpoch]:
        """The weights, and how to learn."""
        return self.local.averaged.W, SentenceEpoch(self.seed, self.epoch - 1)

    def take(self, mixture: Mixture) -> float:
        """Make the mixture the next starting point."""
        W, U, clock = self.local.averaged
        clock += mixture.votes
        self.local.longest = max(self.local.longest, mixture.longest)
        return take_mixture(_rows(W).T, _rows(U).T if len(U) else U, clock[0], mixture)

    def end_epoch(self) -> float | None:
        """Return None: such trainings do not stop when weights stop moving."""
        return None

    def score(self) -> float:
        """The held-out score of the weights to predict with."""
        return self.local.score()

    def snapshot(self) -> np.ndarray:
        """The weights that were scored last."""
        return self.local.snapshot()

    def restore(self, snapshot: np.ndarray) -> None:
        """Use these weights to predict."""
        self.local.restore(snapshot)

    # Checkpoints

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The weights, the sums for their average, and the progress of the training."""
        W, U, clock = self.local.averaged
        about = {"finished": self.finished, "seed": self.seed, "longest": float(self.local.longest)}
        return {"W": W, "U": U, "clock": clock}, about

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        for name, mine in self.local.averaged._asdict().items():
            mine[:] = arrays[name]
        self.finished, self.seed = about["finished"], about["seed"]
        self.local.longest = about["longest"]

    def pack_snapshot(self, snapshot: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Weights as arrays."""
        return self.local.pack_snapshot(snapshot)

    def unpack_snapshot(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> np.ndarray:
        """Undo `pack_snapshot`."""
        return self.local.unpack_snapshot(arrays, about)


def _edges(sizes: np.ndarray, partitions: int) -> np.ndarray:
    """The first sentences of equally large partitions, in words, and the end; none is empty."""
    ends = np.cumsum(sizes)
    wanted = np.arange(1, partitions) * (ends[-1] / partitions)
    return np.unique([0, *np.searchsorted(ends, wanted, side="left") + 1, len(sizes)])


class SentenceSpread:
    """Turns every training on sentences into one on partitions.

    Parameters
    ----------
    engine : Engine
        Runs the training.
    partitions : int, optional
        About how many partitions to make; by default, each has about 200,000 words.
    mix : {"uniform", "touched"}
        How to mix the partitions' weights.

    Attributes
    ----------
    used : int
        How many partitions the last training had.
    """

    def __init__(self, engine: Engine, partitions: int | None, mix: str) -> None:
        self.engine, self.partitions, self.mix, self.used = engine, partitions, mix, 0
        self._made: list[MixedSentences] = []

    @property
    def about(self) -> list[Any]:
        """Identifies the way of spreading, so that only matching checkpoints are resumed."""
        return [self.mix, self.partitions]

    def __call__(self, training: SentenceTraining) -> MixedSentences:
        """Spread the sentences of a training, and release those of the previous one."""
        self.release()
        wanted = self.partitions or -(-int(training.sizes.sum()) // _USUAL_WORDS)
        made = MixedSentences(self.engine, training, max(1, wanted), self.mix)
        self.used = len(made.loaded)
        self._made.append(made)
        return made

    def release(self) -> None:
        """Release all sentences."""
        while self._made:
            self.engine.release(self._made.pop().loaded)


@contextmanager
def spread_sentences(engine: Engine, partitions: int | None, mix: str) -> Iterator[SentenceSpread]:
    """Spread trainings on sentences; the sentences are released at the end of the block."""
    spread = SentenceSpread(engine, partitions, mix)
    try:
        yield spread
    finally:
        spread.release()


def fit_sentences(
    learner: Any, engine: Engine, partitions: int | None, mix: str, *given: Any, **how: Any
) -> Any:
    """Fit a tagger or a parser on partitions, and return its model.

    Parameters
    ----------
    learner : Tagger or Parser
        The estimator, which must not be in use elsewhere.
    engine, partitions, mix
        See `SentenceSpread`.
    *given, **how
        The arguments of its `fit`.
    """
    with spread_sentences(engine, partitions, mix) as spread:
        learner._spread = spread
        learner.fit(*given, **how)
    model, known = learner.model_, learner.model_.certificate
    if mix == "touched":
        known = replace(known, no_bound=known.no_bound or NO_THEOREM)
    elif not known.no_bound:
        known = replace(known, weighted_mistakes=known.mistakes / spread.used)
    return replace(model, certificate=known)
