"""Documents, one per line, each with its label in front.

fastText:        __label__spam Win a prize now
labelled text:   spam<TAB>Win a prize now
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.data.readers.chunk import Flaw, Labels, Piece, Texts
from widemargin.data.readers.pieces import column_of, line_start, token_at
from widemargin.data.rows import frozen
from widemargin.loops.text.strings import find_bad_byte, find_marks, number_strings

_TAB, _NEWLINE, _RETURN, _BLANK = 9, 10, 13, 32
#: How fastText marks a label.
PREFIX = "__label__"
_PREFIX = np.frombuffer(PREFIX.encode(), np.uint8)


def parse_fasttext(text: np.ndarray, flaws: int) -> Piece:
    """Read lines that begin with a label marked `__label__`."""
    found = _lines(text, (_BLANK, _TAB))
    starts, stops, ends = found.starts, found.marks, found.ends
    marked = _begin_with(text, starts, ends, _PREFIX)
    second = _begin_with(text, np.minimum(stops + 1, ends), ends, _PREFIX)
    labels = starts + len(_PREFIX)
    wrong = {
        f"expected a label such as {PREFIX}spam, found {{found}}": ~marked,
        f"nothing follows {PREFIX}": marked & (labels >= stops),
        "a second label, {found}: an example has only one": marked & second,
    }
    at = np.where(marked & second, stops + 1, starts)
    return _piece(text, flaws, found, (labels, stops), (stops, ends), wrong, at)


def parse_labelled(text: np.ndarray, flaws: int) -> Piece:
    """Read lines of a label, a tab and a document."""
    found = _lines(text, (_TAB, _TAB))
    starts, stops, ends = found.starts, found.marks, found.ends
    wrong = {
        "expected label, tab and text, found no tab": stops == ends,
        "expected a label before the tab, found {found}": (stops == starts) & (stops < ends),
    }
    return _piece(text, flaws, found, (starts, stops), (stops, ends), wrong, starts)


def parse_plain(text: np.ndarray, flaws: int) -> Piece:
    """Read lines that are documents, without labels."""
    found = _lines(text, (_TAB, _TAB), blank=True)
    return _piece(text, flaws, found, None, (found.starts, found.ends), {}, found.starts)


def _piece(
    text: np.ndarray,
    flaws: int,
    lines: _LabelledLines,
    labels: tuple[np.ndarray, np.ndarray] | None,
    documents: tuple[np.ndarray, np.ndarray],
    wrong: dict[str, np.ndarray],
    at: np.ndarray,
) -> Piece:
    """The content of the lines, without the bad ones."""
    found = []
    number = lines.number
    good = np.ones(len(number), bool)
    for message, where in wrong.items():
        for i in np.flatnonzero(where & good)[:flaws].tolist():
            place = int(at[i])
            shown = message.format(found=token_at(text, place))
            found.append(Flaw(int(number[i]), column_of(text, place), shown))
        good &= ~where
    bad = {flaw.line for flaw in found}
    for place, message in _not_utf8(text, flaws):
        line = text[: line_start(text, place)].tobytes().count(b"\n")
        if line not in bad:
            found.append(Flaw(line, column_of(text, place), message))
            good &= number != line
    found = sorted(found)[:flaws]
    number = number[good]
    starts, ends = (edge[good].astype(np.uint64) for edge in documents)
    named = None if labels is None else label_strings(text, *(edge[good] for edge in labels))
    raw = Texts(frozen(text), frozen(starts), frozen(ends))
    return Piece(raw, len(number), named, None, number, lines.length, found)


def label_strings(text: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> Labels:
    """Labels that are byte ranges of a text, as strings."""
    starts, ends = frozen(starts.astype(np.uint64)), frozen(ends.astype(np.uint64))
    codes, room = np.empty(len(starts), np.int64), 64
    while True:
        firsts = number_strings(frozen(text), starts, ends, np.full(room, -1), codes)
        if len(firsts) or not len(starts):
            break
        room *= 8
    strings = [text[starts[i] : ends[i]].tobytes().decode("utf-8", "replace") for i in firsts]
    return Labels(np.array(strings, dtype=object), codes)


class _LabelledLines(NamedTuple):
    """The lines to parse: their numbers and byte ranges."""

    number: np.ndarray
    starts: np.ndarray
    marks: np.ndarray
    ends: np.ndarray
    length: int  # total number of lines


def _lines(text: np.ndarray, marks: tuple[int, int], blank: bool = False) -> _LabelledLines:
    """The nonblank lines (or all), and where the first mark is in each."""
    ends = np.flatnonzero(text == _NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)[: len(ends)]
    trimmed = ends - ((ends > starts) & (text[np.maximum(ends - 1, 0)] == _RETURN))
    kept = np.flatnonzero((trimmed > starts) | blank)
    starts, trimmed = starts[kept], trimmed[kept]
    firsts = np.empty(len(kept), np.int64)
    find_marks(frozen(text), *marks, frozen(starts), frozen(trimmed), firsts)
    return _LabelledLines(kept, starts, firsts, trimmed, len(ends))


def _begin_with(
    text: np.ndarray, starts: np.ndarray, ends: np.ndarray, prefix: np.ndarray
) -> np.ndarray:
    """Whether each range begins with a prefix."""
    begins = ends - starts >= len(prefix)
    for offset, byte in enumerate(prefix):
        begins &= text[np.minimum(starts + offset, len(text) - 1)] == byte
    return begins


def _not_utf8(text: np.ndarray, flaws: int) -> list[tuple[int, str]]:
    """The positions of bytes that are not UTF-8 or are NUL, at most one per line."""
    found: list[tuple[int, str]] = []
    text, place = frozen(text), 0
    while len(found) < flaws:
        place = int(find_bad_byte(text, np.uint64(place)))
        if place == len(text):
            break
        byte = int(text[place])
        wrong = f"byte 0x{byte:02x} is not UTF-8; give the encoding (latin-1, perhaps)"
        found.append((place, wrong if byte else "found a NUL byte"))
        place += text[place:].tobytes().find(b"\n") + 1
    return found
