"""Training of every kind of parser, run by the common epoch driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.lowlevel.vectors import LANES, aligned
from widemargin.loops.trees.arcs import learn_arcs
from widemargin.loops.trees.beam import learn_beam
from widemargin.loops.trees.contexts import Templates
from widemargin.loops.trees.greedy import Actions, Sentences, learn_greedy
from widemargin.loops.trees.labels import learn_labels
from widemargin.modelfile import pack_value, unpack_value
from widemargin.online.orders import Turns
from widemargin.structured.parser.buffers import (
    arc_room,
    beam_room,
    chart_room,
    desk,
    merger_room,
    work,
)
from widemargin.training.run import Counts, Training

#: Words per piece of work, between which learning can be watched and stopped.
_PIECE = 10_000
#: Rows of weights that are averaged at once.
_BLOCK = 1 << 14


class Outcome(NamedTuple):
    """Counts of a pass: decisions, wrong decisions, and updates."""

    decisions: int
    mistakes: int
    updates: int


class Average:
    """Weights, and the sums for their average over time: W - U / clock."""

    def __init__(self, shape: tuple[int, ...], start: np.ndarray | None = None) -> None:
        self.W = aligned(shape, np.float32)
        if start is not None:
            self.W[:] = start
        self.U = np.zeros(shape)
        self.clock = np.zeros(1)

    def mean(self) -> np.ndarray:
        """The average."""
        mean = np.empty_like(self.W)
        share = 1.0 / max(1.0, self.clock[0])
        for a in range(0, len(mean), _BLOCK):
            mean[a : a + _BLOCK] = self.W[a : a + _BLOCK] - self.U[a : a + _BLOCK] * share
        return mean


class ParserTraining(Training):
    """Trains a parser or one stage of it; subclasses define how to learn from sentences.

    Parameters
    ----------
    sentences : Sentences
        The training sentences.
    weights : Average
        The weights to train.
    rng : numpy Generator
        Random generator.
    score : callable, optional
        The held-out score of averaged weights.
    """

    def __init__(
        self,
        sentences: Sentences,
        weights: Average,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None = None,
    ) -> None:
        self.sentences, self.weights, self.rng, self._score = sentences, weights, rng, score
        self._turns = Turns(np.arange(len(sentences.starts) - 1, dtype=np.uint64), "rows")
        self._chance: dict[str, Any] = {"run": rng.bit_generator.state}
        self._pieces: list[np.ndarray] = []
        self._epoch, self._done = 0, 0
        self._scored: np.ndarray | None = None
        self._best: np.ndarray | None = None

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """Learn from sentences in this order; epochs are numbered from 1."""
        raise NotImplementedError

    # An epoch

    def begin_epoch(self, epoch: int, resumed: bool) -> None:
        """Put the sentences in order, and cut them into pieces."""
        now, self._epoch = self.rng.bit_generator.state, epoch
        if resumed:
            self.rng.bit_generator.state = self._chance["epoch"]
        else:
            self._chance["epoch"], self._done = now, 0
        order = self._turns.next(self._chance, self.rng)
        if resumed:
            self.rng.bit_generator.state = now
        pieces = max(1, min(len(order), int(self.sentences.starts[-1]) // _PIECE))
        self._pieces = np.array_split(order, pieces)

    def learn(self, counts: Counts) -> Generator[float, None, None]:
        """Learn from one piece after another."""
        sentences = sum(map(len, self._pieces))
        behind = sum(map(len, self._pieces[: self._done]))
        for piece in self._pieces[self._done :]:
            found = self.run(frozen(piece), self._epoch)
            counts.add(found.decisions, found.mistakes, found.updates, found.mistakes)
            self._done += 1
            behind += len(piece)
            yield behind / sentences

    # Held-out sentences

    def score(self) -> float:
        """The held-out score of the average."""
        assert self._score is not None
        self._scored = self.weights.mean()
        return self._score(self._scored)

    def snapshot(self) -> np.ndarray:
        """The average that was scored last."""
        assert self._scored is not None
        return self._scored

    def restore(self, snapshot: np.ndarray) -> None:
        """Deploy this average."""
        self._best = snapshot

    def answer(self) -> np.ndarray:
        """The weights to deploy when learning is over."""
        return self.weights.mean() if self._best is None else self._best

    # Checkpoints

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The weights, the sums for their average, and the position in the epoch."""
        arrays = {"W": self.weights.W, "U": self.weights.U, "clock": self.weights.clock}
        about = {
            "done": self._done,
            "chance": pack_value(self._chance),
            "generator": pack_value(self.rng.bit_generator.state),
        }
        return arrays, about

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        weights = self.weights
        weights.W[:], weights.U[:], weights.clock[:] = (
            arrays[name] for name in ("W", "U", "clock")
        )
        self._done, self._chance = about["done"], unpack_value(about["chance"])
        self.rng.bit_generator.state = unpack_value(about["generator"])

    def pack_snapshot(self, snapshot: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Weights as arrays."""
        return {"W": snapshot}, {}

    def unpack_snapshot(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> np.ndarray:
        """Undo `pack_snapshot`."""
        return arrays["W"]


def _longest(sentences: Sentences) -> int:
    return int(np.diff(sentences.starts).max(initial=2)) - 2


class GreedyTraining(ParserTraining):
    """Trains greedy transitions, one state after another.

    From the second epoch on, the parser's own choice is followed with probability `explore`, so
    that it learns to recover from its mistakes.
    """

    def __init__(
        self,
        sentences: Sentences,
        templates: Templates,
        actions: Actions,
        margin: float,
        explore: float,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None = None,
    ) -> None:
        lanes = padded(len(actions.kind))
        weights = Average((1 << (64 - int(templates.shift[0])), lanes))
        super().__init__(sentences, weights, rng, score)
        self.templates, self.actions = templates, actions
        self.margin, self.explore = margin, explore
        self._room = desk(templates), work(templates, lanes, _longest(sentences))
        self._lengths = np.diff(sentences.starts).astype(np.int64) - 2

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """One pass."""
        states = 2 * int(self._lengths[order.astype(np.int64)].sum())
        follow = self.rng.random(states) < (self.explore if epoch > 1 else 0.0)
        found = learn_greedy(
            self.sentences,
            order,
            self.weights.W,
            self.weights.U,
            self.weights.clock,
            self.templates,
            self.actions,
            *self._room,
            frozen(follow),
            self.margin,
        )
        return Outcome(*found)


class BeamTraining(ParserTraining):
    """Trains transitions of whole sentences with beam search."""

    def __init__(
        self,
        sentences: Sentences,
        templates: Templates,
        actions: Actions,
        margin: float,
        width: int,
        start: np.ndarray,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None = None,
    ) -> None:
        super().__init__(sentences, Average(start.shape, start), rng, score)
        longest = _longest(sentences)
        self.templates, self.actions, self.margin = templates, actions, margin
        self._room = (
            desk(templates),
            work(templates, start.shape[1], longest),
            beam_room(width, start.shape[1], longest),
        )

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """One pass."""
        found = learn_beam(
            self.sentences,
            order,
            self.weights.W,
            self.weights.U,
            self.weights.clock,
            self.templates,
            self.actions,
            *self._room,
            self.margin,
        )
        return Outcome(*found)


class ArcTraining(ParserTraining):
    """Trains arc scores by the best tree of every sentence."""

    def __init__(
        self,
        sentences: Sentences,
        templates: Templates,
        crossing: bool,
        limit: float,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None = None,
    ) -> None:
        longest = _longest(sentences)
        rows = 1 << (64 - int(templates.shift[0]))
        super().__init__(sentences, Average((rows,)), rng, score)
        self.templates, self.crossing, self.limit = templates, crossing, limit
        self._room = (
            desk(templates),
            chart_room(0 if crossing else longest),
            merger_room(longest if crossing else 0),
            arc_room(templates, longest, rows),
        )

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """One pass."""
        found = learn_arcs(
            self.sentences,
            order,
            self.weights.W,
            self.weights.U,
            self.weights.clock,
            self.templates,
            self.crossing,
            True,
            self.limit,
            *self._room,
        )
        return Outcome(*found)


class LabelTraining(ParserTraining):
    """Trains the labels of arcs on the right trees."""

    def __init__(
        self,
        sentences: Sentences,
        templates: Templates,
        allowed: np.ndarray,
        margin: float,
        rng: np.random.Generator,
    ) -> None:
        lanes = padded(allowed.shape[1])
        super().__init__(sentences, Average((1 << (64 - int(templates.shift[0])), lanes)), rng)
        self.templates, self.allowed, self.margin = templates, frozen(allowed), margin
        self._room = desk(templates), work(templates, lanes, _longest(sentences))

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """One pass."""
        found = learn_labels(
            self.sentences,
            order,
            self.weights.W,
            self.weights.U,
            self.weights.clock,
            self.templates,
            self.allowed,
            *self._room,
            self.margin,
        )
        return Outcome(*found)


def padded(choices: int) -> int:
    """The length of a row of scores: a multiple of the number of lanes summed at once."""
    return -(-choices // LANES) * LANES


def plan_actions(
    heads: Sequence[int], places: Sequence[int], labels: Sequence[int], count: int, most: int
) -> Actions:
    """Give the commonest pairs of direction and label their own transitions.

    Parameters
    ----------
    heads, places, labels : of all words
        The number of the head and of the word in the sentence, and the code of its label.
    count : int
        How many labels there are.
    most : int
        The maximum number of transitions. Shift is one of them, and one per direction stands for
        all labels that are too rare.
    """
    ways = [1 if head > place else 2 for head, place in zip(heads, places, strict=True)]
    pairs = Counter(zip(ways, labels, strict=True))
    kind = [0, 1, 2]
    of = np.repeat(np.arange(3, dtype=np.uint64)[:, None], count, axis=1)
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    for (way, label), _ in ranked[: max(0, most - len(kind))]:
        of[way, label] = len(kind)
        kind.append(way)
    return Actions(frozen(np.array(kind, np.uint64)), frozen(of))
