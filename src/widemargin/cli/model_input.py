"""A trained model, and files of examples for it to predict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.cli import options
from widemargin.data.encode.numbers import NumbersEncoder
from widemargin.data.readers.chunk import Chunk, Labels
from widemargin.data.readers.files import Files
from widemargin.data.readers.formats import FORMATS_OF, TABLES
from widemargin.data.readers.sources import name_of
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.markup.words import some_labels
from widemargin.modelfile.files import learner_of
from widemargin.models.linear import load_model
from widemargin.models.multilabel import MultilabelModel
from widemargin.structured.registry import SENTENCE_LEARNERS, TASK_LEARNER

#: Formats of texts that are not tables.
_TEXTS = ("fasttext", "labelled-text", "text")


def _tables_among(patterns: Sequence[str]) -> tuple[str, ...]:
    """The table formats that a text model accepts; CSV and TSV only by file name.

    A text may contain commas and tabs, so they do not identify a table.
    """
    named = [name for name in ("csv", "tsv") if any(f".{name}" in path for path in patterns)]
    return ("jsonl", "parquet", *named)


def load_rows_model(path: str) -> Any:
    """Load a model that predicts one label per row; every command accepts such models."""
    learner = learner_of(path)
    if learner in SENTENCE_LEARNERS:
        known = SENTENCE_LEARNERS[learner]
        raise DataError(f"{path}: is {known.called}: use widemargin {known.command}")
    if learner == TASK_LEARNER:
        raise DataError(f"{path}: is a model of a task written in Python: load it in Python")
    model = load_model(path)
    if isinstance(model, MultilabelModel):
        raise DataError(f"{path}: is a model with several labels per row: load it in Python")
    return model


def labels_among(labels: Labels, which: np.ndarray) -> list[str]:
    """The labels of some rows, as text; rows without a label are left out."""
    codes = labels.codes[which & (labels.codes >= 0)]
    return list(map(str, labels.values[codes].tolist()))


def no_known_label(patterns: Sequence[str], found: Counter[str], known: np.ndarray) -> DataError:
    """The error for files in which no label is a class of the model."""
    names = ", ".join(map(name_of, patterns))
    labels = some_labels(label for label, _ in found.most_common())
    return DataError(
        f"{names}: the model knows none of the labels: found {labels}, but its classes are"
        f" {some_labels(known.tolist())}"
    )


class ModelInput:
    """Examples from files, as a model reads them.

    Parameters
    ----------
    path : str
        The model.
    patterns : sequence of str
        The files.
    given : dict
        The options of the command.
    live : bool
        Whether to answer a pipe line by line.
    """

    def __init__(
        self, path: str, patterns: Sequence[str], given: Mapping[str, Any], live: bool = False
    ) -> None:
        self.model = load_rows_model(path)
        if self.model.by_name:
            raise DataError(f"{path}: was trained on dicts in Python, so it cannot read files")
        encoder: Any = self.model.encoder or self._plain_encoder(given)
        among = FORMATS_OF[encoder.kind]
        table: dict[str, Any] = {"need_label": False}
        if encoder.kind == "table":
            table["schema"] = encoder.schema
            if encoder.only_texts and len(encoder.text_columns) == 1:
                named = given.get("format") in TABLES
                among = (*_TEXTS, *(TABLES if named else _tables_among(patterns)))
        elif encoder.kind == "text":
            among = TABLES if given.get("text") else (*among, "text")
        reading = options.read_options(given, **table)
        double = self.model.dtype == np.float64
        reading = replace(
            reading, among=among, live=live, dtype=np.float64 if double else np.float32
        )
        self.files = Files(patterns, reading)
        options.check_meaning(given, self.files.format)
        if encoder.kind == "table" and self.files.format in _TEXTS:
            encoder = encoder.text
            self.model = replace(self.model, encoder=encoder)
        self.encoder = encoder

    def _plain_encoder(self, given: Mapping[str, Any]) -> NumbersEncoder:
        """An encoder for a model trained on arrays: indices count from 1, unless --zero-based."""
        width = self.model.width
        return NumbersEncoder.restore(
            {"first": 0 if given.get("zero_based") else 1, "width": width}, {}
        )

    def raw(self, chunk: Chunk) -> Any:
        """The examples of a chunk in the form that the encoder takes."""
        if self.encoder.kind == "text" and self.files.format in TABLES:
            from widemargin.data.readers.table import texts_of_column

            return texts_of_column(chunk.raw, list(chunk.raw.column_names))
        return chunk.raw

    def chunks(self) -> Iterator[tuple[Chunk, Rows]]:
        """Yield the examples in chunks, raw and as rows."""
        for chunk in self.files.chunks():
            yield chunk, self.rows(self.raw(chunk))

    def rows(self, raw: Any) -> Rows:
        """Encode raw examples as rows for the model."""
        threads = self.files.options.threads
        rows = self.encoder.encode(raw, self.model.bias, threads)
        return rows.widened(max(rows.width, self.model.width))

    @property
    def threads(self) -> int:
        """The number of threads for predictions."""
        return self.files.options.threads
