"""Greedy parsing: the best transition at every state, and learning to choose it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.vectors import add_rows, fetch_rows
from widemargin.loops.trees.contexts import NODES, find_features
from widemargin.loops.trees.swapping import losses_with_swaps
from widemargin.loops.trees.transitions import (
    GROUP,
    HEAD,
    STACK,
    SWAP,
    begin,
    done,
    height,
    is_one_of,
    legal,
    legal_kinds,
    losses,
    make_transition,
)
from widemargin.loops.trees.updates import move_weights

_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)


class Actions(NamedTuple):
    """The transitions: `kind` of each; `of[k, label]`, the one of kind k that gives a label.

    Swap is the kind of the last row of `of`, if there are four.
    """

    kind: np.ndarray
    of: np.ndarray


class Sentences(NamedTuple):
    """Sentences as a parser sees them: sentence i has rows starts[i] .. starts[i + 1] of `columns`.

    The first row of a sentence stands for the root, the last for no word at all. `heads` and
    `labels` (the right ones) have the same places; so have `ranks`, if swaps are to be learned: the
    place of every word in the order in which no arcs cross, see `loops.trees.swapping`.
    """

    columns: np.ndarray
    starts: np.ndarray
    heads: np.ndarray
    labels: np.ndarray
    ranks: np.ndarray


@jit(inline=True)
def swaps_allowed(n, actions):
    """How many swaps a sentence of n words may have: n, if there is such a transition.

    Of the 641 trees with crossing arcs in treebanks of English, Greek and Turkish, 7 need more.
    """
    return n if np.uint64(actions.of.shape[0]) > SWAP else _0


@jit()
def parse_greedy(sentences, chosen, W, templates, actions, features, work, heads, groups):
    """Write heads, and the transitions that made them, of the chosen sentences.

    Ties go to the first action. Costs 2 n states per sentence, and 2 for every swap.
    """
    C, starts = sentences.columns, sentences.starts
    S, ids, s = work.state, work.ids, work.scores[_0]
    T = np.uint64(len(ids))
    K = np.uint64(len(actions.kind))
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        begin(S, n, swaps_allowed(n, actions))
        while not done(S, n):
            find_features(S, C, base, n, templates, features, ids)
            fetch_rows(W, ids, _0, T)
            add_rows(W, ids, _0, T, None, work.scores, _0)
            best = _best(S, n, s, actions.kind, K)
            make_transition(S, n, actions.kind[best], best)
        for j in range(_1, n + _1):
            heads[base + j] = S[j, HEAD]
            groups[base + j] = S[j, GROUP]


@jit(inline=True)
def _best(S, n, s, kind, K):
    """The legal action with the highest score."""
    can = legal_kinds(S, n)
    best, most = _0, -np.inf
    for a in range(K):
        if s[a] > most and is_one_of(kind[a], can):
            best, most = a, s[a]
    return best


class Trace(NamedTuple):
    """Every step of the parse of one sentence: what was looked at, and what was done."""

    ids: np.ndarray  # rows of the features
    nodes: np.ndarray
    groups: np.ndarray  # of every node the action that gave it its head
    counts: np.ndarray
    scores: np.ndarray  # of the actions; minus infinity if one is not legal
    taken: np.ndarray


@jit()
def trace_steps(sentences, i, W, templates, actions, features, work, script, trace):
    """Parse sentence i, and note every step.

    `script` has the actions to take; if it is empty, they are those of `parse_greedy`. Returns how
    many steps there were.
    """
    C, base = sentences.columns, sentences.starts[i]
    n = sentences.starts[i + _1] - base - _2
    S, ids, s = work.state, work.ids, work.scores[_0]
    T, K = np.uint64(len(ids)), np.uint64(len(actions.kind))
    begin(S, n, swaps_allowed(n, actions))
    step = _0
    while not done(S, n):
        find_features(S, C, base, n, templates, features, ids)
        fetch_rows(W, ids, _0, T)
        add_rows(W, ids, _0, T, None, work.scores, _0)
        best = np.uint64(script[step]) if len(script) else _best(S, n, s, actions.kind, K)
        can = legal_kinds(S, n)
        for a in range(K):
            trace.scores[step, a] = s[a] if is_one_of(actions.kind[a], can) else -np.inf
        for k in range(T):
            trace.ids[step, k] = ids[k]
        for k in range(np.uint64(len(features.nodes))):
            trace.nodes[step, k] = features.nodes[k]
            if k < np.uint64(len(NODES)):
                trace.groups[step, k] = S[features.nodes[k], GROUP]
        for k in range(np.uint64(len(features.counts))):
            trace.counts[step, k] = features.counts[k]
        trace.taken[step] = best
        make_transition(S, n, actions.kind[best], best)
        step += _1
    return step


class StateBuffers(NamedTuple):
    """Room for one state, its features and its scores."""

    state: np.ndarray
    ids: np.ndarray
    scores: np.ndarray
    lost: np.ndarray
    right: np.ndarray


@jit(inline=True)
def find_right_actions(S, n, heads, labels, ranks, actions, lost, right):
    """right[k] = the action of kind k that loses least and gives the right label.

    A kind that is not possible, or loses more than another, has the number of actions instead.
    """
    kinds = np.uint64(actions.of.shape[0])
    if kinds > SWAP:
        losses_with_swaps(S, n, heads, ranks, lost)
    else:
        losses(S, n, heads, lost)
    least = 1 << 30
    for k in range(kinds):
        if legal(S, n, k) and lost[k] < least:
            least = lost[k]
    label = _0
    if height(S) >= _2:
        label = np.uint64(labels[np.uint64(S[height(S) - _1, STACK])])
    for k in range(np.uint64(len(right))):
        right[k] = np.uint64(len(actions.kind))
        if k < kinds and legal(S, n, k) and lost[k] == least:
            right[k] = actions.of[k, label]


@jit()
def learn_greedy(
    sentences, chosen, W, U, clock, templates, actions, features, work, follow, margin
):
    """One pass of the perceptron over the states of the chosen sentences, with a dynamic oracle.

    A right action is one that loses least; if it makes an arc, it gives the right label. When the
    best right action leads the best wrong one by no more than the margin:

        w[right] += x,  w[wrong] -= x

    Then the best action is taken where `follow` says so, else the best right one. W and U (the
    sum of updates times their clock, for the average W - U / clock) change in place. Returns the
    numbers of states, of mistakes and of updates.
    """
    C, starts = sentences.columns, sentences.starts
    S, ids, s, lost, right = work.state, work.ids, work.scores[_0], work.lost, work.right
    T = np.uint64(len(ids))
    kind = actions.kind
    K = np.uint64(len(kind))
    states = mistakes = updates = 0
    t = clock[0]
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        heads = sentences.heads[base : base + n + _2]
        labels = sentences.labels[base : base + n + _2]
        ranks = sentences.ranks[base : base + n + _2]
        begin(S, n, swaps_allowed(n, actions))
        while not done(S, n):
            find_features(S, C, base, n, templates, features, ids)
            fetch_rows(W, ids, _0, T)
            find_right_actions(S, n, heads, labels, ranks, actions, lost, right)
            add_rows(W, ids, _0, T, None, work.scores, _0)
            good, bad = K, K
            can = legal_kinds(S, n)
            for a in range(K):
                if is_one_of(kind[a], can):
                    if a == right[_0] or a == right[_1] or a == right[_2] or a == right[_3]:
                        if good == K or s[a] > s[good]:
                            good = a
                    elif bad == K or s[a] > s[bad]:
                        bad = a
            t += 1.0
            states += 1
            best = good
            if bad < K:
                if s[bad] >= s[good]:
                    mistakes += 1
                    best = bad
                if s[good] - s[bad] <= margin:
                    updates += 1
                    move_weights(W, U, ids, good, bad, t)
            taken = best if follow[states - 1] else good
            make_transition(S, n, kind[taken], taken)
    clock[0] = t
    return states, mistakes, updates
