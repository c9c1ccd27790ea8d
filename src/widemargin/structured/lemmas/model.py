"""A trained lemmatizer: lemmas of words with tags, and saving to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.modelfile.packing import pack_params, unpack_params
from widemargin.structured.choices.chooser import Chooser
from widemargin.structured.choices.model import ChoiceModel
from widemargin.structured.lemmas.scripts import apply_script, check_script
from widemargin.structured.saved import column_names, read_model
from widemargin.structured.sentences import TagLists, corpus_with_words

#: Maximum number of cached lemmas.
_REMEMBERED = 1 << 18


@dataclass(frozen=True, eq=False)
class LemmatizerModel(ChoiceModel):
    """A trained lemmatizer.

    Attributes
    ----------
    chooser : Chooser
        Chooses the edit script of a word.
    tags : tuple of str
        The columns that it reads besides the words.
    params : dict
        The parameters of the training.
    """

    learner: ClassVar[str] = "Lemmatizer"
    #: The column that it writes.
    column: ClassVar[str] = "lemma"

    tags: tuple[str, ...]
    params: dict[str, Any] = field(default_factory=dict)

    def facts(self) -> list[tuple[str, Any]]:
        """More lines for the table that describes the model."""
        return [
            ("tags", ", ".join(self.tags)),
            ("edit scripts", f"{len(self.chooser.labels):,}"),
            ("words", f"{len(self.chooser.candidates.words):,} with their tags"),
            ("weights", f"{self.chooser.weights:,}"),
        ]

    @cached_property
    def _memory(self) -> dict[tuple[str, ...], str]:
        return {}

    def flat_lemmas(self, corpus: Corpus) -> list[str]:
        """The lemmas of all words of a corpus, in one list.

        A lemma depends only on the word and its tags, so each distinct combination is looked up
        once.
        """
        asked = list(zip(corpus.words, *(corpus.column(name) for name in self.tags), strict=True))
        memory = self._memory
        if len(memory) > _REMEMBERED:  # replaced, not cleared: another thread may be reading it
            memory = self.__dict__["_memory"] = {}
        lemmas = list(map(memory.get, asked))
        places = [place for place, lemma in enumerate(lemmas) if lemma is None]
        if places:
            new = list(dict.fromkeys(asked[place] for place in places))
            types = corpus_of_types(new, self.tags)
            scripts = self.chooser.choose(types).tolist()
            names = self.chooser.labels
            for one, script in zip(new, scripts, strict=True):
                memory[one] = apply_script(names[script], one[0])
            for place in places:
                lemmas[place] = memory[asked[place]]
        return cast("list[str]", lemmas)

    def flat_columns(self, corpus: Corpus) -> dict[str, list[str]]:
        """The column of lemmas of all words of a corpus."""
        return {self.column: self.flat_lemmas(corpus)}

    def predict(self, sentences: Any) -> list[list[str]]:
        """The lemmas of many sentences, one list per sentence.

        Parameters
        ----------
        sentences : Corpus, path or dict of columns
            The columns must include the tags.
        """
        corpus = corpus_with_words(sentences, self.tags)
        return TagLists(corpus.by_sentence(self.flat_lemmas(corpus)))

    def lemma(self, word: str, *tags: str) -> str:
        """The lemma of one word with its tags, in the order of `tags`."""
        return self.flat_lemmas(corpus_of_types([(word, *tags)], self.tags))[0]

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The model as arrays and a description."""
        arrays, about = self.chooser.contents()
        params = pack_params(self.params)
        described = {"learner": self.learner, "tags": list(self.tags), "params": params}
        return arrays, {**described, "chooser": about}

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Self:
        """Undo `contents`."""
        chooser = Chooser.of(arrays, about["chooser"])
        for script in chooser.labels:
            check_script(script)
        return cls(chooser, column_names(about["tags"]), unpack_params(about["params"]))

    def __repr__(self) -> str:
        return f"LemmatizerModel({len(self.chooser.labels)} edit scripts)"


def corpus_of_types(types: Sequence[tuple[str, ...]], tags: Sequence[str]) -> Corpus:
    """Words with their tags as a corpus of sentences of one word each."""
    columns = dict(zip(("word", *tags), map(list, zip(*types, strict=True)), strict=True))
    return Corpus(columns, np.arange(len(types) + 1, dtype=np.int64))


def load_lemmatizer(path: str | os.PathLike[str]) -> LemmatizerModel:
    """Read a lemmatizer from its file.

    This is the plain model; `widemargin.load` returns the `Lemmatizer` around it.

    Examples
    --------
    >>> from widemargin.structured import Lemmatizer, load_lemmatizer
    >>> columns = {"word": [["dogs", "bark"]], "lemma": [["dog", "bark"]], "upos": [["N", "V"]]}
    >>> Lemmatizer(tags="upos", random_state=0).fit(columns).save("lemmas.wm")
    >>> load_lemmatizer("lemmas.wm").lemma("dogs", "N")
    'dog'
    """
    return read_model(path, LemmatizerModel)
