"""Serving linear and kernel models, whatever their examples are."""

from __future__ import annotations

import io
import struct
from functools import cache
from typing import Any

import numpy as np

from widemargin.data.readers.chunk import Chunk
from widemargin.data.readers.pieces import Parse, SkippedLines, chunks_of
from widemargin.data.readers.sources import lines_of
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.models.kernel import KernelModel
from widemargin.models.multilabel import MultilabelModel
from widemargin.web.serving.bodies import SOURCE, Examples
from widemargin.web.serving.predictor import (
    AnswerOptions,
    Predictor,
    explanation_json,
    only_chunk,
    only_one,
    plain_json,
)

#: More reasons than any text has: only the strongest are returned, but highlighting needs all.
_ALL = 1 << 30


class RowsModel(Predictor):
    """A linear or kernel model; subclasses read its examples."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        # Kernel values of several rows come from one product of matrices, whose last bits depend
        # on its size; everything else is computed row by row.
        self.joins = not isinstance(model, KernelModel)
        self.several = isinstance(model, MultilabelModel)
        self.explains = not self.several
        self._labels = {
            label: f'{{"label":{plain_json(label)}}}' for label in model.classes.tolist()
        }

    def raw(self, form: str, items: list[Any]) -> Any:
        """Examples as the encoder takes them, or as rows if there is no encoder."""
        raise NotImplementedError

    def encoder(self) -> Any:
        """The encoder of raw examples; None if they are rows."""
        return self.model.encoder

    def rows(self, raw: Any) -> Any:
        """Encode raw examples for the model."""
        encoder, model = self.encoder(), self.model
        if encoder is None or isinstance(raw, Rows):
            return raw
        rows = encoder.encode(raw, model.bias, 1)
        return rows.widened(max(rows.width, model.width))

    def answer(self, form: str, items: list[Any], want: AnswerOptions) -> list[str]:
        """The prediction for each example."""
        rows = self.rows(self.raw(form, items))
        if self.several:
            return self._several_labels(rows, want)
        labels = self.model.predict(rows, 1).tolist()
        if want == (False, False):
            return [self._labels[label] for label in labels]
        found = [{"label": label} for label in labels]
        for name, wanted, method in (
            ("scores", want.scores, "decision_function"),
            ("probabilities", want.proba, "predict_proba"),
        ):
            if wanted:
                for one, figures in zip(
                    found, getattr(self.model, method)(rows, 1).tolist(), strict=True
                ):
                    one["score" if isinstance(figures, float) else name] = figures
        return [plain_json(one) for one in found]

    def _several_labels(self, rows: Any, want: AnswerOptions) -> list[str]:
        scores, classes = self.model.decision_function(rows, 1), self.model.classes
        found = [{"labels": classes[row >= 0.0].tolist()} for row in scores]
        if want.scores:
            for one, row in zip(found, scores.tolist(), strict=True):
                one["scores"] = row
        if want.proba:
            likely = self.model.predict_proba(rows, 1).tolist()
            for one, row in zip(found, likely, strict=True):
                one["probabilities"] = row
        return [plain_json(one) for one in found]

    def explain(self, examples: Examples, top: int, token: int | None) -> dict[str, Any]:
        """The features, or rows of the training data, that decided a prediction."""
        only_one(examples)
        if token is not None:
            raise DataError("token has no effect for this model, only for taggers and parsers")
        if not self.explains:
            raise DataError("a model of several labels per row cannot explain them")
        raw = self.raw(examples.form, examples.items)
        if isinstance(self.model, KernelModel):
            asked = raw if self.encoder() is None else self.rows(raw)
            return explanation_json(self.model.explain(asked, top, first=1))
        whole = explanation_json(self.model.explain(self.to_explain(raw), _ALL))
        marks = self.marks(examples, whole["reasons"])
        return {**whole, "reasons": whole["reasons"][:top], **marks}

    def to_explain(self, raw: Any) -> Any:
        """An example in the form in which the model can name its features."""
        return self.rows(raw)

    def marks(self, examples: Examples, reasons: list[dict[str, Any]]) -> dict[str, Any]:
        """The parts of the input that decided, for highlighting."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Describe the model for clients."""
        model = self.model
        return {
            **super().describe(),
            "classes": model.classes.tolist(),
            "features": model.width,
            "probabilities": bool(model.has_probabilities),
        }

    def _chunk(self, body: bytes, parse: Parse) -> Chunk:
        """Read the lines of a body with a file reader."""
        if body and not body.endswith(b"\n"):
            body += b"\n"
        blocks = lines_of(io.BytesIO(body), SOURCE, len(body) + 1)  # in one piece
        return only_chunk(list(chunks_of(blocks, parse, SkippedLines(0))))


@cache
def _packer(n: int) -> Any:
    return struct.Struct(f"{n}d").pack


def pack_numbers(row: list[Any], where: str) -> bytes:
    """Pack numbers as bytes; an error names the first value that is not a number."""
    try:
        return _packer(len(row))(*row)
    except (struct.error, OverflowError, TypeError):
        for place, value in enumerate(row):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise DataError(
                    f"{SOURCE}: {where}number {place + 1} is {say(value)}, not a number"
                ) from None
        raise DataError(f"{SOURCE}: {where}a number is too large for a float") from None


def say(value: Any) -> str:
    """Describe a JSON value for an error message."""
    kinds = {dict: "an object", list: "a list", type(None): "null", bool: "a boolean"}
    if type(value) in kinds:
        return kinds[type(value)]
    return repr(value if len(str(value)) <= 40 else str(value)[:37] + "...")


def check_finite(values: np.ndarray) -> None:
    """Refuse numbers such as 1e999, which JSON allows but no model takes."""
    if not np.isfinite(values).all():
        raise DataError(f"{SOURCE}: a number is too large for a float")


def one_or_many(value: Any, is_one: Any, wanted: str) -> tuple[list[Any], bool]:
    """Read examples from a JSON value that is one example or a list of them."""
    if is_one(value):
        return [value], True
    if not isinstance(value, list):
        raise DataError(f"{SOURCE}: found {say(value)}, where {wanted} is needed")
    for place, item in enumerate(value):
        if not is_one(item):
            raise DataError(
                f"{SOURCE}: example {place + 1} is {say(item)}, where {wanted} is needed"
            )
    return value, False
