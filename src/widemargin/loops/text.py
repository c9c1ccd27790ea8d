"""From UTF-8 bytes to hashed words and n-grams, each column once a document.

For one document after the other:

    gather      lower-cased words (or characters) one after the other into a work buffer, with
                single blanks between words: every n-gram is then one slice of that buffer
    hash        the n-grams that begin at one place share the state of the hash
    sum         a small open-addressing table finds the columns that came before
    weigh       counts into values

What the compiler needs to know stands in named tuples; all work arrays are reused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.murmur import (
    absorb,
    copy_block,
    finish,
    load,
    lowest_bit,
    mix,
    word_bits,
)

WORDS, CHARS, CHARS_IN_WORDS = range(3)
COUNT, BINARY, SUBLINEAR = range(3)

#: What a table of code points says of each, above its lower-case code point: that it belongs to
#: words, is white space, or has no lower case of its own (that depends on what stands around it).
WORD, SPACE, SPECIAL = np.uint32(1 << 31), np.uint32(1 << 30), np.uint32(1 << 29)
_POINT = np.uint32((1 << 29) - 1)

#: Why a document could not be gathered.
NEEDS_TABLE, NEEDS_LOWER, BAD_BYTE = -1, -2, -3
#: An n-gram's name is kept up to so many bytes.
LONGEST_NAME = np.uint64(64)

_0, _1, _2, _3, _4 = (np.uint64(number) for number in range(5))
_BLANK = np.uint8(32)
_BAD = np.uint32(0xFFFFFFFF)
#: The two lowest bits of the column, which the place in the table implies, hold the state there.
_STATE, _REST = np.uint32(6), np.uint32(0xFFFFFFF9)
SEEN, NAMED, SHARED = np.uint32(2), np.uint32(4), np.uint32(6)


class How(NamedTuple):
    """What to make of a document."""

    analyzer: int
    low: int  # the shortest and longest n-gram
    high: int
    least: int  # the shortest word, in characters
    mask: int  # columns are hash & mask
    signed: bool
    weighting: int
    l2: bool
    named: bool


class Tables(NamedTuple):
    """What is known of characters."""

    plain: np.ndarray  # of each byte: 0 if it divides words, 255 if not ASCII, else in lower case
    wide: np.ndarray  # of each code point, see WORD; only ASCII until more is needed
    logs: np.ndarray  # 1 + log of small counts
    idf: np.ndarray  # of each column, or empty


class Work(NamedTuple):
    """Room for one document."""

    lowered: np.ndarray  # an ASCII document in lower case, and 64 blanks
    turns: np.ndarray  # where its words begin and end
    text: np.ndarray
    edges: np.ndarray  # word or character i is text[edges[i]:edges[i + 1]], its blank included
    slots: np.ndarray  # one more than where in Found a column is; older entries are void
    where: np.ndarray  # the slice of text that each column of the document came from
    bad: np.ndarray  # one number: the byte that is not UTF-8


class Found(NamedTuple):
    """The rows of a piece: columns (until a document is done, hashes), values, ends of rows."""

    columns: np.ndarray
    values: np.ndarray
    ends: np.ndarray


class Fresh(NamedTuple):
    """Hashes that may be new to a table of names, with their names end to end."""

    hashes: np.ndarray
    names: np.ndarray
    ends: np.ndarray
    count: np.ndarray  # one number


class Names(NamedTuple):
    """Names of columns; see `note_names`."""

    seen: np.ndarray
    columns: np.ndarray
    names: np.ndarray
    ends: np.ndarray
    count: np.ndarray  # two numbers: names, and columns that share theirs with another name


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
def put(text, q, point):
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
def look_up(buffer, k, b, wide):
    """What the table says of the character at byte k, where the next begins, and any trouble."""
    point, after = decode(buffer, k, b)
    if point == _BAD:
        return np.uint32(0), after, BAD_BYTE
    if point >= len(wide):
        return np.uint32(0), after, NEEDS_TABLE
    entry = wide[point]
    return entry, after, NEEDS_LOWER if entry & SPECIAL else 0


@jit()
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
                entry, after, trouble = look_up(buffer, k, b, tables.wide)
                if trouble:
                    work.bad[0] = k
                    return trouble
                k = after
                if not entry & WORD:
                    break
                q = put(text, q, entry & _POINT)
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
def fold(buffer, a, b, lowercase, lowered):
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

    Looks at 64 of the n bytes that `fold` has copied at once: a run begins or ends where a bit
    differs from the one before. Returns how many such places there are.
    """
    m, before = _0, _0
    for block in range(_0, n + _1, np.uint64(64)):
        bits = word_bits(work.lowered, block)
        change = bits ^ ((bits << _1) | before)
        before = bits >> np.uint64(63)
        while change != _0:
            work.turns[m] = block + lowest_bit(change)
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


