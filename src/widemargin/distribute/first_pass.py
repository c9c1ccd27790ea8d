"""The first pass: what all partitions must know about each other before training.

Each partition reports its labels, columns, categories, word frequencies and row width, and the
reports are joined in the order of the partitions. Then each partition is encoded, and its columns
are renumbered, so that it works only with the weights of its own columns.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.datasets import Classes, join_weights
from widemargin.data.encode.numbers import NumbersEncoder
from widemargin.data.readers.chunk import Chunk
from widemargin.data.rows import Rows, frozen, stacked
from widemargin.distribute.partitions import Partition, ReadPartition
from widemargin.errors import DataError
from widemargin.loops.storage import Sparse
from widemargin.online.columns import columns_for
from widemargin.online.fit import prices
from widemargin.online.passes import are_weighted

#: The purposes for which a partition draws random numbers, each with its own seed.
_HELD_OUT, _ORDER = range(2)


@dataclass(frozen=True)
class Survey:
    """A summary of one or several partitions.

    Attributes
    ----------
    classes : array
        The labels, sorted.
    sizes : array
        The weight of the examples of each class.
    examples : int
        How many examples there are.
    encoder : Encoder or None
        An encoder that has observed the examples; None for numeric rows.
    width : int
        The number of features, if there is no encoder.
    dtype : dtype or None
        The type of the values, if there is no encoder; None if there are no examples.
    skipped : frozenset
        The bad lines that were skipped.
    """

    classes: np.ndarray
    sizes: np.ndarray
    examples: int
    encoder: Any
    width: int
    dtype: Any
    skipped: frozenset[tuple[str, int | str]]


def survey(found: ReadPartition, partition: Partition, encoder: Any) -> Survey:
    """Summarise the examples of a partition."""
    own, classes = copy.deepcopy(encoder), Classes()
    sizes, examples, width, dtype = np.zeros(0), 0, 0, None
    try:
        for chunk in found.chunks:
            if chunk.labels is None:
                raise DataError(f"{chunk.source}: has no labels to learn from")
            before = classes.values
            classes.add(chunk.labels, chunk.source)
            sizes = _moved(before, sizes, classes.values)
            codes = classes.codes(chunk.labels)
            sizes += np.bincount(codes, weights=chunk.weights, minlength=len(sizes))
            examples += chunk.n
            if own is not None:
                own.observe(chunk.raw)
            else:
                width = _same_width(width, chunk.raw, examples > chunk.n)
                dtype = (
                    chunk.raw.dtype if dtype is None else np.promote_types(dtype, chunk.raw.dtype)
                )
    except DataError as error:
        raise DataError(f"{error} ({partition.name})") from None
    return Survey(classes.values, sizes, examples, own, width, dtype, frozenset(found.skipped))


def join_surveys(one: Survey, other: Survey) -> Survey:
    """Join the summaries of neighbouring partitions."""
    if not one.examples or not other.examples:
        kept, empty = (other, one) if not one.examples else (one, other)
        return replace(kept, skipped=kept.skipped | empty.skipped)
    for mixed in (one.classes, other.classes):
        if (mixed.dtype.kind in "OUS") != (one.classes.dtype.kind in "OUS"):
            raise DataError(
                f"labels such as {mixed.tolist()[0]!r} do not mix with {one.classes.tolist()[0]!r}"
            )
    if one.encoder is None and one.width != other.width:
        raise DataError(f"partitions have {one.width} and {other.width} features")
    classes = np.union1d(one.classes, other.classes)
    sizes = _moved(one.classes, one.sizes, classes) + _moved(other.classes, other.sizes, classes)
    encoder = copy.deepcopy(one.encoder)
    if encoder is not None:
        encoder.absorb(other.encoder)
    return Survey(
        classes,
        sizes,
        one.examples + other.examples,
        encoder,
        one.width,
        None if one.dtype is None else np.promote_types(one.dtype, other.dtype),
        one.skipped | other.skipped,
    )


def _moved(before: np.ndarray, sizes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The sizes of classes, at their positions in a larger set of classes."""
    moved = np.zeros(len(classes))
    if len(before):
        moved[np.searchsorted(classes, before)] = sizes
    return moved


