"""Beam search: the best few states at every step, and learning under it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.vectors import add_rows, fetch_rows
from widemargin.loops.trees.contexts import find_atoms, find_features, join_atoms
from widemargin.loops.trees.greedy import find_right_actions, swaps_allowed
from widemargin.loops.trees.transitions import (
    GROUP,
    HEAD,
    begin,
    done,
    is_one_of,
    legal_kinds,
    make_transition,
)
from widemargin.loops.trees.updates import add_to_column

_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)


class Beam(NamedTuple):
    """Room for a search: states, and how each came about.

    `slot` tells where the states of this step and of the next are, `total` their scores; `heir` is
    for handing slots on. `parent` and `action` say of every state of every step where it came from;
    `gold` has the right actions. The number of actions stands for none, once a tree is complete
    and others are not. `marks` tell whose features are the same, `scores` are those of
    the actions.
    """

    states: np.ndarray
    slot: np.ndarray
    heir: np.ndarray
    total: np.ndarray
    parent: np.ndarray
    action: np.ndarray
    gold: np.ndarray
    marks: np.ndarray
    scores: np.ndarray


@jit(inline=True)
def _copy(S, T, n):
    """Copy a state."""
    for j in range(n + _2):
        for f in range(np.uint64(S.shape[1])):
            T[j, f] = S[j, f]


@jit(inline=True)
def _score(j, S, C, base, n, W, templates, features, ids, beam):
    """Score the actions of state j; gives the place of the scores.

    States that differ only in what no feature looks at have the same scores, and are common.
    """
    mark = find_atoms(S, C, base, n, templates, features)
    beam.marks[j] = mark
    for q in range(j):
        if beam.marks[q] == mark:
            return q
    join_atoms(templates, features.atoms, ids)
    T = np.uint64(len(ids))
    fetch_rows(W, ids, _0, T)
    add_rows(W, ids, _0, T, None, beam.scores, j)
    return j


@jit(inline=True)
def _enter(j, a, v, beam, then, step, size):
    """Enter action a of state j among the best of the next step; gives how many there are."""
    wide = np.uint64(len(beam.heir))
    if size == wide and v <= beam.total[then, wide - _1]:
        return size
    p = size if size < wide else wide - _1
    if size < wide:
        size += _1
    while p > _0 and beam.total[then, p - _1] < v:
        beam.total[then, p] = beam.total[then, p - _1]
        beam.parent[step, p] = beam.parent[step, p - _1]
        beam.action[step, p] = beam.action[step, p - _1]
        p -= _1
    beam.total[then, p] = v
    beam.parent[step, p] = j
    beam.action[step, p] = a
    return size


@jit(inline=True)
def _expand(j, S, C, base, n, W, templates, features, ids, kind, beam, now, step, size):
    """Enter all actions of state j; a tree that is complete waits for the others."""
    K = np.uint64(len(kind))
    if done(S, n):
        beam.marks[j] = _0  # no state has the same scores
        return _enter(j, K, beam.total[now, j], beam, _1 - now, step, size)
    q = _score(j, S, C, base, n, W, templates, features, ids, beam)
    can = legal_kinds(S, n)
    before = beam.total[now, j]
    for a in range(K):
        if is_one_of(kind[a], can):
            size = _enter(j, a, before + beam.scores[q, a], beam, _1 - now, step, size)
    return size


@jit(inline=True)
def _all_done(beam, now, filled, n):
    """Whether all trees in the beam are complete."""
    left = filled
    for j in range(filled):
        if done(beam.states[beam.slot[now, j]], n):
            left -= _1
    return left == _0


@jit(inline=True)
def _advance(beam, now, step, size, n, kind):
    """Make the states of the next step.

    The first child of a state takes its slot over; the others get copies, in slots that are free.
    """
    wide = np.uint64(len(beam.heir))
    slot, heir = beam.slot, beam.heir
    then = _1 - now
    for j in range(wide):
        heir[j] = wide
    for p in range(size):
        x = slot[now, beam.parent[step, p]]
        if heir[x] == wide:
            heir[x] = p
    free = _0
    for p in range(size):
        x = slot[now, beam.parent[step, p]]
        if heir[x] == p:
            slot[then, p] = x
            continue
        while heir[free] < wide:
            free += _1
        heir[free] = p
        slot[then, p] = free
        _copy(beam.states[x], beam.states[free], n)
    for p in range(size):
        a = beam.action[step, p]
        if a < np.uint64(len(kind)):
            make_transition(beam.states[slot[then, p]], n, kind[a], a)


@jit()
def parse_beam(sentences, chosen, W, templates, actions, features, work, beam, heads, groups):
    """Write the heads of the chosen sentences, and the transitions that made them.

    Ties go to the state, then to the action, that comes first. Costs 2 n states per sentence, and 2
    for every swap, for every place in the beam. Returns the number of steps of the last sentence.
    """
    C, starts, kind = sentences.columns, sentences.starts, actions.kind
    ids = work.ids
    step = _0
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        now, filled, step = _0, _1, _0
        beam.slot[_0, _0] = _0
        begin(beam.states[_0], n, swaps_allowed(n, actions))
        beam.total[_0, _0] = 0.0
        while not _all_done(beam, now, filled, n):
            size = _0
            for j in range(filled):
                S = beam.states[beam.slot[now, j]]
                size = _expand(
                    j, S, C, base, n, W, templates, features, ids, kind, beam, now, step, size
                )
            _advance(beam, now, step, size, n, kind)
            now, filled, step = _1 - now, size, step + _1
        S = beam.states[beam.slot[now, _0]]
        for j in range(_1, n + _1):
            heads[base + j] = S[j, HEAD]
            groups[base + j] = S[j, GROUP]
    return step


@jit(inline=True)
def _right_action(S, n, heads, labels, ranks, s, actions, work):
    """Of the actions that lose least and give the right label, the best."""
    find_right_actions(S, n, heads, labels, ranks, actions, work.lost, work.right)
    none = np.uint64(len(actions.kind))
    best = none
    for k in range(np.uint64(len(work.right))):
        a = np.uint64(work.right[k])
        if a < none and (best == none or s[a] > s[best]):
            best = a
    return best


@jit()
def learn_beam(sentences, chosen, W, U, clock, templates, actions, features, work, beam, margin):
    """One pass of the structured perceptron with beam search and max-violation updates.

    The right states are followed along with the beam. At every step the best state that is not
    right violates by its score less the right one's; where it violates most, if by no less than
    -margin,

        w += f(right transitions so far) - f(the violating transitions so far)

    (Huang, Fayong and Guo, 2012). W and U change in place. Returns the numbers of sentences, of
    mistakes (the right states were not the best) and of updates.
    """
    C, starts, kind = sentences.columns, sentences.starts, actions.kind
    ids, wide, K = work.ids, np.uint64(len(beam.heir)), np.uint64(len(kind))
    G = beam.states[wide]
    mistakes = updates = 0
    t = clock[0]
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        heads = sentences.heads[base : base + n + _2]
        labels = sentences.labels[base : base + n + _2]
        ranks = sentences.ranks[base : base + n + _2]
        swaps = swaps_allowed(n, actions)
        beam.slot[_0, _0] = _0
        begin(beam.states[_0], n, swaps)
        begin(G, n, swaps)
        beam.total[_0, _0] = 0.0
        now, filled, right_place, right_total = _0, _1, _0, 0.0
        worst, worst_step, worst_place = -np.inf, _0, _0
        step = _0
        while not (done(G, n) and _all_done(beam, now, filled, n)):
            size, right = _0, K
            for j in range(filled):
                S = beam.states[beam.slot[now, j]]
                size = _expand(
                    j, S, C, base, n, W, templates, features, ids, kind, beam, now, step, size
                )
            if not done(G, n):
                # The right state comes last: often it is in the beam, and scored already.
                q = _score(filled, G, C, base, n, W, templates, features, ids, beam)
                right = _right_action(G, n, heads, labels, ranks, beam.scores[q], actions, work)
                right_total += beam.scores[q, right]
            beam.gold[step] = right
            if right < K:
                make_transition(G, n, kind[right], right)
            _advance(beam, now, step, size, n, kind)
            now, filled = _1 - now, size
            was = right_place
            right_place = wide
            for p in range(size):
                if was < wide and beam.parent[step, p] == was and beam.action[step, p] == right:
                    right_place = p
            rival = _1 if right_place == _0 else _0
            if rival < size:
                violation = beam.total[now, rival] - right_total
                if violation >= worst:
                    worst, worst_step, worst_place = violation, step, rival
            step += _1
        t += 1.0
        mistakes += right_place != _0
        if worst < -margin:
            continue
        updates += 1
        # The violating transitions, from the last to the first, in the place of the best ones.
        place = worst_place
        for back in range(worst_step + _1):
            step = worst_step - back
            a = beam.action[step, place]
            place = beam.parent[step, place]
            beam.action[step, _0] = a
        same = _0
        while same < worst_step and beam.action[same, _0] == beam.gold[same]:
            same += _1
        S = beam.states[_0]
        for path in range(_2):
            begin(S, n, swaps)
            for k in range(worst_step + _1):
                a = beam.gold[k] if path == _0 else beam.action[k, _0]
                if a == K:
                    break
                if k >= same:
                    find_features(S, C, base, n, templates, features, ids)
                    add_to_column(W, U, ids, a, 1.0 if path == _0 else -1.0, t)
                make_transition(S, n, kind[a], a)
    clock[0] = t
    return len(chosen), mistakes, updates
