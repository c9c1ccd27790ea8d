"""The arc-hybrid transition system for dependency trees, and what each transition loses.

A sentence has the nodes 0 (the root), 1 .. n (its words) and n + 1 (nothing). A state has a stack,
whose last nodes are s1, s0, and a buffer that begins with the word b:

    shift       s | b B    ->  s b | B
    left        s s0 | b B ->  s | b B,      b becomes the head of s0
    right       s s1 s0 | B -> s s1 | B,     s1 becomes the head of s0
    swap        s s0 | b B ->  s | b s0 B    if s0 stands before b in the sentence

Without swap every word is shifted once and given a head once, so 2 n transitions make a projective
tree. A swap costs another shift, and lets arcs cross (Nivre, 2009; with arc-hybrid, de Lhoneux,
Stymne and Nivre, 2017); see `loops.trees.swapping`. The root gives its only arc last, so that it
has one child.

A state is a matrix `S` of unsigned numbers with a row for each node and a column for each fact
about it, so that states are copied in one go.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit

#: Kinds of transitions.
SHIFT, LEFT, RIGHT, SWAP = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
KINDS = 4

# The columns of a state. Row j of STACK is the j-th node on the stack, the root at the bottom. Only
# words have heads, so that row 0 of HEAD and GROUP is free for two numbers that belong to no node.
# While a word is in the buffer, HEAD is the word behind it there. The stack never has n + 2 nodes:
# the last row of STACK is the number of swaps that are still allowed.
STACK, HEAD, GROUP = np.uint64(0), np.uint64(1), np.uint64(2)
#: First and second child from the left among those on the left; likewise on the right; how many.
LEFT1, LEFT2, RIGHT1, RIGHT2 = np.uint64(3), np.uint64(4), np.uint64(5), np.uint64(6)
LEFTS, RIGHTS = np.uint64(7), np.uint64(8)
FACTS = 9
_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)


@jit(inline=True)
def height(S):
    """How many nodes are on the stack, the root among them."""
    return np.uint64(S[_0, HEAD])


@jit(inline=True)
def front(S):
    """The first word of the buffer; n + 1 if it is empty."""
    return np.uint64(S[_0, GROUP])


@jit(inline=True)
def behind(S, b):
    """The word that follows in the buffer; n + 1 if there is none."""
    return np.uint64(S[b, HEAD])


@jit(inline=True)
def done(S, n):
    """Whether the tree is complete: the root alone on the stack, and no word in the buffer."""
    return height(S) == _1 and front(S) > n


@jit(inline=True)
def begin(S, n, swaps):
    """Set up: the root on the stack, all words in the buffer, no arcs, so many swaps allowed."""
    nothing = n + _1
    for j in range(n + _2):
        S[j, STACK] = _0
        S[j, HEAD] = min(j + _1, nothing)
        S[j, GROUP] = _0
        S[j, LEFT1] = nothing
        S[j, LEFT2] = nothing
        S[j, RIGHT1] = nothing
        S[j, RIGHT2] = nothing
        S[j, LEFTS] = _0
        S[j, RIGHTS] = _0
    S[_0, HEAD] = _1
    S[_0, GROUP] = _1
    S[nothing, STACK] = swaps


@jit(inline=True)
def legal(S, n, kind):
    """Whether a transition of this kind is possible."""
    top, b = height(S), front(S)
    if kind == SHIFT:
        return b <= n
    if top < _2:
        return False
    if kind == LEFT:
        return b <= n
    if kind == SWAP:
        return b <= n and np.uint64(S[top - _1, STACK]) < b and S[n + _1, STACK] > _0
    # The root is the head of the last word that is left.
    return top > _2 or b > n


@jit(inline=True)
def legal_kinds(S, n):
    """Which kinds of transitions are possible."""
    return legal(S, n, SHIFT), legal(S, n, LEFT), legal(S, n, RIGHT), legal(S, n, SWAP)


@jit(inline=True)
def is_one_of(kind, can):
    """Whether a kind of transition is among those that `legal_kinds` found."""
    if kind == SHIFT:
        return can[0]
    if kind == LEFT:
        return can[1]
    return can[2] if kind == RIGHT else can[3]


@jit(inline=True)
def make_transition(S, n, kind, group):
    """Make a transition, in place; `group` is remembered with the arc."""
    top, b = height(S), front(S)
    if kind == SHIFT:
        S[top, STACK] = b
        S[_0, HEAD] = top + _1
        S[_0, GROUP] = S[b, HEAD]
        S[b, HEAD] = n + _1
        return
    s0 = np.uint64(S[top - _1, STACK])
    S[_0, HEAD] = top - _1
    if kind == SWAP:
        S[s0, HEAD] = S[b, HEAD]
        S[b, HEAD] = s0
        S[n + _1, STACK] -= _1
        return
    if kind == LEFT:
        S[s0, HEAD] = b
        # What comes later is further to the left.
        S[b, LEFT2] = S[b, LEFT1]
        S[b, LEFT1] = s0
        S[b, LEFTS] += _1
    else:
        s1 = np.uint64(S[top - _2, STACK])
        S[s0, HEAD] = s1
        S[s1, RIGHT2] = S[s1, RIGHT1]
        S[s1, RIGHT1] = s0
        S[s1, RIGHTS] += _1
    S[s0, GROUP] = group


@jit(inline=True)
def losses(S, n, heads, lost):
    """Count, for each kind of transition, the right arcs that can no longer be made after it.

    `heads` are the right ones, `heads[0]` unused. Arcs of a projective tree that can be made one by
    one can be made together, so that these are the losses of the best tree in reach; where arcs
    cross, each counts as if it were alone (the dynamic oracle of Goldberg and Nivre, 2013):

        shift loses  b's head if it is on the stack below s0, b's children on the stack
        left loses   s0's head if it is s1 or behind b, s0's children in the buffer
        right loses  s0's head and s0's children in the buffer

    This is for trees that are made without swaps. Costs what is left of the sentence.
    """
    top, b = height(S), front(S)
    lost[SHIFT] = 0
    lost[LEFT] = 0
    lost[RIGHT] = 0
    if b <= n:
        h = np.uint64(heads[b])
        for j in range(top):
            s = np.uint64(S[j, STACK])
            if j > _0 and np.uint64(heads[s]) == b:
                lost[SHIFT] += 1
            if j + _1 < top and s == h:
                lost[SHIFT] += 1
    if top >= _2:
        s0, s1 = np.uint64(S[top - _1, STACK]), np.uint64(S[top - _2, STACK])
        h = np.uint64(heads[s0])
        if h == s1 or h > b:
            lost[LEFT] += 1
        if h >= b:
            lost[RIGHT] += 1
        for j in range(b, n + _1):
            if np.uint64(heads[j]) == s0:
                lost[LEFT] += 1
                lost[RIGHT] += 1
