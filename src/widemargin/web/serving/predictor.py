"""The common interface of served models of all kinds."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from widemargin.data.readers.chunk import Chunk
from widemargin.errors import DataError
from widemargin.models.explanation import Explanation
from widemargin.web.serving.bodies import (
    SOURCE,
    Examples,
    Refused,
    accepted_types,
    json_lines,
    read_json,
)
from widemargin.web.serving.limits import Limits


class AnswerOptions(NamedTuple):
    """What to return besides the prediction."""

    scores: bool = False
    proba: bool = False


def plain_json(value: Any) -> str:
    """Compact JSON; numbers have all their digits."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def finite(value: float) -> float | None:
    """A number for JSON, which has no infinity; None if it is not finite."""
    return value if math.isfinite(value) else None


class Predictor(ABC):
    """A model that reads request bodies, predicts and explains.

    Parameters
    ----------
    model : a model as read from its file
        The model.

    Attributes
    ----------
    kind : str
        What its examples are.
    formats : tuple of str
        The formats of bodies that it reads besides JSON.
    joins : bool
        Whether examples of several requests can be answered together, because an answer is the
        same, bit for bit, whatever examples are next to it.
    explains : bool
        Whether it can explain a prediction.
    """

    kind: ClassVar[str]
    formats: tuple[str, ...] = ("jsonl",)
    joins = True
    explains = True

    def __init__(self, model: Any) -> None:
        self.model = model

    # Reading

    def read(self, body: bytes, format: str, limits: Limits) -> Examples:
        """Read the examples of a body; raises DataError, or Refused if a limit is exceeded."""
        if format == "json":
            found = self.from_json(read_json(body, limits.depth))
        elif format not in self.formats:
            types = accepted_types(("json", *self.formats))
            raise Refused(
                415, f"this model reads {self.kind}, not {format}; give one of {', '.join(types)}"
            )
        elif format == "jsonl":
            found = self.from_lines(body, limits)
        else:
            found = self.from_body(body, format)
        if found.n > limits.rows:
            raise Refused(
                413, f"{found.n:,} examples in one request; at most {limits.rows:,} are allowed"
            )
        return found

    def from_lines(self, body: bytes, limits: Limits) -> Examples:
        """Read examples from JSON lines."""
        items: list[Any] = []
        form = ""
        for value in json_lines(body, limits.depth):
            found = self.from_json(value)
            if not found.one:
                raise DataError(
                    f"{SOURCE}: line {len(items) + 1} holds {found.n} examples; give one per line"
                )
            if items and found.form != form:
                raise DataError(f"{SOURCE}: lines are examples of different forms")
            form = found.form
            items += found.items
        return Examples(form, items, len(items), False)

    @abstractmethod
    def from_json(self, value: Any) -> Examples:
        """Read the examples in a JSON value."""

    def from_body(self, body: bytes, format: str) -> Examples:
        """Read the examples of a body in another format."""
        raise AssertionError(f"nothing reads {format}")

    # Answering

    @abstractmethod
    def answer(self, form: str, items: list[Any], want: AnswerOptions) -> list[str]:
        """The prediction for each example, as JSON."""

    @abstractmethod
    def explain(self, examples: Examples, top: int, token: int | None) -> dict[str, Any]:
        """What decided the prediction for a single example."""

    # Describing

    @abstractmethod
    def sample(self) -> Any:
        """An example as JSON, to try the model with."""

    def warm_up(self) -> None:
        """Predict and explain a sample in every format, so that the first request is fast."""
        sample, limits = self.sample(), Limits()
        bodies = {"json": plain_json(sample).encode(), **self.other_samples()}
        for format, body in bodies.items():
            examples = self.read(body, format, limits)
            self.answer(examples.form, examples.items, AnswerOptions())
        examples = self.from_json(sample)
        self.answer(examples.form, examples.items, AnswerOptions(scores=True))
        if examples.n == 1 and self.explains:
            self.explain(examples, 1, None)

    def other_samples(self) -> dict[str, bytes]:
        """Bodies in other formats to try the model with, by format."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Describe the model for clients."""
        return {
            "kind": self.kind,
            "learner": self.model.learner,
            "content_types": accepted_types(("json", *self.formats)),
            "explains": self.explains,
            "sample": self.sample(),
        }

    def check(self, want: AnswerOptions) -> None:
        """Refuse requests for what this model does not provide."""
        if want.proba and not getattr(self.model, "has_probabilities", False):
            raise Refused(422, "this model has no probabilities; ask for scores instead")


def only_one(examples: Examples) -> None:
    """Refuse several examples, because only one can be explained."""
    if examples.n != 1:
        raise DataError(f"{SOURCE}: explain takes one example, found {examples.n}")


def only_chunk(chunks: list[Chunk]) -> Any:
    """The chunk of a body that a reader has read in one piece."""
    if not chunks:
        raise DataError(f"{SOURCE}: there are no examples")
    (chunk,) = chunks
    return chunk


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """An explanation as JSON."""
    reasons = [
        {
            "feature": reason.feature,
            "value": reason.value,
            "weight": reason.weight,
            "share": reason.share,
            **({} if reason.mistakes is None else {"mistakes": reason.mistakes}),
        }
        for reason in explanation.reasons
    ]
    return {
        "prediction": _plain(explanation.prediction),
        "instead_of": _plain(explanation.instead_of),
        "score": finite(float(explanation.score)),
        "voted": explanation.voted,
        "rest": explanation.rest,
        "reasons": reasons,
    }


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
