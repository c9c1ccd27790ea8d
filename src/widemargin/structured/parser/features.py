"""The feature templates of parsers, as readable lists."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.trees.contexts import COUNTS, NODES, Templates

#: The features of a state, one per line, with atoms separated by spaces. `s0` is the stack top,
#: `b0` the front of the buffer, `s0l` the leftmost child of s0, `s0l2` the next one, `p0` and `n0`
#: the words beside s0. A node has a word (w), a tag (t), a second tag (x), an ending (e) and the
#: action that gave it its head (a); a third tag is m, see `with_third_tag`.
PARSER_TEMPLATES = """
s0.w s0.t
s0.t
s0.x
b0.w b0.t
b0.w
b0.t
b0.x
b1.w b1.t
b1.w
b1.t
b2.w
b2.t
b2.w b2.t
s1.w s1.t
s1.w
s1.t
s0.w s0.t b0.w b0.t
s0.w s0.t b0.w
s0.w b0.w b0.t
s0.w s0.t b0.t
s0.t b0.w b0.t
s0.w b0.w
s0.t b0.t
s0.x b0.x
b0.t b1.t
b0.w b1.t
b0.t b1.w
s1.t s0.t
s1.x s0.x
s1.w s0.w
s1.w s0.t
s1.t s0.w
s1.w s1.t s0.t
s1.t s0.w s0.t
s1.w b0.w
s1.w b0.t
s1.t b0.w
b0.t b1.t b2.t
s0.t b0.t b1.t
s0.x b0.x b1.x
s1.t s0.t b0.t
s1.x s0.x b0.x
s2.t s1.t s0.t
s0.w s1.t b0.t
s0.t s1.w b0.t
s0.t s1.t b0.w
s0.w b0.t b1.t
s0.t b0.w b1.t
s0.t b0.t b1.w
s1.t s0.t b0.t b1.t
s0.t b0.t b1.t b2.t
s0.t s0l.t b0.t
s0.t s0r.t b0.t
s0.t b0.t b0l.t
s0.w b0.t b0l.t
s1.t s1r.t s0.t
s1.t s1l.t s0.t
s1.t s0.t s0l.t
s1.t s0.t s0r.t
s1.t s0.t b0l.t
s0.t s0l.t s0l2.t
s0.t s0r.t s0r2.t
b0.t b0l.t b0l2.t
s1.t s1r.t s1r2.t
s0.w s0-b0
s0.t s0-b0
b0.w s0-b0
s0.w b0.w s0-b0
s0.t b0.t s0-b0
s1.t s0.t s1-s0
s1.w s0.t s1-s0
s0.w s0.rights
s0.t s0.rights
s0.w s0.lefts
s0.t s0.lefts
b0.w b0.lefts
b0.t b0.lefts
s1.w s1.rights
s1.t s1.rights
s0l.w
s0l.t
s0l.a
s0r.w
s0r.t
s0r.a
b0l.w
b0l.t
b0l.a
s1r.t
s1r.a
s1l.a
s0.t s0l.a s0l2.a
s0.t s0r.a s0r2.a
b0.t b0l.a b0l2.a
s1.t s1r.a s1r2.a
s0.w s0l.a
s0.w s0r.a
b0.w b0l.a
s1.w s1r.a
s0.t s0r.a b0.t
s1.t s1r.a s0.t
s0.w s0r.a b0.t
s0.e b0.t
s0.t b0.e
s1.e s0.t
s1.t s0.e
s0.e b0.e
p0.t s0.t n0.t
n0.t b0.t
s0.t n0.t b0.t
s2.x s1.x s0.x
b0.x b1.x b2.x
s0.x b0.x b0l.x
s1.x s1r.x s0.x
s0.x s0l.x b0.x
s0.x s0r.x b0.x
n0.x s0.x b0.x
p0.x s0.x b0.x
s0.e
b0.e
s1.e
b1.e
s1.e s0.e
b3.t
"""

#: The features of an arc when the tree is known: `d` is the word to be labelled, `h` its head,
#: `g` the head of `h`; `dp`, `dn`, `hp`, `hn` the words next to them; `dl`, `dr` the
#: outermost children; `op` and `on` the children of h before and after d.
LABEL_TEMPLATES = """
d.w
d.t
d.x
d.e
d.w d.t
h.w
h.t
h.w h.t
d.w way
d.t way
h.t way
d.x h.x way
d.w h.w way
d.w h.t way
d.t h.w way
d.t h.t way
d.t h.t far
d.w d.t h.t far
d.e h.t way
d.t h.e way
dp.t d.t
d.t dn.t
dp.t d.t dn.t
dp.w d.t
d.t dn.w
dp.w d.w
d.w dn.w
dp.t d.t h.t way
d.t dn.t h.t way
hp.t h.t d.t way
h.t hn.t d.t way
d.t d.lefts
d.t d.rights
h.t h.lefts way
h.t h.rights way
d.t dl.t h.t way
d.t dr.t h.t way
d.t dl.w h.t way
d.t dr.w h.t way
dl.w h.w way
d.t dl.t dr.t way
op.t d.t h.t way
on.t d.t h.t way
op.w d.t h.t way
on.w d.t h.t way
op.t d.t on.t h.t
g.t h.t d.t way
g.w h.t d.t way
h.w d.t before after
h.t d.t before after
h.w op.t d.t
h.w on.t d.t
way far
"""

#: The features of an arc when the rest of the tree is unknown. Each tag between the two words is
#: one more feature, combined with the tags of the arc.
ARC_TEMPLATES = """
h.w h.t way far
h.w way far
h.t way far
d.w d.t way far
d.w way far
d.t way far
h.w d.w
h.w h.t d.w d.t
h.t d.w d.t way
h.w d.w d.t way
h.w h.t d.t way
h.w h.t d.w
h.t d.t way far
h.x d.x way far
h.w d.t way far
h.t d.w way far
h.t hn.t dp.t d.t
hp.t h.t dp.t d.t
h.t hn.t d.t dn.t
hp.t h.t d.t dn.t
hn.t dp.t d.t way
h.t dp.t d.t way
h.t hn.t d.t way
h.t d.t dn.t way
hp.t h.t d.t way
h.x hn.x dp.x d.x
hp.x h.x d.x dn.x
h.e d.e way
h.e d.t way far
h.t d.e way far
h.w dp.t d.t way
h.w d.t dn.t way
hn.t h.w d.t way
dp.w d.t h.t way
dn.w d.t h.t way
dp.t d.w h.t way
d.w dn.t h.t way
"""


def with_third_tag(text: str) -> str:
    """A list of features for three columns of tags: each feature of x, and the same of m.

    Examples
    --------
    >>> with_third_tag("s0.t b0.t\\ns0.x b0.x\\n").split("\\n")
    ['s0.t b0.t', 's0.x b0.x', 's0.m b0.m', '']
    """
    more = [line.replace(".x", ".m") for line in text.splitlines() if ".x" in line]
    return text + "".join(f"{line}\n" for line in more)


def key_of(name: str) -> int:
    """A pseudorandom odd number that is always the same for a name."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") | 1