def _same_width(width: int, rows: Rows, known: bool) -> int:
    if known and rows.width != width:
        raise DataError(f"rows have {width} and {rows.width} features")
    return rows.width


class Preparation(NamedTuple):
    """Everything needed to encode a partition.

    Attributes
    ----------
    classes : array
        The labels of all partitions.
    encoder : Encoder or None
        What was learned from all partitions.
    width : int
        The number of features of all partitions.
    dtype : dtype or None
        The type of the values, if there is no encoder.
    class_weight : dict or None
        Cost of an error on each class.
    validation, distinct, seed
        As required by the learner, see `distribute.loading.Demands`.
    """

    classes: np.ndarray
    encoder: Any
    width: int
    dtype: Any
    class_weight: Mapping[Any, float] | None
    validation: float
    distinct: bool
    seed: int


@dataclass(frozen=True)
class Loaded:
    """A partition that is ready for training.

    It stays on the worker that loaded it, and is rebuilt from its recipe if that worker is lost.

    Attributes
    ----------
    number : int
        The number of the partition, from 0.
    rows : Rows
        The examples, without a bias. Wide sparse rows have numbers instead of columns, see
        `Columns`.
    columns : array or None
        The columns that the numbers 1, 2, 3, ... stand for; None if rows use all columns.
    width : int
        The number of features of all partitions.
    codes : array
        The classes.
    price : array or None
        The cost of an error on each example; None if all are 1.
    learned, held_out : arrays of uint64
        The rows to learn from, and those that are only scored.
    """

    number: int
    rows: Rows
    columns: np.ndarray | None
    width: int
    codes: np.ndarray
    price: np.ndarray | None
    learned: np.ndarray
    held_out: np.ndarray

    def ready_rows(self, bias: float) -> Rows:
        """The rows in the form that the loops take: arrays that were sent may be writable."""
        stored = self.rows.stored
        parts = (frozen(part) if isinstance(part, np.ndarray) else part for part in stored)
        return replace(self.rows, stored=type(stored)(*parts)).with_bias(bias)

    @cached_property
    def places(self) -> np.ndarray:
        """The positions among all weights of those that the rows use, the bias last."""
        columns = np.arange(self.width) if self.columns is None else self.columns
        return np.append(columns.astype(np.int64), self.width)

    @cached_property
    def ascending(self) -> np.ndarray:
        """The order in which the places ascend."""
        return np.argsort(self.places, kind="stable")

    @cached_property
    def whole(self) -> bool:
        """Whether the places are all columns, in order."""
        return len(self.places) == self.width + 1 and bool(np.all(np.diff(self.places) == 1))

    def __sizeof__(self) -> int:
        """The bytes of the arrays, from which Dask decides where to run tasks and when to spill."""
        arrays = (self.columns, self.codes, self.price, self.learned, self.held_out)
        known = sum(array.nbytes for array in arrays if array is not None)
        return object.__sizeof__(self) + known + sys.getsizeof(self.rows)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("places", "ascending", "whole")
        return {name: value for name, value in vars(self).items() if name not in kept}

    def pick(self, W: np.ndarray) -> np.ndarray:
        """Select the weights that these rows use from the weights of all columns."""
        if self.columns is None:
            return np.array(W, order="C")
        # Number 0 stands for columns that never occurred: its weight is 0.
        picked = np.zeros((len(W), len(self.columns) + 2), W.dtype)
        picked[:, 1:] = W if self.whole else W[:, self.places]
        return picked

    def unpicked(self, W: np.ndarray) -> np.ndarray:
        """The weights that the rows use, in the order of `places`."""
        return W if self.columns is None else W[:, 1:]


class Facts(NamedTuple):
    """What the driver needs to know about a loaded partition."""

    rows: int
    learned: int
    held_out: int
    typical: float  # the typical size of the values
    log2_squared_length: float  # that of the rows
    dtype: Any  # their type
    weighted: bool  # whether some examples cost more or less than others


def prepare(found: ReadPartition, partition: Partition, how: Preparation) -> Loaded:
    """Encode the examples of a partition."""
    try:
        return _prepare(found.chunks, partition.number, how)
    except DataError as error:
        raise DataError(f"{error} ({partition.name})") from None


