"""Serving taggers and parsers."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.structured.feature_dicts import feature_columns
from widemargin.structured.sentences import corpus_of
from widemargin.web.serving.bodies import SOURCE, Examples, Refused
from widemargin.web.serving.predictor import (
    AnswerOptions,
    Predictor,
    explanation_json,
    finite,
    only_one,
    plain_json,
)


class SentenceModel(Predictor):
    """A model of sentences. A sentence is a dict of columns: the words, and further columns."""

    formats = ("jsonl", "text", "conll", "conllu")

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that the model needs besides the words."""
        raise NotImplementedError

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features of tokens that are numbers."""
        return ()

    @property
    def _by_features(self) -> bool:
        """Whether tokens are dicts of features."""
        return bool(self.numbers) or any(name.endswith(":") for name in self.beside)

    def from_json(self, value: Any) -> Examples:
        """Read a sentence (string, list of words, or object of columns), or a list of them."""
        if self._is_one(value):
            return Examples("sentences", [self._columns(value, "")], 1, True)
        if not isinstance(value, list):
            raise DataError(f"{SOURCE}: found {type(value).__name__}, where a sentence is needed")
        found = []
        for place, item in enumerate(value):
            if not self._is_one(item):
                raise DataError(f"{SOURCE}: example {place + 1} is not a list of words")
            found.append(self._columns(item, f"example {place + 1}: "))
        return Examples("sentences", found, len(found), False)

    def _is_one(self, value: Any) -> bool:
        if isinstance(value, (str, dict)):
            return True
        token = dict if self._by_features else str
        return isinstance(value, list) and all(isinstance(item, token) for item in value)

    def _columns(self, value: Any, where: str) -> Any:
        """A sentence as columns, or unchanged if its tokens are dicts of features."""
        if self._by_features:
            if isinstance(value, (dict, str)):
                raise DataError(f"{SOURCE}: {where}a sentence must be a list of feature objects")
            feature_columns([value], self.beside, self.numbers)  # raises if it cannot be read
            return value
        if isinstance(value, str):
            value = value.split()
        columns = dict(value) if isinstance(value, dict) else {"word": value}
        if "word" not in columns:
            columns["word"] = columns.pop("form", columns.pop("words", None))
        found = {}
        for name in ("word", *self.beside):
            cells = columns.get(name)
            if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
                raise DataError(
                    f"{SOURCE}: {where}the column {name!r} must be a list of strings, one per word"
                )
            found[name] = cells
        if len(set(map(len, found.values()))) > 1:
            raise DataError(f"{SOURCE}: {where}the columns have different lengths")
        for cells in found.values():
            _check_unicode(cells, where)
        return found

    def from_body(self, body: bytes, format: str) -> Examples:
        """Read sentences with the file readers."""
        file = io.BytesIO(body)
        file.name = SOURCE
        corpus = read_conll(file, format=format)
        if not len(corpus):
            raise DataError(f"{SOURCE}: there are no sentences")
        for name in self.beside:
            corpus.column(name)  # raises if there is none
        return Examples("", [corpus], len(corpus), False)

    def corpus(self, form: str, items: list[Any]) -> Corpus:
        """Sentences as a corpus."""
        if form == "":
            return items[0]
        if self._by_features:
            return corpus_of(items, beside=self.beside, numbers=self.numbers)
        return Corpus.of({name: [item[name] for item in items] for name in ("word", *self.beside)})

    def _one_sentence(self, examples: Examples) -> Corpus:
        """The sentence to explain, as a corpus of one."""
        only_one(examples)
        corpus = self.corpus(examples.form, examples.items)
        if not corpus.tokens:
            raise DataError(f"{SOURCE}: the sentence has no words")
        return corpus

    def check(self, want: AnswerOptions) -> None:
        """Refuse requests for what this model does not provide."""

    def sample(self) -> Any:
        """A sentence."""
        words = ["The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "."]
        if self._by_features:
            named = {name.rstrip(":"): "1" for name in self.beside[:3]}
            return [{**named, **dict.fromkeys(self.numbers[:3], 1.5)}]
        return {"word": words, **{name: ["_"] * len(words) for name in self.beside}}

    def describe(self) -> dict[str, Any]:
        """Describe the model for clients."""
        return {**super().describe(), "columns": ["word", *self.beside]}

    def _place(self, size: int, token: int | None, margins: np.ndarray) -> int:
        """The word to explain: the requested one, counted from 1, or the least certain."""
        if token is None:
            return int(np.argmin(margins))
        if not 1 <= token <= size:
            raise DataError(f"token: the sentence has {size} words, so there is no word {token}")
        return token - 1


def _check_unicode(cells: list[str], where: str) -> None:
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        raise DataError(f"{SOURCE}: {where}a word has half of a surrogate pair") from None


class TaggerPredictor(SentenceModel):
    """A tagger."""

    kind = "sentences to tag"

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that the templates use."""
        return tuple(self.model.templates.columns.inputs)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features that the tagger knows as numbers."""
        return tuple(self.model.numbers)

    def answer(self, form: str, items: list[Any], want: AnswerOptions) -> list[str]:
        """The tags of each sentence."""
        corpus = self.corpus(form, items)
        found: list[dict[str, Any]] = [{"tags": tags} for tags in self.model.predict(corpus)]
        if want.scores:
            margins = [finite(margin) for margin in self.model.flat_margins(corpus).tolist()]
            for one, some in zip(found, corpus.by_sentence(margins), strict=True):
                one["margins"] = some
        if want.proba:
            likely = self.model.flat_marginals(corpus)
            codes = self.model.codes(corpus)
            best = likely[np.arange(len(codes)), self.model.shown_places[codes]].tolist()
            for one, some in zip(found, corpus.by_sentence(best), strict=True):
                one["probabilities"] = some
        return [plain_json(one) for one in found]

    def explain(self, examples: Examples, top: int, token: int | None) -> dict[str, Any]:
        """The tags of a sentence with their margins, and the features that decided one of them."""
        corpus = self._one_sentence(examples)
        margins = self.model.flat_margins(corpus)
        place = self._place(corpus.tokens, token, margins)
        return {
            "words": corpus.words,
            "tags": self.model.flat_tags(corpus),
            "margins": [finite(margin) for margin in margins.tolist()],
            "token": place + 1,
            **explanation_json(self.model.explain(corpus[0], place, top)),
        }

    def describe(self) -> dict[str, Any]:
        """Describe the model for clients."""
        return {**super().describe(), "classes": self.model.shown_tags, "probabilities": True}


class ParserPredictor(SentenceModel):
    """A parser."""

    kind = "sentences to parse"

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns of tags, if the parser has no taggers."""
        return () if self.model.taggers else tuple(dict.fromkeys(self.model.columns))

    def answer(self, form: str, items: list[Any], want: AnswerOptions) -> list[str]:
        """The tree of each sentence: heads as word numbers from 1, 0 for the root; labels; tags."""
        corpus = self.corpus(form, items)
        trees = self.model.predict(corpus)
        columns: dict[str, list[Any]] = {"heads": trees.heads.tolist(), "labels": trees.labels}
        if want.scores:
            columns["margins"] = [finite(one) for one in self.model.flat_margins(corpus).tolist()]
        parts = {name: corpus.by_sentence(cells) for name, cells in columns.items()}
        tags = {name: corpus.by_sentence(cells) for name, cells in trees.tags.items()}
        return [
            plain_json(
                {
                    **{name: cells[i] for name, cells in parts.items()},
                    "tags": {name: cells[i] for name, cells in tags.items()},
                }
            )
            for i in range(len(corpus))
        ]

    def check(self, want: AnswerOptions) -> None:
        """Refuse requests for what this model does not provide."""
        if want.proba:
            raise Refused(422, "a parser has no probabilities; ask for scores instead")

    def explain(self, examples: Examples, top: int, token: int | None) -> dict[str, Any]:
        """The tree of a sentence, and the features that gave one word its head and label."""
        corpus = self._one_sentence(examples)
        trees, margins = self.model.predict(corpus), self.model.flat_margins(corpus)
        place = self._place(corpus.tokens, token, margins)
        tags = {name: trees.tags[name] for name in self.beside}
        words = corpus.words
        return {
            "words": words,
            "heads": trees.heads.tolist(),
            "labels": trees.labels,
            "margins": [finite(margin) for margin in margins.tolist()],
            "token": place + 1,
            **explanation_json(self.model.explain(words, place, top, **tags)),
            "label": explanation_json(self.model.explain_label(words, place, top, **tags)),
        }

    def describe(self) -> dict[str, Any]:
        """Describe the model for clients."""
        return {**super().describe(), "classes": self.model.labels, "probabilities": False}