@jit()
def gather_chars(buffer, a, b, tables, work):
    """Write the characters of buffer[a:b] into work, each run of white space as one blank."""
    text, edges = work.text, work.edges
    q, n, k, spaces = _0, _0, a, 0
    edges[0] = 0
    while k < b:
        entry, after, trouble = look_up(buffer, k, b, tables.wide)
        if trouble:
            work.bad[0] = k
            return trouble
        k = after
        spaces = spaces + 1 if entry & SPACE else 0
        if spaces > 2:
            continue
        if spaces == 2:  # a single one stays what it is, a tabulator for instance
            n -= _1
            q = put(text, np.uint64(edges[n]), np.uint32(32))
        else:
            q = put(text, q, entry & _POINT)
        n += _1
        edges[n] = q
    return np.int64(n)


@jit()
def gather_padded(buffer, a, b, tables, work):
    """Write the characters of every word of buffer[a:b], a blank before and after each word.

    Words are divided by white space only. They end where two blanks meet.
    """
    text, edges = work.text, work.edges
    q, n, k, inside = _0, _0, a, False
    edges[0] = 0
    while k < b:
        entry, after, trouble = look_up(buffer, k, b, tables.wide)
        if trouble:
            work.bad[0] = k
            return trouble
        k = after
        space = entry & SPACE != 0
        if inside == space:  # a word begins or ends here
            q = put(text, q, np.uint32(32))
            n += _1
            edges[n] = q
            inside = not inside
        if not space:
            q = put(text, q, entry & _POINT)
            n += _1
            edges[n] = q
    if inside:
        q = put(text, q, np.uint32(32))
        n += _1
        edges[n] = q
    return np.int64(n)


@jit(inline=True)
def emit(g, start, end, base, count, size, how, work, found):
    """Add the name text[start:end] with hash g to the document that began at `base`."""
    mask = np.uint32(how.mask)
    column = (g >> np.uint32(1)) & mask
    value = np.float32(-1.0) if how.signed and g & np.uint32(1) else np.float32(1.0)
    s = np.uint64(column) & size
    at = np.uint64(work.slots[s])
    while at > base and (found.columns[at - _1] >> np.uint32(1)) & mask != column:
        s = (s + _1) & size
        at = np.uint64(work.slots[s])
    # The same stores whether it is new or not: that cannot be guessed, so no branch on it.
    new = at <= base
    at = count if new else at - _1
    found.columns[at] = g
    found.values[at] = value + (np.float32(0.0) if new else found.values[at])
    work.where[at - base] = (start << np.uint64(32)) | end
    work.slots[s] = at + _1
    return count + np.uint64(new)


@jit(inline=True)
def hash_grams(first, last, low, gap, base, count, size, how, work, found):
    """All n-grams, n >= low, of parts first ... last - 1, whose last `gap` bytes do not count."""
    text, edges = work.text, work.edges
    for i in range(first, last):
        start = np.uint64(edges[i])
        p, h = start, np.uint32(0)
        for n in range(_1, np.uint64(how.high) + _1):
            if i + n > last:
                break
            end = np.uint64(edges[i + n]) - gap
            for _ in range(3):
                whole = p + _4 <= end
                h = absorb(h, load(text, p), whole)
                p += np.uint64(whole) << _2
            while p + _4 <= end:
                h = mix(h, load(text, p))
                p += _4
            if n >= low:
                rest = np.uint32((_1 << ((end - p) << _3)) - _1)
                g = finish(h, load(text, p) & rest, np.uint32(end - start))
                count = emit(g, start, end, base, count, size, how, work, found)
    return count


@jit(inline=True)
def end_of_word(first, work):
    """Where the padded word that begins with character `first` ends: behind its second blank."""
    last = first + _2
    while work.text[work.edges[last]] != _BLANK:
        last += _1
    return last + _1


@jit()
def find_fresh(base, count, how, work, found, seen, fresh):
    """Of the columns base ... count - 1, write down those that the table of names must see."""
    places = np.uint64(len(seen) - 1)
    m = np.uint64(fresh.count[0])
    for f in range(base, count):
        g = found.columns[f]
        known = seen[np.uint64(g >> np.uint32(1)) & places]
        state = known & _STATE
        if state != 0:
            differ = (known ^ g) & _REST
            if differ == 0:
                if state != SEEN:
                    continue
            elif state == SHARED or (differ >> np.uint32(1)) & np.uint32(how.mask) != 0:
                continue
        start = work.where[f - base] >> np.uint64(32)
        end = work.where[f - base] & np.uint64(0xFFFFFFFF)
        q = np.uint64(fresh.ends[m])
        fresh.hashes[m] = g
        for p in range(start, min(end, start + LONGEST_NAME)):
            fresh.names[q] = work.text[p]
            q += _1
        m += _1
        fresh.ends[m] = q
    fresh.count[0] = m


