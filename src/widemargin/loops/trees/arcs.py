"""Graph-based parsing: arcs are scored one by one, and the best tree is found exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.steps import reach
from widemargin.loops.trees.contexts import distance_class, join_atoms, look_up_atoms
from widemargin.loops.trees.spanning import best_projective, best_spanning

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
#: Two multipliers: 2^64 divided by the golden ratio, g^2 = g + 1 (Knuth, The Art of Computer
#: Programming, 6.4), and by the number with g^4 = g + 1.
_MIX = np.uint64(0x9E3779B97F4A7C15)
_BETWEEN = np.uint64(0xD1B54A32D192ED03)
#: At most this many words between the two ends of an arc are features, so that long arcs do not
#: have more of them. Not tuned.
FAR = 20
_FAR = np.uint64(FAR)
#: The column of the tags.
_TAG = _1


class ArcBuffers(NamedTuple):
    """Room for the scores of the arcs of one sentence, and for two trees."""

    scores: np.ndarray
    ids: np.ndarray
    found: np.ndarray
    difference: np.ndarray
    touched: np.ndarray
    values: np.ndarray


@jit(inline=True)
def _features(C, base, n, h, d, templates, features, ids):
    """Fill ids with the rows of the features of an arc; returns how many there are."""
    nodes, counts = features.nodes, features.counts
    none = n + _1
    nodes[0] = d
    nodes[1] = h
    nodes[2] = none
    nodes[3] = d - _1
    nodes[4] = d + _1
    nodes[5] = h - _1 if h > _0 else none
    nodes[6] = h + _1
    first, last = (h, d) if h < d else (d, h)
    far = last - first
    counts[0] = _1 if h > d else (_2 if h > _0 else _0)
    counts[1] = distance_class(far)
    look_up_atoms(C, C, base, templates, features)
    join_atoms(templates, features.atoms, ids)
    size = np.uint64(len(templates.seed))
    shift = templates.shift[0]
    pair = (C[base + h, _TAG] * _MIX ^ C[base + d, _TAG]) * _BETWEEN + counts[0]
    # Beyond that, the words near both ends are enough.
    for k in range(_1, min(far, _FAR)):
        x = (pair + C[base + first + k, _TAG]) * _MIX
        ids[size] = (x ^ (x >> np.uint64(31))) * _BETWEEN >> shift
        size += _1
    return size


@jit(inline=True)
def _score(C, base, n, w, templates, features, arcs):
    """Score all arcs of a sentence."""
    A, ids = arcs.scores, arcs.ids
    for h in range(n + _1):
        for d in range(_1, n + _1):
            if h != d:
                size = _features(C, base, n, h, d, templates, features, ids)
                s = np.float64(0)
                for k in range(size):
                    s += w[ids[k]]
                A[h, d] = s


@jit(inline=True)
def _best_tree(n, crossing, single, chart, contraction, arcs):
    """The best tree for the scores."""
    if crossing:
        return best_spanning(arcs.scores, n, single, contraction, arcs.found)
    return best_projective(arcs.scores, n, single, chart, arcs.found)


@jit()
def parse_arcs(
    sentences, chosen, w, templates, crossing, single, features, chart, contraction, arcs, heads
):
    """Write the heads of the chosen sentences. Costs n^2 arcs and n^3 steps a sentence."""
    C, starts = sentences.columns, sentences.starts
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        if n == _0:
            continue
        _score(C, base, n, w, templates, features, arcs)
        _best_tree(n, crossing, single, chart, contraction, arcs)
        for j in range(_1, n + _1):
            heads[base + j] = arcs.found[j]


@jit()
def find_arc_features(sentences, i, h, d, templates, features, ids):
    """Fill ids with the rows of the features of the arc from h to d in sentence i.

    `features` then has its nodes and counts. Gives how many features there are.
    """
    base = sentences.starts[i]
    n = sentences.starts[i + _1] - base - _2
    return _features(sentences.columns, base, n, h, d, templates, features, ids)


@jit()
def parse_without_each(
    sentences, i, w, templates, crossing, single, features, chart, contraction, arcs, rivals, lost
):
    """The best tree of sentence i, and for each of its words the best tree without its arc.

    Row d of `rivals` becomes the heads of the best tree in which word d has another head, and
    lost[d] what its score lacks; infinity if there is no such tree. Row 0 is the best tree of all.
    Costs as much as n parses.
    """
    base = sentences.starts[i]
    n = sentences.starts[i + _1] - base - _2
    A = arcs.scores
    _score(sentences.columns, base, n, w, templates, features, arcs)
    low, high = np.inf, -np.inf
    for h in range(n + _1):
        for d in range(_1, n + _1):
            if h != d:
                low, high = min(low, A[h, d]), max(high, A[h, d])
    fine = (high - low + 1.0) * (n + _1)  # more than any other heads could make up for
    for without in range(n + _1):
        if without > _0:
            h = np.uint64(rivals[_0, without])
            before = A[h, without]
            A[h, without] = before - fine
        _best_tree(n, crossing, single, chart, contraction, arcs)
        if without > _0:
            A[h, without] = before
        lost[without] = 0.0
        for d in range(_1, n + _1):
            rivals[without, d] = arcs.found[d]
            lost[without] += A[np.uint64(rivals[_0, d]), d] - A[np.uint64(arcs.found[d]), d]
        if without > _0 and rivals[without, without] == rivals[_0, without]:
            lost[without] = np.inf


@jit()
def learn_arcs(
    sentences,
    chosen,
    w,
    u,
    clock,
    templates,
    crossing,
    single,
    limit,
    features,
    chart,
    contraction,
    arcs,
):
    """One pass of passive-aggressive steps (MIRA) over the chosen sentences.

    The best tree y' is searched with every wrong arc worth 1 more. With f the features of a tree's
    arcs, k the number of wrong ones and D = f(y) - f(y'):

        w += min(limit, (k - w.D) / |D|^2) D

    and w += D if the limit is infinite: the perceptron with the margin k. `w` and `u` (for the
    average w - u / clock) change in place. Returns the numbers of words, wrong arcs and updates.
    """
    C, starts = sentences.columns, sentences.starts
    A, ids, D = arcs.scores, arcs.ids, arcs.difference
    touched, values = arcs.touched, arcs.values
    words = mistakes = updates = 0
    t = clock[0]
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        if n == _0:
            continue
        heads = sentences.heads[base : base + n + _1]
        _score(C, base, n, w, templates, features, arcs)
        for h in range(n + _1):
            for d in range(_1, n + _1):
                if np.uint64(heads[d]) != h:
                    A[h, d] += 1.0
        _best_tree(n, crossing, single, chart, contraction, arcs)
        before, t = t, t + 1.0
        words += np.int64(n)
        wrong = 0
        lead = 0.0
        size = _0
        for d in range(_1, n + _1):
            h, g = np.uint64(heads[d]), np.uint64(arcs.found[d])
            if h == g:
                continue
            wrong += 1
            lead += A[h, d] - (A[g, d] - 1.0)
            for tree in range(_2):
                head = h if tree == _0 else g
                for k in range(_features(C, base, n, head, d, templates, features, ids)):
                    D[ids[k]] += np.float32(1) if tree == _0 else np.float32(-1)
                    touched[size] = ids[k]
                    size += _1
        if wrong == 0:
            continue
        mistakes += wrong
        # Each row counts once, when first met; D is all zero again afterwards.
        q = 0.0
        kept = _0
        for k in range(size):
            x = D[touched[k]]
            if x != np.float32(0):
                q += np.float64(x) * np.float64(x)
                D[touched[k]] = np.float32(0)
                touched[kept] = touched[k]
                values[kept] = x
                kept += _1
        loss = wrong - lead
        if loss <= 0.0 or q == 0.0:
            continue
        updates += 1
        tau = 1.0 if limit == np.inf else reach(loss, q, 0.0, 0.0, limit)
        for k in range(kept):
            w[touched[k]] += np.float32(tau * values[k])
            u[touched[k]] += before * tau * values[k]
    clock[0] = t
    return words, mistakes, updates
