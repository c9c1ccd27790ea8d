"""The features of a state by which a transition is chosen, as rows of a table of weights.

A feature is a conjunction of a few *atoms*, such as the word on top of the stack and the tag of its
leftmost child. An atom is a number for a node's column (word, tag, ...), the transition that made a
child, a count of children or a distance, times a key of its own. A template is a sum of atoms and a
key, whose upper bits are the row. So a state's features cost a multiplication for every atom and a
few additions for every template.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.trees.transitions import (
    GROUP,
    LEFT1,
    LEFT2,
    LEFTS,
    RIGHT1,
    RIGHT2,
    RIGHTS,
    STACK,
    front,
    height,
)

#: Nodes that atoms refer to: the stack, the buffer, and children of its first nodes.
NODES = (
    *("s0", "s1", "s2", "b0", "b1", "b2", "b3"),
    *("s0l", "s0l2", "s0r", "s0r2", "s1l", "s1l2", "s1r", "s1r2", "b0l", "b0l2"),
    *("s0ll", "s0rr", "s1rr", "b0ll", "p0", "n0"),
)
#: Numbers that atoms refer to: children on the left and right of a node, and distances.
COUNTS = ("s0.lefts", "s0.rights", "s1.lefts", "s1.rights", "b0.lefts", "s0-b0", "s1-s0")
_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_5, _10 = np.uint64(5), np.uint64(10)


class Templates(NamedTuple):
    """Features, compiled from their names.

    Atom 0 is nothing. Atoms that are columns of nodes come first, then groups of nodes, then
    counts. Features of at most two atoms come first, then those of three and of four.
    """

    node: np.ndarray
    column: np.ndarray
    group_node: np.ndarray
    count: np.ndarray
    key: np.ndarray
    pairs: np.ndarray
    triples: np.ndarray
    fours: np.ndarray
    seed: np.ndarray
    shift: np.ndarray


class FeatureBuffers(NamedTuple):
    """Work buffers."""

    nodes: np.ndarray
    counts: np.ndarray
    atoms: np.ndarray


@jit(inline=True)
def distance_class(d):
    """A distance in seven classes: 0 to 4, 5 to 9, 10 and more.

    Short distances are distinguished individually, as in the parsers of McDonald, Crammer and
    Pereira (2005).
    """
    if d < _5:
        return d
    return _5 if d < _10 else _5 + _1


@jit(inline=True)
def find_nodes(S, n, nodes, counts):
    """Look up the nodes and counts of a state."""
    top, b = height(S), front(S)
    none = n + _1
    s0 = np.uint64(S[top - _1, STACK])
    s1 = np.uint64(S[top - _2, STACK]) if top >= _2 else none
    s2 = np.uint64(S[top - _3, STACK]) if top >= _3 else none
    nodes[0] = s0
    nodes[1] = s1
    nodes[2] = s2
    nodes[3] = b
    nodes[4] = min(b + _1, none)
    nodes[5] = min(b + _2, none)
    nodes[6] = min(b + _3, none)
    nodes[7] = S[s0, LEFT1]
    nodes[8] = S[s0, LEFT2]
    nodes[9] = S[s0, RIGHT1]
    nodes[10] = S[s0, RIGHT2]
    nodes[11] = S[s1, LEFT1]
    nodes[12] = S[s1, LEFT2]
    nodes[13] = S[s1, RIGHT1]
    nodes[14] = S[s1, RIGHT2]
    nodes[15] = S[b, LEFT1]
    nodes[16] = S[b, LEFT2]
    nodes[17] = S[nodes[7], LEFT1]
    nodes[18] = S[nodes[9], RIGHT1]
    nodes[19] = S[nodes[13], RIGHT1]
    nodes[20] = S[nodes[15], LEFT1]
    # The words beside s0, which may have a head already.
    nodes[21] = s0 - _1 if s0 > _0 else none
    nodes[22] = min(s0 + _1, none)
    counts[0] = S[s0, LEFTS]
    counts[1] = S[s0, RIGHTS]
    counts[2] = S[s1, LEFTS]
    counts[3] = S[s1, RIGHTS]
    counts[4] = S[b, LEFTS]
    counts[5] = distance_class(b - s0)
    counts[6] = distance_class(s0 - s1) if s1 <= n else _0


@jit(inline=True)
def find_features(S, C, base, n, templates, features, ids):
    """Fill ids with the rows of the features of a state; words are rows base .. of C."""
    find_atoms(S, C, base, n, templates, features)
    join_atoms(templates, features.atoms, ids)


@jit(inline=True)
def find_atoms(S, C, base, n, templates, features):
    """Look up the atoms of a state; returns their sum, which is the same for the same features."""
    find_nodes(S, n, features.nodes, features.counts)
    return look_up_atoms(S, C, base, templates, features)


@jit(inline=True)
def look_up_atoms(S, C, base, templates, features):
    """Look up the atoms of the nodes and counts; returns their sum."""
    nodes, counts, atoms = features.nodes, features.counts, features.atoms
    key = templates.key
    atoms[0] = _0
    a, mark = _1, _0
    for k in range(np.uint64(len(templates.node))):
        atoms[a] = C[base + nodes[templates.node[k]], templates.column[k]] * key[a]
        mark += atoms[a]
        a += _1
    for k in range(np.uint64(len(templates.group_node))):
        atoms[a] = (np.uint64(S[nodes[templates.group_node[k]], GROUP]) + _1) * key[a]
        mark += atoms[a]
        a += _1
    for k in range(np.uint64(len(templates.count))):
        atoms[a] = (counts[templates.count[k]] + _1) * key[a]
        mark += atoms[a]
        a += _1
    return mark


@jit(inline=True)
def join_atoms(templates, atoms, ids):
    """Fill ids with the rows of the features that are made of these atoms."""
    pairs, triples, fours = templates.pairs, templates.triples, templates.fours
    seed, shift = templates.seed, templates.shift[0]
    t = _0
    for k in range(np.uint64(len(pairs))):
        ids[t] = (seed[t] + atoms[pairs[k, _0]] + atoms[pairs[k, _1]]) >> shift
        t += _1
    for k in range(np.uint64(len(triples))):
        h = atoms[triples[k, _0]] + atoms[triples[k, _1]] + atoms[triples[k, _2]]
        ids[t] = (seed[t] + h) >> shift
        t += _1
    for k in range(np.uint64(len(fours))):
        h = atoms[fours[k, _0]] + atoms[fours[k, _1]] + atoms[fours[k, _2]] + atoms[fours[k, _3]]
        ids[t] = (seed[t] + h) >> shift
        t += _1
