"""Convert trees with crossing arcs to projective trees, and back (Nivre and Nilsson, 2005).

An arc that crosses others is lifted: its word is attached to the head of its head, until no arcs
cross. The label records where the word belongs: `obl^conj` is an obl of a word further down that
is a conj. Lifted trees are learned and predicted like all others. Then every word with such a
label is lowered: it is attached to the first word below its head, breadth first, with that label.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.structured.parser.trees import check_trees, heads_of

#: Separates a label from that of the original head.
MARK = "^"
#: How often a marked label must occur to be learned.
_LEAST = 10
#: The share of trees with crossing arcs from which on `choose_system` allows them. It lies between
#: treebanks on which marked labels gained nothing on the dev sets (Chinese GSDSimp: 0.8 % of the
#: trees, English EWT: 2.3 %) and those on which they gained (Turkish IMST: 5.0 %, Greek GDT: 11 %).
_ENOUGH = 0.04


def choose_system(corpus: Corpus) -> str:
    """The transition system for a treebank: "pseudo-projective" if enough of its trees cross."""
    heads = heads_of(corpus)
    check_trees(corpus, heads, single_root=True)
    return "pseudo-projective" if share_crossing(corpus, heads) >= _ENOUGH else "arc-hybrid"


def share_crossing(corpus: Corpus, heads: np.ndarray) -> float:
    """The share of trees with crossing arcs: those in which the words below a word have a gap.

    Parameters
    ----------
    corpus : Corpus
        The sentences.
    heads : array of int64
        The heads of its trees, see `heads_of`.

    Examples
    --------
    >>> columns = {"word": [["a", "b", "c", "d"], ["a", "b"]]}
    >>> share_crossing(Corpus.of(columns), np.array([3, 4, 0, 3, 2, 0]))
    0.5
    """
    starts = np.repeat(corpus.starts[:-1], corpus.lengths)
    root = len(heads)  # an extra position, its own head
    up = np.append(np.where(heads == 0, root, starts + heads - 1), root)
    depth = np.zeros(root + 1, np.int64)
    above = up.copy()
    while np.any(above != root):
        depth += above != root
        above = up[above]
    order = np.argsort(-depth[:root], kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
    first, last = np.arange(root + 1), np.arange(root + 1)
    size = np.ones(root + 1, np.int64)
    for words in levels:  # from the deepest words up
        np.minimum.at(first, up[words], first[words])
        np.maximum.at(last, up[words], last[words])
        np.add.at(size, up[words], size[words])
    gaps = (last - first + 1 != size)[:root]
    return len(np.unique(starts[gaps])) / max(1, len(corpus))


def lift(heads: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
    """A tree without crossing arcs, whose labels say how to restore the original.

    The shortest crossing arc is lifted first; on a tie, the leftmost.

    Parameters
    ----------
    heads : sequence of int
        The head of each word, counted from 1; 0 is the root.
    labels : sequence of str
        The labels of the arcs.

    Examples
    --------
    >>> lift([3, 4, 0, 3], ["det", "obj", "root", "xcomp"])
    ([3, 3, 0, 3], ['det', 'obj^xcomp', 'root', 'xcomp'])
    """
    lifted, marked = [0, *heads], list(labels)
    while True:
        long = [word for word in range(1, len(lifted)) if _crosses(lifted, word)]
        if not long:
            return lifted[1:], marked
        word = min(long, key=lambda word: abs(lifted[word] - word))
        head = heads[word - 1]
        marked[word - 1] = f"{plain_label(labels[word - 1])}{MARK}{plain_label(labels[head - 1])}"
        lifted[word] = lifted[lifted[word]]


def _crosses(heads: Sequence[int], word: int) -> bool:
    """Whether some word between a word and its head is not below that head."""
    head = heads[word]
    for between in range(min(word, head) + 1, max(word, head)):
        above = between
        while above not in (0, head):
            above = heads[above]
        if above != head:
            return True
    return False


def lower(heads: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Undo `lift` as far as the labels allow; a word that finds no such head stays where it is.

    Examples
    --------
    >>> lower([3, 3, 0, 3], ["det", "obj^xcomp", "root", "xcomp"])
    ([3, 4, 0, 3], ['det', 'obj', 'root', 'xcomp'])
    """
    lowered, plain = [0, *heads], [plain_label(label) for label in labels]
    wanted = {
        word: label.partition(MARK)[2] for word, label in enumerate(labels, 1) if MARK in label
    }
    moved = True
    while moved:  # a word may find its head only after that one was lowered
        moved = False
        for word in list(wanted):
            found = _below(lowered, plain, word, wanted[word])
            if found:
                lowered[word] = found
                del wanted[word]
                moved = True
    return lowered[1:], plain


def _below(heads: list[int], labels: Sequence[str], word: int, wanted: str) -> int:
    """The first word below the head of a word, breadth first, with a given label; 0 if none."""
    children: dict[int, list[int]] = {}
    for child in range(1, len(heads)):
        if child != word:
            children.setdefault(heads[child], []).append(child)
    queue = deque([heads[word]])
    while queue:
        for child in children.get(queue.popleft(), ()):
            if labels[child - 1] == wanted:
                return child
            queue.append(child)
    return 0


def plain_label(label: str) -> str:
    """A label without the mark and the label of the head."""
    return label.partition(MARK)[0]


def lift_trees(corpus: Corpus, least: int = _LEAST) -> Corpus:
    """Check the trees of a corpus, and lift those whose marked labels are common.

    A tree with a marked label that occurs fewer than `least` times stays as it is.
    """
    heads = heads_of(corpus)
    check_trees(corpus, heads, single_root=True)
    labels, flat = list(corpus.column("deprel")), heads.tolist()
    lifted, seen = {}, Counter[str]()
    for a, b in pairwise(corpus.starts.tolist()):
        tree = lift(flat[a:b], labels[a:b])
        if tree[0] != flat[a:b]:
            lifted[a, b] = tree
            seen.update(label for label in tree[1] if MARK in label)
    for (a, b), (its, marked) in lifted.items():
        if all(seen[label] >= least for label in marked if MARK in label):
            flat[a:b], labels[a:b] = its, marked
    return corpus.with_column("head", list(map(str, flat))).with_column("deprel", labels)


def lower_trees(
    heads: np.ndarray, labels: list[str], starts: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """The trees of many sentences, lowered."""
    marked = [token for token, label in enumerate(labels) if MARK in label]
    lowered, plain = heads.copy(), list(labels)
    for sentence in np.unique(np.searchsorted(starts, marked, "right") - 1).tolist():
        a, b = int(starts[sentence]), int(starts[sentence + 1])
        lowered[a:b], plain[a:b] = lower(heads[a:b].tolist(), labels[a:b])
    return lowered, plain
