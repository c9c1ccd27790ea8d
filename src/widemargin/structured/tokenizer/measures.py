"""Tokens, sentences and words compared with those of a treebank.

The definitions are those of the CoNLL 2018 shared task: a token or a sentence is right if it
starts and ends at the same characters; words of multiword tokens are aligned by their longest
common subsequence within the span that the tokens cover.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from widemargin.structured.resample import Ratio
from widemargin.structured.tokenizer.treebank import Paragraph

#: Separates paragraphs.
BETWEEN = "\n\n"


class TextMeasures(NamedTuple):
    """How well a text was split: F1 of tokens, sentences and words, counted by paragraph."""

    tokens: Ratio
    sentences: Ratio
    words: Ratio


class Word(NamedTuple):
    """A word of a text: the span of its token, its form, and whether it is part of a multiword."""

    start: int
    end: int
    form: str
    several: bool


def measure_text(
    right: Sequence[Paragraph], find: Callable[[str], Sequence[Paragraph]]
) -> TextMeasures:
    """Compare paragraphs with what is found in their text.

    Parameters
    ----------
    right : sequence of Paragraph
        The paragraphs of a treebank.
    find : callable
        Returns the paragraphs of a text, with positions in that text.
    """
    text = BETWEEN.join(paragraph.text for paragraph in right)
    found = find(text)
    assert len(found) == len(right)
    counts = np.empty((len(right), 3, 3), np.int64)
    begin = 0
    for row, wanted, guessed in zip(counts, right, found, strict=True):
        for k, spans in enumerate((_tokens, _sentences)):
            answers, guesses = spans(wanted, begin), spans(guessed, 0)
            row[k] = len(answers & guesses), len(guesses), len(answers)
        words, others = _words(wanted, begin), _words(guessed, 0)
        row[2] = sum(1 for _ in align_words(words, others)), len(others), len(words)
        begin += len(wanted.text) + len(BETWEEN)
    return TextMeasures(*(Ratio.of(*counts[:, k].T) for k in range(3)))


def _tokens(paragraph: Paragraph, begin: int) -> set[tuple[int, int]]:
    return {
        (begin + token.start, begin + token.end)
        for sentence in paragraph.sentences
        for token in sentence
    }


def _sentences(paragraph: Paragraph, begin: int) -> set[tuple[int, int]]:
    return {(begin + one[0].start, begin + one[-1].end) for one in paragraph.sentences}


def _words(paragraph: Paragraph, begin: int) -> list[Word]:
    return [
        Word(begin + token.start, begin + token.end, word, len(token.words) > 1)
        for sentence in paragraph.sentences
        for token in sentence
        for word in token.words
    ]


def align_words(right: Sequence[Word], found: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Pairs of matching words, by their indices among the right and the found ones."""
    i = j = 0
    while i < len(right) and j < len(found):
        a, b = right[i], found[j]
        if a.several or b.several:
            i += not a.several and a.start < b.start
            j += not b.several and b.start < a.start
            first, other = i, j
            i, j = _span(right, found, i, j, a.end if a.several else b.end)
            yield from _common(right, found, (first, i), (other, j))
        elif (a.start, a.end) == (b.start, b.end):
            yield i, j
            i, j = i + 1, j + 1
        elif a.start <= b.start:
            i += 1
        else:
            j += 1


def _span(
    right: Sequence[Word], found: Sequence[Word], i: int, j: int, end: int
) -> tuple[int, int]:
    """The first words on both sides after a group of overlapping multiword tokens."""
    while not (_beyond(right, i, end) and _beyond(found, j, end)):
        if i < len(right) and (j >= len(found) or right[i].start <= found[j].start):
            word, i = right[i], i + 1
        else:
            word, j = found[j], j + 1
        if word.several:
            end = max(end, word.end)
    return i, j


def _beyond(words: Sequence[Word], k: int, end: int) -> bool:
    if k >= len(words):
        return True
    return words[k].start >= end if words[k].several else words[k].end > end


def _common(
    right: Sequence[Word], found: Sequence[Word], rows: tuple[int, int], columns: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """The longest common subsequence of the forms in two stretches, as pairs of indices."""
    (a, b), (c, d) = rows, columns
    longest = np.zeros((b - a + 1, d - c + 1), np.int64)
    same = [[one.form.lower() == other.form.lower() for other in found[c:d]] for one in right[a:b]]
    for i in reversed(range(b - a)):
        for j in reversed(range(d - c)):
            longest[i, j] = max(
                longest[i + 1, j + 1] + 1 if same[i][j] else 0, longest[i + 1, j], longest[i, j + 1]
            )
    i = j = 0
    while i < b - a and j < d - c:
        if same[i][j]:
            yield a + i, c + j
            i, j = i + 1, j + 1
        elif longest[i + 1, j] >= longest[i, j + 1]:
            i += 1
        else:
            j += 1
