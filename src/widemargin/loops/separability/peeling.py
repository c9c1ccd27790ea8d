"""Peeling: examples that a single feature classifies correctly are removed, repeatedly.

Letters: z_i = y_i x_i. A column all of whose entries z_ij among the examples at hand have one sign
settles those examples: a weight of that sign, large enough, puts them all on the right side.

These loops take sparse rows and read them value by value, as they ask for the sign of each; only
`extend_pass` adds products up, and needs the sum of their sizes and one value beside it.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit

_ONE = np.uint64(1)
#: A score is made at least this part of the sum of its terms' sizes. Rounding moves a sum of n
#: terms by at most n 2^-53 of that sum: less, as long as a row has fewer than 10^9 values.
_CLEAR = 1e-6


@jit()
def count_signs(rows, y, plus, minus):
    """Count how many z_ij are above and below zero in every column."""
    for i in range(np.uint64(len(y))):
        for k in range(rows.starts[i], rows.starts[i + _ONE]):
            z = y[i] * rows.values[k]
            plus[rows.indices[k]] += z > 0.0
            minus[rows.indices[k]] += z < 0.0


@jit()
def list_columns(rows, y, plus, minus, tops, members):
    """Fill members[tops[j]:tops[j + 1]] with the examples whose z_ij is not zero."""
    width = np.uint64(len(plus))
    place = np.empty(len(plus), np.uint64)
    tops[0] = np.uint64(0)
    for j in range(width):
        place[j] = tops[j]
        tops[j + _ONE] = tops[j] + np.uint64(plus[j] + minus[j])
    for i in range(np.uint64(len(y))):
        for k in range(rows.starts[i], rows.starts[i + _ONE]):
            if rows.values[k] != 0.0:
                j = rows.indices[k]
                members[place[j]] = i
                place[j] += _ONE


@jit()
def peel_pass(rows, y, plus, minus, tops, members, by, peeled):
    """Remove examples as long as some column settles any; returns how many columns did.

        while z_ij has one sign in some column j, over the examples i that are left:
            peeled = peeled, j
            by[i] = j, and i is gone, for all i with z_ij != 0

    The column of the constant feature comes last: its turn is when one class alone is left. Who is
    left at the end has by[i] = (the number of columns) + 1. The first column found is the first
    peeled, so that chains stay short. Changes plus and minus, the counts of signs; fills by and
    peeled. Costs a few steps a value.
    """
    n, width = np.uint64(len(y)), np.uint64(len(plus))
    bias, left = width, width + _ONE
    queue = np.empty(len(plus), np.uint64)
    queued = np.zeros(len(plus), np.bool_)
    first, last, count = np.uint64(0), np.uint64(0), np.uint64(0)
    above, below = 0, 0
    for i in range(n):
        by[i] = left
        above += y[i] > 0.0
        below += y[i] < 0.0
    for j in range(width):
        if (plus[j] == 0) != (minus[j] == 0):
            queue[last] = j
            last += _ONE
            queued[j] = True
    while first < last:
        j = queue[first]
        first += _ONE
        if plus[j] + minus[j] == 0:
            continue
        peeled[count] = j
        count += _ONE
        for p in range(tops[j], tops[j + _ONE]):
            i = members[p]
            if by[i] != left:
                continue
            by[i] = j
            above -= y[i] > 0.0
            below -= y[i] < 0.0
            for k in range(rows.starts[i], rows.starts[i + _ONE]):
                z, c = y[i] * rows.values[k], rows.indices[k]
                plus[c] -= z > 0.0
                minus[c] -= z < 0.0
                if (plus[c] == 0) != (minus[c] == 0) and not queued[c]:
                    queue[last] = c
                    last += _ONE
                    queued[c] = True
    if rows.bias != 0.0 and (above == 0) != (below == 0):
        peeled[count] = bias
        count += _ONE
        for i in range(n):
            if by[i] == left:
                by[i] = bias
    return count


@jit()
def extend_pass(rows, y, tops, members, by, peeled, w):
    """Weigh the peeled columns so that their examples are on the right side, the last one first.

        for j in peeled, backwards:
            w_j = the smallest in size with  w . z_i >= clear  for all i that j settled

    An example has no value in a column that was peeled before its own, and none that was left has
    one in any: what is right already stays right. Changes w, whose other entries are given.
    """
    n, bias = np.uint64(len(y)), np.uint64(len(tops)) - _ONE
    for t in range(len(peeled) - 1, -1, -1):
        j = peeled[t]
        need, sign = 0.0, 0.0
        begin, end = (np.uint64(0), n) if j == bias else (tops[j], tops[j + _ONE])
        for p in range(begin, end):
            i = p if j == bias else members[p]
            if by[i] != j:
                continue
            own = rows.bias
            s = w[bias] * rows.bias
            size = abs(s)
            for k in range(rows.starts[i], rows.starts[i + _ONE]):
                c = rows.indices[k]
                if c == j:
                    own = rows.values[k]
                s += w[c] * rows.values[k]
                size += abs(w[c] * rows.values[k])
            need = max(need, (max(1.0, _CLEAR * size) - y[i] * s) / abs(own))
            sign = 1.0 if y[i] * own > 0.0 else -1.0
        w[j] = sign * need
