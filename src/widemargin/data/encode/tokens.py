"""Tokens as hashed columns: words are joined, encoded once, and read by compiled code.

A column has a name. `word` is the word as written and `lower` the same in lower case; `prefix3` and
`suffix3` are the first and last three characters of `lower`; `shape` is the word with X for
capitals, x for other letters and d for digits, `runs` the same with runs cut to one (Xx-d); `flags`
says which kinds of characters occur. Any other name is that of an input column, such as `pos`; its
affixes are `pos.prefix1`, `pos.suffix3` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.loops.sequences.tokens import (
    DIGIT,
    FLAGS,
    LETTER,
    PREFIX,
    RUNS,
    SEPARATOR,
    SHAPE,
    SUFFIX,
    UPPER,
    WHOLE,
    fill_columns,
    find_edges,
)

#: The meaning of the bits of `flags`.
FLAG_NAMES = (
    "digit",
    "number",
    "hyphen",
    "Capital",
    "ALLCAPS",
    "innerCaps",
    "other",
    "punctuation",
)
_END = chr(SEPARATOR)
_SIMPLE = {"word": (WHOLE, 0), "lower": (WHOLE, 1), "shape": (SHAPE, 0), "runs": (RUNS, 0)}
_AFFIX = re.compile(r"(?:(.+)\.)?(prefix|suffix)([1-9][0-9]?)")
#: Sizes of character tables: for ASCII, for most alphabets, for all code points.
_SIZES = (0x80, 0x3000, 0x110000)


class Tokens(NamedTuple):
    """The texts of tokens as the loops read them; see `loops.tokens`."""

    codes: np.ndarray
    edges: np.ndarray
    classes: np.ndarray

    @property
    def n(self) -> int:
        """How many tokens there are."""
        return self.edges.shape[1] - 1

    def text(self, column: int, token: int) -> str:
        """One text of a token."""
        start, end = self.edges[column, token], self.edges[column, token + 1] - np.uint64(1)
        return self.codes[start:end].tobytes().decode("utf-32-le", "surrogatepass")


class TokenColumns:
    """The columns of tokens that are needed, by name.

    Parameters
    ----------
    names : sequence of str
        The columns; see the top of this module.

    Attributes
    ----------
    inputs : list of str
        The columns that the input must have besides the words.

    Examples
    --------
    >>> columns = TokenColumns(["word", "suffix2", "pos"])
    >>> columns.inputs
    ['pos']
    >>> tokens = columns.read({"word": ["The", "cats"], "pos": ["DT", "NNS"]})
    >>> columns.hashed(tokens).shape
    (3, 2)
    >>> columns.show(tokens, 1, 1)
    'ts'
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.inputs: list[str] = []
        self.made = frozen(
            np.array([self._way(name) for name in self.names], np.int64).reshape(-1, 3)
        )

    def _way(self, name: str) -> tuple[int, int, int]:
        """How a column is made: the way, the text, the number of characters."""
        if name in _SIMPLE:
            return (*_SIMPLE[name], 0)
        if name == "flags":
            return FLAGS, 0, 0
        affix = _AFFIX.fullmatch(name)
        if affix:
            source, end, size = affix.groups()
            way = PREFIX if end == "prefix" else SUFFIX
            text = 1 if source in (None, "lower") else 0 if source == "word" else self._text(source)
            return way, text, int(size)
        return WHOLE, self._text(name), 0

    def _text(self, name: str) -> int:
        if name not in self.inputs:
            self.inputs.append(name)
        return 2 + self.inputs.index(name)

    def read(
        self, given: Mapping[str, Sequence[str]], first: int = 0, last: int | None = None
    ) -> Tokens:
        """Join and encode the texts of the tokens from `first` up to `last`.

        `given` has a list of strings for each column.
        """
        missing = [name for name in self.inputs if name not in given]
        if missing:
            raise DataError(
                f"the templates use the column {missing[0]!r}, which the input does not have"
                f" (it has {', '.join(given)}); add it, or train without those templates"
            )
        columns = [given[name] for name in ("word", *self.inputs)]
        n = len(columns[0])
        for column in columns:
            if len(column) != n:
                raise DataError(
                    f"a column has {len(column)} entries for {n} tokens; give one per token"
                )
        words, *others = (column[first:last] for column in columns)
        return read_tokens(words, others, first)

    def hashed(self, tokens: Tokens) -> np.ndarray:
        """All columns of all tokens as hashes, an array of uint64 (columns, tokens)."""
        hashes = np.empty((len(self.names), tokens.n), np.uint64)
        # The same number types as in the tagger, so that nothing is compiled twice.
        fill_columns(*tokens, self.made, np.uint64(0), np.uint64(tokens.n), hashes, 0)
        return hashes

    def show(self, tokens: Tokens, column: int, token: int) -> str:
        """The value of a column for a token, in plain text."""
        way, source, size = self.made[column].tolist()
        text = tokens.text(source, token)
        if way == PREFIX:
            return text[:size]
        if way == SUFFIX:
            return text[-size:]
        if way == FLAGS:
            return show_flags(text)
        return show_shape(text, way == RUNS) if way in (SHAPE, RUNS) else text


