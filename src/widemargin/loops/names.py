"""Names of hashed features: which are new, and a table with room for some of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit

#: A name is kept up to so many bytes.
LONGEST_NAME = np.uint64(64)
#: The two lowest bits of a column, which its place in the table implies, hold the state there.
_STATE, _REST = np.uint32(6), np.uint32(0xFFFFFFF9)
SEEN, NAMED, SHARED = np.uint32(2), np.uint32(4), np.uint32(6)

_1, _2 = np.uint64(1), np.uint64(2)


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
