"""How a parser learns: passes over sentences, one loop for every kind of parser."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.lowlevel.vectors import LANES, aligned
from widemargin.loops.trees.arcs import learn_arcs
from widemargin.loops.trees.beam import learn_beam
from widemargin.loops.trees.contexts import Templates
from widemargin.loops.trees.greedy import Actions, Sentences, learn_greedy
from widemargin.loops.trees.labels import learn_labels
from widemargin.online.learn import Moment, Watch
from widemargin.structured.parser.buffers import (
    arc_room,
    beam_room,
    chart_room,
    desk,
    merger_room,
    work,
)
from widemargin.training.history import Epoch, History

#: Words of a piece of work, so that learning can be watched and stopped.
_PIECE = 10_000
#: Rows of weights that are averaged at once.
_BLOCK = 1 << 14


class Tally(NamedTuple):
    """What a pass has seen: decisions, how many were wrong, how many were learned from."""

    decisions: int
    mistakes: int
    updates: int


class Average:
    """Weights, and what is needed for the mean of all that they have been: W - U / clock."""

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


class Course(Protocol):
    """One kind of parser that learns."""

    sentences: Sentences
    weights: Average

    def run(self, order: np.ndarray, epoch: int, rng: np.random.Generator) -> Tally:
        """Learn from sentences in an order, in the epoch with this number from 1."""
        ...


def _longest(sentences: Sentences) -> int:
    return int(np.diff(sentences.starts).max(initial=2)) - 2


class GreedyCourse:
    """Transitions, one state after the other.

    From the second epoch on, the parser's own choice is followed with the probability `explore`,
    so that it learns to go on after its mistakes.
    """

    def __init__(
        self,
        sentences: Sentences,
        templates: Templates,
        actions: Actions,
        margin: float,
        explore: float,
    ) -> None:
        lanes = padded(len(actions.kind))
        self.sentences, self.templates, self.actions = sentences, templates, actions
        self.margin, self.explore = margin, explore
        self.weights = Average((1 << (64 - int(templates.shift[0])), lanes))
        self._room = desk(templates), work(templates, lanes, _longest(sentences))
        self._lengths = np.diff(sentences.starts).astype(np.int64) - 2

    def run(self, order: np.ndarray, epoch: int, rng: np.random.Generator) -> Tally:
        """One pass."""
        states = 2 * int(self._lengths[order.astype(np.int64)].sum())
        follow = rng.random(states) < (self.explore if epoch > 1 else 0.0)
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
        return Tally(*found)


class BeamCourse:
    """Transitions of whole sentences, under beam search."""

    def __init__(
        self,
        sentences: Sentences,
        templates: Templates,
        actions: Actions,
        margin: float,
        width: int,
        start: np.ndarray,
    ) -> None:
        longest = _longest(sentences)
        self.sentences, self.templates, self.actions = sentences, templates, actions
        self.margin = margin
        self.weights = Average(start.shape, start)
        self._room = (
            desk(templates),
            work(templates, start.shape[1], longest),
            beam_room(width, start.shape[1], longest),
        )

    def run(self, order: np.ndarray, epoch: int, rng: np.random.Generator) -> Tally:
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
        return Tally(*found)


class ArcCourse:
    """Arcs, by the best tree of every sentence."""

    def __init__(
        self, sentences: Sentences, templates: Templates, crossing: bool, limit: float
    ) -> None:
        longest = _longest(sentences)
        rows = 1 << (64 - int(templates.shift[0]))
        self.sentences, self.templates = sentences, templates
        self.crossing, self.limit = crossing, limit
        self.weights = Average((rows,))
        self._room = (
            desk(templates),
            chart_room(0 if crossing else longest),
            merger_room(longest if crossing else 0),
            arc_room(templates, longest, rows),
        )

    def run(self, order: np.ndarray, epoch: int, rng: np.random.Generator) -> Tally:
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
        return Tally(*found)


class LabelCourse:
    """Labels of the arcs of the right trees."""

    def __init__(
        self, sentences: Sentences, templates: Templates, allowed: np.ndarray, margin: float
    ) -> None:
        lanes = padded(allowed.shape[1])
        self.sentences, self.templates = sentences, templates
        self.allowed, self.margin = frozen(allowed), margin
        self.weights = Average((1 << (64 - int(templates.shift[0])), lanes))
        self._room = desk(templates), work(templates, lanes, _longest(sentences))

    def run(self, order: np.ndarray, epoch: int, rng: np.random.Generator) -> Tally:
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
        return Tally(*found)


def learn_trees(
    course: Course,
    epochs: int,
    rng: np.random.Generator,
    score: Callable[[np.ndarray], float] | None = None,
    watch: Watch | None = None,
    sentences: int = 0,
) -> tuple[np.ndarray, History]:
    """Learn epoch after epoch; gives the averaged weights, and what happened.

    Parameters
    ----------
    course : Course
        What learns.
    epochs : int
        Passes at the most.
    rng : numpy Generator
        Where chance comes from.
    score : callable, optional
        The score of weights on sentences not learned from; then the best weights are given back.
    watch : callable, optional
        Told where learning stands; stops it by answering True.
    sentences : int
        How many there are.
    """
    history = History()
    began = time.monotonic()
    best: tuple[float, np.ndarray | None] = (-math.inf, None)
    for epoch in range(1, epochs + 1):
        order = rng.permutation(sentences).astype(np.uint64)
        seen = Tally(0, 0, 0)
        done = 0
        for piece in np.array_split(order, _pieces(course, order)):
            seen = Tally(*map(sum, zip(seen, course.run(frozen(piece), epoch, rng), strict=True)))
            done += len(piece)
            seconds = time.monotonic() - began
            loss = seen.mistakes / max(1, seen.decisions)
            moment = Moment(
                epoch, done / sentences, seen.mistakes, loss, history, seen.decisions, seconds
            )
            if watch is not None and watch(moment):
                history.stopped = "interrupted"
                break
        held_out = None
        if score is not None:
            mean = course.weights.mean()
            held_out = score(mean)
            if held_out > best[0]:
                best, history.best = (held_out, mean), epoch
        seconds = time.monotonic() - began
        loss = seen.mistakes / max(1, seen.decisions)
        history.add(
            Epoch(epoch, seen.mistakes, seen.updates, loss, None, held_out, seconds, seen.decisions)
        )
        if seen.updates == 0 and not history.stopped:
            history.stopped = "no mistakes"
        if history.stopped:
            break
    history.stopped = history.stopped or "epochs"
    return (course.weights.mean() if best[1] is None else best[1]), history


def _pieces(course: Course, order: np.ndarray) -> int:
    """In how many pieces to learn."""
    rows = int(course.sentences.starts[-1])
    return max(1, min(len(order), rows // _PIECE))


def padded(choices: int) -> int:
    """How many numbers a row of scores has: a multiple of what is summed at once."""
    return -(-choices // LANES) * LANES


def plan_actions(
    heads: Sequence[int], places: Sequence[int], labels: Sequence[int], count: int, most: int
) -> Actions:
    """Give the commonest pairs of direction and label transitions of their own.

    Parameters
    ----------
    heads, places, labels : of all words
        The number of the head and of the word in the sentence, and the code of its label.
    count : int
        How many labels there are.
    most : int
        How many transitions there may be. Shift is one; one of each direction stands for all
        labels that are too rare.
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
