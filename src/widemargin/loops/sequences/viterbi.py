"""The best sequence of labels: dynamic programs of first and second order, and a beam.

With s[i][y] the score of label y at token i, and D the scores of transitions:

    order 1    v[i][y]    = s[i][y] + max over z of v[i - 1][z] + D[z][y]
    order 2    v[i][z, y] = s[i][y] + max over x of v[i - 1][x, z] + D[z, x][y]

There are n labels; label n stands before the first token. D has a row for each z (order 2: for each
z and x, z first), and a last row that is added at the end of a sentence. What is not allowed is
minus infinity in D or s; the numbers beyond label n in a row of D are also minus infinity.

Going forward, only the maximum is stored, which is fast; the label it came from is found again on
the way back, for one label per token. Of equal scores the first label wins, from the last token to
the first. In v, token i of order 2 has n + 1 rows, one for each z.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.vectors import max_plus

_0, _1 = np.uint64(0), np.uint64(1)
_LOW = np.float32(-np.inf)


@jit(inner=True)
def best_path(s, m, n, D, order, beam, v, turned, path):
    """Find the best labels of m tokens.

    Parameters
    ----------
    s : array of float32, (tokens, width)
        Scores of labels.
    m, n : int
        Tokens (at least one) and labels.
    D : array of float32, (transitions, width)
    order : int
        1 or 2.
    beam : int or None
        How many labels (order 2: pairs) are kept at a token; None for all, which is exact, and
        compiled without the code for a beam. All are kept, too, if none of those that a beam keeps
        can be ended.
    v : array of float32, (tokens, width); with order 2 (tokens (n + 1), width)
        Changed: the scores of the best beginnings.
    turned : array of float32, (n + 1, width)
        Work buffer.
    path : array of uint32
        Changed: the labels.

    Returns
    -------
    The score of the path.
    """
    forward(s, m, n, D, order, beam, v, turned)
    best = backward(m, n, D, order, v, path, True)
    if beam is not None and best == _LOW:
        # The beam has lost all paths that may end here: search without a beam.
        forward(s, m, n, D, order, None, v, turned)
        best = backward(m, n, D, order, v, path, True)
    return best


@jit(inner=True)
def forward(s, m, n, D, order, beam, v, turned):
    """Fill v with the scores of the best beginnings."""
    m, n = np.uint64(m), np.uint64(n)
    rows = n + _1 if order == 2 else _1
    if order == 2:
        for z in range(rows):
            for y in range(np.uint64(v.shape[1])):
                v[z, y] = _LOW
        for y in range(n):
            v[n, y] = s[_0, y] + D[n * rows + n, y]
    else:
        for y in range(np.uint64(v.shape[1])):
            v[_0, y] = s[_0, y] + D[n, y]
    if beam is not None:
        _prune(v, _0, rows, n, beam)
    for i in range(_1, m):
        if beam is not None:
            _extend(s, i, n, D, order, v)
            _prune(v, i * rows, rows, n, beam)
        else:
            # One call for both orders: its compiled code is long.
            before, at, past, count = v, i - _1, n, _1
            if order == 2:
                _transpose(v, (i - _1) * rows, rows, turned)
                before, at, past, count = turned, _0, rows, n
                for y in range(np.uint64(v.shape[1])):
                    v[i * rows + n, y] = _LOW
            for z in range(count):
                max_plus(before, at + z, past, D, z * rows, s, i, v, i * rows + z)


@jit(inner=True)
def backward(m, n, D, order, v, path, whole):
    """Read the best labels of the first m tokens from v; returns their score.

    `whole` says that the sentence ends there.
    """
    m, n = np.uint64(m), np.uint64(n)
    rows = n + _1 if order == 2 else _1
    last = (m - _1) * rows
    stop = np.uint64(len(D)) - _1
    best, y, z = _LOW, _0, _0
    for j in range(n):
        for k in range(rows):
            found = v[last + k, j]
            if whole:
                found += D[stop, j]
            if found > best:
                best, y, z = found, j, k
    path[m - _1] = y
    for i in range(m - _1, _0, -1):
        at = (np.uint64(i) - _1) * rows
        top, from_ = _LOW, _0
        if order == 2:
            for x in range(rows):
                found = v[at + x, z] + D[z * rows + x, y]
                if found > top:
                    top, from_ = found, x
            y, z = z, from_
        else:
            y = _best_before(v, at, n, D, y)
        path[np.uint64(i) - _1] = y
    return best


@jit(inline=True)
def _best_before(v, at, n, D, y):
    """The first label x with the largest v[at, x] + D[x, y].

    A comparison waits for the one before it, so four quarters of the labels are searched side by
    side; of equal labels the first quarter's wins.
    """
    b = n // np.uint64(4)
    c, d = b + b, b + b + b
    top, best = _LOW, _0
    top1, top2, top3, best1, best2, best3 = _LOW, _LOW, _LOW, b, c, d
    for x in range(b):
        found, found1 = v[at, x] + D[x, y], v[at, b + x] + D[b + x, y]
        found2, found3 = v[at, c + x] + D[c + x, y], v[at, d + x] + D[d + x, y]
        if found > top:
            top, best = found, x
        if found1 > top1:
            top1, best1 = found1, b + x
        if found2 > top2:
            top2, best2 = found2, c + x
        if found3 > top3:
            top3, best3 = found3, d + x
    if top1 > top:
        top, best = top1, best1
    if top2 > top:
        top, best = top2, best2
    if top3 > top:
        top, best = top3, best3
    for x in range(d + b, n):
        found = v[at, x] + D[x, y]
        if found > top:
            top, best = found, x
    return best


@jit(inline=True)
def _transpose(v, at, rows, turned):
    """Rows into columns."""
    for z in range(rows - _1):
        for x in range(rows):
            turned[z, x] = v[at + x, z]


@jit(inner=True)
def _extend(s, i, n, D, order, v):
    """One more token after the few beginnings that a beam has kept."""
    rows = n + _1 if order == 2 else _1
    here, before = i * rows, (i - _1) * rows
    for z in range(rows):
        for y in range(np.uint64(v.shape[1])):
            v[here + z, y] = _LOW
    for x in range(rows):
        for z in range(n):
            one = v[before + x, z]
            if one == _LOW:
                continue
            to = here + z if order == 2 else here
            row = z * rows + x if order == 2 else z
            for y in range(n):
                found = one + D[row, y]
                if found > v[to, y]:
                    v[to, y] = found
    for z in range(rows):
        for y in range(n):
            v[here + z, y] += s[i, y]


@jit(inner=True)
def _prune(v, at, rows, n, beam):
    """Keep the best beginnings; of equal ones the first."""
    bar, above = np.float32(np.inf), 0
    while above < beam:
        # the next lower score, and how many have it
        top, count = _LOW, 0
        for z in range(rows):
            for y in range(n):
                one = v[at + z, y]
                if one < bar and one > top:
                    top, count = one, 1
                elif one == top:
                    count += 1
        if top == _LOW:
            return
        bar = top
        above += count
    spare = above - beam
    for z in range(rows):
        for y in range(n):
            if v[at + z, y] < bar:
                v[at + z, y] = _LOW
    for k in range(rows * n):
        # the last of those that are equal to the lowest kept
        if spare == 0:
            break
        back = rows * n - _1 - k
        if v[at + back // n, back % n] == bar:
            v[at + back // n, back % n] = _LOW
            spare -= 1


@jit()
def path_score(s, m, n, D, order, labels, whole):
    """The score of given labels of the first m tokens."""
    total = 0.0
    z, x = np.uint64(n), np.uint64(n)
    for i in range(m):
        y = np.uint64(labels[i])
        row = z * np.uint64(n + 1) + x if order == 2 else z
        total += np.float64(s[i, y]) + np.float64(D[row, y])
        z, x = y, z
    if whole and m > 0:
        total += np.float64(D[len(D) - 1, z])
    return total


@jit(inline=True)
def _before(order, n, state, k):
    """The k-th state that may come before a state, and the row of D between them.

    Of order 1 a state is a label y, of order 2 it is z n + y.
    """
    if order == 2:
        z = state // n
        return k * n + z, z * (n + 1) + k
    return k, k


@jit()
def n_best(s, m, n, D, order, many, paths, scores):
    """The best `many` sequences of labels and their scores, best first; returns how many there are.

    Every state keeps its best beginnings in order. Costs m n^(order + 1) many.
    """
    states = n * (n + 1) if order == 2 else n
    v = np.full((m, states, many), -np.inf)
    back = np.zeros((m, states, many), np.int64)
    row = n * (n + 1) + n if order == 2 else n
    for y in range(n):
        first = n * n + y if order == 2 else y
        v[0, first, 0] = np.float64(s[0, y]) + np.float64(D[row, y])
    for i in range(1, m):
        for state in range(states):
            y = state % n
            if order == 2 and state // n == n:
                continue
            for k in range(n + 1 if order == 2 else n):
                past, row = _before(order, n, state, k)
                for r in range(many):
                    found = v[i - 1, past, r] + np.float64(D[row, y])
                    if not found > v[i, state, many - 1]:
                        break
                    _insert(v[i, state], back[i, state], found, past * many + r)
            for r in range(many):
                v[i, state, r] += np.float64(s[i, y])
    top = np.full(many, -np.inf)
    ends = np.zeros(many, np.int64)
    for state in range(states):
        for r in range(many):
            found = v[m - 1, state, r] + np.float64(D[len(D) - 1, state % n])
            if not found > top[many - 1]:
                break
            _insert(top, ends, found, state * many + r)
    count = 0
    for r in range(many):
        if top[r] == -np.inf:
            break
        count += 1
        scores[r] = top[r]
        at = ends[r]
        for j in range(m):
            i = m - 1 - j
            paths[r, i] = (at // many) % n
            at = back[i, at // many, at % many]
    return count


@jit(inline=True)
def _insert(values, origins, value, origin):
    """Put a value where it belongs among others in falling order; the last one falls out."""
    k = len(values) - 1
    while k > 0 and value > values[k - 1]:
        values[k] = values[k - 1]
        origins[k] = origins[k - 1]
        k -= 1
    values[k] = value
    origins[k] = origin


@jit(inline=True)
def _joint(terms, count, temperature):
    """T log(sum of exp(terms / T)), which for T = 0 is the largest of the first `count` terms."""
    top = -np.inf
    for k in range(count):
        if terms[k] > top:
            top = terms[k]
    if temperature == 0.0 or top == -np.inf:
        return top
    total = 0.0
    for k in range(count):
        total += np.exp((terms[k] - top) / temperature)
    return top + temperature * np.log(total)


@jit()
def score_through(s, m, n, D, order, temperature, through):
    """through[i, y] = T log(sum of exp(score / T)) over the sequences with label y at token i.

    For T = 0 that is the score of the best of them. What leads to a state meets what follows it
    (forward-backward; for T = 0 the maxima of both). Costs m n^(order + 1), and for T > 0 as many
    exponentials.

    Parameters
    ----------
    s, m, n, D, order
        As in `best_path`.
    temperature : float
        T.
    through : array of float64, (m, n)
        Changed.
    """
    states = n * (n + 1) if order == 2 else n
    v = np.full((m, states), -np.inf)
    terms = np.empty(n + 1)
    row = n * (n + 1) + n if order == 2 else n
    for y in range(n):
        first = n * n + y if order == 2 else y
        v[0, first] = np.float64(s[0, y]) + np.float64(D[row, y])
    many = n + 1 if order == 2 else n  # states before a state, and states with the same label
    for i in range(1, m):
        for state in range(n * n if order == 2 else n):
            y = state % n
            for k in range(many):
                past, row = _before(order, n, state, k)
                terms[k] = v[i - 1, past] + np.float64(D[row, y])
            v[i, state] = _joint(terms, many, temperature) + np.float64(s[i, y])
    after, ahead = np.empty(states), np.empty(states)
    for state in range(states):
        after[state] = np.float64(D[len(D) - 1, state % n])
    for j in range(m):
        i = m - 1 - j
        for y in range(n):
            count = many if order == 2 else 1
            for k in range(count):
                terms[k] = v[i, k * n + y] + after[k * n + y]
            through[i, y] = _joint(terms, count, temperature)
        if i == 0:
            break
        for past in range(states):
            z = past % n
            row = z * (n + 1) + past // n if order == 2 else z
            for y in range(n):
                state = z * n + y if order == 2 else y
                terms[y] = after[state] + np.float64(s[i, y]) + np.float64(D[row, y])
            ahead[past] = _joint(terms, n, temperature)
        after, ahead = ahead, after