def read_tokens(
    words: Sequence[str], others: Sequence[Sequence[str]] = (), first: int = 0
) -> Tokens:
    """Join and encode words, their lower case, and other columns of the same length.

    `first` is the number of the first word, for error messages.
    """
    n = len(words)
    texts = [_joined(words, first)]
    # All at once is safe: the rule for a final sigma does not look across separators.
    texts.append(texts[0].lower())
    texts += [_joined(column, first) for column in others]
    text = "".join(texts)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    edges = np.zeros((len(texts), n + 1), np.uint64)
    find_edges(codes, edges)
    if n and edges[-1, n] != len(codes):  # counting separators would take longer
        return read_tokens(_without_separators(words), [*map(_without_separators, others)])
    highest = 0 if text.isascii() else int(codes.max())
    return Tokens(codes, frozen(edges), _classes(_size(highest)))


def _joined(strings: Sequence[str], first: int) -> str:
    """Strings one after the other, each followed by a separator."""
    if not len(strings):
        return ""
    try:
        return _END.join(strings) + _END
    except TypeError:
        wrong = next(i for i, string in enumerate(strings) if not isinstance(string, str))
        raise DataError(
            f"token {first + wrong} is {strings[wrong]!r}, of type {type(strings[wrong]).__name__};"
            " tokens must be strings"
        ) from None


def _without_separators(strings: Sequence[str]) -> list[str]:
    """The same strings with blanks where they have separators."""
    return [string.replace(_END, " ") for string in strings]


def _size(highest: int) -> int:
    """The size of the table that a code point needs."""
    return next(size for size in _SIZES if highest < size)


@lru_cache(maxsize=len(_SIZES))
def _classes(size: int) -> np.ndarray:
    """The class of every code point below `size`."""
    points = np.arange(size, dtype=np.uint32)
    text = points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    classes = np.zeros(len(points), np.uint8)
    for pattern, kind in ((r"[^\W\d_]+", LETTER), (r"\d+", DIGIT)):
        for run in re.finditer(pattern, text):
            classes[run.start() : run.end()] |= kind
    # A final sigma or a dotted capital I would change the text's length or its neighbours.
    plain = text.replace("\u0130", "A").replace("\u03a3", "A")
    lowered = np.frombuffer(plain.lower().encode("utf-32-le", "surrogatepass"), np.uint32)
    classes[(lowered != points) & (classes == LETTER)] |= UPPER
    return frozen(classes)


def _classes_in(text: str) -> list[int]:
    """The class of every character of a text."""
    points = [ord(character) for character in text]
    return _classes(_size(max(points, default=0)))[points].tolist() if points else []


def show_shape(text: str, runs: bool) -> str:
    """The shape of a text, as the loops see it."""
    classes = _classes_in(text)
    shown: list[str] = []
    for character, kind in zip(text, classes, strict=True):
        seen = "d" if kind & DIGIT else "X" if kind & UPPER else "x" if kind & LETTER else character
        if not runs or shown[-1:] != [seen]:
            shown.append(seen)
    return "".join(shown)


def show_flags(text: str) -> str:
    """The flags of a text by name, as the loops see them."""
    classes = _classes_in(text)
    digits = sum(bool(kind & DIGIT) for kind in classes)
    uppers = sum(bool(kind & UPPER) for kind in classes)
    letters = sum(bool(kind & LETTER) for kind in classes)
    hyphens = text.count("-")
    first = bool(classes and classes[0] & UPPER)
    held = (
        digits > 0,
        digits > 0 and letters == 0,
        hyphens > 0,
        first,
        uppers > 0 and uppers == letters,
        uppers > first,
        digits + letters + hyphens < len(text),
        digits + letters == 0,
    )
    return "+".join(name for name, holds in zip(FLAG_NAMES, held, strict=True) if holds) or "none"
