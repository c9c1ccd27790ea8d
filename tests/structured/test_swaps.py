"""Transitions with swaps: the oracle equals its plain twin, and every tree can be made."""

import itertools

import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_language import made_corpus

from widemargin.loops.jit import jit
from widemargin.loops.trees.swapping import losses_with_swaps, rank_words
from widemargin.loops.trees.transitions import FACTS, begin, done, legal, make_transition
from widemargin.structured.parser.parser import Parser

KINDS = tuple(np.uint64(kind) for kind in range(4))


@jit()
def begin_loop(S, n, swaps):
    begin(S, n, swaps)


@jit()
def apply_loop(S, n, kind, group):
    make_transition(S, n, kind, group)


@jit()
def legal_loop(S, n, kind):
    return legal(S, n, kind)


@jit()
def done_loop(S, n):
    return done(S, n)


@jit()
def losses_loop(S, n, heads, ranks, lost):
    losses_with_swaps(S, n, heads, ranks, lost)


def ranks_of(trees):
    """The ranks of the words of some trees, each with a place at either end."""
    starts = np.cumsum([0, *(len(heads) + 2 for heads in trees)]).astype(np.uint64)
    flat = np.array([head for heads in trees for head in (0, *heads, 0)], np.uint32)
    ranks, longest = np.zeros(len(flat), np.uint32), max(map(len, trees)) + 2
    rank_words(starts, flat, ranks, *(np.zeros(longest, np.uint64) for _ in range(3)))
    return [ranks[int(a) : int(b)] for a, b in itertools.pairwise(starts)]


class Walk:
    """A state of the loops beside that of the twin."""

    def __init__(self, heads, swaps):
        self.heads, self.n = heads, np.uint64(len(heads))
        self.ranks = ranks_of([heads])[0]
        self.S = np.zeros((len(heads) + 2, FACTS), np.uint32)
        begin_loop(self.S, self.n, np.uint64(swaps))
        self.state = naive.first_swap_state(len(heads), swaps)

    def possible(self):
        found = naive.swap_steps(self.state)
        allowed = [int(kind) for kind in KINDS if legal_loop(self.S, self.n, kind)]
        assert allowed == sorted(found)
        assert done_loop(self.S, self.n) == (not found)
        return allowed

    def take(self, kind):
        self.state = naive.swap_steps(self.state)[kind]
        apply_loop(self.S, self.n, KINDS[kind], np.uint64(7))

    def losses(self):
        lost = np.zeros(4, np.int64)
        losses_loop(self.S, self.n, np.array([0, *self.heads, 0], np.uint32), self.ranks, lost)
        return {kind: lost[kind] if lost[kind] < 1000 else None for kind in self.possible()}


any_tree = st.integers(1, 5).flatmap(lambda n: st.sampled_from(naive.all_trees(n)))


def test_ranks_are_the_order_in_which_no_arcs_cross():
    trees = [heads for n in range(1, 6) for heads in naive.all_trees(n)]
    for heads, ranks in zip(trees, ranks_of(trees), strict=True):
        order = naive.without_crossings(heads)
        assert [order[rank] for rank in ranks[: len(heads) + 1]] == list(range(len(heads) + 1))
        place = {word: k for k, word in enumerate(order)}
        moved = {place[word]: place[head] for word, head in enumerate(heads, 1)}
        assert not naive.crosses(tuple(moved[k] for k in range(1, len(heads) + 1)))


@settings(max_examples=300)
@given(any_tree, st.lists(st.integers(0, 5), max_size=14), st.integers(0, 5))
def test_states_and_losses_equal_their_twins(heads, choices, swaps):
    walk = Walk(heads, swaps)
    for choice in choices:
        possible = walk.possible()
        if not possible:
            break
        assert walk.losses() == naive.swap_losses(walk.state, heads)
        walk.take(possible[choice % len(possible)])
    stack, buffer, arcs, left = walk.state
    assert walk.S[: len(stack), 0].tolist() == list(stack)
    assert [walk.S[0, 0], walk.S[0, 1], walk.S[-1, 0]] == [0, len(stack), left]
    found, word = [], int(walk.S[0, 2])
    while word <= len(heads):
        found.append(word)
        word = int(walk.S[word, 1])
    assert tuple(found) == buffer
    for head, word in arcs:
        assert walk.S[word, 1] == head


@settings(max_examples=300)
@given(any_tree, st.lists(st.integers(0, 5), min_size=60, max_size=60))
def test_the_right_transitions_make_every_tree_that_has_one_root(heads, choices):
    if heads.count(0) > 1:
        return
    walk = Walk(heads, 20)
    for choice in choices:
        if not walk.possible():
            break
        right = [kind for kind, lost in walk.losses().items() if lost == 0]
        walk.take(right[choice % len(right)])
    arcs = {word: head for head, word in walk.state[2]}
    assert tuple(arcs[word] for word in range(1, len(heads) + 1)) == heads


@pytest.mark.parametrize("beam", [1, 4])
def test_swaps_are_explained_and_found_again(beam, tmp_path):
    crossing = {
        "word": [["a", "b", "c", "d"]] * 8,
        "upos": [["A", "B", "C", "D"]] * 8,
        "head": [["3", "4", "0", "3"]] * 8,
        "deprel": [["x", "y", "root", "z"]] * 8,
    }
    parser = Parser("swap", beam=beam, bits=12, tags="upos", random_state=0).fit(crossing)
    assert len(parser.margins(crossing)[0]) == 4
    told = [
        f"{one.prediction} {one.instead_of}"
        for one in (parser.explain(list("abcd"), k, upos=list("ABCD")) for k in range(4))
    ]
    assert any("behind" in line for line in told)


def test_without_crossing_arcs_nothing_is_swapped():
    corpus = made_corpus(40)
    parser = Parser("swap", bits=12, epochs=3, tags="upos", random_state=0).fit(corpus)
    trees = parser.predict(corpus)
    starts = corpus.starts.tolist()
    for a, b in itertools.pairwise(starts):
        assert not naive.crosses(tuple(trees.heads[a:b].tolist()))
