"""Highlighting the parts of a text that decided, by spreading feature shares over words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

_WORD = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")


def highlights(
    text: str, reasons: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> list[tuple[str, float]]:
    """Cut a text into pieces, each with its share of the score; together they are the text.

    The share of an n-gram that occurs several times is divided equally among the words, or
    characters, of all its occurrences.

    Parameters
    ----------
    text : str
        The text.
    reasons : list of dict
        All features that it has, with their shares.
    options : dict
        The options of the `TextEncoder` that made the features.

    Examples
    --------
    >>> options = {"analyzer": "word", "ngrams": (1, 1), "lowercase": True, "min_length": 2}
    >>> highlights("Good, good.", [{"feature": "good", "share": 3.0}], options)
    [('Good', 1.5), (', ', 0.0), ('good', 1.5), ('.', 0.0)]
    """
    shares = {reason["feature"].removeprefix("~"): reason["share"] for reason in reasons}
    places: dict[str, list[list[int]]] = defaultdict(list)
    by_word = options["analyzer"] == "word"
    find = _word_features if by_word else _character_features
    for name, letters in find(text, options):
        if name in shares:
            places[name].append(letters)
    weights = [0.0] * len(text)
    for name, occurrences in places.items():
        each = shares[name] / sum(map(len, occurrences))
        for letters in occurrences:
            for at in letters:
                weights[at] += each
    if not by_word:
        runs = groupby(range(len(text)), lambda at: weights[at])
        return [(_cut(text, list(run)), weight) for weight, run in runs]
    return _by_words(text, weights)


def _by_words(text: str, weights: list[float]) -> list[tuple[str, float]]:
    """Cut a text into words and what is between them."""
    pieces, end = [], 0
    for word in _WORD.finditer(text):
        if word.start() > end:
            pieces.append((text[end : word.start()], 0.0))
        pieces.append((word[0], sum(weights[word.start() : word.end()])))
        end = word.end()
    return [*pieces, (text[end:], 0.0)] if end < len(text) else pieces


def _cut(text: str, run: list[int]) -> str:
    return text[run[0] : run[-1] + 1]


def _word_features(text: str, options: Mapping[str, Any]) -> Iterator[tuple[str, list[int]]]:
    """The word n-grams, each with the position of the first letter of every word."""
    words = [word for word in _WORD.finditer(text) if len(word[0]) >= options["min_length"]]
    names = [_lowered(word[0]) if options["lowercase"] else word[0] for word in words]
    low, high = options["ngrams"]
    for n in range(low, high + 1):
        for first in range(len(words) - n + 1):
            # One letter stands for the word, so that long words do not count more.
            letters = [word.start() for word in words[first : first + n]]
            yield " ".join(names[first : first + n]), letters


def _character_features(text: str, options: Mapping[str, Any]) -> Iterator[tuple[str, list[int]]]:
    """The character n-grams, and the positions of their characters."""
    plain = _lowered(text) if options["lowercase"] else text
    low, high = options["ngrams"]
    if options["analyzer"] == "char":
        pieces = [_squeezed(plain)]
    else:
        pieces = [
            [(" ", -1), *((plain[at], at) for at in range(*word.span())), (" ", -1)]
            for word in re.finditer(r"\S+", plain)
        ]
    for piece in pieces:
        for n in range(low, high + 1):
            # A word shorter than n is a feature as a whole.
            for first in range(max(1, len(piece) - n + 1)):
                part = piece[first : first + n]
                yield "".join(letter for letter, _ in part), [at for _, at in part if at >= 0]


def _squeezed(text: str) -> list[tuple[str, int]]:
    """The characters of a text and their positions, with runs of blanks joined into one."""
    spaces = {place.start(): place.end() for place in _BLANKS.finditer(text)}
    found, at = [], 0
    while at < len(text):
        found.append((" " if at in spaces else text[at], at))
        at = spaces.get(at, at + 1)
    return found


def _lowered(text: str) -> str:
    """Convert to lower case letter by letter, so that positions stay the same."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
