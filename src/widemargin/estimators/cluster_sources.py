"""The input of an estimator on a cluster: recipes for partitions, and an encoder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.data.datasets import make_encoder
from widemargin.data.encode.interactions import pairs_of
from widemargin.data.encode.table import TableEncoder
from widemargin.data.encode.text import TextEncoder
from widemargin.data.readers.columns import TableOptions, listed
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.readers.table_sources import in_memory
from widemargin.data.reading import open_files
from widemargin.distribute.dask_collections import (
    is_collection,
    is_data_frame,
    partitions_of_arrays,
    partitions_of_bags,
    partitions_of_frame,
)
from widemargin.distribute.fit import Source
from widemargin.distribute.partitions import partitions_of_files
from widemargin.errors import DataError
from widemargin.estimators.table import TableClassifier
from widemargin.estimators.text import TextClassifier
from widemargin.parameters.names import refuse_unknown

_TABLE_OPTIONS = ("weight", "text", "columns", "drop", "categories", "missing_values")


def find_source(
    estimator: Any, X: Any, y: Any, partitions: int | None, reading: dict[str, Any]
) -> tuple[Source, ReadOptions]:
    """The recipes for partitions, and the options for reading other files in the same way.

    Parameters
    ----------
    estimator : estimator
        The estimator; those for tables and texts have their own encoder.
    X, y
        Files or Dask collections, and their labels.
    partitions : int, optional
        Approximate number of partitions to cut files into.
    reading : dict
        Options for reading them.
    """
    if is_collection(X):
        if partitions is not None:
            raise ValueError("partitions has no effect for collections: repartition them")
    elif in_memory(X):
        raise DataError(
            f"found an object of type {type(X).__name__}: what is in memory needs no cluster, so"
            " fit the estimator itself; or give files, or a Dask Array, DataFrame or Bag"
        )
    if isinstance(estimator, TableClassifier):
        refuse_unknown("Distributed.fit with a TableClassifier", reading, [])
        return _table_source(estimator, X, y, partitions)
    if isinstance(estimator, TextClassifier):
        return _text_source(estimator, X, y, partitions, reading)
    if not is_collection(X):
        files, encode = _open(X, y, reading)
        return _file_source(files, make_encoder(files, encode), partitions)
    if is_data_frame(X):
        return _frame_source(X, y, reading)
    refuse_unknown("Distributed.fit", reading, [])
    if hasattr(X, "chunks"):
        return Source(partitions_of_arrays(X, y), None), ReadOptions()
    return Source(partitions_of_bags(X, y), TextEncoder()), ReadOptions()


def _open(X: Any, y: Any, reading: dict[str, Any]) -> tuple[Files, Any]:
    """Open files as `read` does."""
    if y is not None:
        raise ValueError("the labels of files are in the files: y has no effect")
    rest = dict(reading)
    usual = {"format": None, "encoding": "utf-8", "dtype": np.float64, "skip_bad": 0}
    how = {name: rest.pop(name, value) for name, value in usual.items()}
    zero_based = rest.pop("zero_based", None)
    return open_files("Distributed.fit", X, how, zero_based, 1, rest)


def _file_source(files: Files, encoder: Any, partitions: int | None) -> tuple[Source, ReadOptions]:
    """The recipes for partitions of files."""
    made = partitions_of_files(files, partitions)
    options = replace(files.options, format=files.format)
    if files.schema is not None:
        options = replace(options, table=replace(options.table, schema=files.schema))
    return Source(made, encoder, files.options.skip_bad), options


def _frame_source(X: Any, y: Any, reading: dict[str, Any]) -> tuple[Source, ReadOptions]:
    """The recipes for partitions of a Dask data frame."""
    label = _label(y)
    refuse_unknown("Distributed.fit", reading, (*_TABLE_OPTIONS, "scale", "interactions"))
    rest = dict(reading)
    scale, pairs = rest.pop("scale", "standard"), pairs_of(rest.pop("interactions", ()))
    for name in rest.keys() & {"text", "drop", "columns", "categories"}:
        rest[name] = listed(rest[name])
    options = ReadOptions(table=TableOptions(label=label, **rest))
    texts = [str(name) for name in options.table.text]
    text = TextEncoder() if texts else None
    encoder = TableEncoder(scale, text, texts, pairs)
    return Source(partitions_of_frame(X, options), encoder), options


def _label(y: Any) -> str:
    if not isinstance(y, str):
        raise ValueError("the labels of a Dask DataFrame are in a column: give its name as y")
    return y


def _table_source(
    estimator: TableClassifier, X: Any, y: Any, partitions: int | None
) -> tuple[Source, ReadOptions]:
    """The recipes for the input of a `TableClassifier`."""
    encoder = estimator._encoder(estimator._default())
    if is_collection(X):
        if not is_data_frame(X):
            raise DataError("a TableClassifier learns from tables: give a Dask DataFrame, or files")
        options = estimator._reading(_label(estimator.label if y is None else y))
        return Source(partitions_of_frame(X, options), encoder), options
    if y is not None and not isinstance(y, str):
        raise DataError("the labels of a file are in one of its columns: give its name as y")
    return _file_source(Files(X, estimator._reading(y)), encoder, partitions)


def _text_source(
    estimator: TextClassifier, X: Any, y: Any, partitions: int | None, reading: dict[str, Any]
) -> tuple[Source, ReadOptions]:
    """The recipes for the input of a `TextClassifier`."""
    encoder = estimator._encoder(estimator._default())
    if is_collection(X):
        if is_data_frame(X) or hasattr(X, "chunks"):
            raise DataError(
                "a TextClassifier learns from texts: give a Dask Bag of them, or files; for columns"
                " of a data frame use TableClassifier(text=...)"
            )
        refuse_unknown("Distributed.fit", reading, [])
        return Source(partitions_of_bags(X, y), encoder), ReadOptions()
    refuse_unknown(
        "Distributed.fit with a TextClassifier", reading, ["format", "encoding", "skip_bad"]
    )
    files, _ = _open(X, y, reading)
    if files.format != "labelled-text":
        raise DataError(
            f"a TextClassifier learns from texts, and these files are {files.format}: for tables"
            " use TableClassifier(text=...), for others a learner such as Perceptron"
        )
    return _file_source(files, encoder, partitions)
