"""How certain the tags of a sentence are: margins, and probabilities at a temperature."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.parameters.values import check_positive
from widemargin.structured.spans import convert_tags

#: The temperature is searched for between these powers of two.
_POWERS = (-12.0, 12.0)
#: Above this temperature, all sequences are equally likely as far as floats can tell.
_HOTTEST = 1e200


def margins_of(model: Any, corpus: Corpus, n_jobs: int | None = None) -> np.ndarray:
    """The margins of all tokens of a corpus in one array, see `TaggerModel.margins`."""
    found = np.full(corpus.tokens, np.inf)
    if len(model.shown_tags) == 1:
        return found

    def keep(part: slice, scores: np.ndarray) -> None:
        two = np.partition(_by_shown_tag(model, np.maximum, scores), -2, axis=1)[:, -2:]
        found[part] = two[:, 1] - two[:, 0]

    model.score_labels(corpus, 0.0, n_jobs, keep)
    return found


def marginals_of(
    model: Any, corpus: Corpus, temperature: float = 1.0, n_jobs: int | None = None
) -> np.ndarray:
    """The probabilities of the tags of all tokens of a corpus, see `TaggerModel.marginals`."""
    check_positive("temperature", temperature)
    temperature = min(float(temperature), _HOTTEST)
    found = np.empty((corpus.tokens, len(model.shown_tags)))

    def keep(part: slice, scores: np.ndarray) -> None:
        with np.errstate(over="ignore"):  # at low temperatures, exp(-inf) = 0 is the answer
            likely = np.exp((scores - scores.max(axis=1, keepdims=True)) / temperature)
        found[part] = _by_shown_tag(model, np.add, likely)

    model.score_labels(corpus, temperature, n_jobs, keep)
    return found / found.sum(axis=1, keepdims=True)


def leads_of_sentences(model: Any, corpus: Corpus, labels: np.ndarray) -> list[float]:
    """The lead of given labels over all others, for every sentence."""
    ends = pairwise(corpus.starts.tolist())
    return [
        model.lead(sentence, labels[a:b]) for sentence, (a, b) in zip(corpus, ends, strict=True)
    ]


def best_temperature(model: Any, corpus: Corpus, right: list[str]) -> float:
    """The temperature at which the right tags have the least log loss."""
    from scipy.optimize import minimize_scalar

    places = {tag: place for place, tag in enumerate(model.shown_tags)}
    if model.given_scheme == "IOB1":
        right = convert_tags(right, "IOB2", corpus.starts)
    known = [(token, places[tag]) for token, tag in enumerate(right) if tag in places]
    if not known:
        raise DataError(
            f"{corpus.source}: none of these tags was seen in training; choose another column"
        )
    at = tuple(np.array(known).T)

    def loss(power: float) -> float:
        likely = marginals_of(model, corpus, 2.0**power, -1)[at]
        return -float(np.log(np.maximum(likely, np.finfo(float).tiny)).mean())

    best = minimize_scalar(loss, bounds=_POWERS, method="bounded", options={"xatol": 0.01})
    return float(2.0**best.x)


def _by_shown_tag(model: Any, join: np.ufunc, table: np.ndarray) -> np.ndarray:
    """Join the columns of labels that users see as the same tag."""
    order = np.argsort(model.shown_places, kind="stable")
    edges = np.searchsorted(model.shown_places[order], np.arange(len(model.shown_tags)))
    return join.reduceat(table[:, order], edges, axis=1)
