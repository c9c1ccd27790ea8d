"""Why a token got its tag: the features that told it from the best other one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.encode.templates import Templates
from widemargin.data.encode.tokens import Tokens
from widemargin.loops.sequences.viterbi import n_best
from widemargin.models.explanation import Explanation, Reason, explanation_of
from widemargin.structured.sentences import place_in_sentence


class Lattice(NamedTuple):
    """All ways to tag one sentence, with what their scores are made of.

    Attributes
    ----------
    tokens : Tokens
        The sentence.
    templates : Templates
        What makes its features.
    ids : array (tokens, templates)
        The rows of its features.
    scores : array (tokens, width)
        The scores of all labels, in units; minus infinity where a word may not have a label.
    W, D : arrays
        The weights, in units, and the transitions as the dynamic program reads them.
    unit : float
        What one unit is worth.
    labels : list of str
        The labels.
    order : int
        How many labels before a token its score depends on.
    """

    tokens: Tokens
    templates: Templates
    ids: np.ndarray
    scores: np.ndarray
    W: np.ndarray
    D: np.ndarray
    unit: float
    labels: list[str]
    order: int

    def best_without(self, token: int, forbidden: np.ndarray) -> np.ndarray | None:
        """The best labels of all tokens if some are forbidden at one; None if that is impossible.

        `forbidden` tells of every label whether it is.
        """
        m, n = len(self.ids), len(self.labels)
        scores = self.scores.copy()
        scores[token, :n][forbidden] = -np.inf
        paths, found = np.zeros((1, m), np.int64), np.zeros(1)
        return paths[0] if n_best(scores, m, n, self.D, self.order, 1, paths, found) else None

    def reasons(self, path: np.ndarray, rival: np.ndarray, token: int) -> list[Reason]:
        """What tells two ways to tag the sentence apart: their shares add up to the lead of `path`.

        A feature of both has the difference of its weights for the two labels. Features of other
        tokens than `token` tell where they are.
        """
        return [
            Reason(self._placed(name, at, token), value, weight, value * weight, None)
            for at in range(len(path))
            for name, value, weight in (
                *self._of_words(path, rival, at),
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
        """The features of one token that are made of words, if its two labels differ."""
        if path[at] == rival[at]:
            return
        rows = self.W[self.ids[at]].astype(np.float64)
        weights = self.unit * (rows[:, path[at]] - rows[:, rival[at]])
        for k, weight in enumerate(weights.tolist()):
            if weight:
                yield self.templates.name(k, self.tokens, at, 0, len(path)), 1.0, weight

    def _of_labels(
        self, path: np.ndarray, rival: np.ndarray, at: int
    ) -> Iterator[tuple[str, float, float]]:
        """The features of one token that are made of the labels around it."""
        before, after = self._transitions(path, at), self._transitions(rival, at)
        for name in dict.fromkeys([*before, *after]):
            if name in before and name in after:
                value, weight = 1.0, before[name] - after[name]
            else:
                value, weight = (1.0, before[name]) if name in before else (-1.0, after[name])
            if weight:
                yield name, value, weight

    def _transitions(self, path: np.ndarray, at: int) -> dict[str, float]:
        """The weights of what stands around a token's label, by name."""
        n = len(self.labels)
        rows = self.W[len(self.W) - (n + 2 + ((n + 1) ** 2 if self.order == 2 else 0)) :]
        before = int(path[at - 1]) if at > 0 else n
        earlier = int(path[at - 2]) if at > 1 else n
        name, label = f"tag[-1]={self._called(before)}", int(path[at])
        found = {name: rows[before, label]}
        if self.order == 2:
            pair = rows[n + 2 + before * (n + 1) + earlier, label]
            found[f"tag[-2]={self._called(earlier)}|{name}"] = pair
        if at == len(path) - 1:
            found["tag[1]=<end>"] = rows[n + 1, label]
        return {name: self.unit * float(weight) for name, weight in found.items()}

    def _called(self, label: int) -> str:
        return self.labels[label] if label < len(self.labels) else "<start>"


def explain_tag(
    model: Any, lattice: Lattice, path: np.ndarray, token: int, top: int | None
) -> Explanation:
    """Why one token got its tag, see `TaggerModel.explain`."""
    token = place_in_sentence(token, len(path))
    same = model.shown_places == model.shown_places[path[token]]
    tag = model.shown(path)[token]
    rival = lattice.best_without(token, same)
    if rival is None:
        return Explanation(tag, None, math.inf, [])
    return explanation_of(tag, model.shown(rival)[token], lattice.reasons(path, rival, token), top)
