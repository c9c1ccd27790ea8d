"""Training of every kind of parser, run by the common epoch driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.trees.arcs import learn_arcs
from widemargin.loops.trees.beam import learn_beam
from widemargin.loops.trees.contexts import Templates
from widemargin.loops.trees.greedy import Actions, Sentences, learn_greedy
from widemargin.loops.trees.labels import learn_labels
from widemargin.structured.parser.buffers import (
    arc_buffers,
    beam_buffers,
    chart_buffers,
    contraction_buffers,
    feature_buffers,
    padded,
    state_buffers,
)
from widemargin.structured.sentence_training import Averaged, SentenceTraining
from widemargin.training.run import Counts

#: Words per piece of work; training can be watched and stopped between pieces.
_PIECE = 10_000


class Outcome(NamedTuple):
    """Counts of a pass: decisions, wrong decisions, and updates."""

    decisions: int
    mistakes: int
    updates: int


class ParserTraining(SentenceTraining):
    """A parser, or one stage of it, in training; subclasses say how to learn from sentences.

    Parameters
    ----------
    sentences : Sentences
        The training sentences.
    templates : Templates
        The features of a decision.
    weights : Averaged
        The weights to train.
    rng : numpy Generator
        Random generator.
    score : callable, optional
        The held-out score of averaged weights.
    """

    def __init__(
        self,
        sentences: Sentences,
        templates: Templates,
        weights: Averaged,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None = None,
    ) -> None:
        super().__init__(len(sentences.starts) - 1, True, rng, score)
        self.sentences, self.templates, self.weights = sentences, templates, weights

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """Learn from sentences in this order; epochs are numbered from 1."""
        raise NotImplementedError

    @property
    def sizes(self) -> np.ndarray:
        """How many words each sentence has, besides the root and the end."""
        return np.diff(self.sentences.starts).astype(np.int64) - 2

    @property
    def averaged(self) -> Averaged:
        """The weights as they are."""
        return self.weights

    def part(self, first: int, end: int) -> Callable[[np.random.Generator], ParserTraining]:
        """A function that makes a training on some of the sentences."""
        given = self.sentences
        rows = slice(int(given.starts[first]), int(given.starts[end]))
        own = Sentences(
            frozen(given.columns[rows]),
            frozen(given.starts[first : end + 1] - given.starts[first]),
            frozen(given.heads[rows]),
            frozen(given.labels[rows]),
        )
        return partial(type(self), own, self.templates, *self.settings())

    def settings(self) -> tuple[Any, ...]:
        """The arguments after sentences and templates for making another training of this kind."""
        raise NotImplementedError

    def start_from(self, W: np.ndarray) -> None:
        """Start from given weights instead of zero."""
        self.weights.W[:] = W

    def _pass(self, learn: Callable[..., tuple], order: np.ndarray, *rest: Any) -> Outcome:
        """Run a training loop; the arguments in `rest` differ from loop to loop."""
        return Outcome(*learn(self.sentences, frozen(order), *self.weights, self.templates, *rest))

    def cut(self, order: np.ndarray) -> list[np.ndarray]:
        """Cut the order of an epoch into pieces with about the same number of sentences."""
        pieces = max(1, min(len(order), int(self.sentences.starts[-1]) // _PIECE))
        return np.array_split(order, pieces)

    def learn_piece(self, piece: np.ndarray, epoch: int, counts: Counts) -> None:
        """Learn from some sentences; the loss is the number of mistakes."""
        found = self.run(piece, epoch)
        counts.add(found.decisions, found.mistakes, found.updates, found.mistakes)

    def deployed(self) -> np.ndarray:
        """The average."""
        return self.weights.mean()

    def carried(self) -> dict[str, np.ndarray]:
        """The weights, and the sums for their average."""
        return self.weights._asdict()


def _longest(sentences: Sentences) -> int:
    return int(np.diff(sentences.starts).max(initial=2)) - 2


class GreedyTraining(ParserTraining):
    """Trains greedy transitions, one state after another.

    From the second epoch on, the parser follows its own choice with probability `explore`, so that
    it learns to recover from its mistakes.
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
        weights = Averaged.zeros(1 << (64 - int(templates.shift[0])), lanes)
        super().__init__(sentences, templates, weights, rng, score)
        self.actions, self.margin, self.explore = actions, margin, explore
        self._buffers = (
            feature_buffers(templates),
            state_buffers(templates, lanes, _longest(sentences)),
        )
        self._lengths = self.sizes

    def settings(self) -> tuple[Any, ...]:
        """The transitions, and how to learn them."""
        return self.actions, self.margin, self.explore

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """One pass."""
        states = 2 * int(self._lengths[order.astype(np.int64)].sum())
        follow = self.rng.random(states) < (self.explore if epoch > 1 else 0.0)
        return self._pass(
            learn_greedy, order, self.actions, *self._buffers, frozen(follow), self.margin
        )


class BeamTraining(ParserTraining):
    """Trains transitions of whole sentences with beam search."""

    def __init__(
        self,
        sentences: Sentences,
        templates: Templates,
        actions: Actions,
        margin: float,
        width: int,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None = None,
    ) -> None:
        lanes = padded(len(actions.kind))
        weights = Averaged.zeros(1 << (64 - int(templates.shift[0])), lanes)
        super().__init__(sentences, templates, weights, rng, score)
        longest = _longest(sentences)
        self.actions, self.margin, self.width = actions, margin, width
        self._buffers = (
            feature_buffers(templates),
            state_buffers(templates, lanes, longest),
            beam_buffers(width, lanes, longest),
        )

    def settings(self) -> tuple[Any, ...]:
        """The transitions, and how to learn them."""
        return self.actions, self.margin, self.width

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """One pass."""
        return self._pass(learn_beam, order, self.actions, *self._buffers, self.margin)


class ArcTraining(ParserTraining):
    """Trains arc scores with the best tree of every sentence."""

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
        super().__init__(sentences, templates, Averaged.zeros(rows), rng, score)
        self.crossing, self.limit = crossing, limit
        self._buffers = (
            feature_buffers(templates),
            chart_buffers(0 if crossing else longest),
            contraction_buffers(longest if crossing else 0),
            arc_buffers(templates, longest, rows),
        )

    def settings(self) -> tuple[Any, ...]:
        """Which trees are allowed, and the largest step."""
        return self.crossing, self.limit

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """One pass."""
        return self._pass(learn_arcs, order, self.crossing, True, self.limit, *self._buffers)


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
        weights = Averaged.zeros(1 << (64 - int(templates.shift[0])), lanes)
        super().__init__(sentences, templates, weights, rng)
        self.allowed, self.margin = frozen(allowed), margin
        self._buffers = (
            feature_buffers(templates),
            state_buffers(templates, lanes, _longest(sentences)),
        )

    def settings(self) -> tuple[Any, ...]:
        """Which labels are allowed, and how to learn them."""
        return self.allowed, self.margin

    def run(self, order: np.ndarray, epoch: int) -> Outcome:
        """One pass."""
        return self._pass(learn_labels, order, self.allowed, *self._buffers, self.margin)


def plan_actions(
    heads: Sequence[int], places: Sequence[int], labels: Sequence[int], count: int, most: int
) -> Actions:
    """Give the most common pairs of direction and label their own transitions.

    Parameters
    ----------
    heads, places, labels : of all words
        The number of the head and of the word in the sentence, and the code of its label.
    count : int
        How many labels there are.
    most : int
        The maximum number of transitions. One of them is shift, and one per direction stands for
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
