"""Vowpal Wabbit text files."""

from __future__ import annotations

import numpy as np

from widemargin.loops import vw as loop
from widemargin.loops.svmlight import count_byte
from widemargin.loops.vw import Parsed, Reached, parse_vw
from widemargin.readers.chunk import Flaw, Hashed, Labels, Piece
from widemargin.readers.pieces import column_of, token_at
from widemargin.rows import frozen

_REASONS = {
    loop.NO_BAR: "expected a bar | before the features, found the end of the line",
    loop.BAD_NUMBER: "expected a number before the bar, found {found}",
    loop.TOO_MANY_NUMBERS: "expected label, importance and base before the bar, found also {found}",
    loop.BAD_IMPORTANCE: "the importance {found} is negative",
    loop.BAD_VALUE: "expected a number as value, found {found}",
    loop.HUGE_VALUE: "the value of {found} is too large for a float",
}
#: Features end at a blank or a bar.
_ENDS = b" \t\r\n|"


def parse_vw_lines(text: np.ndarray, flaws: int, dtype: type = np.float64) -> Piece:
    """Read whole lines; stop at so many bad ones."""
    text = frozen(text)
    # Every feature follows on a blank, or on a bar.
    room = sum(count_byte(text, ord(mark)) for mark in " \t|")
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
    reached, largest = Reached(0, 0, 0, 0), float(np.finfo(dtype).max)
    found: list[Flaw] = []
    while True:
        why, reached = parse_vw(text, reached, out, largest)
        if why == loop.DONE:
            break
        found.append(_flaw(text, reached, _REASONS[why]))
        if len(found) == flaws:
            break
        after = reached.place + text[reached.place :].tobytes().find(b"\n")
        reached = reached._replace(place=after)
    n, length = reached.rows, len(out.lines)
    labels = _labels(out.labels[:n])
    weights = out.weights[:n]
    k = reached.values
    raw = Hashed(
        frozen(out.values[:k]),
        frozen(out.hashes[:k]),
        frozen(out.starts[: n + 1]),
        text,
        frozen(out.names[:k]),
    )
    price = None if np.all(weights == 1.0) else weights
    return Piece(raw, n, labels, price, out.lines[:n], length, found)


def _flaw(text: np.ndarray, reached: Reached, reason: str) -> Flaw:
    message = reason.format(found=token_at(text, reached.place, _ENDS))
    return Flaw(reached.line, column_of(text, reached.place), message)


def _labels(found: np.ndarray) -> Labels | None:
    """The labels, as whole numbers where they are; None if no example has one."""
    given = np.isfinite(found)
    if not np.any(given):
        return None
    values, codes = np.unique(found[given], return_inverse=True)
    if np.all(values == np.rint(values)):
        values = values.astype(np.int64)
    every = np.full(len(found), -1)
    every[given] = codes
    return Labels(values, every)
