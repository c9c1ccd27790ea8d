r"""The words or characters of one document, written one after the other into a work buffer.

Every n-gram is then one slice of that buffer: words are in lower case (if asked for) and have
single blanks between them. Words are those of Python's regular expressions, \w+, over all of
Unicode.

Most text is ASCII. There, 64 bytes are looked at together, and only runs of bytes that hold
anything else are decoded character by character.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.byte_blocks import copy_block, lowest_bit, word_bits

#: What a table of code points says of each, above its lower-case code point: that it belongs to
#: words, is white space, or has no lower case of its own (that depends on what stands around it).
WORD, SPACE, SPECIAL = np.uint32(1 << 31), np.uint32(1 << 30), np.uint32(1 << 29)
_POINT = np.uint32((1 << 29) - 1)

#: Why a document could not be gathered.
NEEDS_TABLE, NEEDS_LOWER, BAD_BYTE = -1, -2, -3

_0, _1, _2, _3, _4 = (np.uint64(number) for number in range(5))
_BLANK = np.uint8(32)
_BAD = np.uint32(0xFFFFFFFF)


class Tables(NamedTuple):
    """Lookup tables for characters and weights."""

    plain: np.ndarray  # of each byte: 0 if it divides words, 255 if not ASCII, else in lower case
    wide: np.ndarray  # of each code point, see WORD; only ASCII until more is needed
    logs: np.ndarray  # 1 + log of small counts
    idf: np.ndarray  # of each column, or empty


class DocumentBuffers(NamedTuple):
    """Room for one document."""

    lowered: np.ndarray  # an ASCII document in lower case, and 64 blanks
    turns: np.ndarray  # where its words begin and end
    text: np.ndarray
    edges: np.ndarray  # word or character i is text[edges[i]:edges[i + 1]], its blank included
    keys: np.ndarray  # slots: a document's number above a column; those of other documents are void
    places: np.ndarray  # where in Found the column of a slot is
    where: np.ndarray  # the slice of text that each column of the document came from
    bad: np.ndarray  # one number: the byte that is not UTF-8


@jit(inline=True)
def decode(buffer, k, b):
    """The code point that begins at byte k < b and where the next begins; _BAD if it is none."""
    c = np.uint32(buffer[k])
    if c < 0x80:
        return c, k + _1
    more, point, least = _0, np.uint32(0), np.uint32(0)
    if 0xC2 <= c < 0xE0:
        more, point, least = _1, c & np.uint32(0x1F), np.uint32(0x80)
    elif 0xE0 <= c < 0xF0:
        more, point, least = _2, c & np.uint32(0x0F), np.uint32(0x800)
    elif 0xF0 <= c < 0xF5:
        more, point, least = _3, c & np.uint32(0x07), np.uint32(0x10000)
    else:
        return _BAD, k
    if k + more >= b:
        return _BAD, k
    for j in range(_1, more + _1):
        c = np.uint32(buffer[k + j])
        if c & np.uint32(0xC0) != 0x80:
            return _BAD, k
        point = np.uint32(point << np.uint32(6)) | (c & np.uint32(0x3F))
    if point < least or point > 0x10FFFF or 0xD800 <= point < 0xE000:
        return _BAD, k
    return point, k + more + _1


@jit(inline=True)
def write_point(text, q, point):
    """Write a code point at byte q; returns where the next goes."""
    if point < 0x80:
        text[q] = point
        return q + _1
    if point < 0x800:
        text[q] = 0xC0 | (point >> np.uint32(6))
        text[q + _1] = 0x80 | (point & np.uint32(0x3F))
        return q + _2
    if point < 0x10000:
        text[q] = 0xE0 | (point >> np.uint32(12))
        text[q + _1] = 0x80 | ((point >> np.uint32(6)) & np.uint32(0x3F))
        text[q + _2] = 0x80 | (point & np.uint32(0x3F))
        return q + _3
    text[q] = 0xF0 | (point >> np.uint32(18))
    text[q + _1] = 0x80 | ((point >> np.uint32(12)) & np.uint32(0x3F))
    text[q + _2] = 0x80 | ((point >> np.uint32(6)) & np.uint32(0x3F))
    text[q + _3] = 0x80 | (point & np.uint32(0x3F))
    return q + _4


@jit(inline=True)
def look_up_point(buffer, k, b, wide):
    """What the table says of the character at byte k, where the next begins, and any trouble."""
    point, after = decode(buffer, k, b)
    if point == _BAD:
        return np.uint32(0), after, BAD_BYTE
    if point >= len(wide):
        return np.uint32(0), after, NEEDS_TABLE
    entry = wide[point]
    return entry, after, NEEDS_LOWER if entry & SPECIAL else 0


@jit(inline=True)
def look_up_next(buffer, k, b, wide):
    """As `look_up_point`, with a short way for ASCII, of which every table knows all."""
    if buffer[k] < 128:
        return wide[buffer[k]], k + _1, 0
    return look_up_point(buffer, k, b, wide)


@jit(inner=True)
def gather_words(buffer, a, b, tables, least, work, n):
    """Write the words of buffer[a:b] into work, after the n already there.

    Returns how many there are then, or what the trouble is.
    """
    plain, text, edges = tables.plain, work.text, work.edges
    q, k = np.uint64(edges[n]), a
    while k < b:
        start, letters = q, 0
        while k < b:
            c = plain[buffer[k]]
            if c == 0:
                k += _1
                break
            if c < 128:
                text[q] = c
                q += _1
                k += _1
            else:
                entry, after, trouble = look_up_point(buffer, k, b, tables.wide)
                if trouble:
                    work.bad[0] = k
                    return trouble
                k = after
                if not entry & WORD:
                    break
                q = write_point(text, q, entry & _POINT)
            letters += 1
        if letters >= least:
            text[q] = _BLANK
            q += _1
            n += _1
            edges[n] = q
        else:
            q = start
    return np.int64(n)


@jit(inline=True)
def copy_lowered(buffer, a, b, lowercase, lowered):
    """Copy buffer[a:b], its ASCII letters in lower case if asked for, and 64 blanks.

    Returns whether all of it is ASCII.
    """
    seen = np.uint8(0)
    n = b - a
    if lowercase:
        for j in range(n):
            c = buffer[a + j]
            seen |= c
            lowered[j] = c | np.uint8(np.uint8(c - np.uint8(65)) < np.uint8(26)) << 5
    else:
        for j in range(n):
            c = buffer[a + j]
            seen |= c
            lowered[j] = c
    for j in range(n, n + np.uint64(64)):
        lowered[j] = _BLANK
    return seen < 128


@jit(inline=True)
def find_words(n, work):
    """Where runs of word bytes (and of whatever is not ASCII) begin and end, in turn.

    Looks at 64 of the n bytes that `copy_lowered` has copied at once: a run begins or ends where a
    bit differs from the one before. Returns how many such places there are.
    """
    lowered, turns = work.lowered, work.turns
    m, before = _0, _0
    for block in range(_0, n + _1, np.uint64(64)):
        bits = word_bits(lowered, block)
        change = bits ^ ((bits << _1) | before)
        before = bits >> np.uint64(63)
        while change != _0:
            turns[m] = block + lowest_bit(change)
            m += _1
            change &= change - _1
    return m


@jit(inline=True)
def gather_runs(buffer, a, m, ascii, tables, least, work):
    """Write the words of a document that begins at byte a, given m places from `find_words`."""
    lowered, turns, text, edges = work.lowered, work.turns, work.text, work.edges
    edges[0] = 0
    q, n = _0, _0
    for t in range(_0, m, _2):
        start, end = np.uint64(turns[t]), np.uint64(turns[t + _1])
        if not ascii:
            plain = True
            for k in range(start, end):
                plain &= lowered[k] < 128
            if not plain:
                more = gather_words(buffer, a + start, a + end, tables, least, work, n)
                if more < 0:
                    return more
                n = np.uint64(more)
                q = np.uint64(edges[n])
                continue
        size = end - start
        # Copied in any case, and written over by the next word if it was too short.
        copy_block(lowered, start, text, q)
        for j in range(np.uint64(16), size, np.uint64(16)):
            copy_block(lowered, start + j, text, q + j)
        text[q + size] = _BLANK
        keep = np.uint64(size >= np.uint64(least))
        n += keep
        q += keep * (size + _1)
        edges[n] = q
    return np.int64(n)


@jit(inner=True)
def gather_chars(buffer, a, b, tables, work):
    """Write the characters of buffer[a:b] into work, each run of white space as one blank."""
    text, edges, wide = work.text, work.edges, tables.wide
    q, n, k, spaces = _0, _0, a, 0
    edges[0] = 0
    while k < b:
        entry, after, trouble = look_up_next(buffer, k, b, wide)
        if trouble:
            work.bad[0] = k
            return trouble
        k = after
        spaces = spaces + 1 if entry & SPACE else 0
        if spaces > 2:
            continue
        if spaces == 2:  # a single one is kept as it is, such as a tab
            n -= _1
            q = write_point(text, np.uint64(edges[n]), np.uint32(32))
        else:
            q = write_point(text, q, entry & _POINT)
        n += _1
        edges[n] = q
    return np.int64(n)


@jit(inner=True)
def gather_padded(buffer, a, b, tables, work):
    """Write the characters of every word of buffer[a:b], a blank before and after each word.

    Words are divided by white space only. They end where two blanks meet.
    """
    text, edges, wide = work.text, work.edges, tables.wide
    q, n, k, inside = _0, _0, a, False
    edges[0] = 0
    while k < b:
        entry, after, trouble = look_up_next(buffer, k, b, wide)
        if trouble:
            work.bad[0] = k
            return trouble
        k = after
        space = entry & SPACE != 0
        if inside == space:  # a word begins or ends here
            q = write_point(text, q, np.uint32(32))
            n += _1
            edges[n] = q
            inside = not inside
        if not space:
            q = write_point(text, q, entry & _POINT)
            n += _1
            edges[n] = q
    if inside:
        q = write_point(text, q, np.uint32(32))
        n += _1
        edges[n] = q
    return np.int64(n)


@jit(inline=True)
def end_of_word(first, work):
    """Where the padded word that begins with character `first` ends: behind its second blank."""
    last = first + _2
    while work.text[work.edges[last]] != _BLANK:
        last += _1
    return last + _1
