"""Dependency trees: read and check the heads of a corpus, and score predicted trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.structured.resample import Ratio


def heads_of(corpus: Corpus, column: str = "head") -> np.ndarray:
    """The head of every token: its number in the sentence from 1, or 0 for the root.

    Raises
    ------
    DataError
        If a head is missing, not a number, outside the sentence, or the token itself.

    Examples
    --------
    >>> from widemargin.structured import Corpus, heads_of
    >>> columns = {"word": [["dogs", "bark"]], "head": [["2", "0"]], "deprel": [["nsubj", "root"]]}
    >>> corpus = Corpus.of(columns)
    >>> heads_of(corpus).tolist()
    [2, 0]
    """
    cells = corpus.column(column)
    try:
        heads = np.array(cells, dtype=np.int64)
    except (ValueError, OverflowError):
        heads = np.full(len(cells), -1)
        for token, cell in enumerate(cells):
            if not (cell.isascii() and cell.isdecimal()):
                what = "has no head" if cell == "_" else f"the head {cell!r} is not a number"
                raise DataError(f"{corpus.where(token)}: {what}") from None
            heads[token] = min(int(cell), 1 << 40)
    lengths = np.repeat(corpus.lengths, corpus.lengths)
    outside = np.flatnonzero((heads < 0) | (heads > lengths))
    if len(outside):
        token = int(outside[0])
        raise DataError(
            f"{corpus.where(token)}: the head {cells[token]} is not a token of the sentence,"
            f" which has {lengths[token]}"
        )
    place = np.arange(len(cells)) - np.repeat(corpus.starts[:-1], corpus.lengths) + 1
    own = np.flatnonzero(heads == place)
    if len(own):
        raise DataError(f"{corpus.where(int(own[0]))}: the token is its own head")
    return heads


def check_trees(corpus: Corpus, heads: np.ndarray, single_root: bool = False) -> None:
    """Check that heads form trees: following the heads always leads to the root.

    Parameters
    ----------
    corpus : Corpus
        The corpus of the tokens, for error messages.
    heads : array of int64
        Heads as returned by `heads_of`.
    single_root : bool
        Whether a sentence may have only one token whose head is 0.

    Examples
    --------
    >>> from widemargin.structured import Corpus, check_trees
    >>> columns = {"word": [["dogs", "bark"]], "head": [["2", "0"]], "deprel": [["nsubj", "root"]]}
    >>> corpus = Corpus.of(columns)
    >>> import numpy as np
    >>> check_trees(corpus, np.array([2, 0]))  # dogs hangs on bark, and bark on the root
    >>> check_trees(corpus, np.array([2, 1]))
    Traceback (most recent call last):
    ...
    widemargin.errors.DataError: sentences: sentence 1, token 1: the heads form a cycle: 1 -> 2 -> 1
    """
    starts = np.repeat(corpus.starts[:-1], corpus.lengths)
    # An extra position is the common root, its own head. The steps double every time.
    root = len(heads)
    up = np.append(np.where(heads == 0, root, starts + heads - 1), root)
    for _ in range(int(max(corpus.lengths, default=0)).bit_length()):
        up = up[up]
    lost = np.flatnonzero(up != root)
    if len(lost):
        cycle = _cycle(heads, int(lost[0]), int(starts[lost[0]]))
        raise DataError(
            f"{corpus.where(cycle[0])}: the heads form a cycle:"
            f" {' -> '.join(str(token - int(starts[lost[0]]) + 1) for token in cycle)}"
        )
    if single_root:
        roots = np.flatnonzero(heads == 0)
        twice = np.flatnonzero(np.diff(starts[roots]) == 0)
        if len(twice):
            first, second = (int(roots[twice[0] + k]) for k in (0, 1))
            number = second - int(starts[second]) + 1
            raise DataError(
                f"{corpus.where(second)}: a second root: token {number} has the head 0, as has"
                f" token {first - int(starts[first]) + 1}; a tree has only one"
            )


def _cycle(heads: np.ndarray, token: int, start: int) -> list[int]:
    """The cycle that a token leads to, from its first token back to it."""
    seen: list[int] = []
    while token not in seen:
        seen.append(token)
        token = start + int(heads[token]) - 1
    circle = seen[seen.index(token) :]
    first = circle.index(min(circle))
    return [*circle[first:], *circle[:first], circle[first]]


class Attachment(NamedTuple):
    """How many tokens have the right head (UAS), and also the right label (LAS)."""

    uas: Ratio
    las: Ratio


def measure_trees(
    answers: Corpus,
    heads: Sequence[int] | np.ndarray,
    labels: Sequence[str],
    subtypes: bool = False,
) -> Attachment:
    """UAS and LAS as in the CoNLL 2018 evaluation, for given tokens.

    The right heads must form trees. All tokens count, including punctuation. Only the part of a
    label before the colon counts, unless `subtypes` is set.

    Parameters
    ----------
    answers : Corpus
        The right trees: columns head and deprel.
    heads : array of int
        The predicted heads, as in `heads_of`.
    labels : list of str
        The predicted labels.

    Examples
    --------
    >>> from widemargin.structured import Corpus, measure_trees
    >>> columns = {"word": [["dogs", "bark"]], "head": [["2", "0"]], "deprel": [["nsubj", "root"]]}
    >>> corpus = Corpus.of(columns)
    >>> found = measure_trees(corpus, heads=[2, 0], labels=["obj", "root"])
    >>> found.uas.f1, found.las.f1
    (1.0, 0.5)
    """
    right_heads = heads_of(answers)
    check_trees(answers, right_heads)
    same_head = np.asarray(heads) == right_heads
    right = answers.column("deprel")
    names = set(right) | set(labels)
    counted = {name: name if subtypes else name.partition(":")[0] for name in names}
    same_label = np.array(
        [counted[a] == counted[b] for a, b in zip(right, labels, strict=True)], bool
    )
    return Attachment(
        Ratio.of_tokens(same_head, answers.starts),
        Ratio.of_tokens(same_head & same_label, answers.starts),
    )
