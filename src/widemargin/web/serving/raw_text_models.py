"""Serving tokenizers and annotators."""

from __future__ import annotations

from typing import Any

from widemargin.errors import DataError
from widemargin.web.serving.bodies import SOURCE, Examples, Refused
from widemargin.web.serving.predictor import AnswerOptions, Predictor, plain_json


class TokenizerPredictor(Predictor):
    """A tokenizer. An example is a whole text; the answer is its sentences."""

    kind = "texts to cut into sentences"
    called = "a tokenizer"
    formats = ("jsonl", "text")
    explains = False

    def from_json(self, value: Any) -> Examples:
        """A text, or a list of texts."""
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DataError(f"{SOURCE}: expected a string, or a list of strings")
        return Examples("texts", texts, len(texts), isinstance(value, str))

    def from_body(self, body: bytes, format: str) -> Examples:
        """One text: the whole body."""
        try:
            return Examples("texts", [body.decode()], 1, True)
        except UnicodeDecodeError as error:
            line = body.count(b"\n", 0, error.start) + 1
            raise DataError(f"{SOURCE}:{line}: the text is not UTF-8") from None

    def answer(self, form: str, items: list[Any], want: AnswerOptions) -> list[str]:
        """The sentences of each text: their words, and their tokens with positions in the text."""
        return [plain_json({"sentences": self._sentences(text)}) for text in items]

    def _sentences(self, text: str) -> list[dict[str, Any]]:
        return [
            {
                "words": [word for token in sentence for word in token.words],
                "tokens": [text[token.start : token.end] for token in sentence],
                "ranges": [[token.start, token.end] for token in sentence],
            }
            for paragraph in self.model.paragraphs(text)
            for sentence in paragraph.sentences
        ]

    def check(self, want: AnswerOptions) -> None:
        """Refuse requests for what this model does not provide."""
        if want.proba or want.scores:
            raise Refused(422, f"{self.called} has neither scores nor probabilities")

    def explain(self, examples: Examples, top: int, token: int | None) -> dict[str, Any]:
        """Refuse to explain."""
        raise Refused(422, f"{self.called} does not explain its sentences")

    def sample(self) -> str:
        """A text."""
        return "Time flies like an arrow, doesn't it? I think so."


class AnnotatorPredictor(TokenizerPredictor):
    """An annotator. An example is a whole text; the answer is its annotated sentences."""

    kind = "texts to annotate"
    called = "an annotator"

    def _sentences(self, text: str) -> list[dict[str, Any]]:
        return [{"words": words} for words in self.model(text)]
