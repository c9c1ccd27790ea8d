"""Vowpal Wabbit's text format.

[label [importance [base]]] ['tag]|namespace[:weight] feature[:value] ... |namespace ...
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.files.numbers import BAD, SLOW, number_at
from widemargin.loops.jit import jit
from widemargin.loops.text.names import LONGEST_NAME
from widemargin.loops.text.strings import BASIS, hash_on

_1, _HALF, _EVEN = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFE)
_TAB, _NEWLINE, _RETURN, _BLANK, _TICK, _STAR, _COLON, _CARET, _BAR = (
    *(9, 10, 13, 32, 39, 42),
    *(58, 94, 124),
)

#: Why reading stopped.
(
    DONE,
    NO_BAR,
    BAD_NUMBER,
    TOO_MANY_NUMBERS,
    BAD_IMPORTANCE,
    BAD_VALUE,
    HUGE_VALUE,
    SLOW_NUMBER,
) = range(8)


class Parsed(NamedTuple):
    """Buffers for the output: hashed features and positions of their names, labels, importances."""

    values: np.ndarray
    hashes: np.ndarray  # uint32, even: the lowest bit would be the sign, which is not used
    starts: np.ndarray  # uint64
    labels: np.ndarray  # NaN where there is none
    weights: np.ndarray
    lines: np.ndarray
    names: np.ndarray  # uint32 (m, 4): start and end of the namespace, and of the name


class Reached(NamedTuple):
    """How far reading has come; returned, and passed in again to continue."""

    place: int
    line: int
    rows: int
    values: int


@jit()
def parse_vw(text, reached, out, largest_value, known):
    """Read examples from the text, which ends with a line end, into `out`.

    Parameters
    ----------
    text : array of uint8
    reached : Reached
        Where to begin.
    out : Parsed
        Written to; large enough for every example and feature of the text.
    largest_value : float
        The largest value that `out.values` can hold.
    known : array of float64
        The numbers of the first line that Python has read, in order.

    Returns
    -------
    why : int
        DONE, or what is wrong at `place`; the example of that place is left out. SLOW_NUMBER: the
        number there must be read by Python, and the line again.
    reached : Reached
    """
    i, end = np.uint64(reached.place), np.uint64(len(text))
    line, rows, k = reached.line, reached.rows, np.uint64(reached.values)
    why, given = DONE, len(known)
    while i < end:
        if _is_blank(text[i]):
            i += _1
            continue
        if text[i] == _NEWLINE:
            line += 1
            i += _1
            continue
        first = k
        why, i, label, weight, slow = _head(text, i, known[:given])
        if why != DONE:
            break
        while text[i] == _BAR:
            i += _1
            # the namespace directly follows the bar, or there is none
            space_start = i
            while not _ends_name(text[i]):
                i += _1
            space_end = i
            factor = 1.0
            if text[i] == _COLON:
                why, factor, i, slow = _value_at(text, i + _1, known, given, slow)
                if why != DONE:
                    break
            space = BASIS
            for p in range(space_start, space_end):
                space = hash_on(space, text[p])
            space = hash_on(space, np.uint8(_CARET))
            while True:
                while _is_blank(text[i]):
                    i += _1
                if text[i] == _NEWLINE or text[i] == _BAR:
                    break
                begun, h = i, space
                while not _ends_name(text[i]):
                    h = hash_on(h, text[i])
                    i += _1
                name_end, value = i, 1.0
                if text[i] == _COLON:
                    why, value, i, slow = _value_at(text, i + _1, known, given, slow)
                    if why != DONE:
                        break
                value *= factor
                if not abs(value) <= largest_value:
                    why, i = HUGE_VALUE, begun
                    break
                out.values[k] = value
                out.hashes[k] = np.uint32(((h ^ (h >> _HALF)) << _1) & _EVEN)
                out.names[k, 0], out.names[k, 1] = space_start, space_end
                out.names[k, 2], out.names[k, 3] = begun, name_end
                k += _1
            if why != DONE:
                break
        if why != DONE:
            k = first
            break
        out.labels[rows] = label
        out.weights[rows] = weight
        out.lines[rows] = line
        rows += 1
        out.starts[rows] = k
        given = 0
    return why, Reached(np.int64(i), line, rows, np.int64(k))


@jit(inline=True)
def _value_at(text, begun, known, given, slow):
    """Read the number that begins at `begun`; returns what is wrong, its value, and its end.

    Of the numbers that Python must read, the first `given` are `known`; `slow` of them were used
    before, and the updated count is returned as well.
    """
    state, value, end = number_at(text, begun)
    if state == BAD or not _ends_token(text[end]):
        return BAD_VALUE, value, begun, slow
    if state == SLOW:
        if slow == given:
            return SLOW_NUMBER, value, begun, slow
        return DONE, known[slow], end, slow + 1
    return DONE, value, end, slow


@jit(inner=True)
def _head(text, i, known):
    """Label, importance and tag, up to the first bar.

    Returns what is wrong, the place, the two numbers, and how many were `known`.
    """
    label, weight, numbers, slow, after = np.nan, 1.0, 0, 0, i
    while True:
        while _is_blank(text[i]):
            i += _1
        c = text[i]
        if c == _BAR:
            return DONE, i, label, weight, slow
        if c == _NEWLINE:
            return NO_BAR, after, label, weight, slow
        begun = i
        while not _ends_token(text[i]):
            i += _1
        after = i
        if c == _TICK or text[i] == _BAR:  # a tag
            continue
        state, number, stop = number_at(text, begun)
        if state == BAD or stop != i:
            return BAD_NUMBER, begun, label, weight, slow
        if state == SLOW:
            if slow == len(known):
                return SLOW_NUMBER, begun, label, weight, slow
            number = known[slow]
            slow += 1
        if numbers == 0:
            label = number
        elif numbers == 1:
            if not 0.0 <= number < np.inf:
                return BAD_IMPORTANCE, begun, label, weight, slow
            weight = number
        elif numbers > 2:
            return TOO_MANY_NUMBERS, begun, label, weight, slow
        numbers += 1


@jit(inline=True)
def _is_blank(c):
    return c == _BLANK or c == _TAB or c == _RETURN


@jit(inline=True)
def _ends_token(c):
    return c == _BLANK or c == _NEWLINE or c == _BAR or c == _TAB or c == _RETURN


@jit(inline=True)
def _ends_name(c):
    return c == _COLON or c == _BLANK or c == _NEWLINE or c == _BAR or c == _TAB or c == _RETURN


@jit()
def name_features(text, hashes, places, seen, mask, fresh):
    """Write the features whose names a table may not have yet, as namespace^name.

    A place of eight numbers is that of a product, namespace^name*namespace^name, unless the last
    four are 0.
    """
    table = np.uint64(len(seen) - 1)
    m = np.uint64(fresh.count[0])
    for k in range(len(hashes)):
        g = hashes[k]
        known = seen[np.uint64(g >> np.uint32(1)) & table]
        if known & np.uint32(4) != 0 and (known ^ g) & np.uint32(0xFFFFFFF8) == 0:
            continue
        q = np.uint64(fresh.ends[m])
        stop = q + LONGEST_NAME
        for c in range(0, places.shape[1], 4):
            if c > 0 and places[k, c + 3] == 0:
                break
            if c > 0 and q < stop:
                fresh.names[q] = _STAR
                q += _1
            for p in range(places[k, c], places[k, c + 1]):
                if q < stop:
                    fresh.names[q] = text[p]
                    q += _1
            if places[k, c + 1] > places[k, c] and q < stop:
                fresh.names[q] = _CARET
                q += _1
            for p in range(places[k, c + 2], places[k, c + 3]):
                if q < stop:
                    fresh.names[q] = text[p]
                    q += _1
        fresh.hashes[m] = g
        m += _1
        fresh.ends[m] = q
        if m == len(fresh.hashes) or q + LONGEST_NAME > len(fresh.names):
            break
    fresh.count[0] = m
