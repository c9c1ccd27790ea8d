"""Text as tagged characters, which show where tokens and sentences end.

Every character has one of six labels. A token ends at a character labelled "end", "single" or
"sentence", and before a space that is not "inside". A run of white space counts as one space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from widemargin.data.readers.cells import Columns
from widemargin.data.readers.corpus import Corpus
from widemargin.structured.tokenizer.surroundings import describe_characters
from widemargin.structured.tokenizer.treebank import Paragraph

#: The character begins a token, is inside it, or ends it; is a token; ends a sentence; or is a
#: space between tokens.
BEGIN, INSIDE, END, SINGLE, SENTENCE, SPACE = (
    "begin",
    "inside",
    "end",
    "single",
    "sentence",
    "space",
)
LABELS = (BEGIN, INSIDE, END, SINGLE, SENTENCE, SPACE)
#: White space with an empty line in it, which no sentence crosses.
BLANK_LINE = re.compile(r"\n\s*\n|\u2029")
_LINE = re.compile(r"\n|\u2029")
#: Minimum number of characters per piece of a long paragraph; bounds the memory of the search.
_LONGEST = 1 << 13


class Characters(NamedTuple):
    """The relevant characters of a text, in sequences to be tagged.

    Attributes
    ----------
    text : str
        The text, each run of white space as one space.
    places : array of int64
        Where these characters are in the original text.
    starts : array of int64
        Where each sequence begins, and the end.
    closes : array of bool
        The characters that end a paragraph, and so a sentence.
    """

    text: str
    places: np.ndarray
    starts: np.ndarray
    closes: np.ndarray

    def columns(self, surroundings: bool = True) -> dict[str, list[str]]:
        """The characters, and their surroundings, as columns."""
        around = describe_characters(self.text, self.closes) if surroundings else {}
        return {"word": list(self.text), **around}

    def corpus(self, surroundings: bool = True) -> Corpus:
        """The characters as words of a corpus, for a tagger."""
        return Corpus(Columns(self.columns(surroundings)), self.starts)


class Cuts(NamedTuple):
    """Tokens and sentences of a text.

    Attributes
    ----------
    begins, ends : arrays of int64
        Where each token begins and ends in the text.
    starts : array of int64, one longer than there are sentences
        The first token of each sentence.
    paragraphs : array of bool
        Whether a sentence is the last one of its paragraph.
    """

    begins: np.ndarray
    ends: np.ndarray
    starts: np.ndarray
    paragraphs: np.ndarray


def read_characters(text: str, lines: bool = False) -> Characters:
    """The characters of a text, in sequences of one paragraph or a piece of a long one.

    With `lines`, every line is a paragraph.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    space = white_space()[codes]
    ends = _LINE if lines else BLANK_LINE
    edges = [0, *(found.end() for found in ends.finditer(text)), len(text)]
    first = np.zeros(len(text) + 1, bool)
    first[edges] = True
    # Only the first character of a run of white space counts, and not at the edges of a paragraph.
    counts = ~space
    solid = np.flatnonzero(counts)
    paragraph = np.cumsum(first[:-1])[solid]
    follows = np.diff(paragraph, prepend=-1) == 0
    gap = follows & (np.diff(solid, prepend=-1) > 1)
    counts[solid[np.flatnonzero(gap) - 1] + 1] = True
    kept = np.flatnonzero(counts)
    shown = codes[kept]
    shown[space[kept]] = ord(" ")
    at = np.cumsum(counts)
    opening = np.append(at[solid[~follows]] - 1, len(kept))
    closes = np.zeros(len(kept), bool)
    closes[opening[1:] - 1] = True
    return Characters(
        shown.tobytes().decode("utf-32-le", "surrogatepass"),
        kept,
        _shorter(opening, np.flatnonzero(space[kept])),
        closes,
    )


@cache
def white_space() -> np.ndarray:
    """Which code points are white space."""
    white = np.zeros(0x110000, bool)
    white[[point for point in range(0x3001) if chr(point).isspace()]] = True
    return white


def _shorter(starts: np.ndarray, spaces: np.ndarray) -> np.ndarray:
    """Starts of sequences, where long ones are cut after spaces (or anywhere, if there is none)."""
    if not np.any(np.diff(starts) > 2 * _LONGEST):
        return starts.astype(np.int64)
    found = []
    for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        found.append(a)
        while b - a > 2 * _LONGEST:
            k = int(np.searchsorted(spaces, a + _LONGEST))
            near = k < len(spaces) and spaces[k] < a + 2 * _LONGEST
            a = int(spaces[k]) + 1 if near else a + _LONGEST
            found.append(a)
    return np.array([*found, int(starts[-1])], np.int64)


