"""The best dependency tree when every arc is scored separately: exact, projective or not.

`A[h, d]` is the score of the arc from head h to word d; node 0 is the root, words are 1 .. n.
Column 0 and the diagonal are never looked at. Of several best trees one is given, always the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)


class ChartBuffers(NamedTuple):
    """Room for `best_projective`, for every span (i, j), i <= j.

    `right` and `left` are scores of finished halves with the head at i and at j; `open_right` and
    `open_left` those of halves whose arc between i and j has just been drawn. The others say where
    each was cut.
    """

    right: np.ndarray
    left: np.ndarray
    open_right: np.ndarray
    open_left: np.ndarray
    cut: np.ndarray
    cut_right: np.ndarray
    cut_left: np.ndarray
    agenda: np.ndarray


@jit(inner=True)
def best_projective(A, n, single, chart, heads):
    """Write the heads of the best projective tree (Eisner, 1996); returns its score.

    With `single`, the root has one child. Costs n^3.
    """
    R, L, r, q = chart.right, chart.left, chart.open_right, chart.open_left
    first = _1 if single else _0
    for i in range(first, n + _1):
        R[i, i] = 0.0
        L[i, i] = 0.0
    for width in range(_1, n + _1 - first):
        for i in range(first, n + _1 - width):
            j = i + width
            # An arc between i and j joins a half of each.
            best, cut = -np.inf, i
            for k in range(i, j):
                v = R[i, k] + L[k + _1, j]
                if v > best:
                    best, cut = v, k
            chart.cut[i, j] = cut
            r[i, j] = best + A[i, j]
            q[i, j] = best + A[j, i] if i > _0 else -np.inf
            best, cut = -np.inf, j
            for k in range(i + _1, j + _1):
                v = r[i, k] + R[k, j]
                if v > best:
                    best, cut = v, k
            R[i, j] = best
            chart.cut_right[i, j] = cut
            best, cut = -np.inf, i
            for k in range(i, j):
                v = L[i, k] + q[k, j]
                if v > best:
                    best, cut = v, k
            L[i, j] = best
            chart.cut_left[i, j] = cut
    size = _0
    if single:
        best, top = -np.inf, _1
        for k in range(_1, n + _1):
            v = A[_0, k] + L[_1, k] + R[k, n]
            if v > best:
                best, top = v, k
        heads[top] = 0
        size = _push(chart.agenda, size, _1, top, _1)
        size = _push(chart.agenda, size, top, n, _0)
    else:
        best = R[_0, n]
        size = _push(chart.agenda, size, _0, n, _0)
    _trace_back(chart, size, heads)
    return best


@jit(inline=True)
def _push(agenda, size, i, j, kind):
    """Push a half that is still to be split: 0 right, 1 left."""
    agenda[size, _0] = i
    agenda[size, _1] = j
    agenda[size, _2] = kind
    return size + _1


@jit(inline=True)
def _trace_back(chart, size, heads):
    """Split halves and write the arcs that they were made of."""
    agenda = chart.agenda
    while size > _0:
        size -= _1
        i, j, kind = agenda[size, _0], agenda[size, _1], agenda[size, _2]
        if i == j:
            continue
        if kind == _0:
            k = chart.cut_right[i, j]
            heads[k] = i
            m = chart.cut[i, k]
            size = _push(agenda, size, k, j, _0)
            size = _push(agenda, size, i, m, _0)
            size = _push(agenda, size, m + _1, k, _1)
        else:
            k = chart.cut_left[i, j]
            heads[k] = j
            m = chart.cut[k, j]
            size = _push(agenda, size, i, k, _1)
            size = _push(agenda, size, k, m, _0)
            size = _push(agenda, size, m + _1, j, _1)


class ContractionBuffers(NamedTuple):
    """Room for `best_spanning`.

    `score[u, v]` is that of the best arc from group u to group v, which runs from the word
    `tail[u, v]` to the word `tip[u, v]`. Groups live in slots; `group` is the number of the one
    that lives there now, `above` the group that swallowed a group; `head`, `word` the arc into it.
    """

    score: np.ndarray
    tail: np.ndarray
    tip: np.ndarray
    alive: np.ndarray
    into: np.ndarray
    seen: np.ndarray
    group: np.ndarray
    above: np.ndarray
    head: np.ndarray
    word: np.ndarray


@jit(inner=True)
def best_spanning(A, n, single, contraction, heads):
    """Write the heads of the best tree, crossing arcs allowed (Chu, Liu and Edmonds).

    Every word takes its best head; a circle becomes one group, whose arcs from outside cost what
    the arc that they break was worth; and so on. With `single`, the root has one child: arcs from
    it are made so costly that no tree uses two. Costs n^2, and n^2 more at worst for every circle.
    Returns the score of the tree.
    """
    s, tail, tip, alive = contraction.score, contraction.tail, contraction.tip, contraction.alive
    into, seen, group, above = (
        contraction.into,
        contraction.seen,
        contraction.group,
        contraction.above,
    )
    low, high = np.inf, -np.inf
    for u in range(n + _1):
        for v in range(_1, n + _1):
            if u != v:
                low, high = min(low, A[u, v]), max(high, A[u, v])
    fine = (high - low + 1.0) * n if single else 0.0
    for u in range(n + _1):
        alive[u] = 1
        seen[u] = 0
        group[u] = u
        above[u] = _0
        for v in range(_1, n + _1):
            s[u, v] = A[u, v] - fine if u == _0 else A[u, v]
            tail[u, v] = u
            tip[u, v] = v
    groups = n + _1
    for v in range(_1, n + _1):
        _find_best_arc(contraction, n, v)
    for start in range(_1, n + _1):
        u = start
        # 0 not seen, 1 on this walk, 2 known to lead to the root
        while alive[u] == 1 and seen[u] == 0 and u > _0:
            seen[u] = 1
            u = np.uint64(into[u])
            if u > _0 and seen[u] == 1:
                _contract_cycle(contraction, n, u, groups)
                groups += _1
                _find_best_arc(contraction, n, u)
                seen[u] = 0
        for v in range(_1, n + _1):
            if seen[v] == 1:
                seen[v] = 2
    for v in range(_1, n + _1):
        if alive[v] == 1:
            u = np.uint64(into[v])
            contraction.head[group[v]] = tail[u, v]
            contraction.word[group[v]] = tip[u, v]
    # The arc into a group replaces that of the member that it leads to.
    for back in range(groups - n - _1):
        g = groups - _1 - back
        h, d = contraction.head[g], contraction.word[g]
        member = np.uint64(d)
        while above[member] != g:
            member = np.uint64(above[member])
        contraction.head[member] = h
        contraction.word[member] = d
    total = 0.0
    for v in range(_1, n + _1):
        heads[v] = contraction.head[v]
        total += A[np.uint64(heads[v]), v]
    return total


@jit(inline=True)
def _find_best_arc(contraction, n, v):
    """Find the best arc into the group in slot v."""
    best, most = _0, -np.inf
    for u in range(n + _1):
        if u != v and contraction.alive[u] == 1 and contraction.score[u, v] > most:
            best, most = u, contraction.score[u, v]
    contraction.into[v] = best


@jit(inline=True)
def _contract_cycle(contraction, n, c, new):
    """Make one group, in slot c, of the circle that c is on."""
    s, tail, tip, into = contraction.score, contraction.tail, contraction.tip, contraction.into
    w = c
    while True:
        u = np.uint64(into[w])
        g = contraction.group[w]
        contraction.above[g] = new
        contraction.head[g] = tail[u, w]
        contraction.word[g] = tip[u, w]
        contraction.seen[w] = 3
        w = u
        if w == c:
            break
    contraction.above[new] = _0
    worth = s[np.uint64(into[c]), c]
    for u in range(n + _1):
        if contraction.alive[u] == 1 and contraction.seen[u] != 3:
            s[u, c] -= worth
    w = np.uint64(into[c])
    while w != c:
        before = np.uint64(into[w])
        worth = s[before, w]
        for u in range(n + _1):
            if contraction.alive[u] == 1 and contraction.seen[u] != 3:
                if s[u, w] - worth > s[u, c]:
                    s[u, c] = s[u, w] - worth
                    tail[u, c] = tail[u, w]
                    tip[u, c] = tip[u, w]
                if u > _0 and s[w, u] > s[c, u]:
                    s[c, u] = s[w, u]
                    tail[c, u] = tail[w, u]
                    tip[c, u] = tip[w, u]
        contraction.alive[w] = 0
        w = before
    # Whoever has chosen a member has chosen the group.
    for u in range(_1, n + _1):
        if (
            contraction.alive[u] == 1
            and contraction.seen[u] != 3
            and contraction.seen[np.uint64(into[u])] == 3
        ):
            into[u] = c
    contraction.group[c] = new
