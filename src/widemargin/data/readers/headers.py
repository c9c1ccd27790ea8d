"""The first line of labelled text, if it names the columns instead of being an example."""

from __future__ import annotations

import re
import warnings

import numpy as np

from widemargin.data.readers.chunk import Piece, Texts
from widemargin.errors import DataWarning

#: Common names of a label column.
_NAMES = re.compile(
    "v1|labels?|class(es)?|class[_ ]?name|categor(y|ies)|targets?|sentiments?|polarity|topics?"
    "|intents?|emotions?|label[_ ]?name",
    re.IGNORECASE,
)
#: Maximum number of words in the name of a text column.
_WORDS = 3


class HeaderLine:
    """Removes the header line of labelled-text files.

    Parameters
    ----------
    given : bool or None
        Whether there is a header. None: the first line is one if its label is a common column name,
        such as "label" or "category", that no other line nearby has as its label, and the rest has
        at most three words; this gives a warning.
    """

    def __init__(self, given: bool | None) -> None:
        self._given = given
        self._told: set[str] = set()

    def drop(self, piece: Piece, source: str) -> Piece:
        """The first piece of a file, without its header."""
        if self._given is False:
            return piece
        if self._given:
            return _without_first(piece)
        if not _looks_like_header(piece):
            return piece
        if source not in self._told:
            self._told.add(source)
            warnings.warn(
                f"{source}:{piece.lines[0] + 1}: the first line, {_label(piece)!r}, is taken as a"
                " header; if it is an example, give --no-header (header=False)",
                DataWarning,
                stacklevel=2,
            )
        return _without_first(piece)


def _label(piece: Piece) -> str:
    """The label of the first line."""
    assert piece.labels is not None
    return str(piece.labels.values[piece.labels.codes[0]])


def _looks_like_header(piece: Piece) -> bool:
    if not piece.n or (piece.flaws and piece.flaws[0].line < piece.lines[0]):
        return False
    assert piece.labels is not None
    if np.count_nonzero(piece.labels.codes == piece.labels.codes[0]) > 1:
        return False
    raw = piece.raw
    document = raw.buffer[raw.starts[0] : raw.ends[0]].tobytes()
    named = _NAMES.fullmatch(_label(piece).strip().strip('"'))
    return named is not None and len(document.split()) <= _WORDS


def _without_first(piece: Piece) -> Piece:
    """Drop the first nonblank line, whether good or bad."""
    if piece.flaws and (not piece.n or piece.flaws[0].line < piece.lines[0]):
        return piece._replace(flaws=piece.flaws[1:])
    if not piece.n:
        return piece
    assert piece.labels is not None
    raw = piece.raw
    return piece._replace(
        raw=Texts(raw.buffer, raw.starts[1:], raw.ends[1:]),
        n=piece.n - 1,
        labels=piece.labels._replace(codes=piece.labels.codes[1:]),
        lines=piece.lines[1:],
    )
