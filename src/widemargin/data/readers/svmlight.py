"""svmlight / LIBSVM files."""

from __future__ import annotations

import numpy as np

from widemargin.data.readers.chunk import Flaw, Piece, Vectors
from widemargin.data.readers.numbered import bad_labels, whole_labels
from widemargin.data.readers.pieces import column_of, token_at, without_lines
from widemargin.data.rows import Rows, frozen
from widemargin.loops.files import svmlight as loop
from widemargin.loops.files.svmlight import Parsed, Reached, count_byte, parse_svmlight
from widemargin.loops.storage import Sparse

#: The largest index that a 32-bit column number can hold.
LARGEST_INDEX = 2**31 - 2

_REASONS = {
    loop.BAD_LABEL: "expected a number as label, found {found}",
    loop.LABEL_ENDS_BADLY: "expected a blank after the label, found {found}",
    loop.BAD_INDEX: "expected index:value, found {found}",
    loop.NO_COLON: "expected a colon after the index, found {found}",
    loop.HUGE_INDEX: f"the index {{found}} is larger than {LARGEST_INDEX}",
    loop.BAD_VALUE: "expected a number as value, found {found}",
    loop.NOT_ASCENDING: "the index {found} does not follow a smaller one: indices must ascend",
    loop.BAD_QID: "expected qid:number, found {found}",
    loop.HUGE_VALUE: "the value {found} is too large for a float",
}


def parse_lines(text: np.ndarray, flaws: int, dtype: type = np.float64) -> Piece:
    """Read whole lines.

    Parameters
    ----------
    text : array of uint8
        Lines, the last with its line end.
    flaws : int
        Stop after this many bad lines.
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
    largest = largest_value(dtype)
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
    reached = Reached(*map(int, reached))  # numpy numbers if the compiler is off
    n, rows = reached.values, reached.rows
    wrong = _read_slow_numbers(text, out, reached, largest, flaws)
    for flaw in bad_labels(text, out.labels[:rows], out.lines[:rows], flaws):
        wrong[flaw.line] = flaw
    if wrong:
        found = sorted([*found, *wrong.values()])[:flaws]
        if len(found) < flaws:  # rare, so just read again
            again = parse_lines(without_lines(text, wrong), flaws, dtype)
            return again._replace(flaws=found)
        rows = 0
    stored = Sparse(
        frozen(out.values[:n]), frozen(out.indices[:n]), frozen(out.starts[: rows + 1]), 0.0
    )
    raw = Vectors(Rows(stored, rows, reached.largest + 1, distinct=True), reached.least)
    labels = whole_labels(out.labels[:rows])
    return Piece(raw, rows, labels, None, out.lines[:rows], len(out.labels), found)


def largest_value(dtype: type) -> float:
    """The largest double that is still finite when rounded to this type."""
    largest = float(np.finfo(dtype).max)
    if dtype != np.float32:
        return largest
    return float(np.nextafter(largest + 2.0**103, 0.0))  # half a unit in the last place


def _flaw(text: np.ndarray, reached: Reached, why: int) -> Flaw:
    ends = b": \t\r\n" if why in (loop.HUGE_INDEX, loop.NOT_ASCENDING) else b" \t\r\n"
    found = token_at(text, reached.place, ends)
    message = _REASONS[why].format(found=found)
    if why == loop.LABEL_ENDS_BADLY and found.startswith("',"):
        message += " (several labels per row can only be learned in Python, from a list of sets)"
    elif why == loop.LABEL_ENDS_BADLY and found.startswith("':"):
        message += " (every row begins with a label; to predict, it may be any number, such as 0)"
    return Flaw(reached.line, column_of(text, reached.place), message)


def _read_slow_numbers(
    text: np.ndarray, out: Parsed, reached: Reached, largest: float, flaws: int
) -> dict[int, Flaw]:
    """Parse the numbers that the loop could not; returns the first lines with huge values."""
    wrong: dict[int, Flaw] = {}
    for slot, begins, ends in out.slow[: reached.slow].tolist():
        number = text[begins:ends].tobytes().decode()
        value = float(number)
        if slot >= 2**63:
            out.labels[~np.uint64(slot)] = value
        elif abs(value) <= largest:
            out.values[slot] = value
        elif len(wrong) < flaws:
            row = np.searchsorted(out.starts[: reached.rows + 1], np.uint64(slot), "right") - 1
            line = int(out.lines[row])
            message = _REASONS[loop.HUGE_VALUE].format(found=token_at(text, begins))
            wrong.setdefault(line, Flaw(line, column_of(text, begins), message))
    return wrong
