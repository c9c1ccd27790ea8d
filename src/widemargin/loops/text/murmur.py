"""MurmurHash3 (x86, 32 bits, seed 0) in steps, so that names with a common beginning share work.

    h = 0
    for each block of four bytes:   h = mix(h, load(text, p))
    g = finish(h, load(text, p) & what is left of the last block, length)

`absorb` does one block if there is one, without a branch: how long a word is cannot be guessed.

Feature hashing wants |h| for the column and the sign of h. So `finish` gives both in one number,
g = 2 |h| + (h < 0), from which nothing is lost.

Arithmetic is in 64 bits, of which the lower 32 are kept: numba has no other, no product of two
overflows, and the compiler recovers the 32-bit instructions.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.avalanche import avalanche

# The constants of MurmurHash3_x86_32 (A. Appleby).
_C1, _C2, _C3 = (np.uint64(number) for number in (0xCC9E2D51, 0x1B873593, 0xE6546B64))
_ALL = np.uint64(0xFFFFFFFF)
_1, _2, _3, _5, _8 = (np.uint64(number) for number in (1, 2, 3, 5, 8))
_13, _15, _16, _24, _32 = (np.uint64(number) for number in (13, 15, 16, 24, 32))


@jit(inline=True)
def load(text, p):
    """The four bytes that begin at p, as a number; the text must be long enough."""
    low = np.uint64(text[p]) | np.uint64(text[p + _1]) << _8
    high = np.uint64(text[p + _2]) << _16 | np.uint64(text[p + _3]) << _24
    return np.uint32(low | high)


@jit(inline=True)
def mix(h, k):
    """One block k mixed into h."""
    return np.uint32((_rotate(np.uint64(h) ^ _scramble(k), _13) * _5 + _C3) & _ALL)


@jit(inline=True)
def absorb(h, k, whole):
    """One block mixed into h if `whole` says that it is one; else h."""
    mixed = mix(h, k)
    return mixed if whole else h


@jit(inline=True)
def finish(h, k, length):
    """The last bytes k (0 if there are none) mixed in: 2 |h| + (h < 0)."""
    return avalanche(np.uint32(np.uint64(h) ^ _scramble(k) ^ np.uint64(length)))


@jit(inline=True)
def _scramble(k):
    return (_rotate((np.uint64(k) * _C1) & _ALL, _15) * _C2) & _ALL


@jit(inline=True)
def _rotate(k, by):
    return ((k << by) | (k >> (_32 - by))) & _ALL
