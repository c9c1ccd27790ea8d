"""Greedy parsing: the best transition at every state, and learning to choose it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.vectors import add_rows, fetch_rows
from widemargin.loops.trees.contexts import NODES, find_features
from widemargin.loops.trees.transitions import (
    GROUP,
    HEAD,
    LEFT,
    RIGHT,
    SHIFT,
    STACK,
    begin,
    height,
    is_one_of,
    legal,
    losses,
    make_transition,
)
from widemargin.loops.trees.updates import move_weights

_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)


class Actions(NamedTuple):
    """The transitions: `kind` of each; `of[k, label]`, the one of kind k for a label."""

    kind: np.ndarray
    of: np.ndarray


class Sentences(NamedTuple):
    """Sentences as a parser sees them: sentence i has rows starts[i] .. starts[i + 1] of `columns`.

    The first row of a sentence stands for the root, the last for no word at all. `heads` and
    `labels` (the right ones) have the same places.
    """

    columns: np.ndarray
    starts: np.ndarray
    heads: np.ndarray
    labels: np.ndarray


@jit()
def parse_greedy(sentences, chosen, W, templates, actions, features, work, heads, groups):
    """Write heads, and the transitions that made them, of the chosen sentences.

    Ties go to the first action. Costs 2 n states per sentence.
    """
    C, starts = sentences.columns, sentences.starts
    S, ids, s = work.state, work.ids, work.scores[_0]
    T = np.uint64(len(ids))
    K = np.uint64(len(actions.kind))
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        begin(S, n)
        for _ in range(_2 * n):
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
    can_shift, can_left, can_right = legal(S, n, SHIFT), legal(S, n, LEFT), legal(S, n, RIGHT)
    best, most = _0, -np.inf
    for a in range(K):
        k = kind[a]
        if s[a] > most and is_one_of(k, can_shift, can_left, can_right):
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
    """Parse sentence i, and record every step.

    `script` has the actions to take; if it is empty, they are those of `parse_greedy`.
    """
    C, base = sentences.columns, sentences.starts[i]
    n = sentences.starts[i + _1] - base - _2
    S, ids, s = work.state, work.ids, work.scores[_0]
    T, K = np.uint64(len(ids)), np.uint64(len(actions.kind))
    begin(S, n)
    for step in range(_2 * n):
        find_features(S, C, base, n, templates, features, ids)
        fetch_rows(W, ids, _0, T)
        add_rows(W, ids, _0, T, None, work.scores, _0)
        best = np.uint64(script[step]) if len(script) else _best(S, n, s, actions.kind, K)
        can_shift, can_left, can_right = legal(S, n, SHIFT), legal(S, n, LEFT), legal(S, n, RIGHT)
        for a in range(K):
            possible = is_one_of(actions.kind[a], can_shift, can_left, can_right)
            trace.scores[step, a] = s[a] if possible else -np.inf
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


class StateBuffers(NamedTuple):
    """Room for one state, its features and its scores."""

    state: np.ndarray
    ids: np.ndarray
    scores: np.ndarray
    lost: np.ndarray
    right: np.ndarray


@jit(inline=True)
def find_right_actions(S, n, heads, labels, actions, lost, right):
    """right[k] = the action of kind k that loses least, with the right label.

    A kind that is not possible, or loses more than another, has the number of actions instead.
    """
    losses(S, n, heads, lost)
    least = 1 << 30
    for k in range(_3):
        if legal(S, n, k) and lost[k] < least:
            least = lost[k]
    label = _0
    if height(S) >= _2:
        label = np.uint64(labels[np.uint64(S[height(S) - _1, STACK])])
    for k in range(_3):
        good = legal(S, n, k) and lost[k] == least
        right[k] = actions.of[k, label] if good else np.uint64(len(actions.kind))


@jit()
def learn_greedy(
    sentences, chosen, W, U, clock, templates, actions, features, work, follow, margin
):
    """One pass of the perceptron over the states of the chosen sentences, with a dynamic oracle.

    A right action is one that loses least; if it makes an arc, its label is the right one. When the
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
        begin(S, n)
        for _ in range(_2 * n):
            find_features(S, C, base, n, templates, features, ids)
            fetch_rows(W, ids, _0, T)
            find_right_actions(S, n, heads, labels, actions, lost, right)
            add_rows(W, ids, _0, T, None, work.scores, _0)
            good, bad = K, K
            can_shift, can_left, can_right = (
                legal(S, n, SHIFT),
                legal(S, n, LEFT),
                legal(S, n, RIGHT),
            )
            for a in range(K):
                k = kind[a]
                if is_one_of(k, can_shift, can_left, can_right):
                    if a == right[_0] or a == right[_1] or a == right[_2]:
                        if good == K or s[a] > s[good]:
                            good = a
                    elif bad == K or s[a] > s[bad]:
                        bad = a
            states += 1
            best = good
            if bad < K:
                if s[bad] >= s[good]:
                    mistakes += 1
                    best = bad
                if s[good] - s[bad] <= margin:
                    updates += 1
                    move_weights(W, U, ids, good, bad, t)
            t += 1.0
            taken = best if follow[states - 1] else good
            make_transition(S, n, kind[taken], taken)
    clock[0] = t
    return states, mistakes, updates
