"""From UTF-8 bytes to hashed words and n-grams, each column once per document.

For one document after the other:

    gather      the words (or characters) one after the other into a work buffer
    hash        the n-grams that begin at one place share the state of the hash
    sum         a small open-addressing table finds the columns that came before
    weigh       counts into values
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.text.gather import (
    copy_lowered,
    end_of_word,
    find_words,
    gather_chars,
    gather_padded,
    gather_runs,
)
from widemargin.loops.text.murmur import absorb, finish, load, mix
from widemargin.loops.text.names import find_fresh

WORDS, CHARS, CHARS_IN_WORDS = range(3)
COUNT, BINARY, SUBLINEAR = range(3)

#: Documents with fewer n-grams have four slots for each in their table, others two: 4,096 slots of
#: 12 bytes already are more than the nearest cache (32 KB) holds.
_SMALL = np.uint64(1024)
#: Columns are smaller, and so is the difference of the keys of two columns of one document.
_COLUMNS = np.uint64(0xFFFFFFFF)
_0, _1, _2, _3, _4 = (np.uint64(number) for number in range(5))


class TextOptions(NamedTuple):
    """How to encode a document."""

    analyzer: int
    low: int  # the shortest and longest n-gram
    high: int
    least: int  # the shortest word, in characters
    mask: int  # columns are hash & mask
    signed: bool
    weighting: int
    l2: bool
    named: int  # whether names are looked for, see `loops.names`


class Found(NamedTuple):
    """The rows of a piece: columns (until a document is done, hashes), values, ends of rows."""

    columns: np.ndarray
    values: np.ndarray
    ends: np.ndarray


@jit(inner=True)
def hash_grams(first, last, low, gap, stamp, base, count, size, how, work, found):
    """Add all n-grams, n >= low, of parts first ... last - 1 to the document that began at base.

    The last `gap` bytes of each part do not count; `stamp` is the document's number, above 32
    bits for a column; `size` is one less than the number of slots to use. Returns the new count
    of features.
    """
    # All arrays are named before the loops, and nothing is called in them that takes one and is
    # not a single instruction or so: else numba counts references to them, which costs more than
    # the hash.
    text, edges, where = work.text, work.edges, work.where
    keys, places = work.keys, work.places
    columns, values = found.columns, found.values
    mask, signed, high = np.uint32(how.mask), how.signed, np.uint64(how.high)
    values[count] = 0.0
    for i in range(first, last):
        start = np.uint64(edges[i])
        p, h = start, np.uint32(0)
        for n in range(low, min(high, last - i) + _1):
            end = np.uint64(edges[i + n]) - gap
            for _ in range(2):
                whole = p + _4 <= end
                h = absorb(h, load(text, p), whole)
                p += np.uint64(whole) << _2
            while p + _4 <= end:
                h = mix(h, load(text, p))
                p += _4
            rest = np.uint32((_1 << ((end - p) << _3)) - _1)
            g = finish(h, load(text, p) & rest, np.uint32(end - start))
            column = np.uint64((g >> np.uint32(1)) & mask)
            value = np.float32(-1.0) if signed and g & np.uint32(1) else np.float32(1.0)
            # Whether a column came before cannot be guessed, so there is no branch on it: `other`
            # is 0 if it did and large if the slot is void, and what is stored is the same.
            key = stamp | column
            s = column & size
            other = keys[s] ^ key
            while other - _1 < _COLUMNS:  # another column of this document
                s = (s + _1) & size
                other = keys[s] ^ key
            new = other != _0
            place = np.uint64(places[s])
            at = count if new else place
            keys[s] = key
            places[s] = at
            columns[at] = g
            values[at] += value
            where[at - base] = (start << np.uint64(32)) | end
            count += np.uint64(new)
            values[count] = 0.0
    return count


@jit(inner=True)
def weigh_counts(base, count, how, tables, found):
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
    if len(tables.idf) or how.weighting == SUBLINEAR:
        finish_row(columns, values, tables.idf, how.l2)
    elif how.l2:
        whole = 0  # whole numbers can be added in any order, and so several at once
        for f in range(len(values)):
            whole += np.int64(np.int32(values[f])) * np.int64(np.int32(values[f]))
        divide_by_length(values, np.float64(whole))


@jit(inline=True)
def finish_row(columns, values, idf, l2):
    """Multiply values by the idf of their columns, if there is any, and give them length 1."""
    if len(idf):
        for f in range(len(values)):
            values[f] *= idf[columns[f]]
    if l2:
        square = 0.0
        for f in range(len(values)):
            square += np.float64(values[f]) * np.float64(values[f])
        divide_by_length(values, square)


@jit(inline=True)
def divide_by_length(values, square):
    """Divide values by their length, whose square is given."""
    scale = 1.0 / np.sqrt(square) if square > 0.0 else 1.0
    for f in range(len(values)):
        values[f] = np.float64(values[f]) * scale


@jit()
def finish_rows(columns, values, starts, idf, l2):
    """Multiply all values of some rows by the idf of their columns, and give the rows length 1."""
    for i in range(np.uint64(len(starts) - 1)):
        a, b = starts[i], starts[i + _1]
        finish_row(columns[a:b], values[a:b], idf, l2)


@jit()
def encode_piece(texts, begin, stop, how, tables, work, seen, found, fresh, chars):
    """Encode documents begin ... stop - 1.

    Fills `found` (and, if how.named, `fresh`, reading `seen`) from the start. `chars` is None for
    words, so that the code for characters is compiled only for those who use it. Returns (features,
    document, trouble): trouble is 0, or why encoding stopped at that document. Costs about the
    hash of every n-gram and one look at a table that fits the cache.
    """
    for s in range(len(work.keys)):
        work.keys[s] = 0
    fresh.count[0] = 0
    count = _0
    for d in range(begin, stop):
        a, b, base = texts.starts[d], texts.ends[d], count
        if chars is None:
            ascii = copy_lowered(texts.buffer, a, b, tables.plain[65] != 65, work.lowered)
            m = find_words(b - a, work)
            n = gather_runs(texts.buffer, a, m, ascii, tables, how.least, work)
        elif how.analyzer == CHARS:
            n = gather_chars(texts.buffer, a, b, tables, work)
        else:
            n = gather_padded(texts.buffer, a, b, tables, work)
        if n < 0:
            work.bad[0] -= a
            return count, d, n
        # At most a quarter of the slots get filled, so that the first is nearly always right; half
        # of them if the table would outgrow the nearest cache.
        grams = np.uint64(n) * np.uint64(how.high - how.low + 1)
        room = grams * (_4 if grams < _SMALL else _2)
        size = np.uint64(16)
        while size < room:
            size *= _2
        size -= _1
        stamp = (d - begin + _1) << np.uint64(32)
        first, end, low = _0, np.uint64(n), np.uint64(how.low)
        gap = _1 if how.analyzer == WORDS else _0
        while first < np.uint64(n):
            if how.analyzer == CHARS_IN_WORDS:
                end = end_of_word(first, work)
                low = min(np.uint64(how.low), end - first)  # a shorter word counts whole
            count = hash_grams(first, end, low, gap, stamp, base, count, size, how, work, found)
            first = end
        if how.named:
            find_fresh(base, count, how, work, found, seen, fresh)
        weigh_counts(base, count, how, tables, found)
        found.ends[d - begin] = count
    return count, stop, 0


@jit()
def count_documents(columns, df):
    """Add one to df for every column: each stands for a document that has it."""
    for k in range(len(columns)):
        df[columns[k]] += 1
