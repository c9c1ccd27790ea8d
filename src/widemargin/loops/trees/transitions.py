"""The arc-hybrid transition system for dependency trees, and what each transition loses.

A sentence has the nodes 0 (the root), 1 .. n (its words) and n + 1 (nothing). A state has a stack,
whose last nodes are s1, s0, and a buffer that begins with the word b:

    shift       s | b B    ->  s b | B
    left        s s0 | b B ->  s | b B,      b becomes the head of s0
    right       s s1 s0 | B -> s s1 | B,     s1 becomes the head of s0

Every word is shifted once and given a head once, so 2 n transitions make a projective tree. The
root gives its only arc last, so that it has one child.

A state is a matrix `S` of unsigned numbers with a row for each node and a column for each fact
about it, so that states are copied in one go.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit

#: Kinds of transitions.
SHIFT, LEFT, RIGHT = np.uint64(0), np.uint64(1), np.uint64(2)

# The columns of a state. Row j of STACK is the j-th node on the stack, the root at the bottom. Only
# words have heads, so that row 0 of HEAD and GROUP is free for two numbers that belong to no node.
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
def begin(S, n):
    """Set up: the root on the stack, all words in the buffer, no arcs."""
    nothing = n + _1
    for j in range(n + _2):
        S[j, STACK] = _0
        S[j, HEAD] = nothing
        S[j, GROUP] = _0
        S[j, LEFT1] = nothing
        S[j, LEFT2] = nothing
        S[j, RIGHT1] = nothing
        S[j, RIGHT2] = nothing
        S[j, LEFTS] = _0
        S[j, RIGHTS] = _0
    S[_0, HEAD] = _1
    S[_0, GROUP] = _1


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
    # The root is the head of the last word that is left.
    return top > _2 or b > n


@jit(inline=True)
def is_one_of(kind, shift, left, right):
    """Whether a kind of transition is among those that these three flags allow."""
    return (kind == SHIFT and shift) or (kind == LEFT and left) or (kind == RIGHT and right)


@jit(inline=True)
def make_transition(S, n, kind, group):
    """Make a transition, in place; `group` is remembered with the arc."""
    top, b = height(S), front(S)
    if kind == SHIFT:
        S[top, STACK] = b
        S[_0, HEAD] = top + _1
        S[_0, GROUP] = b + _1
        return
    s0 = np.uint64(S[top - _1, STACK])
    S[_0, HEAD] = top - _1
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

    Costs what is left of the sentence.
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
