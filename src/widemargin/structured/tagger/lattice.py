"""All ways to tag one sentence: the best ones, their leads, and how they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from widemargin.data.encode.templates import Templates
from widemargin.data.encode.tokens import Tokens
from widemargin.data.rows import frozen
from widemargin.loops.sequences.numbers import Numbers
from widemargin.loops.sequences.tagging import (
    Lexicon,
    Reader,
    Search,
    read_ids,
    score_sentence,
    tag_sentences,
)
from widemargin.loops.sequences.viterbi import n_best, path_score, score_through
from widemargin.models.explanation import Reason
from widemargin.structured.tagger.weights import Answering, transition_rows

_NO_LEXICON = Lexicon(
    frozen(np.empty(0, np.uint64)),
    frozen(np.empty(0, np.uint32)),
    frozen(np.zeros((1, 8), np.float32)),
)


@dataclass(frozen=True, eq=False)
class Lattice:
    """All ways to tag one sentence, with the parts of their scores.

    Attributes
    ----------
    tokens : Tokens
        The sentence.
    starts : array
        Where it starts and ends.
    templates : Templates
        The feature templates.
    reader : Reader
        Finds the rows of its features.
    weights : Answering
        The weights, in units.
    labels : list of str
        The labels.
    order : int
        How many previous labels the score of a label depends on.
    numbers : Numbers or None
        The numeric features of the tokens.
    names : sequence of str
        The names of the numeric features, by their row.
    """

    tokens: Tokens
    starts: np.ndarray
    templates: Templates
    reader: Reader
    weights: Answering
    labels: list[str]
    order: int
    numbers: Numbers | None
    names: Sequence[str]

    @cached_property
    def scores(self) -> np.ndarray:
        """The scores of all labels for each word, in units, without transitions.

        Minus infinity where a word may not have a label.
        """
        m, n = self.tokens.n, len(self.labels)
        W, D = self.weights.W, self.weights.D
        s = np.empty((m, W.shape[1]), np.float32)
        score_sentence(*self.tokens, self.reader, self.starts, 0, W, self.numbers, n, s)
        if m and len(self.reader.lexicon.keys):
            through = np.empty((m, n))
            score_through(s, m, n, D, self.order, 0.0, through)
            if not np.isfinite(through.max()):  # as in tagging: only transitions constrain labels
                reader = self.reader._replace(lexicon=_NO_LEXICON)
                score_sentence(*self.tokens, reader, self.starts, 0, W, self.numbers, n, s)
        return s

    @cached_property
    def ids(self) -> np.ndarray:
        """The rows of the features of each token."""
        ids = np.empty(self.tokens.n * len(self.templates), np.uint32)
        read_ids(*self.tokens, self.reader, self.starts, ids)
        return ids.reshape(self.tokens.n, len(self.templates))

    def path(self, search: Search) -> np.ndarray:
        """The labels that a search finds."""
        found = np.empty(self.tokens.n, np.uint32)
        here, table = (self.reader, self.starts, 0, 1), self.weights.for_tagging
        tag_sentences(*self.tokens, *here, *table, self.numbers, search, found)
        return found.astype(np.int64)

    def n_best(self, n: int, scores: np.ndarray | None = None) -> list[tuple[np.ndarray, float]]:
        """The n best ways to label the sentence with their scores, best first.

        `scores`, if given, replace those of the weights.
        """
        m = self.tokens.n
        if m == 0:
            return [(np.empty(0, np.int64), 0.0)]
        D, unit = self.weights.D, self.weights.unit
        given = self.scores if scores is None else scores
        paths, totals = np.zeros((n, m), np.int64), np.zeros(n)
        found = n_best(given, m, len(self.labels), D, self.order, n, paths, totals)
        return [(paths[k], unit * float(totals[k])) for k in range(found)]

    def lead(self, labels: np.ndarray) -> float:
        """The lead of the given labels over all others; negative if others are better."""
        m, n = np.uint64(self.tokens.n), np.uint64(len(self.labels))
        if m == 0:
            return np.inf
        D, unit = self.weights.D, self.weights.unit
        own = unit * path_score(self.scores, m, n, D, self.order, labels, True)
        rivals = [score for path, score in self.n_best(2) if not np.array_equal(path, labels)]
        return float(own - rivals[0]) if rivals else np.inf

    def best_without(self, token: int, forbidden: np.ndarray) -> np.ndarray | None:
        """The best labels of all tokens if some are forbidden at one; None if that is impossible.

        `forbidden` says for every label whether it is forbidden.
        """
        scores = self.scores.copy()
        scores[token, : len(self.labels)][forbidden] = -np.inf
        found = self.n_best(1, scores)
        return found[0][0] if found else None

    def reasons(self, path: np.ndarray, rival: np.ndarray, token: int) -> list[Reason]:
        """The features in which two taggings differ; their shares add up to the lead of `path`.

        The share of a common feature is the difference of its weights for the two labels. The
        names of features of other tokens than `token` say where they are.
        """
        return [
            Reason(self._placed(name, at, token), value, weight, value * weight, None)
            for at in range(len(path))
            for name, value, weight in (
                *self._of_words(path, rival, at),
                *self._of_numbers(path, rival, at),
                *self._of_labels(path, rival, at),
            )
        ]

    def _placed(self, name: str, at: int, token: int) -> str:
        if at == token:
            return name
        return f"{name}, at {self.tokens.text(0, at)} ({at - token:+d})"

    def _of_words(
        self, path: np.ndarray, rival: np.ndarray, at: int
    ) -> Iterator[tuple[str, float, float]]:
        """The template features of one token, if its two labels differ."""
        if path[at] == rival[at]:
            return
        rows = self.weights.W[self.ids[at]].astype(np.float64)
        weights = self.weights.unit * (rows[:, path[at]] - rows[:, rival[at]])
        for k, weight in enumerate(weights.tolist()):
            if weight:
                yield self.templates.name(k, self.tokens, at, 0, len(path)), 1.0, weight

    def _of_numbers(
        self, path: np.ndarray, rival: np.ndarray, at: int
    ) -> Iterator[tuple[str, float, float]]:
        """The numeric features of one token, if its two labels differ."""
        if path[at] == rival[at] or self.numbers is None:
            return
        some = slice(int(self.numbers.starts[at]), int(self.numbers.starts[at + 1]))
        rows = self.numbers.V[self.numbers.rows[some]].astype(np.float64)
        weights = self.weights.unit * (rows[:, path[at]] - rows[:, rival[at]])
        codes, amounts = self.numbers.rows[some].tolist(), self.numbers.x[some].tolist()
        for code, amount, weight in zip(codes, amounts, weights.tolist(), strict=True):
            if weight:
                yield self.names[code], amount, weight

    def _of_labels(
        self, path: np.ndarray, rival: np.ndarray, at: int
    ) -> Iterator[tuple[str, float, float]]:
        """The transition features of one token."""
        before, after = self._transitions(path, at), self._transitions(rival, at)
        for name in dict.fromkeys([*before, *after]):
            if name in before and name in after:
                value, weight = 1.0, before[name] - after[name]
            else:
                value, weight = (1.0, before[name]) if name in before else (-1.0, after[name])
            if weight:
                yield name, value, weight

    def _transitions(self, path: np.ndarray, at: int) -> dict[str, float]:
        """The weights of the transitions around a token's label, by name."""
        n = len(self.labels)
        rows = self.weights.W[len(self.weights.W) - transition_rows(n, self.order) :]
        before = int(path[at - 1]) if at > 0 else n
        earlier = int(path[at - 2]) if at > 1 else n
        name, label = f"tag[-1]={self._called(before)}", int(path[at])
        found = {name: rows[before, label]}
        if self.order == 2:
            pair = rows[n + 2 + before * (n + 1) + earlier, label]
            found[f"tag[-2]={self._called(earlier)}|{name}"] = pair
        if at == len(path) - 1:
            found["tag[1]=<end>"] = rows[n + 1, label]
        return {name: self.weights.unit * float(weight) for name, weight in found.items()}

    def _called(self, label: int) -> str:
        return self.labels[label] if label < len(self.labels) else "<start>"
