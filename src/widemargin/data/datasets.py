"""Data sets from files: a matching encoder, the classes, and all rows in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from widemargin.data.encode.encoder import Encoder
from widemargin.data.encode.labels import codes_of
from widemargin.data.encode.numbers import NumbersEncoder
from widemargin.data.readers.chunk import Chunk, Labels
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.readers.formats import TABLES
from widemargin.data.readers.sources import name_of
from widemargin.data.rows import Rows, Stack
from widemargin.errors import DataError


@dataclass(frozen=True)
class EncodeOptions:
    """How raw examples become rows.

    Attributes
    ----------
    first : {0, 1, None}
        The first index of vectors; None takes it from the file.
    scale : "standard", "maxabs" or "none"
        How the numbers of a table are scaled.
    text : dict
        Options of `TextEncoder`.
    interactions : tuple of pairs of str
        Columns of tables, or namespaces of VW files, to multiply.
    keep : bool
        Whether to keep what is needed to encode subsets of the examples again; see `Encoded`.
    """

    first: int | None = None
    scale: str = "standard"
    text: dict[str, Any] = field(default_factory=dict)
    interactions: tuple[tuple[str, str], ...] = ()
    keep: bool = field(default=False, repr=False)  # not part of a cache's key


def make_encoder(files: Files, options: EncodeOptions) -> Encoder:
    """The encoder for the content of these files."""
    if files.format == "svmlight":
        return NumbersEncoder(options.first)
    if files.format == "vw":
        from widemargin.data.encode.hashed import HashedEncoder

        return HashedEncoder(options.text.get("bits", 20), interactions=options.interactions)
    from widemargin.data.encode.text import TextEncoder

    if files.format not in TABLES:
        return TextEncoder(**options.text)
    from widemargin.data.encode.table import TableEncoder

    columns = [str(name) for name in files.options.table.text]
    text = TextEncoder(**options.text) if columns else None
    return TableEncoder(options.scale, text, columns, options.interactions)


class Classes:
    """The labels seen so far, and their codes.

    Attributes
    ----------
    values : array
        The distinct labels, sorted.
    """

    def __init__(self, values: Any = ()) -> None:
        self.values = np.asarray(values)

    def add(self, labels: Labels, source: str) -> None:
        """Add labels that may be new."""
        met = labels.values[np.flatnonzero(np.bincount(labels.codes[labels.codes >= 0]))]
        if len(self.values) and (met.dtype.kind in "OUS") != (self.values.dtype.kind in "OUS"):
            raise DataError(
                f"{source}: labels such as {met.tolist()[0]!r} do not mix with"
                f" {self.values.tolist()[0]!r}"
            )
        if not len(self.values):
            self.values = np.sort(met) if len(met) else self.values
            return
        new = np.setdiff1d(met, self.values, assume_unique=True)
        if len(new):
            self.values = np.union1d(self.values, new)

    def codes(self, labels: Labels) -> np.ndarray:
        """The codes of labels; -1 for an unknown or missing label."""
        values = labels.values
        if self.values.dtype.kind == "b" and values.dtype.kind == "U":  # "true", "false"
            values = np.char.lower(values) == "true"
        of_value = np.append(codes_of(values, self.values), -1)
        return of_value[labels.codes]


class Source(Protocol):
    """Where examples come from: files, or a table in memory."""

    @property
    def options(self) -> ReadOptions:
        """How to read them."""

    @property
    def paths(self) -> Sequence[str]:
        """The names of the files."""

    @property
    def expected_chunks(self) -> int:
        """The expected number of chunks; 0 if unknown."""

    def chunks(self) -> Iterator[Chunk]:
        """Read everything from front to back."""


@dataclass
class Encoded:
    """Examples in memory: rows, label codes, costs of errors, and line numbers.

    `kept` holds what the encoder was fitted to, if requested and if the encoder depends on the
    examples: a table or, for texts, the values before weighting by inverse document frequency.
    """

    rows: Rows
    codes: np.ndarray
    weights: np.ndarray | None
    lines: np.ndarray
    sources: list[tuple[str, int]]  # each file and how many rows came from it
    kept: Any = None


def read_all(
    files: Source,
    encoder: Any,
    classes: Classes,
    *,
    learn: bool,
    observe: bool = True,
    budget: int | None = None,
    keep: bool = False,
) -> Encoded | None:
    """Read files into memory.

    Parameters
    ----------
    files, encoder
        The files or the table to read, and how to encode them.
    classes : Classes
        The known labels; with `learn`, new ones are added.
    learn : bool
        Whether these are examples to learn from.
    observe : bool
        Whether to fit the encoder to them as well.
    budget : int, optional
        Give up when the rows take more bytes than this.
    keep : bool
        Whether to keep what is needed to encode subsets of the examples again.

    Returns
    -------
    Encoded or None
        None if the rows exceed the budget.
    """
    rows, chunks = Stack(files.expected_chunks), []
    waiting: list[Any] = []
    size, threads, finish = 0, files.options.threads, None
    for chunk in files.chunks():
        if learn:
            if chunk.labels is None:
                raise DataError(f"{chunk.source}: has no labels to learn from")
            classes.add(chunk.labels, chunk.source)
        if not learn or not observe:
            rows.add(encoder.encode(chunk.raw, 0.0, threads, note=learn))
        elif _only_texts(encoder, chunk.raw):
            encoder.encode_first(chunk.raw, rows, threads, note=True)
            finish = encoder.finish
        else:
            encoder.observe(chunk.raw)
            if must_observe(encoder):
                waiting.append(chunk.raw)
                size += size_of(chunk.raw)
            else:
                rows.add(encoder.encode(chunk.raw, 0.0, threads, note=True))
        size = max(size, rows.nbytes)
        chunks.append(chunk._replace(raw=None))
        if budget is not None and size > budget:
            return None
    if not chunks:
        raise DataError(f"{', '.join(map(name_of, files.paths))}: there are no examples")
    kept = join_tables(waiting) if keep and encoder.kind == "table" and waiting else None
    while waiting:
        rows.add(encoder.encode(waiting.pop(0), 0.0, threads, note=True))
    whole = rows.rows(encoder.width)
    if finish is not None:
        kept = whole.stored.values.copy() if keep and must_observe(encoder) else None
        finish(whole, threads)
    return Encoded(
        whole,
        np.concatenate([_codes(chunk, classes) for chunk in chunks]),
        join_weights(chunks),
        np.concatenate([chunk.lines for chunk in chunks]),
        [(chunk.source, chunk.n) for chunk in chunks],
        kept,
    )


def _codes(chunk: Chunk, classes: Classes) -> np.ndarray:
    return np.full(chunk.n, -1) if chunk.labels is None else classes.codes(chunk.labels)


def join_tables(tables: Sequence[Any]) -> Any:
    """The tables of several chunks as one, without copying them."""
    import pyarrow as pa

    return pa.concat_tables(tables)


def must_observe(encoder: Encoder) -> bool:
    """Whether an encoder has to see all examples before it can encode any."""
    texts: Any = encoder if encoder.kind == "text" else getattr(encoder, "text", None)
    if texts is not None and texts.options["idf"]:
        return True
    return encoder.kind in ("numbers", "table")


def _only_texts(encoder: Any, raw: Any) -> bool:
    """Whether there are only texts, which can be observed and encoded in one pass."""
    if encoder.kind == "table":
        return encoder.has_only_texts(raw)
    return encoder.kind == "text"


def size_of(raw: Any) -> int:
    """Bytes that raw or encoded examples take."""
    if hasattr(raw, "nbytes"):
        return int(raw.nbytes)
    rows = raw.rows if hasattr(raw, "rows") else raw
    if isinstance(rows, Rows):
        return sum(part.nbytes for part in rows.stored if isinstance(part, np.ndarray))
    return sum(part.nbytes for part in raw)


def join_weights(chunks: list[Chunk]) -> np.ndarray | None:
    """The weights of all examples; None if no chunk has any."""
    if all(chunk.weights is None for chunk in chunks):
        return None
    return np.concatenate(
        [np.ones(chunk.n) if chunk.weights is None else chunk.weights for chunk in chunks]
    )
