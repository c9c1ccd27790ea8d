"""Search for trees with the weights of a parser, and the features behind each decision."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.loops.trees.arcs import find_arc_features, parse_arcs, parse_without_each
from widemargin.loops.trees.beam import parse_beam
from widemargin.loops.trees.contexts import Templates
from widemargin.loops.trees.greedy import Actions, Sentences, Trace, parse_greedy, trace_steps
from widemargin.loops.trees.labels import ARC_COUNTS, ARC_NODES, give_labels, score_one_label
from widemargin.structured.parser.buffers import (
    LARGEST_WHOLE,
    arc_buffers,
    beam_buffers,
    chart_buffers,
    contraction_buffers,
    feature_buffers,
    packed_weights,
    state_buffers,
)
from widemargin.structured.parser.features import compile_templates
from widemargin.structured.parser.treebank import COLUMNS

#: The systems that find a tree by transitions.
TRANSITIONS = ("arc-hybrid", "pseudo-projective")
#: The systems that score every arc.
CHARTS = ("eisner", "cle")
#: All systems.
SYSTEMS = (*TRANSITIONS, *CHARTS)
#: The longest sentence, in words, for which a chart (quadratic in its length) is allocated.
_LONGEST_CHART = 4000


class ArcSearch(NamedTuple):
    """The arguments of the loops in `loops.trees.arcs`."""

    w: np.ndarray
    templates: Templates
    crossing: bool
    single: bool
    features: Any
    chart: Any
    contraction: Any
    arcs: Any


class DecisionFeatures(NamedTuple):
    """The features behind a decision: rows of weights, and the nodes and counts they describe."""

    ids: np.ndarray
    nodes: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Finds trees; the attributes are those of `ParserModel`."""

    system: str
    actions: Actions
    W: np.ndarray
    V: np.ndarray
    allowed: np.ndarray
    features: str
    label_features: str
    beam: int

    @cached_property
    def templates(self) -> Templates:
        """The features of states, or of arcs."""
        bits = len(self.W).bit_length() - 1
        if self.system in TRANSITIONS:
            return compile_templates(self.features, COLUMNS, bits)
        return compile_templates(self.features, COLUMNS, bits, ARC_NODES, ARC_COUNTS)

    @cached_property
    def packed(self) -> np.ndarray:
        """The weights of actions in the form used to predict."""
        return frozen(packed_weights(self.W))

    @cached_property
    def packed_labels(self) -> np.ndarray:
        """The weights of labels in the form used to predict."""
        return frozen(packed_weights(self.V))

    @cached_property
    def label_templates(self) -> Templates:
        """The features for choosing labels."""
        bits = len(self.V).bit_length() - 1
        return compile_templates(self.label_features, COLUMNS, bits, ARC_NODES, ARC_COUNTS)

    @cached_property
    def sure(self) -> np.ndarray:
        """The label of each action; if it has several or none, the number of labels."""
        several = self.allowed.shape[1]
        sure = np.full(len(self.actions.kind) + 1, several, np.uint64)
        for of in self.actions.of[1:]:
            used, count = np.unique(of, return_counts=True)
            for action in used[count == 1]:
                sure[action] = np.flatnonzero(of == action)[0]
        return frozen(sure)

    @cached_property
    def unit(self) -> float:
        """The value of one unit of the packed weights."""
        return float(largest_of(self.W).max(initial=0.0)) / LARGEST_WHOLE

    @cached_property
    def label_unit(self) -> float:
        """The value of one unit of the packed label weights."""
        return float(largest_of(self.V).max(initial=0.0)) / LARGEST_WHOLE

    def find(
        self, sentences: Sentences, chosen: np.ndarray, heads: np.ndarray, labels: np.ndarray
    ) -> None:
        """Find the trees of some sentences."""
        starts = sentences.starts
        longest = int((starts[chosen + np.uint64(1)] - starts[chosen]).max(initial=2)) - 2
        templates = self.templates
        if self.system in TRANSITIONS:
            W = self.packed
            own = feature_buffers(templates)
            buffers = state_buffers(templates, W.shape[1], longest, whole=True)
            # The transitions that made the arcs determine the more common labels.
            if self.beam > 1:
                beam = beam_buffers(self.beam, W.shape[1], longest, whole=True)
                parse_beam(
                    sentences, chosen, W, templates, self.actions, own, buffers, beam, heads, labels
                )
            else:
                parse_greedy(
                    sentences, chosen, W, templates, self.actions, own, buffers, heads, labels
                )
        else:
            parse_arcs(sentences, chosen, *self.arc_search(longest), heads)
            for i in chosen:
                labels[starts[i] : starts[i + np.uint64(1)]] = len(self.actions.kind)
        give_labels(
            sentences,
            chosen,
            heads,
            self.sure,
            self.packed_labels,
            self.label_templates,
            frozen(self.allowed),
            feature_buffers(self.label_templates),
            state_buffers(self.label_templates, self.V.shape[1], longest, whole=True),
            labels,
        )

    def arc_search(self, longest: int) -> ArcSearch:
        """The arguments of the search for the best tree of arcs; `longest` is in words."""
        templates, crossing = self.templates, self.system == "cle"
        return ArcSearch(
            frozen(self.W),
            templates,
            crossing,
            True,
            feature_buffers(templates),
            chart_buffers(0 if crossing else longest),
            contraction_buffers(longest if crossing else 0),
            arc_buffers(templates, longest, 0),
        )

    def trace(self, sentences: Sentences, i: int) -> Trace:
        """Every transition of the parse of one sentence; scores are in units.

        The result of a beam search is also traced step by step.
        """
        n, templates, W = _size(sentences, i), self.templates, self.packed
        own = feature_buffers(templates)
        buffers = state_buffers(templates, W.shape[1], n, whole=True)
        script = np.empty(0, np.uint64)
        if self.beam > 1:
            beam = beam_buffers(self.beam, W.shape[1], n, whole=True)
            heads, groups = (np.zeros(len(sentences.columns), np.uint32) for _ in range(2))
            chosen = frozen(np.array([i], np.uint64))
            parse_beam(
                sentences, chosen, W, templates, self.actions, own, buffers, beam, heads, groups
            )
            script, place = np.zeros(2 * n, np.uint64), 0
            for step in reversed(range(2 * n)):
                script[step], place = beam.action[step, place], int(beam.parent[step, place])
        steps, nodes = 2 * n, len(own.nodes)
        trace = Trace(
            np.zeros((steps, len(templates.seed)), np.uint64),
            np.zeros((steps, nodes), np.uint64),
            np.zeros((steps, nodes), np.uint64),
            np.zeros((steps, len(own.counts)), np.uint64),
            np.zeros((steps, len(self.actions.kind))),
            np.zeros(steps, np.uint64),
        )
        trace_steps(
            sentences, np.uint64(i), W, templates, self.actions, own, buffers, frozen(script), trace
        )
        return trace

    def trees_without_each(self, sentences: Sentences, i: int) -> tuple[np.ndarray, np.ndarray]:
        """The best trees of one sentence without each of its arcs, and how much lower they score.

        Row 0 is the best tree of all (its heads by word numbers from 1), row d the best one in
        which word d has another head. For the systems that score arcs.
        """
        n = _size(sentences, i)
        rivals, lost = np.zeros((n + 1, n + 1), np.uint32), np.zeros(n + 1)
        parse_without_each(sentences, np.uint64(i), *self.arc_search(n), rivals, lost)
        return rivals, lost

    def arc_features(self, sentences: Sentences, i: int, head: int, word: int) -> DecisionFeatures:
        """The features behind the score of an arc, for the systems that score arcs."""
        templates = self.templates
        own, ids = feature_buffers(templates), arc_buffers(templates, _size(sentences, i), 0).ids
        size = find_arc_features(
            sentences, np.uint64(i), np.uint64(head), np.uint64(word), templates, own, ids
        )
        return DecisionFeatures(ids[: int(size)], own.nodes, own.counts)

    def label_scores(
        self, sentences: Sentences, i: int, heads: np.ndarray, word: int
    ) -> tuple[DecisionFeatures, np.ndarray]:
        """The features for choosing the label of an arc, and the scores of labels, in units.

        Labels that are not allowed for such an arc score minus infinity.
        """
        templates, V = self.label_templates, self.packed_labels
        own = feature_buffers(templates)
        buffers = state_buffers(templates, V.shape[1], _size(sentences, i), whole=True)
        score_one_label(sentences, np.uint64(i), heads, np.uint64(word), V, templates, own, buffers)
        allowed = self.allowed[int(own.counts[0])].astype(bool)
        scores = np.where(allowed, buffers.scores[0, : len(allowed)], -np.inf)
        return DecisionFeatures(buffers.ids, own.nodes, own.counts), scores


def refuse_too_long(corpus: Corpus, system: str) -> None:
    """Raise an error if a sentence is too long for a system that scores every arc."""
    long = np.flatnonzero(corpus.lengths > _LONGEST_CHART)
    if system in CHARTS and len(long):
        where, words = corpus.where(int(corpus.starts[long[0]])), corpus.lengths[long[0]]
        raise DataError(
            f"{where}: the sentence has {words} words, but {system!r} takes at most"
            f" {_LONGEST_CHART}; use system='arc-hybrid', or shorter sentences"
        )


def _size(sentences: Sentences, i: int) -> int:
    """How many words a sentence has."""
    return int(sentences.starts[i + 1] - sentences.starts[i]) - 2


def largest_of(table: np.ndarray) -> np.ndarray:
    """The largest absolute weight of every row."""
    flat = table.reshape(len(table), -1)
    return np.maximum(flat.max(axis=1), -flat.min(axis=1))
