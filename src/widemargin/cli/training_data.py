"""Rows to learn from and to measure on, from files, a cache or the embedded digits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from widemargin.data.cache import is_cache, read_cache, stamp, write_cache
from widemargin.data.datasets import Classes, Encoded, EncodeOptions, make_encoder, read_all
from widemargin.data.digits import read_digits
from widemargin.data.encode.labels import encode_labels
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.readers.formats import FORMATS_OF
from widemargin.data.rows import Rows
from widemargin.models.linear import LinearModel
from widemargin.online.fit import split
from widemargin.online.held_out import USUAL_PART
from widemargin.stores.addresses import is_address

if TYPE_CHECKING:  # linear learners start faster without it
    from widemargin.models.kernel import KernelModel

#: The part of the embedded data set that is only used to measure.
_OF_DIGITS = 0.2


@dataclass
class Examples:
    """Examples in memory, to learn from.

    Attributes
    ----------
    data : Encoded
        The rows, the codes of their labels, and the costs of errors.
    classes : Classes
        The classes that the codes stand for.
    encoder : Encoder or None
        The encoder that made the rows; None for the embedded data set.
    held_out : Encoded or None
        Examples from another file, which may stop learning early.
    part : float
        The fraction of the examples that is held out by default.
    """

    data: Encoded
    classes: Classes
    encoder: Any = None
    held_out: Encoded | None = None
    part: float = USUAL_PART


def examples_of_digits() -> Examples:
    """The embedded data set, a fifth of which is only used to measure."""
    X, y = read_digits()
    classes, codes = encode_labels(y)
    data = Encoded(Rows.of(X), codes, None, np.arange(len(X)), [("digits", len(X))])
    return Examples(data, Classes(classes), part=_OF_DIGITS)


def is_lone_cache(patterns: Sequence[str]) -> bool:
    """Whether the only file to learn from is a cache."""
    return len(patterns) == 1 and os.path.isfile(patterns[0]) and is_cache(patterns[0])


def examples_of_cache(path: str) -> Examples:
    """Read examples from a cache."""
    found = read_cache(path)
    assert found is not None
    return Examples(*found)


def read_examples(
    files: Files, encoding: EncodeOptions, budget: int | None = None, cache: bool = False
) -> Examples | None:
    """Read files into memory.

    Parameters
    ----------
    files, encoding
        What to read, and how to encode it.
    budget : int, optional
        Give up, and return None, when the rows take more bytes than this.
    cache : bool
        Read the examples from the cache next to the first file; if there is none, write it.
    """
    if cache and is_address(files.paths[0]):
        raise click.UsageError("--cache writes next to a local file, so it cannot take an address")
    if cache and not files.readable_again:
        raise click.UsageError("--cache needs files: a pipe has no place for a cache")
    path = f"{files.paths[0]}.wmc"
    if cache and os.path.exists(path) and not is_cache(path):
        raise click.UsageError(
            f"{path}: is not a cache, and --cache would overwrite it; move or delete it"
        )
    made_from = stamp(files.paths, repr((files.options, encoding))) if cache else None
    if cache and os.path.exists(path):
        found = read_cache(path, made_from)
        if found is not None:
            return Examples(*found)
    encoder, classes = make_encoder(files, encoding), Classes()
    data = read_all(files, encoder, classes, learn=True, budget=budget, keep=encoding.keep)
    if data is None:
        return None
    if cache:
        write_cache(path, data, classes, encoder, made_from)
    return Examples(data, classes, encoder)


def read_held_out(path: str, reading: ReadOptions, encoder: Any, classes: Classes) -> Encoded:
    """Read a file in the same way as the training examples, without a bias."""
    table = replace(reading.table, schema=getattr(encoder, "schema", None))
    reading = replace(reading, table=table, among=FORMATS_OF[encoder.kind])
    data = read_all(Files(path, reading), encoder, classes, learn=False)
    assert data is not None
    return data


def held_out_part(data: Encoded, part: float, seed: int) -> Encoded:
    """The examples that a learner will hold out: choosing them is its first random choice."""
    _, which = split(data.codes, part, np.random.default_rng(seed))
    return replace(data, rows=data.rows.take(which), codes=data.codes[which])


def answered_right(model: LinearModel | KernelModel, data: Encoded) -> np.ndarray:
    """Which examples a model predicts correctly; those with an unknown label never are."""
    answers = model.classes[np.maximum(data.codes, 0)]
    return (model.predict(rows_for(model, data.rows)) == answers) & (data.codes >= 0)


def rows_for(model: LinearModel | KernelModel, rows: Rows) -> Rows:
    """Adapt rows to a model: as wide as its weights, and with its bias."""
    bias = model.bias if isinstance(model, LinearModel) else 0.0
    return rows.widened(max(rows.width, model.width)).with_bias(bias)
