"""Labels for the arcs of a tree, when the whole tree is known."""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.vectors import add_rows, fetch_rows
from widemargin.loops.trees.contexts import distance_class, join_atoms, look_up_atoms
from widemargin.loops.trees.transitions import (
    GROUP,
    HEAD,
    LEFT1,
    LEFTS,
    RIGHT1,
    RIGHT2,
    RIGHTS,
    STACK,
)
from widemargin.loops.trees.updates import move_weights

#: Nodes and counts that a label is chosen by, see `LABEL_TEMPLATES`.
ARC_NODES = ("d", "h", "g", "dp", "dn", "hp", "hn", "dl", "dr", "op", "on", "hl", "hr")
ARC_COUNTS = ("way", "far", "d.lefts", "d.rights", "h.lefts", "h.rights", "before", "after")
_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
#: What a tree's matrix holds in the columns that only states need: the children of the same head
#: before and after a node.
BEFORE, AFTER = STACK, GROUP


@jit(inline=True)
def _fill_tree(S, n, heads, base):
    """Write the tree into a matrix like that of a state."""
    none = n + _1
    for j in range(n + _2):
        S[j, LEFT1] = none
        S[j, RIGHT1] = none
        S[j, BEFORE] = none
        S[j, AFTER] = none
        S[j, LEFTS] = _0
        S[j, RIGHTS] = _0
        S[j, HEAD] = none
    for j in range(_1, n + _1):
        h = np.uint64(heads[base + j])
        S[j, HEAD] = h
        # RIGHT2 holds the last child so far.
        if S[h, LEFTS] + S[h, RIGHTS] > _0:
            p = np.uint64(S[h, RIGHT2])
            S[j, BEFORE] = p
            S[p, AFTER] = j
        S[h, RIGHT2] = j
        if j < h:
            if S[h, LEFTS] == _0:
                S[h, LEFT1] = j
            S[h, LEFTS] += _1
        else:
            S[h, RIGHT1] = j
            S[h, RIGHTS] += _1


@jit(inline=True)
def _find_arc(S, n, d, nodes, counts):
    """Look up the nodes and counts of the arc to node d."""
    none = n + _1
    h = np.uint64(S[d, HEAD])
    nodes[0] = d
    nodes[1] = h
    nodes[2] = S[h, HEAD] if h > _0 else none
    nodes[3] = d - _1
    nodes[4] = d + _1
    nodes[5] = h - _1 if h > _0 else none
    nodes[6] = h + _1
    nodes[7] = S[d, LEFT1]
    nodes[8] = S[d, RIGHT1]
    nodes[9] = S[d, BEFORE]
    nodes[10] = S[d, AFTER]
    nodes[11] = S[h, LEFT1]
    nodes[12] = S[h, RIGHT1]
    counts[0] = _1 if h > d else (_2 if h > _0 else _0)
    counts[1] = distance_class(h - d if h > d else d - h)
    counts[2] = S[d, LEFTS]
    counts[3] = S[d, RIGHTS]
    counts[4] = S[h, LEFTS]
    counts[5] = S[h, RIGHTS]
    counts[6] = _1 if nodes[9] <= n else _0
    counts[7] = _1 if nodes[10] <= n else _0


@jit(inline=True)
def _score_labels(S, C, base, n, d, W, templates, features, work):
    """Score all labels of the arc to node d, whose kind is then features.counts[0]."""
    T = np.uint64(len(work.ids))
    _find_arc(S, n, d, features.nodes, features.counts)
    look_up_atoms(S, C, base, templates, features)
    join_atoms(templates, features.atoms, work.ids)
    fetch_rows(W, work.ids, _0, T)
    add_rows(W, work.ids, _0, T, None, work.scores, _0)


@jit(inline=True)
def _best_label(s, allowed, K, but):
    """The best allowed label other than `but`, the first of equals; K if there is none."""
    best = K
    for a in range(K):
        if a != but and allowed[a] and (best == K or s[a] > s[best]):
            best = a
    return best


@jit()
def give_labels(sentences, chosen, heads, sure, W, templates, allowed, features, work, labels):
    """Write the labels of the arcs of the chosen sentences. Ties go to the first label.

    `labels` holds the transitions that made the arcs; where `sure` knows what label a transition
    stands for, that is taken. `allowed[k, label]` says whether an arc from the root (k = 0), to the
    left (1) or to the right (2) can have a label.
    """
    C, starts = sentences.columns, sentences.starts
    S, s = work.state, work.scores[_0]
    K = np.uint64(allowed.shape[1])
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        _fill_tree(S, n, heads, base)
        for d in range(_1, n + _1):
            label = sure[labels[base + d]]
            if label < K:
                labels[base + d] = label
                continue
            _score_labels(S, C, base, n, d, W, templates, features, work)
            labels[base + d] = _best_label(s, allowed[features.counts[0]], K, K)


@jit()
def score_one_label(sentences, i, heads, d, W, templates, features, work):
    """Score all labels of the arc to word d of sentence i, in work.scores.

    work.ids then has the rows of its features, `features` its nodes and counts.
    """
    base = sentences.starts[i]
    n = sentences.starts[i + _1] - base - _2
    _fill_tree(work.state, n, heads, base)
    _score_labels(work.state, sentences.columns, base, n, d, W, templates, features, work)


@jit()
def learn_labels(sentences, chosen, W, U, clock, templates, allowed, features, work, margin):
    """One pass of the perceptron over the arcs of the right trees.

    When the right label leads the best other one by no more than the margin:

        w[right] += x,  w[other] -= x

    W and U change in place. Returns the numbers of arcs, of mistakes and of updates.
    """
    C, starts = sentences.columns, sentences.starts
    S, s = work.state, work.scores[_0]
    K = np.uint64(allowed.shape[1])
    arcs = mistakes = updates = 0
    t = clock[0]
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        _fill_tree(S, n, sentences.heads, base)
        for d in range(_1, n + _1):
            _score_labels(S, C, base, n, d, W, templates, features, work)
            good = np.uint64(sentences.labels[base + d])
            bad = _best_label(s, allowed[features.counts[0]], K, good)
            arcs += 1
            if bad < K:
                mistakes += s[bad] >= s[good]
                if s[good] - s[bad] <= margin:
                    updates += 1
                    move_weights(W, U, work.ids, good, bad, t)
            t += 1.0
    clock[0] = t
    return arcs, mistakes, updates
