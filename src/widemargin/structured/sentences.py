"""Makes a corpus of whatever the user gives as sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError

#: Names of the other columns, if tokens are tuples.
BESIDE = ("pos", "chunk")


def corpus_of(given: Any, tags: Any = None, beside: Sequence[str] = BESIDE) -> Corpus:
    """Sentences as a corpus; tags, if given, become its column "tag".

    Parameters
    ----------
    given : Corpus, path, dict of columns, or list of sentences
        A sentence is a list of words, or of tuples of a word and its other columns.
    tags : list of lists of str
        One tag per word.
    beside : sequence of str
        The names of the other columns of tuples.
    """
    if isinstance(given, Corpus):
        if tags is None:
            return given
        lengths = [len(sentence) for sentence in tags]
        if lengths != given.lengths.tolist():
            raise DataError(
                f"tags of {sum(lengths)} tokens in {len(lengths)} sentences do not fit"
                f" {given.tokens} tokens in {len(given)} sentences"
            )
        return given.with_column("tag", [tag for sentence in tags for tag in sentence])
    if isinstance(given, (str, os.PathLike)):
        if tags is not None:
            raise DataError(f"{given}: a file has its own tags; name their column instead")
        return read_conll(given)
    if isinstance(given, Mapping):
        return Corpus.of(given, tags)
    sentences = list(given)
    first = next((sentence[0] for sentence in sentences if len(sentence)), "")
    if isinstance(first, tuple):
        return Corpus.of(_columns(sentences, first, beside), tags)
    return Corpus.of(sentences, tags)


def _columns(
    sentences: list[Any], first: tuple[str, ...], beside: Sequence[str]
) -> dict[str, list[list[str]]]:
    """Columns from sentences of tuples."""
    names = ("word", *beside)[: len(first)]
    if len(names) < len(first):
        raise DataError(
            f"tokens are tuples of {len(first)} but only {len(names)} columns have names"
            f" ({', '.join(names)}); give a dict of columns instead"
        )
    for j, sentence in enumerate(sentences):
        for token in sentence:
            if not isinstance(token, tuple) or len(token) != len(first):
                raise DataError(f"sentence {j + 1}: {token!r} is not a tuple of {len(first)}")
    return {
        name: [[token[k] for token in sentence] for sentence in sentences]
        for k, name in enumerate(names)
    }


def word_columns(corpus: Corpus) -> Mapping[str, list[str]]:
    """The columns of a corpus, with the words called "word"."""
    if "word" in corpus.columns:
        return corpus.columns
    return {"word": corpus.words, **corpus.columns}
