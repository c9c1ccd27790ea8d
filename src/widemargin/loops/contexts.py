"""What a transition is chosen by: features of a state, as rows of a table of weights.

A feature is a conjunction of a few *atoms*, such as the word on top of the stack and the tag of its
leftmost child. An atom is a number for a node's column (word, tag, ...), the transition that made a
child, a count of children or a distance, times a key of its own. A template is a sum of atoms and a
key; multiplied once more, its upper bits are the row. So a state's features cost one
multiplication for every atom and one for every template.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.transitions import (
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

#: Nodes that atoms speak of: the stack, the buffer, and children of its first nodes.
NODES = (
    *("s0", "s1", "s2", "b0", "b1", "b2", "b3"),
    *("s0l", "s0l2", "s0r", "s0r2", "s1l", "s1l2", "s1r", "s1r2", "b0l", "b0l2"),
    *("s0ll", "s0rr", "s1rr", "b0ll", "p0", "n0"),
)
#: Numbers that atoms speak of: children on the left and right of a node, and distances.
COUNTS = ("s0.lefts", "s0.rights", "s1.lefts", "s1.rights", "b0.lefts", "s0-b0", "s1-s0")
_MIX = np.uint64(0x9E3779B97F4A7C15)
_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_5, _10 = np.uint64(5), np.uint64(10)


class Templates(NamedTuple):
    """Features, compiled from their names.

    Atom 0 is nothing. Atoms that are columns of nodes come first, then groups of nodes, then counts.
    """

    node: np.ndarray
    column: np.ndarray
    group_node: np.ndarray
    count: np.ndarray
    key: np.ndarray
    parts: np.ndarray
    seed: np.ndarray
    shift: np.ndarray


class Desk(NamedTuple):
    """Room to work in."""

    nodes: np.ndarray
    counts: np.ndarray
    atoms: np.ndarray


@jit(inline=True)
def _far(a, b):
    """How far apart two nodes are, in seven steps."""
    d = b - a
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
    counts[5] = _far(s0, b)
    counts[6] = _far(s1, s0) if s1 <= n else _0


@jit(inline=True)
def find_features(S, C, base, n, templates, desk, ids):
    """Fill ids with the rows of the features of a state; words are rows base .. of C."""
    find_nodes(S, n, desk.nodes, desk.counts)
    hash_features(S, C, base, templates, desk, ids)


@jit(inline=True)
def hash_features(S, C, base, templates, desk, ids):
    """Fill ids with the rows of the features of the nodes and counts on the desk."""
    nodes, counts, atoms = desk.nodes, desk.counts, desk.atoms
    key = templates.key
    atoms[0] = _0
    a = _1
    for k in range(np.uint64(len(templates.node))):
        atoms[a] = C[base + nodes[templates.node[k]], templates.column[k]] * key[a]
        a += _1
    for k in range(np.uint64(len(templates.group_node))):
        atoms[a] = (np.uint64(S[nodes[templates.group_node[k]], GROUP]) + _1) * key[a]
        a += _1
    for k in range(np.uint64(len(templates.count))):
        atoms[a] = (counts[templates.count[k]] + _1) * key[a]
        a += _1
    parts, seed, shift = templates.parts, templates.seed, templates.shift[0]
    for k in range(np.uint64(len(seed))):
        h = atoms[parts[k, _0]] + atoms[parts[k, _1]] + atoms[parts[k, _2]] + atoms[parts[k, _3]]
        h = (h + seed[k]) * _MIX
        ids[k] = (h ^ (h >> np.uint64(29))) * _MIX >> shift