def number_labels(labels: Sequence[str]) -> np.ndarray:
    """Labels as indices into `LABELS`, which are faster to compare than strings."""
    number = {label: k for k, label in enumerate(LABELS)}
    return np.array([number[label] for label in labels], np.uint8)


def cut(characters: Characters, labels: np.ndarray, whole: bool = False) -> Cuts:
    """The tokens and sentences given by labels.

    Parameters
    ----------
    characters : Characters
        The text.
    labels : array of uint8
        A label for each character, see `number_labels`.
    whole : bool
        Whether each paragraph is one sentence, whatever the labels.
    """
    places, closes = characters.places, characters.closes
    space = np.frombuffer(characters.text.encode("utf-32-le", "surrogatepass"), np.uint32) == 32
    stops = closes if whole else _are((SENTENCE,))[labels] | closes
    breaks = _are((END, SINGLE, SENTENCE))[labels] | stops
    apart = space & ~_are((INSIDE,))[labels]
    solid = np.flatnonzero(~space)
    if not len(solid):
        nothing = np.empty(0, np.int64)
        return Cuts(nothing, nothing, np.zeros(1, np.int64), np.empty(0, bool))
    last = breaks[solid] | np.append(apart, False)[solid + 1]
    ends = solid[last]
    begins = np.append(solid[:1], solid[1:][last[:-1]])
    stopped = np.flatnonzero(stops[ends])
    return Cuts(
        places[begins],
        places[ends] + 1,
        np.concatenate([[0], stopped + 1]).astype(np.int64),
        closes[ends[stopped]],
    )


def relabel(characters: Characters, labels: np.ndarray, cuts: Cuts) -> np.ndarray:
    """Labels whose sentences end where the given ones do."""
    number = {label: k for k, label in enumerate(LABELS)}
    single = cuts.ends - cuts.begins == 1
    found = labels.copy()
    last = np.searchsorted(characters.places, cuts.ends - 1)
    wrong = labels[last] == number[SENTENCE]
    found[last[wrong]] = np.where(single, number[SINGLE], number[END])[wrong]
    found[last[cuts.starts[1:] - 1]] = number[SENTENCE]
    return found


def _are(chosen: tuple[str, ...]) -> np.ndarray:
    """Which labels, by number, are among the chosen ones."""
    return np.array([label in chosen for label in LABELS])


def label_paragraph(paragraph: Paragraph) -> tuple[Characters, np.ndarray]:
    """The characters of a paragraph of a treebank, and their right labels."""
    labels = np.full(len(paragraph.text), SPACE, object)
    for sentence in paragraph.sentences:
        for token in sentence:
            labels[token.start : token.end] = INSIDE
            labels[token.start] = BEGIN
            labels[token.end - 1] = END if token.end - token.start > 1 else SINGLE
        labels[sentence[-1].end - 1] = SENTENCE
    characters = read_characters(paragraph.text)
    return characters, labels[characters.places]


def training_corpus(paragraphs: Sequence[Paragraph], size: int, rng: np.random.Generator) -> Corpus:
    """Labelled characters to learn from: pieces of paragraphs, cut after spaces.

    An update covers a whole piece, so pieces are short; their sizes vary, so that no place in a
    paragraph is always next to a cut.

    Parameters
    ----------
    paragraphs : sequence of Paragraph
        The text of a treebank.
    size : int
        Approximate number of characters per piece.
    rng : numpy Generator
        Random generator for the sizes.
    """
    columns: dict[str, list[str]] = {}
    labels, starts, total = [], [0], 0
    for paragraph in paragraphs:
        characters, right = label_paragraph(paragraph)
        at, end = 0, len(characters.text)
        while at < end:
            least = int(rng.integers(size // 2, size * 3 // 2))
            found = characters.text.find(" ", at + least, at + least + size)
            at = end if at + least >= end else (at + least if found < 0 else found + 1)
            starts.append(total + min(at, end))
        for name, column in characters.columns().items():
            columns.setdefault(name, []).extend(column)
        labels.append(right)
        total += end
    columns["cut"] = np.concatenate(labels).tolist()
    return Corpus(Columns(columns), np.array(starts, np.int64))
