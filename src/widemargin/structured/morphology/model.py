"""A trained morphologizer: columns of words with tags, and saving to a file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.modelfile.packing import pack_params, unpack_params
from widemargin.structured.choices.chooser import Chooser
from widemargin.structured.choices.model import ChoiceModel
from widemargin.structured.saved import column_names, read_model
from widemargin.structured.sentences import TagLists, corpus_with_words

#: Separates the cells of a label.
BETWEEN = "\t"


@dataclass(frozen=True, eq=False)
class MorphologizerModel(ChoiceModel):
    """A trained morphologizer.

    Attributes
    ----------
    chooser : Chooser
        Chooses the cells of a word together.
    columns : tuple of str
        The columns that it fills.
    tags : tuple of str
        The columns that it reads besides the words.
    params : dict
        The parameters of the training.
    """

    learner: ClassVar[str] = "Morphologizer"

    columns: tuple[str, ...]
    tags: tuple[str, ...]
    params: dict[str, Any] = field(default_factory=dict)

    def facts(self) -> list[tuple[str, Any]]:
        """More lines for the table that describes the model."""
        parts = {part for parts in self.chooser.parts for part in parts}
        labels = len(self.chooser.labels)
        return [
            ("columns", ", ".join(self.columns)),
            ("tags", ", ".join(self.tags)),
            ("labels", f"{labels:,} of {len(parts) - labels:,} values"),
            ("weights", f"{self.chooser.weights:,}"),
        ]

    def flat_columns(self, corpus: Corpus) -> dict[str, list[str]]:
        """The columns of all words of a corpus, each in one list."""
        chosen = self.chooser.choose(corpus)
        cells = [label.split(BETWEEN) for label in self.chooser.labels]
        return {
            name: np.array([label[k] for label in cells], object)[chosen].tolist()
            for k, name in enumerate(self.columns)
        }

    def predict(self, sentences: Any) -> dict[str, list[list[str]]]:
        """The columns of many sentences, each as one list per sentence.

        Parameters
        ----------
        sentences : Corpus, path or dict of columns
            The columns must include the tags.
        """
        corpus = corpus_with_words(sentences, self.tags)
        return {
            name: TagLists(corpus.by_sentence(cells))
            for name, cells in self.flat_columns(corpus).items()
        }

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The model as arrays and a description."""
        arrays, about = self.chooser.contents()
        described = {
            "learner": self.learner,
            "columns": list(self.columns),
            "tags": list(self.tags),
            "params": pack_params(self.params),
            "chooser": about,
        }
        return arrays, described

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Self:
        """Undo `contents`."""
        chooser = Chooser.of(arrays, about["chooser"])
        columns = column_names(about["columns"])
        wrong = [label for label in chooser.labels if label.count(BETWEEN) != len(columns) - 1]
        if wrong:
            raise ValueError(f"{wrong[0]!r:.40} are not the cells of {len(columns)} columns")
        return cls(chooser, columns, column_names(about["tags"]), unpack_params(about["params"]))

    def __repr__(self) -> str:
        return f"MorphologizerModel({', '.join(self.columns)}, {len(self.chooser.labels)} labels)"


def load_morphologizer(path: str | os.PathLike[str]) -> MorphologizerModel:
    """Read a morphologizer from its file.

    This is the plain model; `widemargin.load` returns the `Morphologizer` around it.

    Examples
    --------
    >>> from widemargin.structured import Morphologizer, load_morphologizer
    >>> columns = {"word": [["dogs"]], "upos": [["NOUN"]], "feats": [["Number=Plur"]]}
    >>> Morphologizer(columns="feats", random_state=0).fit(columns).save("feats.wm")
    >>> load_morphologizer("feats.wm").predict({"word": [["dogs"]], "upos": [["NOUN"]]})
    {'feats': [['Number=Plur']]}
    """
    return read_model(path, MorphologizerModel)
