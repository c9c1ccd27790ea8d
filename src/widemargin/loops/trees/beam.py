"""Beam search: the best few states at every step, and learning under it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.vectors import add_rows, fetch_rows
from widemargin.loops.trees.contexts import find_atoms, find_features, join_atoms
from widemargin.loops.trees.greedy import find_right_actions
from widemargin.loops.trees.transitions import (
    GROUP,
    HEAD,
    LEFT,
    RIGHT,
    SHIFT,
    begin,
    is_one_of,
    legal,
    make_transition,
)
from widemargin.loops.trees.updates import add_to_column

_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)


class Beam(NamedTuple):
    """Buffers for a search: states, and how each was reached.

    `slot`: where the states of this step and of the next are stored; `total`: their scores; `heir`:
    which child takes over a slot. `parent`, `action`: how each state of each step was reached;
    `gold`: the right actions; `marks`: equal for states with equal features; `scores`: those of the
    actions.
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
    """Score the actions of state j; returns the place of the scores.

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
def _expand(j, s, S, n, kind, beam, now, step, size):
    """Enter the actions of state j among the best of the next step; returns how many there are."""
    wide = np.uint64(len(beam.heir))
    then = _1 - now
    can_shift, can_left, can_right = legal(S, n, SHIFT), legal(S, n, LEFT), legal(S, n, RIGHT)
    before = beam.total[now, j]
    for a in range(np.uint64(len(kind))):
        k = kind[a]
        if is_one_of(k, can_shift, can_left, can_right):
            v = before + s[a]
            if size == wide and v <= beam.total[then, wide - _1]:
                continue
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
        make_transition(beam.states[slot[then, p]], n, kind[a], a)


@jit()
def parse_beam(sentences, chosen, W, templates, actions, features, work, beam, heads, groups):
    """Write the heads of the chosen sentences, and the transitions that made them.

    Ties go to the state, then to the action, that comes first. Costs 2 n states per sentence for
    every place in the beam.
    """
    C, starts, kind = sentences.columns, sentences.starts, actions.kind
    ids = work.ids
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        now, filled = _0, _1
        beam.slot[_0, _0] = _0
        begin(beam.states[_0], n)
        beam.total[_0, _0] = 0.0
        for step in range(_2 * n):
            size = _0
            for j in range(filled):
                S = beam.states[beam.slot[now, j]]
                q = _score(j, S, C, base, n, W, templates, features, ids, beam)
                size = _expand(j, beam.scores[q], S, n, kind, beam, now, step, size)
            _advance(beam, now, step, size, n, kind)
            now, filled = _1 - now, size
        S = beam.states[beam.slot[now, _0]]
        for j in range(_1, n + _1):
            heads[base + j] = S[j, HEAD]
            groups[base + j] = S[j, GROUP]


@jit(inline=True)
def _right_action(S, n, heads, labels, s, actions, work):
    """Of the actions that lose least, with the right label, the best."""
    find_right_actions(S, n, heads, labels, actions, work.lost, work.right)
    none = np.uint64(len(actions.kind))
    best = none
    for k in range(_3):
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
    ids, wide = work.ids, np.uint64(len(beam.heir))
    G = beam.states[wide]
    mistakes = updates = 0
    t = clock[0]
    for i in chosen:
        base = starts[i]
        n = starts[i + _1] - base - _2
        heads = sentences.heads[base : base + n + _2]
        labels = sentences.labels[base : base + n + _2]
        beam.slot[_0, _0] = _0
        begin(beam.states[_0], n)
        begin(G, n)
        beam.total[_0, _0] = 0.0
        now, filled, right_place, right_total = _0, _1, _0, 0.0
        worst, worst_step, worst_place = -np.inf, _0, _0
        for step in range(_2 * n):
            size, right = _0, _0
            for j in range(filled + _1):
                # The right state comes last: often it is in the beam, and scored already.
                S = beam.states[beam.slot[now, j] if j < filled else wide]
                q = _score(j, S, C, base, n, W, templates, features, ids, beam)
                s = beam.scores[q]
                if j < filled:
                    size = _expand(j, s, S, n, kind, beam, now, step, size)
                else:
                    right = _right_action(S, n, heads, labels, s, actions, work)
                    right_total += s[right]
            beam.gold[step] = right
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
        before, t = t, t + 1.0
        mistakes += right_place != _0
        if worst < -margin or worst == -np.inf:  # or there never was a choice
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
            begin(S, n)
            for k in range(worst_step + _1):
                a = beam.gold[k] if path == _0 else beam.action[k, _0]
                if k >= same:
                    find_features(S, C, base, n, templates, features, ids)
                    add_to_column(W, U, ids, a, 1.0 if path == _0 else -1.0, before)
                make_transition(S, n, kind[a], a)
    clock[0] = t
    return len(chosen), mistakes, updates
