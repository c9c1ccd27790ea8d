"""A trained model and files to ask it about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.cli import options
from widemargin.encode.numbers import NumbersEncoder
from widemargin.errors import DataError
from widemargin.model import load_model
from widemargin.readers.chunk import Chunk
from widemargin.readers.files import Files
from widemargin.readers.formats import TABLES
from widemargin.rows import Rows

#: The formats in which examples for a model can come, by the kind of its encoder.
_FORMATS = {
    "numbers": ("svmlight",),
    "text": ("fasttext", "labelled-text", "text", *TABLES),
    "table": TABLES,
    "vw": ("vw",),
}


class Question:
    """Examples from files, as a model reads them.

    Parameters
    ----------
    path : str
        The model.
    patterns : sequence of str
        The files.
    given : dict
        What was given on the command line.
    live : bool
        Whether to answer a pipe line by line.
    """

    def __init__(
        self, path: str, patterns: Sequence[str], given: Mapping[str, Any], live: bool = False
    ) -> None:
        self.model = load_model(path)
        if self.model.by_name:
            raise DataError(f"{path}: was trained on dicts, which no file holds")
        encoder: Any = self.model.encoder or self._plain_encoder(given)
        self.encoder = encoder
        among = _FORMATS[self.encoder.kind]
        texts = given.get("text") or ()
        if self.encoder.kind == "text":
            among = tuple(name for name in among if (name in TABLES) == bool(texts))
        if live and not given.get("format") and self._takes_lines(patterns):
            among = ("jsonl", "text")
        table: dict[str, Any] = {"need_label": False}
        if self.encoder.kind == "table":
            table["schema"] = encoder.schema
        reading = options.read_options(given, **table)
        double = self.model.state.W.dtype == np.float64
        reading = replace(
            reading, among=among, live=live, dtype=np.float64 if double else np.float32
        )
        self.files = Files(patterns, reading)
        options.check_meaning(given, self.files.format)
        if self.encoder.kind == "table" and self.files.format == "text":
            self.encoder = encoder.text

    def _takes_lines(self, patterns: Sequence[str]) -> bool:
        """Whether a model of one column of texts is asked through a pipe: a line may be a text."""
        encoder = self.encoder
        only_texts = encoder.kind == "table" and encoder.text is not None and not encoder.columns
        return only_texts and len(encoder.text_columns) == 1 and list(patterns) == ["-"]

    def _plain_encoder(self, given: Mapping[str, Any]) -> NumbersEncoder:
        """For a model that was trained on arrays: vectors, counted from 1 unless told otherwise."""
        width = self.model.state.width
        return NumbersEncoder.restore(
            {"first": 0 if given.get("zero_based") else 1, "width": width}, {}
        )

    def raw(self, chunk: Chunk) -> Any:
        """The examples of a chunk as the encoder takes them."""
        if self.encoder.kind == "text" and self.files.format in TABLES:
            from widemargin.readers.table import texts_of_column

            return texts_of_column(chunk.raw, list(chunk.raw.column_names))
        return chunk.raw

    def chunks(self) -> Iterator[tuple[Chunk, Rows]]:
        """The examples, some at a time."""
        for chunk in self.files.chunks():
            yield chunk, self.rows(self.raw(chunk))

    def rows(self, raw: Any) -> Rows:
        """Raw examples as the model's rows."""
        threads = self.files.options.threads
        rows = self.encoder.encode(raw, self.model.bias, threads)
        return rows.widened(max(rows.width, self.model.state.width))

    @property
    def threads(self) -> int:
        """Threads to answer with."""
        return self.files.options.threads
