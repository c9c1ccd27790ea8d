"""Solves one pair of classes from scratch: SMO on a growing working set.

    repeat:
        the worst violators join the working set, and their kernel rows are computed
        SMO on the working set, ten times as exactly as the whole pair is solved so far
        the errors of all examples are brought up to date

A pair of a thousand examples has a hundred support vectors: most rows are never needed. Rows are
computed from the columns of the examples, so that the innermost loop runs over examples that lie
side by side, whatever their number of features; a few of them at a time, so that these stay in the
L1 cache for all rows. The kernel values of an example with its own class are shared by all pairs of
that class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.kernel.values import fast_exp
from widemargin.loops.svm.smo import LANES, smo_steps, update_errors

#: The kernels x.z, (gamma x.z + coef0)^d and exp(-gamma |x - z|^2).
LINEAR, POWERS, DISTANCES = 0, 1, 2
#: The violators of each sign that join in a round. Of 8, 16 and 32, the time of the fits in
#: benchmarks/kernel_small.py is least with 8: more rows are computed for nothing with more.
JOINING = 8
#: A round solves the working set up to this part of the violation of all, but not below this part
#: of the tolerance; as in `kernel_machines.svm.working_set`.
_INNER_TOL, _FINEST_TOL = 0.1, 0.5
#: Rows are computed for this many examples and features at a time: 32 KB of doubles.
_EXAMPLES, _FEATURES = np.uint64(256), np.uint64(16)
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_LANES, _JOINING = np.uint64(LANES), np.uint64(JOINING)


class Form(NamedTuple):
    """A kernel by its number above, and its parameters."""

    kind: int
    gamma: float
    coef0: float
    degree: int


class PairRows(NamedTuple):
    """The examples of all classes, class by class, and where the two of a pair begin."""

    X: np.ndarray  # (n, d)
    columns: np.ndarray  # the same as (d, n)
    squares: np.ndarray  # x.x of every example
    own: np.ndarray  # (n, longest class): kernel values of an example with its own class
    known: np.ndarray  # 1 for those that were computed
    first: int
    size: int  # examples of the first class
    second: int
    rest: int  # examples of the second class


class PairState(NamedTuple):
    """Where a pair stands. Its examples are the first class, then the second."""

    q: np.ndarray  # K(x, x)
    E: np.ndarray  # the errors
    beta: np.ndarray  # the signed dual values
    low: np.ndarray  # their bounds
    high: np.ndarray
    held: np.ndarray  # 1 for the members of the working set
    members: np.ndarray  # who they are, in the order in which they joined
    joined: np.ndarray  # how many, one number
    K: np.ndarray  # their kernel rows
    block: np.ndarray  # their kernel values among themselves


class PairFigures(NamedTuple):
    """Where a pair stands after some steps, and what it is worth."""

    steps: int
    violation: float
    finite: bool  # whether all errors are
    bias: float
    length: float  # w.w in feature space
    total: float  # the sum of all alpha
    loss: float  # the sum of the losses, each times its cost
    support: int
    bounded: int


@jit(inline=True)
def add_features(x, columns, from_, to, start, end, v):
    """v[t] += x . z_t over some features, for the examples z from start to end."""
    count = np.uint64(len(v))
    whole = to - (to - from_) % _FOUR
    for f in range(from_, whole, _FOUR):
        p, q = x[f], x[f + _ONE]
        r, s = x[f + _TWO], x[f + _THREE]
        a, b = columns[f][start:end], columns[f + _ONE][start:end]
        c, e = columns[f + _TWO][start:end], columns[f + _THREE][start:end]
        for t in range(count):
            v[t] += (p * a[t] + q * b[t]) + (r * c[t] + s * e[t])
    for f in range(whole, to):
        p, a = x[f], columns[f][start:end]
        for t in range(count):
            v[t] += p * a[t]


@jit(inline=True)
def finish_row(v, own, squares, form):
    """Turn products with an example of square `own` into kernel values, in place."""
    kind = v.dtype.type
    count = np.uint64(len(v))
    if form.kind == DISTANCES:
        zero, a = kind(0), kind(-form.gamma * own)
        g, g2 = kind(-form.gamma), kind(2.0 * form.gamma)
        for t in range(count):
            s = (a + g2 * v[t]) + g * kind(squares[t])
            v[t] = fast_exp(zero if s > zero else s)
    elif form.kind == POWERS:
        g, c = kind(form.gamma), kind(form.coef0)
        for t in range(count):
            base = g * v[t] + c
            power = base
            for _ in range(1, form.degree):
                power *= base
            v[t] = power


@jit(inner=True)
def fill_rows(rows, form, places, K, slots, many, begin, count, at):
    """K[slots[k], at + t] = K(x, z_t) for x = places[k] and the `count` examples z from `begin`."""
    d, end = np.uint64(rows.X.shape[1]), begin + count
    for k in range(many):
        v = K[slots[k]]
        for t in range(at, at + count):
            v[t] = 0
    for start in range(begin, end, _EXAMPLES):
        last = min(start + _EXAMPLES, end)
        left, right = at + (start - begin), at + (last - begin)
        for f in range(np.uint64(0), d, _FEATURES):
            for k in range(many):
                v = K[slots[k]][left:right]
                add_features(
                    rows.X[places[k]], rows.columns, f, min(f + _FEATURES, d), start, last, v
                )
    for k in range(many):
        v, own = K[slots[k]][at : at + count], rows.squares[places[k]]
        finish_row(v, own, rows.squares[begin:end], form)


@jit(inner=True)
def fill_class(rows, form, K, slots, places, many, begin, count, at, own):
    """Compute the values of new members with one class; with their own, unless they are known."""
    if not own:
        fill_rows(rows, form, places, K, slots, many, begin, count, at)
        return
    asked, to, missing = np.empty(many, np.uint64), np.empty(many, np.uint64), np.uint64(0)
    for k in range(many):
        if not rows.known[places[k]]:
            asked[missing], to[missing] = places[k], slots[k]
            missing += _ONE
    fill_rows(rows, form, asked, K, to, missing, begin, count, at)
    for k in range(many):
        kept, v = rows.own[places[k]], K[slots[k]]
        if rows.known[places[k]]:
            for t in range(count):
                v[at + t] = kept[t]
        else:
            for t in range(count):
                kept[t] = v[at + t]
            rows.known[places[k]] = 1


@jit(inner=True)
def join(state, rows, form, new, many):
    """Make examples members: compute their rows, and the block of members."""
    size, rest = np.uint64(rows.size), np.uint64(rows.rest)
    begins, sizes = (np.uint64(rows.first), np.uint64(rows.second)), (size, rest)
    before = np.uint64(state.joined[0])
    slots, places = np.empty((2, many), np.uint64), np.empty((2, many), np.uint64)
    counts = np.zeros(2, np.uint64)
    for k in range(many):
        i = new[k]
        state.members[before + k], state.held[i] = i, 1
        c = np.uint64(i >= size)
        slots[c, counts[c]] = before + k
        places[c, counts[c]] = begins[0] + i if i < size else begins[1] + (i - size)
        counts[c] += _ONE
    for c in range(np.uint64(2)):
        for z in range(np.uint64(2)):
            begin = begins[0] if z == 0 else begins[1]
            count, at = (sizes[0], np.uint64(0)) if z == 0 else (sizes[1], sizes[0])
            fill_class(
                rows, form, state.K, slots[c], places[c], counts[c], begin, count, at, c == z
            )
    now = before + many
    state.joined[0] = now
    width = (now + _LANES - _ONE) // _LANES * _LANES
    for s in range(now):
        row, values = state.block[s], state.K[s]
        for t in range(before if s < before else np.uint64(0), now):
            row[t] = values[state.members[t]]
        for t in range(now, width):
            row[t] = 0


@jit(inner=True)
def look(state):
    """The largest error that can grow, the smallest that can shrink, whether all are finite."""
    E, beta, low, high = state.E, state.beta, state.low, state.high
    largest, smallest, total = -np.inf, np.inf, 0.0
    for t in range(np.uint64(len(E))):
        up = E[t] if beta[t] < high[t] else -np.inf
        down = E[t] if beta[t] > low[t] else np.inf
        largest = up if up > largest else largest
        smallest = down if down < smallest else smallest
        total += E[t]
    return largest, smallest, np.isfinite(total)


@jit(inner=True)
def keep_largest(best, who, found, value, i):
    """Put a value among the largest, in falling order; returns how many there are."""
    if found == _JOINING and value <= best[found - _ONE]:
        return found
    t = found if found < _JOINING else found - _ONE
    while t > 0 and best[t - _ONE] < value:
        best[t], who[t] = best[t - _ONE], who[t - _ONE]
        t -= _ONE
    best[t], who[t] = value, i
    return min(found + _ONE, _JOINING)


@jit(inner=True)
def find_new(state, size, largest, smallest, new):
    """List who joins: the worst violators that are no members, of each sign; returns how many.

    At first all violate alike: then examples from all over both classes join.
    """
    n = np.uint64(len(state.E))
    if state.joined[0] == 0:
        many = np.uint64(0)
        for begin, end in ((np.uint64(0), size), (size, n)):
            step = max((end - begin) // _JOINING, _ONE)
            for k in range(min(_JOINING, end - begin)):
                new[many] = begin + k * step
                many += _ONE
        return many
    best, who = np.empty((2, JOINING)), np.empty((2, JOINING), np.uint64)
    ups = downs = np.uint64(0)
    for t in range(n):
        if not state.held[t]:
            e = state.E[t]
            if state.beta[t] < state.high[t] and e > smallest:
                ups = keep_largest(best[0], who[0], ups, e, t)
            if state.beta[t] > state.low[t] and e < largest:
                downs = keep_largest(best[1], who[1], downs, -e, t)
    many = np.uint64(0)
    for k in range(ups):
        new[many] = who[0, k]
        many += _ONE
    for k in range(downs):
        twice = False
        for t in range(ups):
            twice |= who[0, t] == who[1, k]
        if not twice:
            new[many] = who[1, k]
            many += _ONE
    return many


@jit(inner=True)
def optimise(state, tol, most, longest, room):
    """Run SMO on the working set, and bring all errors up to date; returns the steps."""
    arrays, work, known = room
    m = np.uint64(state.joined[0])
    width = (m + _LANES - _ONE) // _LANES * _LANES
    q, E, beta = arrays[0][:width], arrays[1][:width], arrays[2][:width]
    low, high = arrays[3][:width], arrays[4][:width]
    for t in range(width):
        i = state.members[t] if t < m else np.uint64(0)
        inside = t < m
        q[t] = state.q[i] if inside else 0.0
        E[t] = state.E[i] if inside else 0.0
        beta[t] = state.beta[i] if inside else 0.0
        low[t] = state.low[i] if inside else 0.0
        high[t] = state.high[i] if inside else 0.0
    lanes = work[: np.uint64(6) * width].reshape((6, np.int64(width)))
    steps, _, _ = smo_steps(state.block, known, q, E, beta, low, high, tol, most, longest, lanes)
    slots, delta, changed = np.empty(m, np.uint64), np.empty(m), np.uint64(0)
    for t in range(m):
        i = state.members[t]
        if beta[t] != state.beta[i]:
            slots[changed], delta[changed] = t, beta[t] - state.beta[i]
            changed += _ONE
            state.beta[i] = beta[t]
    update_errors(state.E, state.K, slots[:changed], delta[:changed], np.uint64(0))
    return steps


@jit(inner=True)
def begin_pair(rows, costs, diagonal, state):
    """Set up a pair whose dual values are all 0."""
    size = np.uint64(rows.size)
    state.joined[0] = 0
    for t in range(np.uint64(len(state.E))):
        first = t < size
        place = np.uint64(rows.first) + t if first else np.uint64(rows.second) + (t - size)
        state.q[t], state.beta[t], state.held[t] = diagonal[place], 0.0, 0
        state.E[t] = 1.0 if first else -1.0
        state.low[t] = 0.0 if first else -costs[place]
        state.high[t] = costs[place] if first else 0.0


@jit(inner=True)
def find_bias(state, largest, smallest):
    """The bias as `pair_problem.PairState.bias` has it."""
    free, total = 0, 0.0
    for t in range(np.uint64(len(state.E))):
        if state.beta[t] > state.low[t] and state.beta[t] < state.high[t]:
            free += 1
            total += state.E[t]
    if free > 0:
        return total / free
    if np.isfinite(largest) and np.isfinite(smallest):
        return 0.5 * (largest + smallest)
    return largest if np.isfinite(largest) else smallest if np.isfinite(smallest) else 0.0


@jit(inner=True)
def measure_pair(size, state, bias):
    """Work out w.w, the sum of all alpha, the loss; count support and bounded vectors."""
    E, beta, low, high = state.E, state.beta, state.low, state.high
    length, total, loss, support, bounded = 0.0, 0.0, 0.0, 0, 0
    for t in range(np.uint64(len(E))):
        y = 1.0 if t < size else -1.0
        used = beta[t] != 0.0
        support += used
        bounded += used and (beta[t] == low[t] or beta[t] == high[t])
        total += abs(beta[t])
        length += beta[t] * (y - E[t])
        # 1 - y (score + bias), as E = y - score
        loss += (high[t] - low[t]) * max(y * (E[t] - bias), 0.0)
    return max(length, 0.0), total, loss, support, bounded


@jit()
def solve_pair(rows, form, costs, diagonal, state, fresh, tol, most, longest, room):
    """Go on until no two examples violate by more than tol, or for about `most` steps.

    Begins with dual values of 0 if `fresh`. Changes `state` and what `rows` knows of own classes.
    `room` is for SMO on all examples. Returns `PairFigures` as a plain tuple.
    """
    if fresh:
        begin_pair(rows, costs, diagonal, state)
    steps, new = 0, np.empty(2 * JOINING, np.uint64)
    while True:
        largest, smallest, finite = look(state)
        violation = largest - smallest
        if not finite or not violation > tol or steps >= most:
            break
        many = find_new(state, np.uint64(rows.size), largest, smallest, new)
        if many > 0:
            join(state, rows, form, new, many)
        inner = max(_INNER_TOL * violation, _FINEST_TOL * tol)
        taken = optimise(state, inner, most, longest, room)
        steps += taken
        if taken == 0 and many == 0:
            break
    bias = find_bias(state, largest, smallest)
    return (steps, violation, finite, bias, *measure_pair(np.uint64(rows.size), state, bias))
