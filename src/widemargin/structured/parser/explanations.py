"""Why words got their heads and labels, and how certain that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.trees.arcs import FAR
from widemargin.loops.trees.contexts import COUNTS, NODES
from widemargin.loops.trees.greedy import Sentences, Trace
from widemargin.loops.trees.labels import ARC_COUNTS, ARC_NODES
from widemargin.loops.trees.transitions import LEFT, SHIFT
from widemargin.models.explanation import Explanation, Reason, explanation_of
from widemargin.structured.parser.features import features_of
from widemargin.structured.parser.search import TRANSITIONS, DecisionFeatures, TreeSearch

#: The names of the classes of distances and directions.
_FAR = ("0", "1", "2", "3", "4", "5 to 9", "10 or more")
_WAYS = ("root", "left", "right")
#: The index of the only sentence.
_FIRST = frozen(np.zeros(1, np.uint64))
_DISTANCES = {"s0-b0", "s1-s0", "far"}


def margins_of_heads(search: TreeSearch, sentences: Sentences) -> np.ndarray:
    """The margins of all words of some sentences in one array, see `ParserModel.margins`."""
    margins = []
    for i in range(len(sentences.starts) - 1):
        if search.system not in TRANSITIONS:
            margins.append(search.trees_without_each(sentences, i)[1][1:])
            continue
        trace = search.trace(sentences, i)
        found, leads = np.full(len(trace.taken) // 2 + 1, np.inf), _leads(search, trace)
        for words in _concerned(search, trace):
            np.minimum.at(found, words, leads)
        margins.append(found[1:])
    return np.concatenate(margins) if margins else np.empty(0)


def _concerned(search: TreeSearch, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """The words that each transition was a decision about.

    These are the word on top of the stack, and the word that is shifted (or 0 if none is).
    """
    shifted = search.actions.kind[trace.taken] == SHIFT
    last, first = (trace.nodes[:, NODES.index(name)].astype(np.int64) for name in ("s0", "b0"))
    return last, np.where(shifted, first, 0)


def _leads(search: TreeSearch, trace: Trace) -> np.ndarray:
    """The lead of each transition over the best one of another kind."""
    kinds, each = search.actions.kind, np.arange(len(trace.taken))
    others = np.where(kinds != kinds[trace.taken][:, None], trace.scores, -np.inf)
    return search.unit * (trace.scores[each, trace.taken] - others.max(axis=1, initial=-np.inf))


def _best_of(scores: np.ndarray, which: np.ndarray) -> tuple[int, float]:
    """The best of some choices, and its score."""
    some = np.where(which, scores, -np.inf)
    best = int(np.argmax(some))
    return best, float(some[best])


class NamedSentence:
    """One sentence, and the names of the features that a parser sees in it.

    Parameters
    ----------
    search : TreeSearch
        Finds its tree.
    labels : list of str
        The labels of arcs.
    words : sequence of str
        The sentence.
    columns : sequence of lists of str
        Its tags, in one to three columns.
    sentences : Sentences
        The sentence in the form that the loops read.
    """

    def __init__(
        self,
        search: TreeSearch,
        labels: list[str],
        words: Sequence[str],
        columns: Sequence[Sequence[str]],
        sentences: Sentences,
    ) -> None:
        self.search, self.labels = search, labels
        self.words, self.sentences = list(words), sentences
        self._cells = {
            "w": [word.lower() for word in words],
            "t": columns[0],
            "x": columns[min(1, len(columns) - 1)],
            "m": columns[-1],
            "e": [word.lower()[-3:] for word in words],
        }

    def explain_head(self, token: int, top: int | None) -> Explanation:
        """Why a word, counted from 0, got its head."""
        if self.search.system not in TRANSITIONS:
            return self._explain_arc(token + 1, top)
        trace, kinds = self.search.trace(self.sentences, 0), self.search.actions.kind
        last, shifted = _concerned(self.search, trace)
        steps = np.flatnonzero((last == token + 1) | (shifted == token + 1))
        step = int(steps[np.argmin(_leads(self.search, trace)[steps])])
        return self._explain_step(trace, step, kinds != kinds[trace.taken[step]], top)

    def _explain_step(
        self, trace: Trace, step: int, rivals: np.ndarray, top: int | None
    ) -> Explanation:
        """Why a transition was taken rather than the best other one."""
        search, taken = self.search, int(trace.taken[step])
        rival, score = _best_of(trace.scores[step], rivals)
        if math.isinf(score):
            return Explanation(self._told(taken, trace, step), None, math.inf, [])
        looked = DecisionFeatures(trace.ids[step], trace.nodes[step], trace.counts[step])
        names = self._names(search.features, NODES, COUNTS, looked, trace.groups[step])
        reasons = _differences(names, search.packed, search.unit, looked.ids, taken, rival)
        told = (self._told(action, trace, step) for action in (taken, rival))
        return explanation_of(next(told), next(told), reasons, top)

    def _explain_arc(self, word: int, top: int | None) -> Explanation:
        rivals, lost = self.search.trees_without_each(self.sentences, 0)
        best, rival = rivals[0], rivals[word]
        head = f"head {self._numbered(int(best[word]))}"
        if math.isinf(lost[word]):
            return Explanation(head, None, math.inf, [])
        values: Counter[tuple[str, int]] = Counter()
        for d in np.flatnonzero(best != rival).tolist():
            place = "" if d == word else f", at {self.words[d - 1]} ({d - word:+d})"
            for heads, value in ((best, 1), (rival, -1)):
                for name, row in self._arc_names(int(heads[d]), d):
                    values[name + place, row] += value
        weights = self.search.W
        reasons = [
            Reason(name, float(value), float(weights[row]), value * float(weights[row]), None)
            for (name, row), value in values.items()
            if value and weights[row]
        ]
        other = f"head {self._numbered(int(rival[word]))}"
        return explanation_of(head, other, reasons, top)

    def _arc_names(self, head: int, word: int) -> list[tuple[str, int]]:
        """The features of an arc: their names and rows."""
        looked = self.search.arc_features(self.sentences, 0, head, word)
        names = self._names(self.search.features, ARC_NODES, ARC_COUNTS, looked)
        way, ends = _WAYS[int(looked.counts[0])], (self._cell("t", head), self._cell("t", word))
        for k in range(min(head, word) + 1, min(head, word) + min(abs(head - word), FAR)):
            names.append(f"h.t={ends[0]} d.t={ends[1]} way={way} between={self._cell('t', k)}")
        return list(zip(names, looked.ids.tolist(), strict=True))

    def explain_label(self, token: int, top: int | None) -> Explanation:
        """Why the arc of a word, counted from 0, got its label when the tree was known."""
        word, kinds = token + 1, self.search.actions.kind
        if self.search.system in TRANSITIONS:
            trace = self.search.trace(self.sentences, 0)
            step = int(np.flatnonzero(trace.nodes[:, 0] == word)[-1])
            taken = int(trace.taken[step])
            if len(self._labels_of(taken)) == 1:  # chosen with the arc
                rivals = kinds == kinds[taken]
                rivals[taken] = False
                return self._explain_step(trace, step, rivals, top)
        size = len(self.sentences.columns)
        heads, labels = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
        self.search.find(self.sentences, _FIRST, heads, labels)
        looked, scores = self.search.label_scores(self.sentences, 0, heads, word)
        taken = int(labels[word])
        rival, score = _best_of(scores, np.arange(len(scores)) != taken)
        if math.isinf(score):
            return Explanation(self.labels[taken], None, math.inf, [])
        names = self._names(self.search.label_features, ARC_NODES, ARC_COUNTS, looked)
        weights, unit = self.search.packed_labels, self.search.label_unit
        reasons = _differences(names, weights, unit, looked.ids, taken, rival)
        return explanation_of(self.labels[taken], self.labels[rival], reasons, top)

    def _told(self, action: int, trace: Trace, step: int) -> str:
        """A transition in words."""
        kind = self.search.actions.kind[action]
        s0, s1, b0 = (
            self._numbered(int(trace.nodes[step, NODES.index(name)])) for name in ("s0", "s1", "b0")
        )
        if kind == SHIFT:
            return f"shift {b0}"
        labels, head = self._labels_of(action), b0 if kind == LEFT else s1
        if len(labels) > 1:
            return f"{s0} below {head} with a rarer label"
        return f"{s0} as {labels[0]} of {head}" if labels else f"{s0} below {head}"

    def _labels_of(self, action: int) -> list[str]:
        """The labels that a transition may give."""
        kind = int(self.search.actions.kind[action])
        found = np.flatnonzero(self.search.actions.of[kind] == action)
        return [self.labels[label] for label in found.tolist()]

    def _numbered(self, node: int) -> str:
        if not 0 < node <= len(self.words):
            return "nothing" if node else "the root (0)"
        return f"{self.words[node - 1]} ({node})"

    def _names(
        self,
        text: str,
        nodes: Sequence[str],
        counts: Sequence[str],
        looked: DecisionFeatures,
        groups: np.ndarray | None = None,
    ) -> list[str]:
        """The features of a list with their values here."""

        def value(atom: str) -> str:
            if atom in counts:
                count = int(looked.counts[counts.index(atom)])
                return _FAR[count] if atom in _DISTANCES else self._counted(atom, count)
            name, _, column = atom.rpartition(".")
            place = nodes.index(name)
            node = int(looked.nodes[place])
            if column == "a":
                assert groups is not None
                return self._arc_label(node, int(groups[place]))
            return self._cell(column, node)

        return [
            " ".join(f"{atom}={value(atom)}" for atom in feature) for feature in features_of(text)
        ]

    @staticmethod
    def _counted(atom: str, count: int) -> str:
        return _WAYS[count] if atom == "way" else str(count)

    def _cell(self, column: str, node: int) -> str:
        """A column of a node."""
        if node == 0:
            return "<root>"
        return self._cells[column][node - 1] if node <= len(self.words) else "<none>"

    def _arc_label(self, node: int, action: int) -> str:
        """The label that a transition gave to the arc of a node."""
        if not 0 < node <= len(self.words) or self.search.actions.kind[action] == SHIFT:
            return "<none>"
        labels = self._labels_of(action)
        return labels[0] if len(labels) == 1 else "<other>"


def _differences(
    names: Sequence[str], weights: np.ndarray, unit: float, ids: np.ndarray, taken: int, rival: int
) -> list[Reason]:
    """How much each feature favours one choice over another."""
    rows = weights[ids].astype(np.float64)
    found = unit * (rows[:, taken] - rows[:, rival])
    return [
        Reason(name, 1.0, weight, weight, None)
        for name, weight in zip(names, found.tolist(), strict=True)
        if weight
    ]
