"""Products of named features: those of one namespace times those of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit

_1, _HALF, _EVEN = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFE)
#: Odd numbers that spread the bits of two hashes over 64 (those of splitmix64).
_SPREAD, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class Sides(NamedTuple):
    """The namespaces of pairs: pair p is side 2 p times side 2 p + 1.

    Attributes
    ----------
    names : array of uint8
        The concatenated names.
    ends : array of uint32
        Where each of them ends.
    wild : array of uint8
        1 for a side that matches any namespace.
    """

    names: np.ndarray
    ends: np.ndarray
    wild: np.ndarray


@jit()
def match_sides(text, places, sides, matches):
    """Write, for every feature, as bits, which sides its namespace matches."""
    for k in range(len(places)):
        if k > 0 and places[k, 0] == places[k - 1, 0] and places[k, 1] == places[k - 1, 1]:
            matches[k] = matches[k - 1]
            continue
        found, begun = np.uint64(0), np.uint32(0)
        for s in range(len(sides.ends)):
            same = sides.ends[s] - begun == places[k, 1] - places[k, 0]
            if same:
                for p in range(sides.ends[s] - begun):
                    same = same and sides.names[begun + p] == text[places[k, 0] + p]
            if same or sides.wild[s] == 1:
                found |= _1 << np.uint64(s)
            begun = sides.ends[s]
        matches[k] = found


@jit(inline=True)
def _are_multiplied(matches, values, i, j, p):
    """Whether feature i times feature j belongs to pair p.

    Two features whose namespaces could be swapped are multiplied once, and a feature is multiplied
    by itself unless it is 1 and so its own square.
    """
    left, right = _1 << np.uint64(2 * p), _1 << np.uint64(2 * p + 1)
    if matches[i] & left == 0 or matches[j] & right == 0:
        return False
    if i == j:
        return values[i] != 1.0
    return i < j or matches[j] & left == 0 or matches[i] & right == 0


@jit()
def count_products(matches, values, starts, pairs, ends):
    """Write where the features of each example end once products are added to them."""
    n = np.uint64(0)
    for row in range(len(starts) - 1):
        first, last = np.int64(starts[row]), np.int64(starts[row + 1])
        n += np.uint64(last - first)
        for p in range(pairs):
            left = _1 << np.uint64(2 * p)
            for i in range(first, last):
                if matches[i] & left == 0:
                    continue
                for j in range(first, last):
                    if _are_multiplied(matches, values, i, j, p):
                        n += _1
        ends[row] = n


@jit()
def add_products(
    matches, hashes, values, places, starts, pairs, out_hashes, out_values, out_places
):
    """Copy the features of every example, and append the products of its pairs.

    The hash of a product does not depend on the order of its factors. The first four numbers of a
    place are those of the left factor, the others those of the right one; 0 if there is none.
    """
    q = 0
    for row in range(len(starts) - 1):
        first, last = np.int64(starts[row]), np.int64(starts[row + 1])
        for i in range(first, last):
            out_hashes[q], out_values[q] = hashes[i], values[i]
            for c in range(4):
                out_places[q, c], out_places[q, 4 + c] = places[i, c], 0
            q += 1
        for p in range(pairs):
            left = _1 << np.uint64(2 * p)
            for i in range(first, last):
                if matches[i] & left == 0:
                    continue
                for j in range(first, last):
                    if not _are_multiplied(matches, values, i, j, p):
                        continue
                    low = np.uint64(min(hashes[i], hashes[j]))
                    high = np.uint64(max(hashes[i], hashes[j]))
                    h = (low * _SPREAD + high) * _MIX
                    h ^= h >> _HALF
                    out_hashes[q] = np.uint32((h << _1) & _EVEN)
                    out_values[q] = values[i] * values[j]
                    for c in range(4):
                        out_places[q, c], out_places[q, 4 + c] = places[i, c], places[j, c]
                    q += 1
