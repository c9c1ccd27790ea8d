"""Dependency trees by brute force: slow, obvious, and sharing nothing with the package.

Heads are tuples: heads[d - 1] is the head of word d, 0 the root.
"""

from functools import cache
from itertools import product


@cache
def all_trees(n):
    """Every tree over n words, any number of children of the root."""
    return [
        heads
        for heads in product(range(n + 1), repeat=n)
        if all(reaches_root(heads, word) for word in range(1, n + 1))
    ]


def reaches_root(heads, word):
    """Whether the way from head to head ends at the root."""
    for _ in range(len(heads)):
        word = heads[word - 1]
        if word == 0:
            return True
    return False


@cache
def projective_trees(n):
    """Every tree none of whose arcs cross, the root standing before the first word."""
    return [heads for heads in all_trees(n) if not crosses(heads)]


def crosses(heads):
    """Whether two arcs cross."""
    spans = [tuple(sorted((head, word))) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in spans for c, d in spans)


def best_score(scores, trees, single):
    """The score of the best of some trees; `scores[h][d]` is that of an arc."""
    return max(
        sum(scores[head][word] for word, head in enumerate(heads, 1))
        for heads in trees
        if not single or heads.count(0) == 1
    )


# The arc-hybrid system as in the lecture: a state is (stack, first word of the buffer, arcs).

SHIFT, LEFT, RIGHT = range(3)


def first_state():
    """The root on the stack, no word read, no arcs."""
    return ((0,), 1, ())


def steps(state, n):
    """The transitions that are possible, with the states that they lead to."""
    stack, b, arcs = state
    found = {}
    if b <= n:
        found[SHIFT] = ((*stack, b), b + 1, arcs)
        if len(stack) > 1:
            found[LEFT] = (stack[:-1], b, (*arcs, (b, stack[-1])))
    if len(stack) > 2 or (len(stack) == 2 and b > n):
        found[RIGHT] = (stack[:-1], b, (*arcs, (stack[-2], stack[-1])))
    return found


def most_right(state, n, heads):
    """The most right arcs that any way from this state to the end leaves."""
    memory = {}

    def most(state):
        stack, b, arcs = state
        key = stack, b
        if key not in memory:
            memory[key] = max(
                (most(then) + gain(arcs, then[2]) for then in steps(state, n).values()), default=0
            )
        return memory[key]

    def gain(before, after):
        return sum(heads[word - 1] == head for head, word in after[len(before) :])

    return most(state) + gain((), state[2])


def reachable_arcs(state, n, heads):
    """The words whose right arc is there, or can still be made if nothing else matters."""
    return {
        word
        for word in range(1, n + 1)
        if most_right(state, n, [heads[word - 1] if word == w else None for w in range(1, n + 1)])
    }


# The same with swaps, where the buffer is a list: a state is (stack, buffer, arcs, swaps left).

SWAP = 3


def first_swap_state(n, swaps):
    """The root on the stack, no word read, no arcs."""
    return ((0,), tuple(range(1, n + 1)), (), swaps)


def swap_steps(state):
    """The transitions that are possible, with the states that they lead to."""
    stack, buffer, arcs, swaps = state
    found = {}
    if buffer:
        found[SHIFT] = ((*stack, buffer[0]), buffer[1:], arcs, swaps)
        if len(stack) > 1:
            found[LEFT] = (stack[:-1], buffer, (*arcs, (buffer[0], stack[-1])), swaps)
        if len(stack) > 1 and stack[-1] < buffer[0] and swaps:
            moved = (buffer[0], stack[-1], *buffer[1:])
            found[SWAP] = (stack[:-1], moved, arcs, swaps - 1)
    if len(stack) > 2 or (len(stack) == 2 and not buffer):
        found[RIGHT] = (stack[:-1], buffer, (*arcs, (stack[-2], stack[-1])), swaps)
    return found


def without_crossings(heads, node=0):
    """All nodes from a node downwards, in the order in which no arcs cross."""
    left, right = [], []
    for word, head in enumerate(heads, 1):
        if head == node:
            (left if word < node else right).extend(without_crossings(heads, word))
    return [*left, node, *right]


def swap_losses(state, heads):
    """What each possible transition loses; None if it must not be taken."""
    stack, buffer, _, _ = state
    possible, order = swap_steps(state), without_crossings(heads)
    head = dict(enumerate(heads, 1))
    s0 = stack[-1]
    if SWAP in possible and order.index(s0) > order.index(buffer[0]):
        complete = s0 not in {head[word] for word in (*stack[1:], *buffer)}
        first = RIGHT if len(stack) > 2 and head[s0] == stack[-2] and complete else SWAP
        return {kind: 0 if kind == first else None for kind in possible}

    def comes_back(node):
        return any(word > node and order.index(word) < order.index(node) for word in buffer)

    lost = {}
    for kind in possible:
        if kind == SWAP:
            lost[kind] = None
        elif kind == SHIFT:
            b = buffer[0]
            arcs = [head[b] in stack[:-1], *(head[word] == b for word in stack[1:])]
            lost[kind] = 0 if comes_back(b) else sum(arcs)
        else:
            others = (stack[-2], *buffer[1:]) if kind == LEFT else buffer
            below = stack if comes_back(s0) else ()
            heads_lost = {*others, *below[:-2]}
            lost[kind] = (head[s0] in heads_lost) + sum(
                head[word] == s0 for word in (*buffer, *below[1:])
            )
    return lost


def attachment(gold, guess):
    """UAS and LAS by counting: pairs of (head, label) of all words, labels up to the colon."""
    uas = sum(a[0] == b[0] for a, b in zip(gold, guess, strict=True))
    las = sum(
        a[0] == b[0] and a[1].split(":")[0] == b[1].split(":")[0]
        for a, b in zip(gold, guess, strict=True)
    )
    return uas / len(gold), las / len(gold)