@jit()
def note_names(fresh, names, mask):
    """Take note of hashes that may be new, in order.

    `names.seen` has a number for each column (or for several, if there are very many): the hash
    that was there first, and whether it was seen, has its name kept, or shares the column with
    another. While the table is less than half full every name is kept; then only those that come
    in a second document, so that rare ones do not crowd out others.
    """
    places = np.uint64(len(names.seen) - 1)
    n, shared = np.uint64(names.count[0]), names.count[1]
    for m in range(np.uint64(fresh.count[0])):
        g = fresh.hashes[m]
        place = np.uint64(g >> np.uint32(1)) & places
        known = names.seen[place]
        state = known & _STATE
        differ = (known ^ g) & _REST
        if state != 0 and differ != 0:
            if state != SHARED and (differ >> np.uint32(1)) & np.uint32(mask) == 0:
                names.seen[place] = known | SHARED
                shared += 1
            continue
        if state == 0 and n * _2 >= len(names.columns):
            names.seen[place] = (g & _REST) | SEEN
            continue
        if state == 0 or state == SEEN:
            names.seen[place] = (g & _REST) | NAMED
            start, end = np.uint64(fresh.ends[m]), np.uint64(fresh.ends[m + _1])
            q = np.uint64(names.ends[n])
            if n < len(names.columns) and q + end - start <= len(names.names):
                for p in range(start, end):
                    names.names[q] = fresh.names[p]
                    q += _1
                names.columns[n] = (g >> np.uint32(1)) & np.uint32(mask)
                n += _1
                names.ends[n] = q
    names.count[0], names.count[1] = n, shared


@jit()
def weigh(base, count, how, tables, found):
    """Turn the sums of a document into values, and its hashes into columns."""
    columns, values = found.columns[base:count], found.values[base:count]
    for f in range(len(columns)):
        columns[f] = (columns[f] >> np.uint32(1)) & np.uint32(how.mask)
    if how.weighting == BINARY:
        for f in range(len(values)):
            values[f] = 1.0
    elif how.weighting == SUBLINEAR:
        for f in range(len(values)):
            size = np.float64(abs(values[f]))
            term = tables.logs[np.uint64(size)] if size < len(tables.logs) else 1.0 + np.log(size)
            values[f] = term if values[f] > 0.0 else -term if values[f] < 0.0 else 0.0
    if len(tables.idf):
        for f in range(len(values)):
            values[f] *= tables.idf[columns[f]]
    if how.l2:
        square = 0.0
        if how.weighting == SUBLINEAR or len(tables.idf):
            for f in range(len(values)):
                square += np.float64(values[f]) * np.float64(values[f])
        else:  # whole numbers can be added in any order, and so several at once
            whole = 0
            for f in range(len(values)):
                whole += np.int64(np.int32(values[f])) * np.int64(np.int32(values[f]))
            square = np.float64(whole)
        norm = np.sqrt(square) if square > 0.0 else 1.0
        for f in range(len(values)):
            values[f] = np.float64(values[f]) / norm


@jit()
def encode_piece(texts, begin, stop, how, tables, work, seen, found, fresh):
    """Encode documents begin ... stop - 1.

    Fills `found` (and, if how.named, `fresh`, reading `seen`) from the start. Returns (features,
    document, trouble): trouble is 0, or why encoding stopped at that document. Costs about the
    hash of every n-gram and one look at a table that fits the cache.
    """
    for s in range(len(work.slots)):
        work.slots[s] = 0
    fresh.count[0] = 0
    count = _0
    for d in range(begin, stop):
        a, b, base = texts.starts[d], texts.ends[d], count
        if how.analyzer == WORDS:
            ascii = fold(texts.buffer, a, b, tables.plain[65] != 65, work.lowered)
            m = find_words(b - a, work)
            n = gather_runs(texts.buffer, a, m, ascii, tables, how.least, work)
        elif how.analyzer == CHARS:
            n = gather_chars(texts.buffer, a, b, tables, work)
        else:
            n = gather_padded(texts.buffer, a, b, tables, work)
        if n < 0:
            work.bad[0] -= a
            return count, d, n
        # At most a quarter of the slots get filled, so that the first is nearly always right.
        size = np.uint64(16)
        while size < _4 * np.uint64(n) * np.uint64(how.high - how.low + 1):
            size *= _2
        size -= _1
        first, end, low = _0, np.uint64(n), np.uint64(how.low)
        gap = _1 if how.analyzer == WORDS else _0
        while first < np.uint64(n):
            if how.analyzer == CHARS_IN_WORDS:
                end = end_of_word(first, work)
                low = min(np.uint64(how.low), end - first)  # a shorter word counts whole
            count = hash_grams(first, end, low, gap, base, count, size, how, work, found)
            first = end
        if how.named:
            find_fresh(base, count, how, work, found, seen, fresh)
        weigh(base, count, how, tables, found)
        found.ends[d - begin] = count
    return count, stop, 0


@jit()
def count_documents(columns, df):
    """Add one to df for every column: each stands for a document that has it."""
    for k in range(len(columns)):
        df[columns[k]] += 1
