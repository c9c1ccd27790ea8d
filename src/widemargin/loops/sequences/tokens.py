"""Columns of tokens as hashes: the word, its affixes, its shape, and other columns of a file.

The texts of all tokens stand in one array of code points, each followed by a separator: text j of
token i is codes[edges[j, i] : edges[j, i + 1] - 1]. A column is a number of 64 bits for every
token, made from one of its texts in one of the ways below. Equal strings get equal numbers, and
different strings different ones, except with a probability of one in 2^64.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.hash_chains import PRIME

#: How a column is made from a text: all of it, its first or last characters, its characters by
#: class, the same with every run cut to one, or which classes of characters are where.
WHOLE, PREFIX, SUFFIX, SHAPE, RUNS, FLAGS = range(6)
#: Classes of characters; one that has no bit is neither letter nor digit.
LETTER, UPPER, DIGIT = np.uint8(1), np.uint8(2), np.uint8(4)
#: The separator between two texts.
SEPARATOR = 10

_1 = np.uint64(1)
#: Where hashes begin (as in FNV-1a), and the multiplier of degski's mixer, which shifts by 32 bits,
#: too.
_BASIS = np.uint64(0xCBF29CE484222325)
_SPREAD = np.uint64(0xD6E8FEB86659FD93)
_32 = np.uint64(32)
_HYPHEN = np.uint32(45)


@jit(inline=True)
def hash_in(h, x):
    """The hash h extended by x."""
    return (h ^ np.uint64(x)) * PRIME


@jit(inline=True)
def scatter_bits(h):
    """Make every bit of a hash depend on all others."""
    h = (h ^ (h >> _32)) * _SPREAD
    return h ^ (h >> _32)


@jit()
def find_edges(codes, edges):
    """Where texts begin, each followed by a separator; a row of edges for each column of texts.

    The texts of a column stand one after the other, and so do the columns. Where a text ends, the
    next one begins.
    """
    n, size, k = np.uint64(edges.shape[1]) - _1, np.uint64(len(codes)), np.uint64(0)
    for column in range(np.uint64(len(edges))):
        edges[column, 0] = k
        text = np.uint64(0)
        # Every character is written as the end of the text, until the next one overwrites it: that
        # is quicker than a branch, as nobody can predict where words end.
        while text < n and k < size:
            edges[column, text + _1] = k + _1
            text += np.uint64(codes[k] == SEPARATOR)
            k += _1


@jit(inline=True)
def _hash_text(codes, a, b):
    h = _BASIS
    for k in range(a, b):
        h = hash_in(h, codes[k])
    return scatter_bits(h)


@jit(inline=True)
def word_hash(codes, edges, i):
    """The hash of the word i as it is written; never 0."""
    return _hash_text(codes, edges[0, i], edges[0, i + _1] - _1) | _1


@jit()
def hash_words(codes, edges, hashes):
    """The hashes of all words."""
    for i in range(np.uint64(len(hashes))):
        hashes[i] = word_hash(codes, edges, i)


@jit(inline=True)
def _hash_shape(codes, a, b, classes, runs):
    """Letters as x or X, digits as d, others as they are; `runs` cuts every run to one."""
    h = _BASIS
    before = np.uint32(0)
    for k in range(a, b):
        c = classes[codes[k]]
        s = np.uint32(codes[k])
        if c & DIGIT:
            s = np.uint32(100)
        elif c & UPPER:
            s = np.uint32(88)
        elif c & LETTER:
            s = np.uint32(120)
        if not runs or s != before:
            h = hash_in(h, s)
        before = s
    return scatter_bits(h)


@jit(inline=True)
def flags_of(codes, a, b, classes):
    """Which kinds of characters the text has and where, a bit for each; see `FLAG_NAMES`."""
    digits, uppers, letters, hyphens = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    first = np.uint64(0)
    for k in range(a, b):
        c = classes[codes[k]]
        digits += np.uint64((c & DIGIT) != 0)
        uppers += np.uint64((c & UPPER) != 0)
        letters += np.uint64((c & LETTER) != 0)
        hyphens += np.uint64(codes[k] == _HYPHEN)
    if b > a and classes[codes[a]] & UPPER:
        first = _1
    size = b - a
    found = np.uint64(0)
    found |= np.uint64(digits > 0)
    found |= np.uint64(digits > 0 and letters == 0) << np.uint64(1)
    found |= np.uint64(hyphens > 0) << np.uint64(2)
    found |= first << np.uint64(3)
    found |= np.uint64(uppers > 0 and uppers == letters) << np.uint64(4)
    found |= np.uint64(uppers > first) << np.uint64(5)
    found |= np.uint64(digits + letters + hyphens < size) << np.uint64(6)
    found |= np.uint64(digits + letters == 0) << np.uint64(7)
    return found


@jit()
def fill_columns(codes, edges, classes, made, a, b, columns, at):
    """Write the columns of tokens a to b into columns[:, at:].

    Parameters
    ----------
    codes, edges : arrays of uint32 and uint64
        The texts, see the top of this module.
    classes : array of uint8
        The class of every code point that occurs.
    made : array of int64, (columns, 3)
        How each column is made: the way, the text, and how many characters.
    a, b : int
        The first token, and the one behind the last.
    columns : array of uint64, (columns, tokens)
        Changed in place.
    at : int
        The place of token a.
    """
    place = np.uint64(at)
    for i in range(np.uint64(a), np.uint64(b)):
        for k in range(np.uint64(len(made))):
            way, j, size = made[k, 0], np.uint64(made[k, 1]), np.uint64(made[k, 2])
            start, end = edges[j, i], edges[j, i + _1] - _1
            if way == PREFIX:
                h = _hash_text(codes, start, min(end, start + size))
            elif way == SUFFIX:
                h = _hash_text(codes, max(start + size, end) - size, end)
            elif way == SHAPE or way == RUNS:
                h = _hash_shape(codes, start, end, classes, way == RUNS)
            elif way == FLAGS:
                h = scatter_bits(hash_in(_BASIS, flags_of(codes, start, end, classes)))
            else:
                h = _hash_text(codes, start, end)
            columns[k, place] = h
        place += _1
