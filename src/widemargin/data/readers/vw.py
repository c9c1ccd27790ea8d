"""Vowpal Wabbit text files."""

from __future__ import annotations

import numpy as np

from widemargin.data.readers.chunk import Flaw, Hashed, Piece
from widemargin.data.readers.numbered import bad_labels, whole_labels
from widemargin.data.readers.pieces import column_of, line_start, token_at, without_lines
from widemargin.data.readers.svmlight import largest_value
from widemargin.data.rows import frozen
from widemargin.loops.files import vw as loop
from widemargin.loops.files.svmlight import count_byte
from widemargin.loops.files.vw import Parsed, Reached, parse_vw

_REASONS = {
    loop.NO_BAR: "expected a bar | before the features, found the end of the line",
    loop.BAD_NUMBER: "expected a number before the bar, found {found}",
    loop.TOO_MANY_NUMBERS: "expected label, importance and base before the bar, found also {found}",
    loop.BAD_IMPORTANCE: "the importance {found} is negative or too large",
    loop.BAD_VALUE: "expected a number as value, found {found}",
    loop.HUGE_VALUE: "the value of {found} is too large for a float",
}
#: Features end at a blank or a bar.
_ENDS = b" \t\r\n|"


def parse_vw_lines(
    text: np.ndarray, flaws: int, dtype: type = np.float64, need_label: bool = False
) -> Piece:
    """Read whole lines.

    Parameters
    ----------
    text, flaws, dtype
        As for svmlight's `parse_lines`.
    need_label : bool
        Whether an example without a label is bad.
    """
    text = frozen(text)
    # Every feature follows a blank or a bar.
    room = sum(count_byte(text, ord(mark)) for mark in " \t\r|")
    rows = count_byte(text, ord("\n"))
    out = Parsed(
        np.empty(room, dtype),
        np.empty(room, np.uint32),
        np.zeros(rows + 1, np.uint64),
        np.empty(rows),
        np.empty(rows),
        np.empty(rows, np.int64),
        np.empty((room, 4), np.uint32),
    )
    reached, found = _parse(text, out, flaws, largest_value(dtype))
    n, k = reached.rows, reached.values
    wrong = bad_labels(text, out.labels[:n], out.lines[:n], flaws, need_label)
    if wrong:
        found = sorted([*found, *wrong])[:flaws]
        if len(found) < flaws:  # rare, so just read again
            lines = [flaw.line for flaw in wrong]
            again = parse_vw_lines(without_lines(text, lines), flaws, dtype, need_label)
            return again._replace(flaws=found)
        n = 0
    raw = Hashed(
        frozen(out.values[:k]),
        frozen(out.hashes[:k]),
        frozen(out.starts[: n + 1]),
        text,
        frozen(out.names[:k]),
    )
    weights = None if np.all(out.weights[:n] == 1.0) else out.weights[:n]
    labels = whole_labels(out.labels[:n])
    return Piece(raw, n, labels, weights, out.lines[:n], len(out.lines), found)


def _parse(text: np.ndarray, out: Parsed, flaws: int, largest: float) -> tuple[Reached, list[Flaw]]:
    """Run the loop over the text, skipping bad lines, and parse numbers that the loop cannot."""
    reached, found = Reached(0, 0, 0, 0), list[Flaw]()
    nothing = known = frozen(np.empty(0))
    stopped = -1
    while True:
        why, reached = parse_vw(text, reached, out, largest, known)
        if why == loop.DONE:
            return reached, found
        if why == loop.SLOW_NUMBER:
            known = known if reached.line == stopped else nothing
            known = frozen(np.append(known, float(_token(text, reached.place))))
            stopped = reached.line
            reached = reached._replace(place=line_start(text, reached.place))
            continue
        found.append(_flaw(text, reached, _REASONS[why]))
        if len(found) == flaws:
            return reached, found
        after = reached.place + text[reached.place :].tobytes().find(b"\n")
        reached, known = reached._replace(place=after), nothing


def _token(text: np.ndarray, place: int) -> bytes:
    """The token at a position, up to a blank or a bar."""
    ends = place + 1
    while text[ends] not in _ENDS:
        ends += 1
    return text[place:ends].tobytes()


def _flaw(text: np.ndarray, reached: Reached, reason: str) -> Flaw:
    message = reason.format(found=token_at(text, reached.place, _ENDS))
    return Flaw(reached.line, column_of(text, reached.place), message)
