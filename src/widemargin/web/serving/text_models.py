"""Serving models of texts, of strings, and of lines in Vowpal Wabbit's format."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from widemargin.data.readers.chunk import Texts
from widemargin.data.readers.labelled import parse_plain
from widemargin.data.readers.vw import parse_vw_lines
from widemargin.errors import DataError
from widemargin.web.serving.bodies import SOURCE, Examples, json_lines
from widemargin.web.serving.highlights import highlights
from widemargin.web.serving.limits import Limits
from widemargin.web.serving.rows_model import (
    RowsModel,
    one_or_many,
)


class TextModel(RowsModel):
    """A model of documents."""

    kind = "texts"
    formats = ("jsonl", "text")

    def __init__(self, model: Any, column: str = "text") -> None:
        super().__init__(model)
        self._names = (column, "text")

    def _text_of(self, item: Any) -> Any:
        """The text of an example; None if it has none."""
        if isinstance(item, dict):
            item = next((item[name] for name in self._names if name in item), None)
        return item if isinstance(item, str) else None

    def from_json(self, value: Any) -> Examples:
        """Read a string or an object with the member "text", or a list of them."""
        wanted = f'a string, or an object with a "{self._names[0]}"'
        items, one = one_or_many(value, lambda item: self._text_of(item) is not None, wanted)
        texts = []
        for item in items:
            try:
                texts.append(self._text_of(item).encode())
            except UnicodeEncodeError:
                raise DataError(f"{SOURCE}: a text has half of a surrogate pair") from None
        return Examples("texts", texts, len(texts), one)

    def from_body(self, body: bytes, format: str) -> Examples:
        """One document per line."""
        chunk = self._chunk(body, parse_plain)
        return Examples("", [chunk.raw], chunk.n, False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """Documents in one buffer."""
        if form == "":
            return items[0]
        ends = np.cumsum([len(text) for text in items], dtype=np.uint64)
        starts = np.concatenate([np.zeros(1, np.uint64), ends[:-1]])
        return Texts(np.frombuffer(b"".join(items), np.uint8), starts, ends)

    def to_explain(self, raw: Any) -> Any:
        """The text itself, because the stored names may not include all of its words."""
        return raw

    def marks(self, examples: Examples, reasons: list[dict[str, Any]]) -> dict[str, Any]:
        """The words that decided."""
        raw = self.raw(examples.form, examples.items)
        text = raw.buffer[int(raw.starts[0]) : int(raw.ends[0])].tobytes().decode()
        return {"text": text, "marks": highlights(text, reasons, self.model.encoder.options)}

    def other_samples(self) -> dict[str, bytes]:
        """A line."""
        return {"text": b"a text\n"}

    def sample(self) -> Any:
        """A few words."""
        return {"text": "Write a text here and see what the model says about it."}


class VwModel(RowsModel):
    """A model of lines in Vowpal Wabbit's format."""

    kind = "lines of Vowpal Wabbit"
    formats = ("jsonl", "vw")

    def from_json(self, value: Any) -> Examples:
        """A line, or a list of lines."""
        items, one = one_or_many(
            value, lambda item: isinstance(item, str), "a string, a line of Vowpal Wabbit,"
        )
        for item in items:
            if "\n" in item:
                raise DataError(f"{SOURCE}: a line of Vowpal Wabbit contains a line break")
        lines = "\n".join(items).encode("utf-8", "replace")
        examples = self.from_body(lines, "vw")
        if examples.n != len(items):
            raise DataError(f"{SOURCE}: a line is blank")
        return examples._replace(one=one)

    def from_lines(self, body: bytes, limits: Limits) -> Examples:
        """Examples from JSON lines: one string each."""
        return self.from_json(list(json_lines(body, limits.depth)))

    def from_body(self, body: bytes, format: str) -> Examples:
        """Lines, with or without labels."""
        double = self.model.dtype == np.float64
        parse = partial(
            parse_vw_lines, dtype=np.float64 if double else np.float32, need_label=False
        )
        chunk = self._chunk(body, parse)
        return Examples("", [chunk.raw], chunk.n, False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """Hashed features."""
        return items[0]

    def to_explain(self, raw: Any) -> Any:
        """The line itself, which has the names."""
        return raw

    def other_samples(self) -> dict[str, bytes]:
        """A line."""
        return {"vw": b"| a\n"}

    def sample(self) -> Any:
        """A line."""
        return "| first:1 second"


class StringsModel(RowsModel):
    """A kernel machine of strings."""

    kind = "strings"
    formats = ("jsonl", "text")

    def from_json(self, value: Any) -> Examples:
        """A string, or a list of strings."""
        items, one = one_or_many(value, lambda item: isinstance(item, str), "a string")
        return Examples("strings", items, len(items), one)

    def from_body(self, body: bytes, format: str) -> Examples:
        """One string per line."""
        chunk = self._chunk(body, parse_plain)
        text = chunk.raw
        strings = [
            text.buffer[int(a) : int(b)].tobytes().decode()
            for a, b in zip(text.starts, text.ends, strict=True)
        ]
        return Examples("strings", strings, len(strings), False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """The strings."""
        return list(items)

    def encoder(self) -> Any:
        """None: strings are not encoded."""
        return

    def other_samples(self) -> dict[str, bytes]:
        """A line."""
        return {"text": b"a\n"}

    def sample(self) -> Any:
        """A string."""
        return "a string"