def features_of(text: str) -> list[list[str]]:
    """The atoms of every feature of a list, in the order of the rows from the loops."""
    features = [line.split() for line in text.split("\n") if line.strip()]
    for feature in features:
        if len(feature) > 4:
            raise ValueError(f"feature {' '.join(feature)!r} has more than four atoms")
    return sorted(features, key=lambda feature: max(2, len(feature)))


def compile_templates(
    text: str,
    columns: str,
    bits: int,
    nodes: Sequence[str] = NODES,
    counts: Sequence[str] = COUNTS,
) -> Templates:
    """Turn a list of features into arrays; `columns` are the letters of a node's columns."""
    features = features_of(text)
    names = sorted({atom for feature in features for atom in feature})
    of_columns = [a for a in names if a not in counts and not a.endswith(".a")]
    of_groups = [a for a in names if a.endswith(".a")]
    of_counts = [a for a in names if a in counts]
    order = ["", *of_columns, *of_groups, *of_counts]
    number = {name: k for k, name in enumerate(order)}
    parts = {}
    for size in (2, 3, 4):
        chosen = [feature for feature in features if max(2, len(feature)) == size]
        rows = [
            [number[atom] for atom in feature] + [0] * (size - len(feature)) for feature in chosen
        ]
        parts[size] = np.array(rows, np.uint16).reshape(-1, size)
    split = [atom.split(".") for atom in of_columns]
    templates = Templates(
        node=np.array([nodes.index(node) for node, _ in split], np.uint64),
        column=np.array([columns.index(column) for _, column in split], np.uint64),
        group_node=np.array([nodes.index(atom[:-2]) for atom in of_groups], np.uint64),
        count=np.array([counts.index(atom) for atom in of_counts], np.uint64),
        key=np.array([key_of(name) for name in order], np.uint64),
        pairs=parts[2],
        triples=parts[3],
        fours=parts[4],
        seed=np.array([key_of(" ".join(feature)) for feature in features], np.uint64),
        shift=np.array([64 - bits], np.uint64),
    )
    return Templates(*map(frozen, templates))
