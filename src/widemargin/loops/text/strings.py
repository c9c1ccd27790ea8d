"""Lines and strings as byte ranges of a text; strings numbered by which of them are equal."""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.text.gather import decode

_1 = np.uint64(1)
#: Bytes that are looked at together: a vector of AVX2.
_BLOCK = np.uint64(32)
#: The prime of FNV-1a for 64 bits, and where the hash of a string begins.
_PRIME = np.uint64(0x100000001B3)
BASIS = np.uint64(0xCBF29CE484222325)


@jit(inline=True)
def hash_on(h, byte):
    """The hash (FNV-1a, 64 bits) of a string extended by a byte."""
    return (h ^ np.uint64(byte)) * _PRIME


@jit()
def number_strings(text, starts, ends, table, codes):
    """Give equal strings the same number, from 0 in the order in which they first appear.

    Parameters
    ----------
    text : array of uint8
    starts, ends : arrays of uint64
        String i is text[starts[i]:ends[i]].
    table : array of int64
        Room for twice as many strings as there are different ones, a power of two; -1 everywhere.
    codes : array of int64
        Where the numbers are written.

    Returns
    -------
    firsts : array of int64
        For every number the first string that has it; empty if the table was too small.
    """
    mask = np.uint64(len(table) - 1)
    firsts = np.empty(len(table) // 2, np.int64)
    n = 0
    for i in range(len(starts)):
        h = BASIS
        for k in range(starts[i], ends[i]):
            h = hash_on(h, text[k])
        slot = (h ^ (h >> np.uint64(32))) & mask
        while table[slot] >= 0 and not _equal(text, starts, ends, firsts[table[slot]], i):
            slot = (slot + _1) & mask
        if table[slot] < 0:
            if n == len(firsts):
                return firsts[:0]
            table[slot] = n
            firsts[n] = i
            n += 1
        codes[i] = table[slot]
    return firsts[:n]


@jit(inline=True)
def _equal(text, starts, ends, a, b):
    if ends[a] - starts[a] != ends[b] - starts[b]:
        return False
    for k in range(ends[a] - starts[a]):
        if text[starts[a] + np.uint64(k)] != text[starts[b] + np.uint64(k)]:
            return False
    return True


@jit()
def find_marks(text, mark, other, starts, ends, marks):
    """Where in each byte range one of two bytes stands first; its end if none does."""
    for i in range(len(starts)):
        k, end = np.uint64(starts[i]), np.uint64(ends[i])
        while k < end and text[k] != mark and text[k] != other:
            k += _1
        marks[i] = k


@jit()
def find_bad_byte(text, k):
    """The first byte from k on that is NUL or not UTF-8; the length of the text if none is."""
    size = np.uint64(len(text))
    while k < size:
        if k + _BLOCK <= size:  # many at once, as long as they are plain
            seen, nul = np.uint8(0), False
            for j in range(_BLOCK):
                c = text[k + j]
                seen |= c
                nul |= c == 0
            if seen < 128 and not nul:
                k += _BLOCK
                continue
        c = text[k]
        if c == 0:
            return k
        if c < 128:
            k += _1
            continue
        _, after = decode(text, k, size)
        if after == k:
            return k
        k = after
    return size
