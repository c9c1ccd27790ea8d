"""Examine taggers, parsers and annotators on sentences with known answers, for a report page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.models.explanation import Explanation
from widemargin.structured.annotator.model import AnnotatorModel
from widemargin.structured.parser.model import ParserModel, Trees
from widemargin.structured.parser.trees import heads_of
from widemargin.structured.report import (
    Confusion,
    Report,
    measure_annotator,
    measure_parser,
    measure_tagger,
)
from widemargin.structured.resample import Ratio
from widemargin.structured.tagger.model import TaggerModel

#: How many mistakes to list, sentences to draw, and features to show per mistake.
_KEPT, _DRAWN, _REASONS = 10, 5, 6
#: Only sentences of these lengths are drawn; others show too little or too much.
_SHORTEST, _LONGEST = 6, 20
#: Number of groups of equally many tokens, from the least to the most certain.
_GROUPS = 5
#: The smallest distance of each class of distances between a word and its head.
_DISTANCES = (1, 2, 3, 4, 5, 7, 10, 15)
#: The stages of an annotator, in the order in which they run.
_STAGES = ("sentence", "word", "upos", "xpos", "feats", "lemma", "deprel")


class TokenMistake(NamedTuple):
    """A token for which the model was sure of a wrong answer.

    Attributes
    ----------
    place : str
        The file and line, or the sentence and token.
    words : tuple of str
        The words before it, the token, and the words after it.
    right, found : str
        The right answer, and the one given.
    margin : float
        How certain the model was.
    told : Explanation
        Why it chose this answer.
    """

    place: str
    words: tuple[str, str, str]
    right: str
    found: str
    margin: float
    told: Explanation


class DrawnTree(NamedTuple):
    """The right and the found tree of one sentence."""

    place: str
    words: list[str]
    right_heads: list[int]
    right_labels: list[str]
    heads: list[int]
    labels: list[str]


class Line(NamedTuple):
    """A line of a table: what was counted, and how often it was right."""

    name: str
    ratio: Ratio


class Stage(NamedTuple):
    """What an annotator got wrong in one stage.

    Attributes
    ----------
    name : str
        The stage: "sentence", "word", or a column.
    wrong : int
        How many answers were wrong.
    mistakes : list of Confusion
        The kinds of errors, the most common first.
    """

    name: str
    wrong: int
    mistakes: list[Confusion]


class SentenceExam(NamedTuple):
    """The results of an examination.

    Attributes
    ----------
    report : Report
        Figures, spans, confusions with examples.
    certainty : list of Line
        The accuracy of groups of tokens, by how certain the model was.
    words : list of Line
        The accuracy on words seen in training and on unseen words (taggers).
    mistakes : list of TokenMistake
        The mistakes that the model was surest of (taggers).
    relations, distances : list of Line
        Precision and recall by label, and by the distance of the head (parsers).
    trees : list of DrawnTree
        The sentences of moderate length with the most wrong heads (parsers).
    stages : list of Stage
        The errors by stage (annotators).
    """

    report: Report
    certainty: list[Line]
    words: Sequence[Line] = ()
    mistakes: Sequence[TokenMistake] = ()
    relations: Sequence[Line] = ()
    distances: Sequence[Line] = ()
    trees: Sequence[DrawnTree] = ()
    stages: Sequence[Stage] = ()


def examine_sentences(
    model: TaggerModel | ParserModel | AnnotatorModel,
    corpus: Corpus,
    column: str | int | None = None,
    n_jobs: int | None = None,
) -> SentenceExam:
    """Compare a model's answers with the right ones.

    Parameters
    ----------
    model : TaggerModel, ParserModel or AnnotatorModel
    corpus : Corpus
        Sentences with the right tags or trees; for an annotator a treebank, of which it gets only
        the raw text.
    column : str or int
        The column of the right tags; by default the one the model was trained on.
    n_jobs : int or None
        Number of threads.
    """
    if isinstance(model, TaggerModel):
        return _examine_tagger(model, corpus, column, n_jobs)
    if isinstance(model, AnnotatorModel):
        return _examine_annotator(model, corpus, n_jobs)
    return _examine_parser(model, corpus, n_jobs)


def _examine_tagger(
    model: TaggerModel, corpus: Corpus, column: str | int | None, n_jobs: int | None
) -> SentenceExam:
    report = measure_tagger(model, corpus, n_jobs, column)
    right = corpus.column(model.column if column is None else column)
    found, margins = model.flat_tags(corpus, n_jobs), model.flat_margins(corpus, n_jobs)
    hits = np.array(right, object) == np.array(found, object)
    words = []
    if len(model.known):
        seen = model.is_known(corpus.words)
        for name, which in (("seen in training", seen), ("not seen in training", ~seen)):
            words.append(Line(name, _ratio(hits, which, corpus.starts)))
    wrong = np.flatnonzero(~hits)
    worst = wrong[np.argsort(-margins[wrong], kind="stable")[:_KEPT]]
    mistakes = [
        _token_mistake(model, corpus, token, right[token], found[token], float(margins[token]))
        for token in worst.tolist()
    ]
    return SentenceExam(report, _by_certainty(hits, margins, corpus.starts), words, mistakes)


def _token_mistake(
    model: TaggerModel, corpus: Corpus, token: int, right: str, found: str, margin: float
) -> TokenMistake:
    number = int(np.searchsorted(corpus.starts, token, "right")) - 1
    sentence, at = corpus[number], token - int(corpus.starts[number])
    around = " ".join(sentence[:at]), sentence[at], " ".join(sentence[at + 1 :])
    told = model.explain(sentence, at, _REASONS)
    return TokenMistake(corpus.where(token), around, right, found, margin, told)


def _examine_parser(model: ParserModel, corpus: Corpus, n_jobs: int | None) -> SentenceExam:
    report = measure_parser(model, corpus, n_jobs)
    found, heads = model.predict(corpus, n_jobs), heads_of(corpus)
    labels = [label.partition(":")[0] for label in corpus.column("deprel")]
    given = [label.partition(":")[0] for label in found.labels]
    same_head = found.heads == heads
    both = same_head & (np.array(labels, object) == np.array(given, object))
    margins = model.flat_margins(corpus, n_jobs)
    relations = _by_value(both, np.array(labels), np.array(given), corpus.starts)
    far = _distance(corpus, heads), _distance(corpus, found.heads)
    return SentenceExam(
        report,
        _by_certainty(same_head, margins, corpus.starts),
        relations=[Line(label, ratio) for label, ratio in relations.items()],
        distances=_named_distances(_by_value(same_head, *far, corpus.starts)),
        trees=_worst_trees(corpus, found, heads, same_head),
    )


def _examine_annotator(model: AnnotatorModel, corpus: Corpus, n_jobs: int | None) -> SentenceExam:
    report = measure_annotator(model, corpus, n_jobs)
    kinds: dict[str, list[Confusion]] = {name: [] for name in _STAGES}
    for one in report.mistakes:
        stage, _, right = one.right.partition(" ")
        kinds[stage].append(one._replace(right=right))
    stages = [
        Stage(name, sum(one.times for one in mistakes), mistakes)
        for name, mistakes in kinds.items()
        if mistakes
    ]
    return SentenceExam(report, [], stages=stages)


def _ratio(hits: np.ndarray, which: np.ndarray, starts: np.ndarray, guessed: Any = None) -> Ratio:
    """How many of some tokens are right, by sentence."""

    def per_sentence(some: np.ndarray) -> np.ndarray:
        return np.diff(np.concatenate([[0], np.cumsum(some)])[starts])

    wanted = per_sentence(which)
    return Ratio.of(
        per_sentence(hits & which), wanted if guessed is None else per_sentence(guessed), wanted
    )


def _by_certainty(hits: np.ndarray, margins: np.ndarray, starts: np.ndarray) -> list[Line]:
    """The accuracy of groups of equally many tokens, the least certain first."""
    order = np.argsort(margins, kind="stable")
    lines = []
    for part in np.array_split(order, min(_GROUPS, len(order))):
        which = np.zeros(len(hits), bool)
        which[part] = True
        low, high = margins[part].min(), margins[part].max()
        lines.append(Line(f"{low:.3g} to {high:.3g}", _ratio(hits, which, starts)))
    return lines


def _by_value(
    hits: np.ndarray, right: np.ndarray, found: np.ndarray, starts: np.ndarray
) -> dict[Any, Ratio]:
    """Precision and recall of every value, the most common first."""
    values, counts = np.unique(right, return_counts=True)
    return {
        value: _ratio(hits, right == value, starts, found == value)
        for value in values[np.argsort(-counts, kind="stable")].tolist()
    }


def _named_distances(found: dict[int, Ratio]) -> list[Line]:
    """The classes of distances with their names, the shortest first."""
    names = {0: "root", _DISTANCES[-1]: f"{_DISTANCES[-1]} or more"}
    for first, after in pairwise(_DISTANCES):
        names[first] = str(first) if after == first + 1 else f"{first} to {after - 1}"
    return [Line(names[first], found[first]) for first in sorted(found)]


def _distance(corpus: Corpus, heads: np.ndarray) -> np.ndarray:
    """The distance class of every head: the smallest distance of the class, or 0 for the root."""
    place = np.arange(corpus.tokens) - np.repeat(corpus.starts[:-1], corpus.lengths) + 1
    far = np.abs(heads - place)
    classes = np.array(_DISTANCES)[np.searchsorted(_DISTANCES, far, "right") - 1]
    return np.where(heads == 0, 0, classes)


def _worst_trees(
    corpus: Corpus, found: Trees, heads: np.ndarray, same: np.ndarray
) -> list[DrawnTree]:
    """The sentences of moderate length with the most wrong heads; on a tie, the shortest."""
    wrong = np.diff(np.concatenate([[0], np.cumsum(~same)])[corpus.starts])
    sizes = corpus.lengths
    wrong[(sizes < _SHORTEST) | (sizes > _LONGEST)] = 0
    drawn = []
    for number in np.lexsort([sizes, -wrong])[:_DRAWN].tolist():
        if not wrong[number]:
            break
        a, b = int(corpus.starts[number]), int(corpus.starts[number + 1])
        drawn.append(
            DrawnTree(
                corpus.where(a),
                corpus.words[a:b],
                heads[a:b].tolist(),
                corpus.column("deprel")[a:b],
                found.heads[a:b].tolist(),
                found.labels[a:b],
            )
        )
    return drawn