def _prepare(chunks: list[Chunk], number: int, how: Preparation) -> Loaded:
    if not chunks:
        return _nothing(number, how)
    rows, columns = _rows_of(chunks, how)
    known = Classes(how.classes)
    codes = np.concatenate([known.codes(chunk.labels) for chunk in chunks if chunk.labels])
    price = prices(how.classes, codes, how.class_weight, join_weights(chunks))
    rows.check_scale()
    if how.distinct:
        rows = replace(rows.without_duplicates(), distinct=True)
    numbers = None if columns is not None else columns_for(rows, len(how.classes))
    if numbers is not None:
        rows, columns = numbers.number(rows), frozen(numbers.ids)
    held = np.zeros(rows.n, bool)
    if how.validation:
        held = generator(how.seed, number, _HELD_OUT).random(rows.n) < how.validation
    counted = ~held if price is None else ~held & (price > 0.0)
    return Loaded(
        number,
        rows,
        columns,
        how.width,
        frozen(codes),
        price,
        frozen(np.flatnonzero(counted).astype(np.uint64)),
        frozen(np.flatnonzero(held).astype(np.uint64)),
    )


def _rows_of(chunks: list[Chunk], how: Preparation) -> tuple[Rows, np.ndarray | None]:
    """The rows of a partition, and the columns that numbers stand for, if already known.

    Indices that begin at 1 already are column numbers, so such rows are not copied.
    """
    encoder, raw = how.encoder, chunks[0].raw
    if len(chunks) == 1 and isinstance(encoder, NumbersEncoder) and encoder.first == 1:
        rows = raw.rows.with_bias(0.0).widened(how.width + 1)
        if raw.least and columns_for(rows, len(how.classes)) is None:
            kind = np.uint32 if how.width <= 1 << 32 else np.uint64
            return rows, frozen(np.arange(how.width, dtype=kind))
    return stacked([_encode(chunk.raw, how) for chunk in chunks]), None


def _encode(raw: Any, how: Preparation) -> Rows:
    if how.encoder is None:
        return Rows.of(raw, bias=0.0) if raw.dtype == how.dtype else _cast(raw, how.dtype)
    return how.encoder.encode(raw, 0.0).widened(how.width)


def _cast(rows: Rows, dtype: Any) -> Rows:
    values = frozen(rows.stored.values.astype(dtype))
    return replace(rows, stored=rows.stored._replace(values=values, bias=0.0))


def _nothing(number: int, how: Preparation) -> Loaded:
    """A partition without examples."""
    none = frozen(np.empty(0, np.uint64))
    stored = Sparse(
        frozen(np.empty(0)), frozen(np.empty(0, np.uint32)), frozen(np.zeros(1, np.uint64)), 0.0
    )
    rows = Rows(stored, 0, 1, distinct=True)
    columns = frozen(np.empty(0, np.uint32))
    return Loaded(number, rows, columns, how.width, none.astype(np.int64), None, none, none)


def facts_of(loaded: Loaded) -> Facts:
    """Count the examples of a partition."""
    rows, typical = loaded.rows, 1.0
    if rows.n:
        typical = rows.typical_value()
    length = rows.log2_squared_length()
    learned, weighted = loaded.learned, are_weighted(loaded.price, loaded.learned)
    counts = (rows.n, len(learned), len(loaded.held_out))
    return Facts(*counts, typical, length, rows.dtype, weighted)


def name_features(found: ReadPartition, encoder: Any) -> Any:
    """An encoder that has recorded the feature names of a partition."""
    noted = copy.deepcopy(encoder)
    for chunk in found.chunks:
        noted.encode(chunk.raw, 0.0, note=True)
    return noted


def generator(*seeds: int) -> np.random.Generator:
    """A random generator for one purpose in one partition, the same on every worker."""
    return np.random.default_rng(list(seeds))


def order_generator(seed: int, number: int, epoch: int) -> np.random.Generator:
    """The generator of the order of an epoch in a partition."""
    return generator(seed, number, _ORDER, epoch)
