"""The oracle of transitions with swaps: which of them lead to trees whose arcs may cross.

Words can be sorted such that no arc of a tree crosses another: the words on the left of a node come
before it, those on the right behind it, each with all that hangs on it (the order of a traversal,
Nivre, 2009). If swaps bring the words into this order, the other transitions make the tree.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.trees.transitions import (
    LEFT,
    RIGHT,
    SHIFT,
    STACK,
    SWAP,
    behind,
    front,
    height,
    legal,
)

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
#: What a transition costs that must not be taken.
_FORBIDDEN = 1 << 20


@jit()
def rank_words(starts, heads, ranks, child, sibling, way):
    """Write the place of every word in the order in which no arcs cross.

    `child`, `sibling` and `way` are room for the longest sentence: of every node its first child,
    its next sibling, and the nodes on the way from the root to the present one. Costs a few steps
    for every word.
    """
    for i in range(np.uint64(len(starts) - 1)):
        base = starts[i]
        n = starts[i + _1] - base - _2
        none = n + _1
        for j in range(n + _1):
            child[j] = none
        for back in range(n):
            d = n - back
            h = np.uint64(heads[base + d])
            sibling[d] = child[h]
            child[h] = d
        depth, count = _1, _0
        way[_0] = _0
        ranks[base] = none  # not yet visited, as all nodes
        for j in range(_1, n + _1):
            ranks[base + j] = none
        while depth > _0:
            v = way[depth - _1]
            d = child[v]
            here = np.uint64(ranks[base + v]) == none
            if d < none and (d < v or not here):
                child[v] = sibling[d]
                way[depth] = d
                depth += _1
            elif here:
                ranks[base + v] = count
                count += _1
            else:
                depth -= _1


@jit(inline=True)
def _has_children(S, n, heads, v):
    """Whether a node has children that are still without a head."""
    for k in range(_1, height(S)):
        if np.uint64(heads[np.uint64(S[k, STACK])]) == v:
            return True
    j = front(S)
    while j <= n:
        if np.uint64(heads[j]) == v:
            return True
        j = behind(S, j)
    return False


@jit(inline=True)
def losses_with_swaps(S, n, heads, ranks, lost):
    """Count, for each kind of transition, the right arcs that it loses; swaps are told apart.

    The static-dynamic oracle of de Lhoneux, Stymne and Nivre (2017): where s0 belongs behind b, a
    swap is the only right transition, else it is wrong. The others are as in `losses`, except that
    a word which belongs behind another one in the buffer will come back there:

        shift loses  b's head if it is on the stack below s0, b's children on the stack;
                     nothing if b will come back
        left loses   s0's head if it is s1 or in the buffer behind b, s0's children in the buffer
        right loses  s0's head and s0's children in the buffer
        left, right  also lose s0's head and children on the stack if s0 would come back

    But if s1 is the head of s0, and s0 has all its children, the arc comes before the swap: phrases
    are moved as one word, which spares a third of the swaps (English, Greek and Turkish
    treebanks). Costs what is left of the sentence.
    """
    top, b = height(S), front(S)
    s0 = np.uint64(S[top - _1, STACK])
    s1 = np.uint64(S[top - _2, STACK]) if top >= _2 else _0
    h = np.uint64(heads[s0])
    lost[SHIFT] = 0
    lost[LEFT] = 0
    lost[RIGHT] = 0
    lost[SWAP] = _FORBIDDEN
    if legal(S, n, SWAP) and ranks[s0] > ranks[b]:
        lost[SHIFT] = _FORBIDDEN
        lost[LEFT] = _FORBIDDEN
        lost[RIGHT] = _FORBIDDEN
        if top > _2 and h == s1 and not _has_children(S, n, heads, s0):
            lost[RIGHT] = 0
        else:
            lost[SWAP] = 0
        return
    if top >= _2 and h == s1:
        lost[LEFT] += 1
    b_comes_back = s0_comes_back = False
    j = b
    while j <= n:
        if j > b and ranks[j] < ranks[b]:
            b_comes_back = True
        if j > s0 and ranks[j] < ranks[s0]:
            s0_comes_back = True
        if top >= _2 and h == j:
            lost[RIGHT] += 1
            if j != b:
                lost[LEFT] += 1
        if top >= _2 and np.uint64(heads[j]) == s0:
            lost[LEFT] += 1
            lost[RIGHT] += 1
        j = behind(S, j)
    for k in range(top):
        s = np.uint64(S[k, STACK])
        if b <= n and not b_comes_back:
            if k > _0 and np.uint64(heads[s]) == b:
                lost[SHIFT] += 1
            if k + _1 < top and s == np.uint64(heads[b]):
                lost[SHIFT] += 1
        if s0_comes_back and top >= _2:
            below = k > _0 and np.uint64(heads[s]) == s0
            if below or (k + _2 < top and s == h):
                lost[LEFT] += 1
                lost[RIGHT] += 1
