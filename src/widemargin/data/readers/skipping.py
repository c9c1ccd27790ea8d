"""Skip bad sentences of a file, up to a limit, instead of stopping at the first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.formats import DOCUMENT
from widemargin.errors import DataError
from widemargin.markup.words import several

#: A byte that could not be decoded.
_UNDECODED = re.compile("[\udc80-\udcff]")
#: A byte order mark: it is removed where a text begins with it, once.
_BOM = "\ufeff"

#: Makes a corpus from text, or raises an error.
Parse = Callable[[str], Corpus]


class _Block(NamedTuple):
    """The lines of a sentence, from `first` up to `last`."""

    first: int
    last: int


@dataclass
class SkippedSentences:
    """Bad sentences that were skipped, in all files that are read together.

    Attributes
    ----------
    most : int
        Maximum number to skip.
    check : callable or None
        Raises DataError if the sentences of a corpus are bad in a way that the reader does not
        detect, such as trees with cycles.
    flaws : list of str
        What was wrong with each skipped sentence, with its file and line.
    """

    most: int
    check: Callable[[Corpus], object] | None = None
    flaws: list[str] = field(default_factory=list)

    def read(self, text: str, source: str, format: str, parse: Parse) -> Corpus:
        """The good sentences of a text.

        They are found by bisection: where a half cannot be read, its own halves are tried. So one
        bad sentence costs about as much as reading the text twice more.

        Parameters
        ----------
        text : str
            The text; bytes that could not be decoded are surrogates.
        source : str
            The name of the file.
        format : str
            The format; in "text" every line is a sentence.
        parse : callable
            Reads a text of this format. Messages of its errors begin with file and line.
        """
        lines = text.removeprefix(_BOM).split("\n")
        if not lines[-1]:
            lines.pop()  # the last line ended here
        blocks = _blocks(lines, single=format == "text")
        # The first line determines the number of columns, so it is read before each part.
        opening = _first_token(lines) if format == "conll" else None

        def attempt(part: Sequence[_Block], at: int | None = None) -> None:
            here = "\n".join(line for block in part for line in lines[block.first : block.last])
            shift = 2 if at is None else at
            before = opening if opening is not None and shift >= 2 else ""
            self._attempt(f"{before}{shift * chr(10)}{here}\n", source, parse)

        good = list(self._good(blocks, attempt))
        kept = [number for block in good for number in range(block.first, block.last)]
        text = "\n".join(lines[number] for number in kept) + "\n" * bool(kept)
        corpus = parse(_with_mark(text))
        return replace(corpus, lines=np.array([*kept, 0], np.int64)[corpus.lines - 1] + 1)

    def _attempt(self, text: str, source: str, parse: Parse) -> None:
        """Raise an error if a text cannot be read."""
        undecoded = _UNDECODED.search(text)
        if undecoded is not None:
            line = text.count("\n", 0, undecoded.start()) + 1
            byte = ord(undecoded.group()) - 0xDC00
            raise DataError(f"{source}:{line}: the byte 0x{byte:02x} is not in the encoding")
        corpus = parse(_with_mark(text))
        if self.check is not None and len(corpus):
            self.check(corpus)

    def _good(self, blocks: Sequence[_Block], attempt: Callable[..., None]) -> Sequence[_Block]:
        """The blocks that can be read; the others are counted."""
        try:
            attempt(blocks)
        except DataError:
            if len(blocks) > 1:
                half = len(blocks) // 2
                return [*self._good(blocks[:half], attempt), *self._good(blocks[half:], attempt)]
            if not blocks:
                raise  # not because of a sentence
            self._bear(blocks[0], attempt)
            return []
        return blocks

    def _bear(self, block: _Block, attempt: Callable[..., None]) -> None:
        """Count a bad sentence; raise an error if there are too many."""
        try:
            attempt([block], block.first)
        except DataError as error:
            if len(self.flaws) == self.most:
                before = several(self.most, "bad sentence")
                raise DataError(f"{error} ({before} skipped before)") from None
            self.flaws.append(str(error))


def _with_mark(text: str) -> str:
    """A part of a text, so that reading it does not take its first sign for a byte order mark."""
    return f"{_BOM}{text}" if text.startswith(_BOM) else text


def _blocks(lines: Sequence[str], single: bool) -> list[_Block]:
    """The lines of each sentence, with the blank lines after it; with `single`, every line."""
    if single:
        return [_Block(number, number + 1) for number in range(len(lines))]
    blank = [not line.strip(" \t\r") for line in lines]
    starts = [
        number
        for number in range(len(lines))
        if number == 0 or (blank[number - 1] and not blank[number])
    ]
    return [_Block(a, b) for a, b in pairwise([*starts, len(lines)])]


def _first_token(lines: Sequence[str]) -> str | None:
    """The first line with a token."""
    return next(
        (line for line in lines if line.strip(" \t\r") and not line.startswith(DOCUMENT)), None
    )
