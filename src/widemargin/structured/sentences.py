"""Makes a corpus of whatever the user gives as sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus, Sentence, gather
from widemargin.errors import DataError

#: Names of the other columns, if tokens are tuples.
BESIDE = ("pos", "chunk")
#: Characters that mean something in templates, and what stands for them.
_NOT_IN_TEMPLATES = str.maketrans("[]|", "()/")


class TagLists(list[list[str]]):
    """Lists of tags, one per sentence, which NumPy takes for one object each.

    So scikit-learn can concatenate those of several folds (`cross_val_predict`).
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = np.empty(len(self), object)
        for place, tags in enumerate(self):
            found[place] = tags
        return found if dtype is None else found.astype(dtype)


def corpus_of(given: Any, tags: Any = None, beside: Sequence[str] = BESIDE) -> Corpus:
    """Sentences as a corpus; tags, if given, become its column "tag".

    Parameters
    ----------
    given : Corpus, path, dict of columns, or list of sentences
        A sentence is a list of words, of tuples of a word and its other columns, or of dicts of
        features; or a sentence of a corpus, with all its columns.
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
    if sentences and all(isinstance(sentence, Sentence) for sentence in sentences):
        return corpus_of(gather(sentences), tags)
    if not any(map(len, sentences)):
        return Corpus.of(dict.fromkeys(("word", *beside), sentences), tags)
    first = next(sentence[0] for sentence in sentences if len(sentence))
    if isinstance(first, tuple):
        return Corpus.of(_columns(sentences, first, beside), tags)
    if isinstance(first, Mapping):
        made = Corpus.of(feature_columns(sentences, beside), tags)
        return replace(made, format="dicts")
    return Corpus.of(sentences, tags)


def split_sentences(
    corpus: Corpus, share: float, rng: np.random.Generator
) -> tuple[Corpus, Corpus]:
    """Split sentences into those to learn from and a share to hold out, each in their order."""
    count = round(float(share) * len(corpus))
    if not 0.0 < share < 1.0 or not 0 < count < len(corpus):
        raise ValueError(
            f"validation={share!r} must be a share from 0 up to 1 that leaves sentences on"
            f" both sides; there are {len(corpus)}"
        )
    chosen = np.sort(rng.permutation(len(corpus))[:count])
    return corpus[np.setdiff1d(np.arange(len(corpus)), chosen)], corpus[chosen]


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


def feature_columns(
    sentences: Sequence[Sequence[Any]], known: Sequence[str] = ()
) -> dict[str, list[list[str]]]:
    """Columns from sentences of dicts of features, as CRFsuite takes them.

    Each key becomes a column, whose name is the key and a colon; a token that lacks the key has an
    empty cell there. A string is a value of its own, True is the value "1", and False is the same
    as no key. Numbers other than 0 and 1 are refused, as a feature is either there or not.

    Parameters
    ----------
    sentences : list of lists of dict
        The features of each token by name. "word", if there is one, also counts as the word.
    known : sequence of str
        Columns that there must be, whether a token has their key or not.

    Examples
    --------
    >>> feature_columns([[{"lower": "the", "title": True}, {"lower": "dog"}]])
    {'word': [['', '']], 'lower:': [['the', 'dog']], 'title:': [['1', '']]}
    """
    keys: dict[str, str] = {}
    for j, sentence in enumerate(sentences):
        for token in sentence:
            if not isinstance(token, Mapping):
                raise DataError(f"sentence {j + 1}: {token!r} is not a dict of features")
            for key in token:
                if key not in keys:
                    keys[key] = _column_name(key, keys, j)
    columns = {
        name: [[_cell(token, key, j) for token in sentence] for j, sentence in enumerate(sentences)]
        for key, name in keys.items()
    }
    empty = [[""] * len(sentence) for sentence in sentences]
    words = columns.get("word:", empty)
    absent = {name: empty for name in known if name.endswith(":") and name not in columns}
    return {"word": words, **columns, **absent}


def _column_name(key: Any, keys: Mapping[str, str], sentence: int) -> str:
    """The column of a key; a colon sets it apart from what is made of words, such as suffix3."""
    if not isinstance(key, str):
        raise DataError(f"sentence {sentence + 1}: the feature {key!r} is not named by a string")
    name = key.translate(_NOT_IN_TEMPLATES) + ":"
    clash = next((other for other, taken in keys.items() if taken == name), None)
    if clash is not None:
        raise DataError(f"the features {clash!r} and {key!r} would share a column; rename one")
    return name


def _cell(token: Mapping[str, Any], key: str, sentence: int) -> str:
    """The value of a feature as a string; empty if the token does not have it."""
    value = token.get(key, False)
    if isinstance(value, str):
        return value
    if value in (0, 1):
        return "1" if value else ""
    raise DataError(
        f"sentence {sentence + 1}: the feature {key!r} is {value!r}; only strings, True, False, 0"
        " and 1 can be learned from: divide numbers into a few named ranges"
    )


def columns_of_sentence(
    words: Sequence[Any], columns: Mapping[str, Sequence[str]], inputs: Sequence[str]
) -> dict[str, Sequence[str]]:
    """One sentence as columns by name.

    Parameters
    ----------
    words : list of str, tuples or dicts, or a sentence of a corpus
        The sentence.
    columns : mapping of str to list of str
        Its other columns.
    inputs : sequence of str
        The columns that are wanted beside the words.
    """
    if isinstance(words, str):
        raise DataError(f"{words[:20]!r} is a string; give a list of words, as split() makes it")
    names = ("word", *inputs)
    if not len(words):
        return dict.fromkeys(names, words)
    if isinstance(words[0], tuple):
        return {
            name: [token[k] for token in words] for k, name in enumerate(names[: len(words[0])])
        }
    if isinstance(words[0], Mapping):
        found = feature_columns([words], inputs)
        return {name: cells for name, (cells,) in found.items()}
    if isinstance(words, Sentence):
        beside = [name for name in inputs if name in words.corpus.names]
        return {"word": words, **{name: words.column(name) for name in beside}, **columns}
    return {"word": words, **columns}


def is_one_sentence(given: Any) -> bool:
    """Whether this is a single sentence rather than many: a list of words, tuples or dicts."""
    if isinstance(given, (Corpus, Mapping, str, os.PathLike)):
        return False
    return isinstance(given, Sentence) or all(
        isinstance(token, (str, tuple, Mapping)) for token in given[:1]
    )


def place_in_sentence(token: int, size: int) -> int:
    """The place of a token that is counted from 0, or from the end if it is negative."""
    if not -size <= token < size:
        raise DataError(f"there is no token {token}: the sentence has {size}, counted from 0")
    return token % size


def word_columns(corpus: Corpus) -> Mapping[str, list[str]]:
    """The columns of a corpus, with the words called "word"."""
    if "word" in corpus.columns:
        return corpus.columns
    return {"word": corpus.words, **corpus.columns}
