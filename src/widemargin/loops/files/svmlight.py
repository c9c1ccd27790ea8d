"""The svmlight / LIBSVM format: `label [qid:n] index:value index:value ... [# comment]`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.files.numbers import BAD, SLOW, leading_digits, number_at
from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.byte_blocks import count_in_block

_0, _1, _8, _10 = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(10)
_TAB, _NEWLINE, _RETURN, _BLANK, _HASH, _ZERO, _NINE, _COLON = 9, 10, 13, 32, 35, 48, 57, 58
_QID = (113, 105, 100, _COLON)
#: Indices with more digits than this are always too large.
_LONGEST_INDEX = np.uint64(10)

#: Why reading stopped.
(
    DONE,
    BAD_LABEL,
    BAD_INDEX,
    HUGE_INDEX,
    NO_COLON,
    BAD_VALUE,
    NOT_ASCENDING,
    BAD_QID,
    LABEL_ENDS_BADLY,
    HUGE_VALUE,
) = range(10)


class Parsed(NamedTuple):
    """Buffers for the output: sparse rows, labels, lines, and the numbers that Python must read."""

    values: np.ndarray
    indices: np.ndarray  # uint32
    starts: np.ndarray  # uint64
    labels: np.ndarray
    lines: np.ndarray  # int64, counted from the start of the text
    slow: np.ndarray  # uint64 (m, 3): where such a number goes (rows: from the end), begins, ends


class Reached(NamedTuple):
    """How far reading has come; returned, and passed in again to continue."""

    place: int  # in the text: the end of what was read, or the position of an error
    line: int
    rows: int
    values: int
    slow: int
    least: int  # index
    largest: int  # index


@jit()
def parse_svmlight(text, reached, out, limit, largest_value):
    """Read rows from the text, which ends with a line end, into `out`.

    Parameters
    ----------
    text : array of uint8
    reached : Reached
        Where to begin.
    out : Parsed
        Written to; large enough for every row and value of the text.
    limit : uint64
        The largest index allowed.
    largest_value : float
        The largest value that `out.values` can hold.

    Returns
    -------
    why : int
        DONE, or what is wrong at `place`; the row of that place is left out.
    reached : Reached
    """
    i, end = np.uint64(reached.place), np.uint64(len(text))
    line, rows, k, slow = reached.line, reached.rows, np.uint64(reached.values), reached.slow
    least, largest = np.uint64(reached.least), np.uint64(reached.largest)
    why = DONE
    while i < end:
        c = text[i]
        if c == _BLANK or c == _TAB or c == _RETURN:
            i += _1
            continue
        if c == _NEWLINE:
            line += 1
            i += _1
            continue
        if c == _HASH:
            while text[i] != _NEWLINE:
                i += _1
            continue
        first, slow_before, begun = k, slow, i
        state, label, i = number_at(text, i)
        if state == BAD:
            why = BAD_LABEL
            i = begun
            break
        if not _ends_token(text[i]):
            why = LABEL_ENDS_BADLY
            break
        if state == SLOW:
            slow = _leave(out, slow, ~np.uint64(rows), begun, i)
        following = np.uint64(0)
        while True:
            c = text[i]
            while c == _BLANK or c == _TAB or c == _RETURN:
                i += _1
                c = text[i]
            if c == _NEWLINE:
                break
            if c == _HASH:
                while text[i] != _NEWLINE:
                    i += _1
                break
            begun = i
            n, index = leading_digits(text, i)
            i += n
            c = text[i]
            while n == _8 and _ZERO <= c <= _NINE:
                index = index * _10 + np.uint64(c - _ZERO)
                i += _1
                c = text[i]
            if i == begun:
                if k == first and c == _QID[0]:
                    i, good = _skip_qid(text, i)
                    if good:
                        continue
                    why, i = BAD_QID, begun
                else:
                    why = BAD_INDEX
                break
            if c != _COLON:
                why = NO_COLON
                break
            if i - begun > _LONGEST_INDEX or index > limit:
                why, i = HUGE_INDEX, begun
                break
            if index < following:
                why, i = NOT_ASCENDING, begun
                break
            following = index + _1
            i += _1
            begun = i
            state, value, i = number_at(text, i)
            if state == BAD or not _ends_token(text[i]):
                why, i = BAD_VALUE, begun
                break
            if state == SLOW:
                slow = _leave(out, slow, k, begun, i)
            elif abs(value) > largest_value:
                why, i = HUGE_VALUE, begun
                break
            out.values[k] = value
            out.indices[k] = index
            k += _1
        if why != DONE:
            k, slow = first, slow_before
            break
        if k > first:
            least = min(least, np.uint64(out.indices[first]))
            largest = max(largest, np.uint64(out.indices[k - _1]))
        out.labels[rows] = label
        out.lines[rows] = line
        rows += 1
        out.starts[rows] = k
    return why, Reached(
        np.int64(i), line, rows, np.int64(k), slow, np.int64(least), np.int64(largest)
    )


@jit(inline=True)
def _leave(out, slow, place, begun, end):
    """Leave the number in text[begun:end] to Python; returns how many such numbers there are."""
    # One by one: for a whole row, numba takes two seconds to compile messages about its length.
    out.slow[slow, 0] = place
    out.slow[slow, 1] = begun
    out.slow[slow, 2] = end
    return slow + 1


@jit(inline=True)
def _ends_token(c):
    return c == _BLANK or c == _NEWLINE or c == _TAB or c == _RETURN or c == _HASH


@jit(inner=True)
def _skip_qid(text, i):
    """The position after `qid:` and its number, and whether they are there."""
    for c in _QID:
        if text[i] != c:
            return i, False
        i += _1
    begun = i
    while _ZERO <= text[i] <= _NINE:
        i += _1
    return i, i > begun and _ends_token(text[i])


@jit()
def count_byte(text, byte):
    """How often a byte occurs."""
    n, whole = _0, np.uint64(len(text)) & ~np.uint64(63)
    for p in range(_0, whole, np.uint64(64)):
        n += count_in_block(text, p, np.uint64(byte))
    for c in text[whole:]:
        n += np.uint64(c == byte)
    return np.int64(n)
