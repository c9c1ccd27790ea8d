"""Partitions of Dask collections: arrays of rows, data frames, bags of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin.data.encode.labels import check_label_count, encode_labels
from widemargin.data.readers.chunk import Chunk, Labels
from widemargin.data.readers.files import ReadOptions
from widemargin.data.readers.frames import Frame
from widemargin.data.rows import Rows
from widemargin.distribute.partitions import Partition, ReadPartition
from widemargin.errors import DataError


@dataclass(frozen=True)
class CollectionPartition(Partition):
    """A piece of a Dask collection, and of its labels if they are separate."""

    pieces: tuple[Any, ...] = field(repr=False)

    @property
    def delayed(self) -> tuple[Any, ...]:
        """The examples, and the labels."""
        return self.pieces

    def __reduce__(self) -> Any:
        # The pieces are not part of the pickled recipe: they are sent as separate arguments.
        given = [getattr(self, name) for name in self.__dataclass_fields__ if name != "pieces"]
        return _restore, (type(self), tuple(given))

    def _chunk(self, raw: Any, n: int, labels: Any) -> ReadPartition:
        if not n:
            return ReadPartition([], set())
        check_label_count(n, len(labels))
        coded = Labels(*encode_labels(labels))
        return ReadPartition([Chunk(raw, n, coded, None, self.name, np.arange(n))], set())


def _restore(kind: Any, given: tuple[Any, ...]) -> CollectionPartition:
    number, of, *rest = given
    return kind(number, of, (), *rest)


@dataclass(frozen=True)
class ArrayPartition(CollectionPartition):
    """Rows of an array, dense or sparse."""

    def read(self, *data: Any) -> ReadPartition:
        """Take the rows as they are."""
        X, y = data
        rows = Rows.of(X, bias=0.0)
        return self._chunk(rows, rows.n, np.asarray(y))


@dataclass(frozen=True)
class TextPartition(CollectionPartition):
    """Texts of a bag."""

    def read(self, *data: Any) -> ReadPartition:
        """Take the texts as documents."""
        from widemargin.data.encode.text import texts_of

        texts, labels = map(list, data)
        return self._chunk(texts_of(texts), len(texts), labels)


@dataclass(frozen=True)
class FramePartition(CollectionPartition):
    """Rows of a data frame, whose labels are in a column."""

    options: ReadOptions = field(default_factory=ReadOptions, repr=False)

    def read(self, *data: Any) -> ReadPartition:
        """Read the table like one in memory."""
        chunks = list(Frame(data[0], None, self.options).chunks())
        return ReadPartition([chunk._replace(source=self.name) for chunk in chunks], set())


def is_collection(source: Any) -> bool:
    """Whether this is a Dask collection."""
    return hasattr(source, "to_delayed") and hasattr(source, "__dask_graph__")


def is_data_frame(source: Any) -> bool:
    """Whether this collection is a table with named columns."""
    return hasattr(source, "columns") and hasattr(source, "dtypes")


def partitions_of_arrays(X: Any, y: Any) -> list[Partition]:
    """The blocks of rows of a Dask array, and of the array of its labels."""
    if y is None or not is_collection(y) or not hasattr(y, "chunks"):
        raise DataError("the labels of a Dask array must also be a Dask array: give y")
    if X.ndim != 2 or y.ndim != 1:
        raise DataError(f"X must have 2 dimensions and y 1, found {X.ndim} and {y.ndim}")
    if X.numblocks[1] != 1:
        X = X.rechunk({1: -1})
    if y.chunks[0] != X.chunks[0]:
        y = _cut_alike(X, y)
    return _pair(ArrayPartition, X.to_delayed().ravel(), y.to_delayed().ravel())


def _cut_alike(X: Any, y: Any) -> Any:
    """Labels in blocks like those of their rows.

    Blocks of unknown sizes, which filters leave, stay as they are: whether they match shows when
    they are read.
    """
    if np.isnan([*X.chunks[0], *y.chunks[0]]).any():
        if X.numblocks[0] != y.numblocks[0]:
            raise DataError(
                f"X has {X.numblocks[0]} blocks of rows, y {y.numblocks[0]}, of unknown sizes: call"
                " compute_chunk_sizes() on both"
            )
        return y
    if X.shape[0] != y.shape[0]:
        raise DataError(f"found {X.shape[0]:,} examples, but {y.shape[0]:,} labels")
    return y.rechunk((X.chunks[0],))


def partitions_of_bags(texts: Any, labels: Any) -> list[Partition]:
    """The partitions of a bag of texts, and of the bag of their labels."""
    if labels is None or not is_collection(labels) or hasattr(labels, "chunks"):
        raise DataError("the labels of a Dask Bag must also be a Dask Bag: give y")
    return _pair(TextPartition, texts.to_delayed(), labels.to_delayed())


def _pair(kind: Any, examples: Sequence[Any], labels: Sequence[Any]) -> list[Partition]:
    if len(examples) != len(labels):
        raise DataError(f"X has {len(examples)} partitions, y {len(labels)}: they must match")
    pairs = zip(examples, labels, strict=True)
    return [kind(i, len(examples), pair) for i, pair in enumerate(pairs)]


def partitions_of_frame(frame: Any, options: ReadOptions) -> list[Partition]:
    """The partitions of a Dask data frame."""
    pieces = frame.to_delayed()
    return [FramePartition(i, len(pieces), (one,), options) for i, one in enumerate(pieces)]
