"""svmlight / LIBSVM files."""

from __future__ import annotations

import numpy as np

from widemargin.loops import svmlight as loop
from widemargin.loops.storage import Sparse
from widemargin.loops.svmlight import Parsed, Reached, count_byte, parse_svmlight
from widemargin.readers.chunk import Flaw, Labels, Piece, Vectors
from widemargin.readers.pieces import column_of, line_start, token_at
from widemargin.rows import Rows, frozen

#: The largest index that a 32-bit column number can hold.
LARGEST_INDEX = 2**31 - 2

_REASONS = {
    loop.BAD_LABEL: "expected a number as label, found {found}",
    loop.LABEL_ENDS_BADLY: "expected a blank after the label, found {found}",
    loop.BAD_INDEX: "expected index:value, found {found}",
    loop.NO_COLON: "expected a colon after the index, found {found}",
    loop.HUGE_INDEX: f"the index {{found}} is larger than {LARGEST_INDEX}",
    loop.BAD_VALUE: "expected a number as value, found {found}",
    loop.NOT_ASCENDING: "the index {found} does not follow on a smaller one: indices must ascend",
    loop.BAD_QID: "expected qid:number, found {found}",
    loop.HUGE_VALUE: "the value {found} is too large for a float",
}


def parse_lines(text: np.ndarray, flaws: int, dtype: type = np.float64) -> Piece:
    """Read whole lines.

    Parameters
    ----------
    text : array of uint8
        Lines, the last with its end.
    flaws : int
        Stop at so many bad lines.
    dtype : float32 or float64
        The type of the values.
    """
    text = frozen(text)
    n, rows = count_byte(text, ord(":")), count_byte(text, ord("\n"))
    out = Parsed(
        np.empty(n, dtype),
        np.empty(n, np.uint32),
        np.zeros(rows + 1, np.uint64),
        np.empty(rows),
        np.empty(rows, np.int64),
        np.empty((n + rows, 3), np.uint64),
    )
    reached = Reached(0, 0, 0, 0, 0, LARGEST_INDEX, 0)
    largest = float(np.finfo(dtype).max)
    found: list[Flaw] = []
    while True:
        why, reached = parse_svmlight(text, reached, out, np.uint64(LARGEST_INDEX), largest)
        if why == loop.DONE:
            break
        found.append(_flaw(text, reached, why))
        after = reached.place + text[reached.place :].tobytes().find(b"\n")
        reached = reached._replace(place=after)
        if len(found) == flaws:
            break
    too_large = _read_slow_numbers(text, out, reached, largest)
    if too_large is not None and len(found) < flaws:
        return _without_line(text, too_large, flaws, dtype)
    n, rows = reached.values, reached.rows
    labels, measured = _labels(out.labels[:rows])
    if measured >= 0 and len(found) < flaws:
        line = int(out.lines[measured])
        begins = 0
        for _ in range(line):
            begins += text[begins:].tobytes().find(b"\n") + 1
        message = f"the label {out.labels[measured]:g} is a measurement, not a class"
        return _commented(text, begins, Flaw(line, 1, message), flaws, dtype)
    stored = Sparse(
        frozen(out.values[:n]), frozen(out.indices[:n]), frozen(out.starts[: rows + 1]), 0.0
    )
    raw = Vectors(Rows(stored, rows, reached.largest + 1, distinct=True), reached.least)
    return Piece(raw, rows, labels, None, out.lines[:rows], len(out.labels), found)


def _flaw(text: np.ndarray, reached: Reached, why: int) -> Flaw:
    ends = b": \t\r\n" if why in (loop.HUGE_INDEX, loop.NOT_ASCENDING) else b" \t\r\n"
    message = _REASONS[why].format(found=token_at(text, reached.place, ends))
    return Flaw(reached.line, column_of(text, reached.place), message)


def _read_slow_numbers(
    text: np.ndarray, out: Parsed, reached: Reached, largest: float
) -> tuple[int, str] | None:
    """Let Python read what the loop could not; the place of a number that is too large, if any."""
    for slot, begins, ends in out.slow[: reached.slow].tolist():
        number = text[begins:ends].tobytes().decode()
        value = float(number)
        if abs(value) > largest:
            return begins, number
        if slot >= 2**63:
            out.labels[~np.uint64(slot)] = value
        else:
            out.values[slot] = value
    return None


def _without_line(text: np.ndarray, at: tuple[int, str], flaws: int, dtype: type) -> Piece:
    """Read again without the line of a number that is too large."""
    place, number = at
    begins = line_start(text, place)
    line = text[:begins].tobytes().count(b"\n")
    message = _REASONS[loop.HUGE_VALUE].format(found=repr(number))
    return _commented(text, begins, Flaw(line, column_of(text, place), message), flaws, dtype)


def _commented(text: np.ndarray, begins: int, flaw: Flaw, flaws: int, dtype: type) -> Piece:
    """Read again with a bad line made a comment: too rare for anything faster."""
    text = text.copy()
    text[begins] = ord("#")
    piece = parse_lines(text, flaws, dtype)
    return piece._replace(flaws=sorted([flaw, *piece.flaws])[:flaws])


def _labels(found: np.ndarray) -> tuple[Labels, int]:
    """The labels, as whole numbers, and the first row whose label is none, or -1."""
    values, codes = np.unique(found, return_inverse=True)
    whole = values == np.rint(values)
    if not np.all(whole):
        return Labels(values, codes), int(np.flatnonzero(~whole[codes])[0])
    return Labels(values.astype(np.int64), codes.astype(np.int64)), -1
