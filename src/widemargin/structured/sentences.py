"""Convert sentences in any of the accepted forms to a corpus."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from widemargin.data.readers.conll import name_without_tags, read_conll
from widemargin.data.readers.corpus import Corpus, Sentence, gather
from widemargin.data.readers.token_values import TokenValues
from widemargin.errors import DataError
from widemargin.evaluate.folds import Fold
from widemargin.structured.feature_dicts import feature_columns

#: Names of the other columns if tokens are tuples.
BESIDE = ("pos", "chunk")


class TagLists(list[list[str]]):
    """Lists of tags, one per sentence, which NumPy treats as one object each.

    This lets scikit-learn concatenate those of several folds (`cross_val_predict`).
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = np.empty(len(self), object)
        for place, tags in enumerate(self):
            found[place] = tags
        return found if dtype is None else found.astype(dtype)


def corpus_of(
    given: Any,
    tags: Any = None,
    beside: Sequence[str] = BESIDE,
    numbers: Collection[str] | None = None,
    checked: bool = True,
) -> Corpus:
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
    numbers : collection of str or None
        The numeric features of dicts; None decides by their values.
    checked : bool
        Whether to make sure that all cells of lists are strings. If not, what reads them must.
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
            raise DataError(f"{given}: the tags are in the file itself: name their column instead")
        return read_conll(given)
    if isinstance(given, Mapping):
        return Corpus.of(given, tags, checked)
    if not isinstance(given, Iterable):
        raise DataError(f"{given!r:.40} is no list of sentences")
    sentences = list(given)
    if sentences and all(isinstance(sentence, Sentence) for sentence in sentences):
        return corpus_of(gather(sentences), tags)
    if not any(map(len, sentences)):
        return Corpus.of(dict.fromkeys(("word", *beside), sentences), tags)
    first = next(sentence[0] for sentence in sentences if len(sentence))
    if isinstance(first, tuple):
        return Corpus.of(_columns(sentences, first, beside), tags)
    if isinstance(first, Mapping):
        columns, values = feature_columns(sentences, beside, numbers)
        return replace(Corpus.of(columns, tags), format="dicts", values=values)
    return Corpus.of(sentences, tags, checked)


def corpus_with_words(given: Any, beside: Sequence[str] = BESIDE) -> Corpus:
    """As `corpus_of`, for models that read words: dicts of features must have a "word".

    Examples
    --------
    >>> corpus_with_words([[{"lower": "the"}]])
    Traceback (most recent call last):
    widemargin.errors.DataError: sentence 1: token 1 is a dict without a "word"
    """
    corpus = corpus_of(given, beside=beside)
    if corpus.format == "dicts" and "" in corpus.words:
        token = corpus.words.index("")
        sentence = int(np.searchsorted(corpus.starts, token, side="right"))
        place = token - int(corpus.starts[sentence - 1]) + 1
        raise DataError(f'sentence {sentence}: token {place} is a dict without a "word"')
    return corpus


def split_sentences(
    corpus: Corpus, share: float, rng: np.random.Generator
) -> tuple[Corpus, Corpus]:
    """Split sentences into a training part and a held-out share, both in the original order."""
    part = choose_share(len(corpus), share, rng, "sentences")
    return corpus[part.train], corpus[part.test]


def choose_share(count: int, share: float, rng: np.random.Generator, what: str) -> Fold:
    """Choose a share of the pieces of a corpus to hold out; `what` says what they are."""
    held_out = round(float(share) * count)
    if not 0.0 < share < 1.0 or not 0 < held_out < count:
        raise ValueError(
            f"validation={share!r} must be a share from 0 up to 1 that leaves {what} on"
            f" both sides; there are {count}"
        )
    chosen = np.sort(rng.permutation(count)[:held_out])
    return Fold(np.setdiff1d(np.arange(count), chosen), chosen)


def is_share(asked: Any) -> bool:
    """Whether the parameter `validation` is a share rather than separate sentences."""
    return isinstance(asked, Real)


def holds_out(asked: Any) -> bool:
    """Whether the parameter `validation` asks for held-out sentences."""
    return asked is not None and not (is_share(asked) and asked == 0)


