"""Names of hashed features: which are new, and a table with room for some of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.byte_blocks import copy_block
from widemargin.loops.lowlevel.prefetch import prefetch

#: Bytes of a name that are kept: enough to recognise a feature, and four blocks to copy.
LONGEST_NAME = np.uint64(64)
#: The two lowest bits of a column, which its place in the table implies, hold the state there.
_STATE, _REST = np.uint32(6), np.uint32(0xFFFFFFF9)
SEEN, NAMED, SHARED = np.uint32(2), np.uint32(4), np.uint32(6)

#: Whether names are looked for: not at all, with their bytes, or (the table being full) only to
#: notice columns that are shared.
UNNAMED, NAMING, FULL = range(3)

# A place of the table is fetched 16 features before it is looked at (not tuned).
_1, _2, _16 = np.uint64(1), np.uint64(2), np.uint64(16)


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


@jit(inner=True)
def find_fresh(base, count, how, work, found, seen, fresh):
    """Of the columns base ... count - 1, list those that the table of names must check."""
    places = np.uint64(len(seen) - 1)
    columns, where, text = found.columns, work.where, work.text
    hashes, names, ends = fresh.hashes, fresh.names, fresh.ends
    full = how.named == FULL
    m = np.uint64(fresh.count[0])
    for f in range(base, count):
        ahead = columns[min(f + _16, count - _1)]
        prefetch(seen, np.uint64(ahead >> np.uint32(1)) & places)
        g = columns[f]
        known = seen[np.uint64(g >> np.uint32(1)) & places]
        state = known & _STATE
        if state != 0:
            differ = (known ^ g) & _REST
            if differ == 0:
                if state != SEEN or full:
                    continue
            elif state == SHARED or (differ >> np.uint32(1)) & np.uint32(how.mask) != 0:
                continue
        start = where[f - base] >> np.uint64(32)
        end = where[f - base] & np.uint64(0xFFFFFFFF)
        q = np.uint64(ends[m])
        hashes[m] = g
        if not full:
            size = min(end - start, LONGEST_NAME)
            for p in range(np.uint64(0), size, _16):
                copy_block(text, start + p, names, q + p)
            q += size
        m += _1
        ends[m] = q
    fresh.count[0] = m


@jit()
def note_names(fresh, names, mask):
    """Record hashes that may be new, in order.

    `names.seen` has a number for each column (or for several, if there are very many): the hash
    that was there first, and whether it was seen, has its name kept, or shares the column with
    another. While the table is less than half full every name is kept; then only those that come
    in a second document, so that rare ones do not crowd out others.
    """
    seen, columns, kept, ends = names.seen, names.columns, names.names, names.ends
    hashes, given, given_ends = fresh.hashes, fresh.names, fresh.ends
    places = np.uint64(len(seen) - 1)
    n, shared = np.uint64(names.count[0]), names.count[1]
    last = np.uint64(fresh.count[0])
    for m in range(last):
        ahead = hashes[min(m + _16, last - _1)]
        prefetch(seen, np.uint64(ahead >> np.uint32(1)) & places)
        g = hashes[m]
        full = n == len(columns) or ends[n] + LONGEST_NAME > len(kept)
        place = np.uint64(g >> np.uint32(1)) & places
        known = seen[place]
        state = known & _STATE
        differ = (known ^ g) & _REST
        if state != 0 and differ != 0:
            if state != SHARED and (differ >> np.uint32(1)) & np.uint32(mask) == 0:
                seen[place] = known | SHARED
                shared += 1
            continue
        if state == 0 and (full or n * _2 >= len(columns)):
            seen[place] = (g & _REST) | SEEN
            continue
        if (state == 0 or state == SEEN) and not full:
            seen[place] = (g & _REST) | NAMED
            start, q = np.uint64(given_ends[m]), np.uint64(ends[n])
            size = np.uint64(given_ends[m + _1]) - start
            for p in range(np.uint64(0), size, _16):
                copy_block(given, start + p, kept, q + p)
            columns[n] = (g >> np.uint32(1)) & np.uint32(mask)
            n += _1
            ends[n] = q + size
    names.count[0], names.count[1] = n, shared
