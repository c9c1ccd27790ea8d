"""Features of tokens, made from columns by templates, as rows of the weights.

A feature is a hash of 64 bits of its template and of the cells that it looks at. Its row is

    h >> shift               the first bits of the hash, if `keys` and `rows` are empty
    rows[h >> shift]         if only `keys` is empty: empty rows share row 0
    rows[where keys is h]    in an exact dictionary; features it does not have share row 0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.hash_chains import TOGETHER, chain_hashes
from widemargin.loops.sequences.tokens import hash_in, scatter_bits

_0, _1 = np.uint64(0), np.uint64(1)
#: The seed of the hashes of the padding around a sentence; it differs from that of words. (The
#: multiplier of Knuth's generator MMIX.)
_EDGE = np.uint64(0x5851F42D4C957F2D)
#: Tokens whose features are hashed before their rows are looked up: the hashes stay in the cache.
_AT_ONCE = 64


class Table(NamedTuple):
    """Templates: part p of template t, for ends[t - 1] <= p < ends[t], looks at one cell.

    It is in column columns[p] of the token that is places[p] further on.
    """

    columns: np.ndarray
    places: np.ndarray
    ends: np.ndarray
    seeds: np.ndarray  # where the hash of each template begins
    reach: int  # how many tokens away the furthest cell is


class Index(NamedTuple):
    """From the hash of a feature to its row; see the top of this module."""

    shift: np.uint64
    keys: np.ndarray
    rows: np.ndarray


class Workspace(NamedTuple):
    """Work buffers: the columns of a sentence and of what stands around it, and some hashes."""

    columns: np.ndarray  # of uint64, (columns, tokens)
    hashes: np.ndarray  # of uint64, (templates, tokens at once)


@jit(inline=True)
def make_workspace(columns, table, longest):
    """Buffers for sentences of up to `longest` tokens."""
    reach, more = np.uint64(table.reach), np.uint64(TOGETHER)
    size = np.uint64(longest) + reach + reach + more
    return Workspace(
        np.empty((np.uint64(columns), size), np.uint64),
        np.empty((np.uint64(len(table.seeds)), np.uint64(_AT_ONCE)), np.uint64),
    )


@jit(inner=True)
def fill_edges(columns, reach, n):
    """Write the padding before and after a sentence of n tokens, whose first is at `reach`."""
    for d in range(np.uint64(reach)):
        before = scatter_bits(hash_in(_EDGE, d))
        behind = scatter_bits(hash_in(_EDGE, d + np.uint64(1 << 32)))
        for k in range(np.uint64(len(columns))):
            columns[k, np.uint64(reach) - d - _1] = before
            columns[k, np.uint64(reach) + np.uint64(n) + d] = behind


@jit(inline=True)
def _find(keys, h):
    """Where h is among the keys, or the empty place (0) where it would be."""
    mask = np.uint64(len(keys)) - _1
    slot = scatter_bits(h) & mask
    while keys[slot] != _0 and keys[slot] != h:
        slot = (slot + _1) & mask
    return slot


@jit(inline=True)
def find_row(keys, rows, h):
    """The row of a hash in an exact dictionary; 0 if it is not there."""
    return rows[_find(keys, h)]


@jit(inline=True)
def _row_of(index, h):
    if len(index.keys):
        return find_row(index.keys, index.rows, h)
    row = np.uint32(h >> index.shift)
    return index.rows[row] if len(index.rows) else row


@jit(inner=True)
def _hash_features(work, table, i, size):
    """Hash the features of `size` tokens from token i on, which is at `reach` + i.

    That of template t and token i + k is work.hashes[t, k].
    """
    first, at = _0, np.uint64(table.reach) + i
    for t in range(np.uint64(len(table.seeds))):
        end, seed = table.ends[t], table.seeds[t]
        chain_hashes(
            work.columns,
            table.columns,
            table.places,
            first,
            end,
            seed,
            at,
            size,
            work.hashes,
            t,
        )
        first = end


@jit(inner=True)
def fill_ids(work, n, table, index, ids, first):
    """Write the rows of the features of n tokens.

    ids is flat: token i has ids[first + i T] and the T - 1 behind it. The cost is one hash per
    template and token.
    """
    _look_up(work, n, table, index, None, 0, ids, first)


@jit(inner=True)
def add_to_dictionary(work, n, table, keys, rows, used, ids, first):
    """As `fill_ids` with an exact dictionary, in which new features get the next rows.

    Returns how many rows are used; it stops before the dictionary is more than half full, and then
    returns the negative of that number.
    """
    if 2 * (used + n * len(table.seeds)) > len(keys):
        return -used
    return _look_up(work, n, table, Index(_0, keys, rows), True, used, ids, first)


@jit(inner=True)
def _look_up(work, n, table, index, grow, used, ids, first):
    """Write the rows of features; unless `grow` is None, add new ones to the dictionary."""
    T, most = np.uint64(len(table.seeds)), np.uint64(_AT_ONCE)
    at, n = np.uint64(first), np.uint64(n)
    for i in range(_0, n, most):
        size = min(most, n - i)
        _hash_features(work, table, i, size)
        for k in range(size):
            for t in range(T):
                h = work.hashes[t, k]
                if grow is not None:
                    slot = _find(index.keys, h)
                    if index.keys[slot] == _0:
                        index.keys[slot] = h
                        index.rows[slot] = used
                        used += 1
                    ids[at] = index.rows[slot]
                else:
                    ids[at] = _row_of(index, h)
                at += _1
    return used


@jit()
def enter_keys(old_keys, old_rows, keys, rows):
    """Move the entries of a dictionary into a larger one."""
    for k in range(len(old_keys)):
        if old_keys[k] != _0:
            slot = _find(keys, old_keys[k])
            keys[slot] = old_keys[k]
            rows[slot] = old_rows[k]


@jit()
def note_first(ids, first_of):
    """For every row the first place in ids that names it; places count from 1, 0 is none."""
    for k in range(len(ids)):
        if first_of[ids[k]] == 0:
            first_of[ids[k]] = k + 1