def hold_out(
    asked: Any,
    corpus: Corpus,
    rng: np.random.Generator,
    read: Callable[[Any], Corpus] = corpus_of,
) -> tuple[Corpus, Corpus | None]:
    """The sentences to learn from, and the held-out ones, if any.

    Parameters
    ----------
    asked : float, None, or anything else that `read` takes
        The parameter `validation`: the share to hold out, or separate held-out sentences.
    corpus : Corpus
        All sentences.
    rng : numpy Generator
        Chooses the share.
    read : callable
        Makes a corpus of separate sentences.
    """
    if not corpus.tokens:
        raise DataError(f"{corpus.source}: there are no tokens to learn from")
    if not holds_out(asked):
        return corpus, None
    if is_share(asked):
        return split_sentences(corpus, asked, rng)
    other = read(asked)
    if not other.tokens:
        raise DataError(f"{other.source}: there are no tokens to score")
    return corpus, other


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


def columns_of_sentence(
    words: Sequence[Any],
    columns: Mapping[str, Sequence[str]],
    inputs: Sequence[str],
    numbers: Collection[str] = (),
) -> tuple[dict[str, Sequence[str]], TokenValues | None]:
    """One sentence as columns by name, and the numbers of its tokens.

    Parameters
    ----------
    words : list of str, tuples or dicts, or a sentence of a corpus
        The sentence.
    columns : mapping of str to list of str
        Its other columns.
    inputs : sequence of str
        The columns needed besides the words.
    numbers : collection of str
        The numeric features of dicts.
    """
    if isinstance(words, str):
        raise DataError(f"{words[:20]!r} is a string; give a list of words, as from split()")
    names = ("word", *inputs)
    if not len(words):
        return dict.fromkeys(names, words), None
    if type(words) is list and type(words[0]) is str:  # a fast path for the usual case
        return {"word": words, **columns}, None
    if isinstance(words[0], tuple):
        called = enumerate(names[: len(words[0])])
        return {name: [token[k] for token in words] for k, name in called}, None
    if isinstance(words[0], Mapping):
        made, values = feature_columns([words], inputs, numbers)
        return {name: cells for name, (cells,) in made.items()}, values
    if isinstance(words, Sentence):
        named = Sentence(words, with_inputs(words.corpus, inputs), words.number)
        beside = [name for name in inputs if name in named.corpus.names]
        own = {name: named.column(name) for name in beside}
        return {"word": words, **own, **columns}, words.values
    return {"word": words, **columns}, None


def is_one_sentence(given: Any) -> bool:
    """Whether this is a single sentence rather than many: a list of words, tuples or dicts."""
    if isinstance(given, (Corpus, Mapping, str, os.PathLike)):
        return False
    return isinstance(given, Sentence) or all(
        isinstance(token, (str, tuple, Mapping)) for token in given[:1]
    )


def one_or_many(
    given: Any,
    columns: Mapping[str, Sequence[str]],
    inputs: Sequence[str],
    numbers: Collection[str] = (),
) -> tuple[Corpus, bool]:
    """Sentences as a corpus, and whether it was a single one; see `columns_of_sentence`."""
    if columns or is_one_sentence(given):
        found, values = columns_of_sentence(given, columns, inputs, numbers)
        corpus = Corpus.of({name: [list(cells)] for name, cells in found.items()})
        return replace(corpus, values=values), True
    return corpus_of(given, None, inputs, numbers), False


def place_in_sentence(token: int, size: int) -> int:
    """The position of a token from 0, given one that counts from the end if it is negative."""
    if not -size <= token < size:
        raise DataError(f"there is no token {token}: the sentence has {size}, counted from 0")
    return token % size


def with_inputs(corpus: Corpus, inputs: Collection[str]) -> Corpus:
    """A corpus whose columns are named as in a file with tags, if that gives it these columns.

    The names that `read_conll` gives to columns depend on how many there are.
    """
    if corpus.format != "conll" or all(name in corpus.columns for name in inputs):
        return corpus
    named = name_without_tags(corpus)
    return named if all(name in named.columns for name in inputs) else corpus


def word_columns(corpus: Corpus) -> Mapping[str, list[str]]:
    """The columns of a corpus, with the words under the name "word"."""
    if "word" in corpus.columns:
        return corpus.columns
    return {"word": corpus.words, **corpus.columns}


def stretches(starts: np.ndarray, tokens: int) -> Iterator[tuple[int, int]]:
    """Runs of sentences with about this many tokens each."""
    n, a = len(starts) - 1, 0
    while a < n:
        b = int(np.searchsorted(starts, starts[a] + tokens, "left"))
        b = min(max(b, a + 1), n)
        yield a, b
        a = b
