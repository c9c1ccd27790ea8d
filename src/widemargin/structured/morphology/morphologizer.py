"""Morphologizer: learns the features (FEATS) and finer tags (XPOS) of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from widemargin.data.encode.templates import Templates
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.structured.choices.candidates import CandidateLists
from widemargin.structured.choices.chooser import Chooser, code_labels
from widemargin.structured.choices.estimator import ChoiceEstimator, find_columns
from widemargin.structured.morphology.model import BETWEEN, MorphologizerModel
from widemargin.structured.sentences import corpus_with_words
from widemargin.structured.tagger.model import share_right

#: A word seen this often with its tag has only the values it was seen with.
_OFTEN = 5


def _templates(tags: Sequence[str]) -> list[str]:
    """Feature templates: the word, its neighbours, and the tags of all of them."""
    tag = tags[0]
    return [
        "lower[0]",
        "bias",
        *(f"suffix{n}[0]" for n in range(1, 8)),
        *(f"prefix{n}[0]" for n in range(1, 6)),
        *("lower[-2]", "lower[-1]", "lower[1]", "lower[2]"),
        *(f"suffix{n}[{place}]" for n in range(1, 5) for place in (-1, 1)),
        *("suffix2[-2]", "suffix2[2]"),
        *("flags[0]", "runs[0]"),
        *(f"{name}[{place}]" for name in tags for place in (-2, -1, 1, 2)),
        *(f"{name}[0]" for name in tags),
        f"{tag}[-1]|{tag}[0]|{tag}[1]",
        f"{tag}[-2]|{tag}[-1]|{tag}[0]",
        f"{tag}[0]|{tag}[1]|{tag}[2]",
        f"lower[-1]|{tag}[0]",
        f"lower[1]|{tag}[0]",
        f"{tag}[-1]|lower[0]",
        f"lower[0]|{tag}[1]",
        f"suffix2[0]|{tag}[-1]",
        f"suffix2[0]|{tag}[1]",
        f"suffix3[0]|{tag}[-1]|{tag}[1]",
        f"suffix3[-1]|{tag}[0]",
        f"suffix3[1]|{tag}[0]",
        *("suffix2[-1]|suffix2[0]", "suffix2[0]|suffix2[1]", "suffix3[-1]|suffix3[0]"),
        *("suffix3[0]|suffix3[1]", "lower[-1]|lower[0]", "lower[0]|lower[1]"),
    ]


@dataclass(eq=False, repr=False)
class Morphologizer(ChoiceEstimator[MorphologizerModel]):
    """Find the morphology of words: features such as Case=Gen|Number=Plur, and finer tags.

    The values of all columns are chosen together, among those seen in training with the word or
    with words that have the same ending and tag. The score of a value is the sum over its parts:
    each attribute (Case=Gen), the finer tag, and the whole. So values share what is learned about
    their attributes, and only pairs of a feature and a part that occurred in a mistake have
    weights. Words are read from left to right, and earlier choices are features of later ones.

    Parameters
    ----------
    epochs : int
        Maximum number of passes over the sentences.
    columns : str or sequence of str
        The columns to learn.
    tags : str or sequence of str
        The columns to read besides the words. Candidates are looked up by the first one.
    C : float
        The largest step after a mistake.
    bits : int
        Weights are hashed into a table of 2^bits.
    validation : float, path or Corpus
        The share of the sentences to hold out, or a separate held-out set. Its columns are scored
        after every epoch, and the best weights are kept.
    patience, max_seconds, random_state
        As for `Tagger`.

    Attributes
    ----------
    model_ : MorphologizerModel
        The trained model, which can be saved.
    history_ : History
        Mistakes are counted in words that have more than one candidate.

    Examples
    --------
    >>> words, upos = [["the", "dog"], ["the", "dogs"]], [["DET", "NOUN"]] * 2
    >>> feats = [["Definite=Def", "Number=Sing"], ["Definite=Def", "Number=Plur"]]
    >>> given = {"word": words, "upos": upos, "feats": feats}
    >>> morphologizer = Morphologizer(columns="feats", random_state=0).fit(given)
    >>> morphologizer.predict({"word": [["dogs"]], "upos": [["NOUN"]]})
    {'feats': [['Number=Plur']]}
    """

    epochs: int = 8
    _: KW_ONLY
    columns: str | Sequence[str] = ("xpos", "feats")
    tags: str | Sequence[str] = "upos"
    C: float = 0.01
    bits: int = 21
    validation: Any = 0.0
    patience: int | None = 3
    max_seconds: float | None = None
    random_state: Any = None

    def _learn(
        self, corpus: Corpus, held_out: Corpus | None, learn: Callable[..., Chooser]
    ) -> MorphologizerModel:
        columns, tags = find_columns(corpus, columns=self.columns, tags=self.tags)
        labels, right = code_labels(_labels(corpus, columns))
        if len(labels) == 1 and set(labels[0].split(BETWEEN)) == {"_"}:
            raise DataError(
                f"{corpus.source}: {' and '.join(columns)} are '_' everywhere, so there is nothing"
                " to learn"
            )
        words = [word.lower() for word in corpus.words]
        chooser = Chooser(
            labels,
            [_parts(label, columns) for label in labels],
            Templates(_templates(tags)),
            CandidateLists.of_training(words, corpus.column(tags[0]), right.tolist(), _OFTEN),
            tags[0],
            earlier=True,
        )
        score = None
        if held_out is not None:
            answers = _labels(held_out, columns)

            def score(trained: Chooser) -> float:
                found = np.array(labels, object)[trained.choose(held_out)]
                return share_right(found.tolist(), answers)

        chooser = learn(chooser, chooser.read(corpus), right, score=score)
        return MorphologizerModel(chooser, columns, tags, self._plain_params())

    def predict(self, sentences: Any) -> dict[str, list[list[str]]]:
        """The columns of many sentences, see `MorphologizerModel.predict`."""
        return self._fitted.predict(sentences)

    def score(self, sentences: Any, y: None = None) -> float:
        """The share of words with all columns right."""
        corpus, model = corpus_with_words(sentences), self._fitted
        found = map(BETWEEN.join, zip(*model.flat_columns(corpus).values(), strict=True))
        return share_right(list(found), _labels(corpus, model.columns))


def _labels(corpus: Corpus, columns: Sequence[str]) -> list[str]:
    """The cells of all columns of every word as one label."""
    cells = [corpus.column(name) for name in columns]
    labels = list(map(BETWEEN.join, zip(*cells, strict=True)))
    for label in dict.fromkeys(labels):
        if label.count(BETWEEN) != len(columns) - 1:
            raise DataError(
                f"{corpus.source}: a cell of {' or '.join(columns)} has a tab in it"
                f" ({label!r:.60}); put another character there"
            )
    return labels


def _parts(label: str, columns: Sequence[str]) -> list[str]:
    """The parts of a label: the values of its attributes, and the whole."""
    found = [f"={label}"]
    for name, cell in zip(columns, label.split(BETWEEN), strict=True):
        found += [f"{name}:{value}" for value in dict.fromkeys(cell.split("|"))]
    return found
