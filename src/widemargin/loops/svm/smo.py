"""Sequential minimal optimisation on a dense block of kernel values, and what surrounds it.

A two-class SVM with signed dual values beta_i = y_i alpha_i is

    max  sum_i y_i beta_i - 1/2 sum_ij beta_i beta_j K_ij,  low_i <= beta_i <= high_i, sum beta = 0

where [low, high] is [0, C] for y = 1 and [-C, 0] for y = -1. With the errors E_i = y_i - sum_j
beta_j K_ij it is solved when no i that can grow has a larger error than a j that can shrink.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit

#: Arrays of a block are padded to a multiple of this: loops of a fixed length need no remainders.
#: 64 numbers of float32 are 8 registers of AVX2.
LANES = 64
#: Columns over which errors are summed up at a time: 16 KB of doubles, half of the nearest cache.
_TILE = np.uint64(2048)
#: Two examples at no distance are taken to be so far apart, squared, as a part of the largest value
#: of the diagonal: the tau of Fan, Chen and Lin (2005), as large as in LIBSVM.
_TAU = 1e-12
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_LANES = np.uint64(LANES)
#: Rows of a block that are mirrored together: a cache line of float32.
_MIRRORED = np.uint64(16)
_LEAST = np.int32(-(2**31))
_SIGN, _REST = np.int32(31), np.int32(2**31 - 1)


@jit()
def smo_steps(K, known, q, E, beta, low, high, tol, most, longest, work):
    """Solve a block: until no pair violates by more than tol, in at most `most` steps.

        i = the largest error that can grow;  j = who gains most with it, (E_i - E_j)^2 / a_ij
        t = min((E_i - E_j) / a_ij, high_i - beta_i, beta_j - low_j),  a_ij = K_ii + K_jj - 2 K_ij
        beta_i += t;  beta_j -= t;  E -= t (K_i - K_j)

    The second-order choice of Fan, Chen and Lin (2005), algorithm 2. Changes E and beta; costs
    two passes over the block's width a step.

    Parameters
    ----------
    K : array of m rows, at least as long as the others, padded
        Kernel values. The first row must be known.
    known : array of uint8
        Which rows are known, 0 or 1. The loop ends at a step that needs another one.
    q, E, beta, low, high : arrays, padded
        The diagonal, the errors, dual values and bounds. Padding has low = high = 0.
    tol, most, longest : float, int, float
        When to stop; the longest step, which only matters without bounds.
    work : float32 array (6, width)
        Work buffer.

    Returns
    -------
    steps, violation, the row that is needed (-1 if none is)
    """
    width = np.uint64(len(E))
    parts = width // _LANES
    grow, shrink, up, down, gain, diagonal = work[0], work[1], work[2], work[3], work[4], work[5]
    up_bits, down_bits, gain_bits = up.view(np.int32), down.view(np.int32), gain.view(np.int32)
    tops, bottoms = np.empty(parts, np.int32), np.empty(parts, np.int32)
    # Errors are compared in float32, by their distance from the middle: nothing is lost. Kernel
    # values are made so small that float32 holds them.
    largest, smallest, scale = -np.inf, np.inf, 0.0
    for t in range(width):
        scale = max(scale, q[t])
    scale = scale if scale > 0.0 else 1.0
    small, tau = K.dtype.type(2.0 / scale), scale * _TAU
    for t in range(width):
        grow[t] = 0.0 if beta[t] < high[t] else -np.inf
        shrink[t] = 0.0 if beta[t] > low[t] else np.inf
        diagonal[t] = q[t] / scale
        largest = max(largest, E[t] + grow[t])
        smallest = min(smallest, E[t] + shrink[t])
    middle = 0.5 * (largest + smallest)
    if not largest - smallest > tol:
        return 0, largest - smallest, np.int64(-1)
    i = j = np.uint64(0)
    step = 0.0
    for steps in range(most):
        x, z = K[i], K[j]
        for part in range(parts):
            top = bottom = _LEAST
            for t in range(part * _LANES, part * _LANES + _LANES):
                e = E[t] - step * (np.float64(x[t]) - np.float64(z[t]))
                E[t] = e
                f = np.float32(e - middle)
                up[t] = f + grow[t]
                down[t] = -(f + shrink[t])
            for t in range(part * _LANES, part * _LANES + _LANES):
                # The bits of a float, as a whole number of the same order.
                b = up_bits[t]
                top = max(top, b ^ ((b >> _SIGN) & _REST))
                b = down_bits[t]
                bottom = max(bottom, b ^ ((b >> _SIGN) & _REST))
            tops[part], bottoms[part] = top, bottom
        i, e_up = _first_largest(up, up_bits, tops, parts)
        j, e_down = _first_largest(down, down_bits, bottoms, parts)
        violation = E[i] - E[j]
        if not violation > tol or not np.isfinite(e_up + e_down):
            return steps, violation, np.int64(-1)
        if not known[i]:
            return steps, violation, np.int64(i)
        x = K[i]
        a = diagonal[i]
        for part in range(parts):
            top = _LEAST
            for t in range(part * _LANES, part * _LANES + _LANES):
                d = max(e_up + down[t], np.float32(0.0))
                g = a + diagonal[t] - np.float32(small * x[t])
                gain[t] = d * d / max(g, np.float32(_TAU))
            for t in range(part * _LANES, part * _LANES + _LANES):
                top = max(top, gain_bits[t])
            tops[part] = top
        j, _ = _first_largest(gain, gain_bits, tops, parts)
        if not known[j]:
            return steps, violation, np.int64(j)
        a = max(q[i] + q[j] - 2.0 * np.float64(x[j]), tau)
        step = min((E[i] - E[j]) / a, longest)
        room = min(high[i] - beta[i], beta[j] - low[j])
        if step >= room:
            step = room
            # Exactly at the bound, so that rounding leaves nobody a little inside.
            to_high, to_low = high[i] - beta[i] <= room, beta[j] - low[j] <= room
            beta[i] = high[i] if to_high else beta[i] + step
            beta[j] = low[j] if to_low else beta[j] - step
        else:
            beta[i] += step
            beta[j] -= step
        for t in (i, j):
            grow[t] = 0.0 if beta[t] < high[t] else -np.inf
            shrink[t] = 0.0 if beta[t] > low[t] else np.inf
    x, z = K[i], K[j]
    for t in range(width):
        E[t] -= step * (np.float64(x[t]) - np.float64(z[t]))
    return most, violation, np.int64(-1)


@jit(inline=True)
def _first_largest(values, bits, tops, parts):
    """Where the largest value is, by the largest of every part: the first of equals."""
    best = np.uint64(0)
    for part in range(parts):
        if tops[part] > tops[best]:
            best = part
    wanted = tops[best]
    for t in range(best * _LANES, best * _LANES + _LANES):
        b = bits[t]
        if b ^ ((b >> _SIGN) & _REST) == wanted:
            return t, values[t]
    return best * _LANES, values[best * _LANES]


@jit()
def update_errors(E, rows, slots, delta, start):
    """Take changes of dual values into account: E -= sum_k delta_k rows[slots_k].

    E is about the columns of `rows` from `start` on. Costs one reading of those rows.
    """
    n, m = np.uint64(len(E)), np.uint64(len(slots))
    whole = m - m % _FOUR
    for first in range(np.uint64(0), n, _TILE):
        end = min(first + _TILE, n)
        for k in range(np.uint64(0), whole, _FOUR):
            a, b = rows[slots[k]], rows[slots[k + _ONE]]
            c, d = rows[slots[k + _TWO]], rows[slots[k + _THREE]]
            u, v, w, x = delta[k], delta[k + _ONE], delta[k + _TWO], delta[k + _THREE]
            for t in range(first, end):
                E[t] -= (u * np.float64(a[start + t]) + v * np.float64(b[start + t])) + (
                    w * np.float64(c[start + t]) + x * np.float64(d[start + t])
                )
        for k in range(whole, m):
            a, u = rows[slots[k]], delta[k]
            for t in range(first, end):
                E[t] -= u * np.float64(a[start + t])


@jit()
def error_extremes(E, beta, low, high):
    """The largest error that can grow, and the smallest that can shrink."""
    largest, smallest = -np.inf, np.inf
    for t in range(len(E)):
        if beta[t] < high[t] and E[t] > largest:
            largest = E[t]
        if beta[t] > low[t] and E[t] < smallest:
            smallest = E[t]
    return largest, smallest


@jit()
def find_violators(E, beta, low, high, held, largest, smallest, up, down):
    """List violators outside the working set: can grow above `smallest`, or shrink below `largest`.

    Writes their places into `up` and `down` and returns how many there are of each.
    """
    ups = downs = np.uint64(0)
    for t in range(np.uint64(len(E))):
        if not held[t]:
            if beta[t] < high[t] and E[t] > smallest:
                up[ups] = t
                ups += _ONE
            if beta[t] > low[t] and E[t] < largest:
                down[downs] = t
                downs += _ONE
    return ups, downs


@jit()
def copy_rows(K, rows, slots, places, columns, at):
    """Copy values of new members of a block: K[a, b] = rows[slots[k], columns[b]].

    For every a = places[k] and every b in `at`.
    """
    for k in range(np.uint64(len(slots))):
        v, row = K[places[k]], rows[slots[k]]
        for b in at:
            v[b] = row[columns[b]]


@jit()
def mirror_rows(K, places, old):
    """Copy them to the other side of the diagonal: K[b, a] = K[a, b], a in places, b in old.

    A few b at a time, so that the parts of K in use are few and stay in the nearest cache.
    """
    n = np.uint64(len(old))
    for first in range(np.uint64(0), n, _MIRRORED):
        last = min(first + _MIRRORED, n)
        for a in places:
            v = K[a]
            for k in range(first, last):
                K[old[k], a] = v[old[k]]


@jit()
def move_members(K, count, source, target):
    """Give members of a block of `count` other places: row and column source[k] to target[k]."""
    for k in range(np.uint64(len(source))):
        a, b = source[k], target[k]
        v, w = K[a], K[b]
        for t in range(count):
            w[t] = v[t]
        for t in range(count):
            K[t, b] = K[t, a]


@jit()
def store_tile(K, rows, slots, start):
    """Copy a tile of kernel values: row k to rows[slots[k]], from column `start` on."""
    for k in range(np.uint64(len(slots))):
        v, w = rows[slots[k]], K[k]
        for t in range(np.uint64(len(w))):
            v[start + t] = w[t]
