"""Rows of label scores: short, all of the same width, and worth a few vector instructions each.

A row holds a number for each label, and is padded to 8 numbers or a multiple of 16. The compiler,
left alone, keeps the sums in memory; here they stay in registers while many rows are added.

    add_rows(W, ids, first, count, ahead, s, at)    s[at] = the sum of W[ids[first:first + count]]
    add_split_rows(heads, tails, ids, ...)          the same for rows that are stored in two parts
    fetch_rows(W, ids, first, count)                ask the memory for those rows
    max_plus(v, j, n, A, k, s, i, out, at)          out[at] = s[i] + max of v[j][z] + A[k + z]

All arrays are C-ordered float32 matrices of the same width, but for ids, which is flat. W may also
hold whole numbers of 16 bits, of which twice as many fit into a cache line: they are added as
numbers of 32 bits, and s may hold such. With the compiler off the plain functions below do the
same, to the bit.

Rows are read quickest where they begin with a cache line; `aligned` makes room for such.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import INLINE, OPTIONS, overload
from widemargin.loops.lowlevel.prefetch import prefetch

#: Bytes of a cache line.
LINE = 64
#: Numbers of 16 bits in a cache line: the first part of a row that is stored in two parts.
HEAD = LINE // 2
#: Rows are padded to a multiple of this, or to 8: then vectors divide them without a remainder, and
#: rows of float32 begin with a cache line.
LANES = 16


def aligned(shape, kind):
    """An array of zeros, C-ordered, that begins with a cache line."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    room = np.zeros(size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(kind).reshape(shape)


def add_rows(W, ids, first, count, ahead, s, at):
    """s[at] = the sum of the rows of W that ids[first:first + count] names.

    Those that ids[ahead:ahead + count] names are fetched meanwhile, unless ahead is None: they are
    wanted next. The plain version fetches nothing, and adds whole numbers as numbers of the type of
    s: the same, as long as no sum exceeds 2^24.

    By hand, because the compiler keeps the sums in memory: with 36 rows of 32 labels for each token
    this takes 153 ns per token (134 ns with 16 bits), the plain function 478 ns (440 ns).
    """
    total = s[at]
    total[:] = 0
    for k in range(first, first + count):
        total += W[ids[k]]


def add_split_rows(heads, tails, ids, first, count, ahead, s, at):
    """As `add_rows`, for rows of 16 bits in two parts, of which most have a second one of zeros.

    A row of heads is a cache line: the first 31 numbers, and which row of tails has the others.
    Row 0 of tails has zeros, and is shared by all rows that need no other. So a sum reads one cache
    line per row, and the few rows of tails that matter stay in the cache. The numbers of s behind
    those of a tail are left as they are.

    By hand for the same reason: 35 rows of 40 labels for each token of CoNLL-2000 take 246 ns per
    token, and 320 ns with `add_rows`.
    """
    last = HEAD - 1
    total, end = s[at], last + tails.shape[1]
    total[:end] = 0
    for k in range(first, first + count):
        head = heads[ids[k]]
        total[:last] += head[:last]
        total[last:end] += tails[head[last]]


def fetch_rows(W, ids, first, count):
    """Ask the memory for the rows that ids[first:first + count] names."""
    width, line = np.uint64(W.shape[1]), np.uint64(LINE // W.itemsize)
    for k in range(first, first + count):
        start = np.uint64(ids[k]) * width
        for c in range(np.uint64(0), width, line):
            prefetch(W, start + c)


def max_plus(v, j, n, A, k, s, i, out, at):
    """out[at] = s[i] + max over z < n of v[j][z] + A[k + z], for all labels at once.

    By hand for the same reason: 22 labels take 35 ns per token, and 403 ns with the plain function.
    """
    best, own = out[at], s[i]
    best[:] = -np.inf
    for z in range(n):
        one, row = v[j, z], A[k + z]
        for y in range(len(row)):
            found = one + row[y]
            if found > best[y]:
                best[y] = found
    best += own


@overload(fetch_rows, jit_options=OPTIONS | INLINE)
def _fetch_rows(W, ids, first, count):
    return fetch_rows
