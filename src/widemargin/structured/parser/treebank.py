"""Sentences of a corpus in the form that the parser loops read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from widemargin.data.encode.tokens import TokenColumns, Tokens
from widemargin.data.readers.corpus import Corpus
from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.loops.trees.greedy import Sentences
from widemargin.structured.parser.features import key_of
from widemargin.structured.parser.trees import check_trees, heads_of
from widemargin.structured.sentences import word_columns

#: Columns of a word besides its tags: the word in lower case and its ending.
_FORMS = TokenColumns(["lower", "suffix3"])
#: Their order in the loops: a word, its two tags, its ending, and a third tag if there is one.
COLUMNS = "wtxem"
#: Maximum number of tag columns that a parser can use.
MOST_COLUMNS = 3


class Places(NamedTuple):
    """Rows of the tokens; each sentence has one extra row at either end."""

    rows: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, starts: np.ndarray) -> Places:
        """The places for sentences that start at these tokens."""
        sentence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        rows = np.arange(int(starts[-1])) + 2 * sentence + 1
        return cls(rows, (starts + 2 * np.arange(len(starts))).astype(np.uint64))


def read_forms(corpus: Corpus) -> Tokens:
    """The words of a corpus as the loops read them."""
    return _FORMS.read({"word": word_columns(corpus)["word"]})


def lay_out(corpus: Corpus, tags: Sequence[np.ndarray], forms: Tokens | None = None) -> Sentences:
    """Turn the tokens of a corpus into rows, without trees.

    Parameters
    ----------
    corpus : Corpus
        The words.
    tags : one to three arrays of uint64
        The tags of all tokens, as returned by `hash_tags`; a single one counts twice.
    forms : Tokens, optional
        The result of `read_forms`, if already known.
    """
    places = Places.of(corpus.starts)
    hashed = _FORMS.hashed(read_forms(corpus) if forms is None else forms)
    third = len(tags) > 2
    columns = np.empty((int(places.starts[-1]), len(COLUMNS) - (not third)), np.uint64)
    columns[places.starts[:-1].astype(np.int64)] = key_of("the root")
    columns[places.starts[1:].astype(np.int64) - 1] = key_of("no word")
    columns[places.rows, 0] = hashed[0]
    columns[places.rows, 1] = tags[0]
    columns[places.rows, 2] = tags[min(1, len(tags) - 1)]
    columns[places.rows, 3] = hashed[1]
    if third:
        columns[places.rows, 4] = tags[2]
    nothing = frozen(np.empty(0, np.uint32))
    return Sentences(frozen(columns), frozen(places.starts), nothing, nothing)


def with_trees(sentences: Sentences, corpus: Corpus, labels: Mapping[str, int]) -> Sentences:
    """The same sentences with their right heads and labels, after checking these."""
    heads = heads_of(corpus)
    check_trees(corpus, heads, single_root=True)
    rows = Places.of(corpus.starts).rows
    right_heads = np.zeros(len(sentences.columns), np.uint32)
    right_labels = np.zeros(len(sentences.columns), np.uint32)
    right_heads[rows] = heads
    right_labels[rows] = [labels[label] for label in corpus.column("deprel")]
    return sentences._replace(heads=frozen(right_heads), labels=frozen(right_labels))


def check_treebank(corpus: Corpus) -> None:
    """Raise an error unless all sentences have trees that can be learned from."""
    if "head" in corpus.names:
        labels_of(corpus)
        check_trees(corpus, heads_of(corpus), single_root=True)


def hash_tags(tags: Sequence[str]) -> np.ndarray:
    """Hash every tag of a list; equal tags always have equal hashes."""
    known = {tag: key_of(f"tag {tag}") for tag in set(tags)}
    return np.array([known[tag] for tag in tags], np.uint64)


def labels_of(corpus: Corpus) -> list[str]:
    """The labels of a corpus, sorted."""
    found = corpus.column("deprel")
    if "_" in found:
        raise DataError(f"{corpus.where(found.index('_'))}: has no label")
    return sorted(set(found))
