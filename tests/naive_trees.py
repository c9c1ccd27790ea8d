"""Dependency trees by brute force: slow, obvious, and sharing no code with the package.

Heads are tuples: heads[d - 1] is the head of word d, 0 the root.
"""

from functools import cache
from itertools import product


@cache
def all_trees(n):
    """Every tree over n words, with any number of children of the root."""
    return [
        heads
        for heads in product(range(n + 1), repeat=n)
        if all(reaches_root(heads, word) for word in range(1, n + 1))
    ]


def reaches_root(heads, word):
    """Whether following the heads leads to the root."""
    for _ in range(len(heads)):
        word = heads[word - 1]
        if word == 0:
            return True
    return False


@cache
def projective_trees(n):
    """Every tree without crossing arcs, with the root before the first word."""
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
    """The possible transitions, with the states that they lead to."""
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
    """The largest number of correct arcs that any path from this state to the end gives."""
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
    """The words whose correct arc exists, or can still be made if nothing else matters."""
    return {
        word
        for word in range(1, n + 1)
        if most_right(state, n, [heads[word - 1] if word == w else None for w in range(1, n + 1)])
    }


def attachment(gold, guess):
    """UAS and LAS by counting: pairs of (head, label) of all words, labels up to the colon."""
    uas = sum(a[0] == b[0] for a, b in zip(gold, guess, strict=True))
    las = sum(
        a[0] == b[0] and a[1].split(":")[0] == b[1].split(":")[0]
        for a, b in zip(gold, guess, strict=True)
    )
    return uas / len(gold), las / len(gold)
