"""Evaluation of taggers and parsers: scores, confusions and the most common errors."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.evaluate.measures import Measures, confusion_of
from widemargin.markup.reprs import brief_repr
from widemargin.markup.words import several
from widemargin.structured.annotator.measures import (
    annotate_text,
    compare_document,
    find_mistakes,
    read_answers,
)
from widemargin.structured.annotator.model import AnnotatorModel
from widemargin.structured.parser.model import ParserModel
from widemargin.structured.parser.trees import check_trees, heads_of, measure_trees
from widemargin.structured.resample import Ratio
from widemargin.structured.spans import SpanMeasures, measure_spans
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.tokenizer.cuts import LABELS, Characters, label_paragraph
from widemargin.structured.tokenizer.model import TokenizerModel
from widemargin.structured.tokenizer.treebank import paragraphs_of

#: Examples kept for each kind of error, and words shown on each side.
_EXAMPLES, _AROUND = 3, 2
#: Characters shown on each side.
_CONTEXT = 20
#: Used where there are too many labels for a table.
NO_CONFUSION = Measures([], np.zeros((1, 0), np.int64))


class Confusion(NamedTuple):
    """A kind of error: the right answer, the answer given, its count, and some examples."""

    right: str
    found: str
    times: int
    examples: list[str]


class Report(NamedTuple):
    """The results of a measurement.

    Attributes
    ----------
    figures : dict of str to Ratio
        For a tagger accuracy and unseen_accuracy; for a parser uas, las and the accuracy of its
        tags. The figure is the f1 of the Ratio, which for tokens equals the accuracy.
    spans : SpanMeasures or None
        Scores of spans, if the tags are span tags.
    mistakes : list of Confusion
        All kinds of errors, the most common first.
    notes : list of str
        Anything else worth knowing.
    confusion : Measures
        The confusion matrix of the tags, or of the arc labels of a parser.
    """

    sentences: int
    tokens: int
    figures: dict[str, Ratio]
    spans: SpanMeasures | None
    mistakes: list[Confusion]
    notes: list[str]
    confusion: Measures

    def __repr__(self) -> str:
        return brief_repr(self)


def measure_tagger(
    model: TaggerModel, corpus: Corpus, n_jobs: int | None = None, column: str | int | None = None
) -> Report:
    """Tag a corpus and compare with its own tags.

    Parameters
    ----------
    model : TaggerModel
        The tagger to measure.
    corpus : Corpus
        Sentences with the right tags, in the column the model was trained on unless another is
        named.
    """
    right = corpus.column(model.column if column is None else column)
    _check_tokens(corpus)
    found = model.flat_tags(corpus, n_jobs)
    hits = np.array([a == b for a, b in zip(right, found, strict=True)])
    figures = {"accuracy": Ratio.of_tokens(hits, corpus.starts)}
    if len(model.known):
        new = ~model.is_known(corpus.words)
        figures["unseen_accuracy"] = _some(hits, new, corpus.starts)
    spans = measure_spans(right, found, corpus.starts) if model.scheme is not None else None
    return Report(
        len(corpus),
        corpus.tokens,
        figures,
        spans,
        _mistakes(corpus, right, found, ~hits),
        _unknown_tags(model, corpus, right),
        _confusion(right, found),
    )


def measure_parser(model: ParserModel, corpus: Corpus, n_jobs: int | None = None) -> Report:
    """Parse a corpus and compare with its own trees and tags."""
    _check_tokens(corpus)
    answers, labels = heads_of(corpus), corpus.column("deprel")
    check_trees(corpus, answers, single_root=True)
    trees = model.predict(corpus, n_jobs)
    attachment = measure_trees(corpus, trees.heads, trees.labels)
    figures = {"uas": attachment.uas, "las": attachment.las}
    if model.taggers:
        for name, tags in trees.tags.items():
            if name in corpus.names:
                same = np.array(tags, object) == np.array(corpus.column(name), object)
                figures[f"{name}_accuracy"] = Ratio.of_tokens(same, corpus.starts)
    same_head = trees.heads == answers
    found = [
        label.partition(":")[0] if same else f"{label.partition(':')[0]} of another head"
        for label, same in zip(trees.labels, same_head.tolist(), strict=True)
    ]
    right = [label.partition(":")[0] for label in labels]
    wrong = np.array([a != b for a, b in zip(right, found, strict=True)])
    return Report(
        len(corpus),
        corpus.tokens,
        figures,
        None,
        _mistakes(corpus, right, found, wrong),
        [],
        _confusion(right, [label.partition(":")[0] for label in trees.labels]),
    )


def measure_tokenizer(model: TokenizerModel, treebank: Any, n_jobs: int | None = None) -> Report:
    """Split the raw text of a treebank, and compare with its own tokens and sentences.

    The confusion matrix is that of the labels of characters, see `structured.tokenizer.cuts`.
    """
    right = paragraphs_of(treebank)
    measured = model.measure(right, n_jobs)
    text = "\n\n".join(paragraph.text for paragraph in right)
    labelled = [label_paragraph(paragraph)[1].tolist() for paragraph in right]
    answers = [label for labels in labelled for label in labels]
    characters, labels = model.labels(text, n_jobs)
    found = np.array(LABELS, object)[labels].tolist()
    return Report(
        sum(len(paragraph.sentences) for paragraph in right),
        measured.tokens.wanted,
        {"token_f1": measured.tokens, "sentence_f1": measured.sentences, "word_f1": measured.words},
        None,
        _mistakes_in_text(characters, answers, found),
        [],
        _confusion(answers, found),
    )


def measure_columns(model: Any, corpus: Corpus, n_jobs: int | None = None) -> Report:
    """Fill the columns of a lemmatizer or morphologizer, and compare with those of a corpus.

    They use one thread, whatever `n_jobs` says.
    """
    _check_tokens(corpus)
    answers = {name: corpus.column(name) for name in model.flat_columns(corpus[:0])}
    found = model.flat_columns(corpus)
    hits = {
        name: np.array([a == b for a, b in zip(answers[name], cells, strict=True)])
        for name, cells in found.items()
    }
    figures = {
        f"{name}_accuracy": Ratio.of_tokens(same, corpus.starts) for name, same in hits.items()
    }
    figures["accuracy"] = Ratio.of_tokens(np.all(list(hits.values()), axis=0), corpus.starts)
    mistakes = [
        one
        for name, cells in found.items()
        for one in _mistakes(corpus, answers[name], cells, ~hits[name])
    ]
    mistakes.sort(key=lambda one: -one.times)
    return Report(len(corpus), corpus.tokens, figures, None, mistakes, [], NO_CONFUSION)


def measure_annotator(model: AnnotatorModel, corpus: Corpus, n_jobs: int | None = None) -> Report:
    """Annotate the raw text of a treebank, and compare by the measures of CoNLL 2018."""
    right = read_answers(corpus)
    found = annotate_text(model, right, n_jobs)
    figures = compare_document(corpus, right, found)
    examples: dict[Any, list[str]] = {}
    times: Counter[tuple[str, str]] = Counter()
    for stage, wanted, given, start, end in find_mistakes(corpus, right, found):
        kind = f"{stage} {wanted or '_'}", given or "_"
        times[kind] += 1
        kept = examples.setdefault(kind, [])
        if len(kept) < _EXAMPLES:
            before, after = found.text[max(0, start - _CONTEXT) : start], found.text[end:]
            shown = f"{before}[{found.text[start:end]}]{after[:_CONTEXT]}"
            kept.append(" ".join(shown.split()))
    mistakes = [Confusion(*kind, count, examples[kind]) for kind, count in times.most_common()]
    known = {name: ratio for name, ratio in figures.items() if ratio.wanted}
    return Report(len(corpus), corpus.tokens, known, None, mistakes, [], NO_CONFUSION)


def _mistakes_in_text(
    characters: Characters, right: list[str], found: list[str]
) -> list[Confusion]:
    """The kinds of wrong character labels, each with examples from the text."""
    places = [i for i, (a, b) in enumerate(zip(right, found, strict=True)) if a != b]
    examples: dict[Any, list[str]] = {}
    for i in places:
        kept = examples.setdefault((right[i], found[i]), [])
        if len(kept) < _EXAMPLES:
            before, after = characters.text[max(0, i - _CONTEXT) : i], characters.text[i + 1 :]
            kept.append(f"{before}[{characters.text[i]}]{after[:_CONTEXT]}")
    counts = Counter((right[i], found[i]) for i in places)
    return [Confusion(*pair, times, examples[pair]) for pair, times in counts.most_common()]


def _check_tokens(corpus: Corpus) -> None:
    if not corpus.tokens:
        raise DataError(f"{corpus.source}: there are no tokens to test")


def _some(hits: np.ndarray, which: np.ndarray, starts: np.ndarray) -> Ratio:
    """The accuracy on some of the tokens."""
    counts = np.diff(np.concatenate([[0], np.cumsum(which)])[starts])
    right = np.diff(np.concatenate([[0], np.cumsum(hits & which)])[starts])
    return Ratio.of(right, counts, counts)


def _unknown_tags(model: TaggerModel, corpus: Corpus, right: list[str]) -> list[str]:
    """A note about right tags that the model does not know; an error if it knows none of them."""
    new = set(right) - set(model.tags)
    if model.given_scheme is not None:  # it learned other tags for the same types of spans
        kinds = {tag.partition("-")[2] for tag in model.tags}
        new = {tag for tag in new if tag.partition("-")[2] not in kinds}
    if not new:
        return []
    first = next(token for token, tag in enumerate(right) if tag in new)
    told = f"{corpus.where(first)}: the tag {right[first]!r} was never seen in training"
    if new == set(right):
        raise DataError(f"{told}, nor was any other tag of this column: choose another column")
    count = sum(tag in new for tag in right)
    return [f"{told}; {several(count, 'such token')} counted as mistakes"]


def _confusion(right: list[str], found: list[str]) -> Measures:
    labels = sorted(set(right) | set(found))
    code = {label: i for i, label in enumerate(labels)}
    rows, columns = (np.array([code[tag] for tag in tags]) for tags in (right, found))
    return Measures(labels, confusion_of(rows, columns, len(labels)))


def _mistakes(
    corpus: Corpus, right: list[str], found: list[str], wrong: np.ndarray
) -> list[Confusion]:
    places = np.flatnonzero(wrong).tolist()
    counts = Counter((right[i], found[i]) for i in places)
    examples: dict[Any, list[str]] = {pair: [] for pair in counts}
    for i in places:
        kept = examples[right[i], found[i]]
        if len(kept) < _EXAMPLES:
            kept.append(_in_context(corpus, i))
    return [
        Confusion(*pair, count, examples[pair])
        for pair, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    ]


def _in_context(corpus: Corpus, token: int) -> str:
    """A token with its neighbours, and where it is."""
    sentence = int(np.searchsorted(corpus.starts, token, "right")) - 1
    start, end = int(corpus.starts[sentence]), int(corpus.starts[sentence + 1])
    words, a, b = corpus.words, max(start, token - _AROUND), min(end, token + 1 + _AROUND)
    shown = [*words[a:token], f"[{words[token]}]", *words[token + 1 : b]]
    return f"{' '.join(shown)} ({corpus.where(token)})"
