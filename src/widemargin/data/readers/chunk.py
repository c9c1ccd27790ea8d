"""What a reader yields: examples of a file, not yet encoded, and where they came from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows


class Texts(NamedTuple):
    """Documents: byte ranges of one buffer of UTF-8. Document i is buffer[starts[i]:ends[i]]."""

    buffer: np.ndarray  # uint8
    starts: np.ndarray  # uint64
    ends: np.ndarray  # uint64


class Vectors(NamedTuple):
    """Sparse rows whose columns are numbered as in the file, from 0 or from 1."""

    rows: Rows
    least: int  # the smallest index among them


class Hashed(NamedTuple):
    """Examples of named features, hashed: those of example i are starts[i] up to starts[i + 1]."""

    values: np.ndarray
    hashes: np.ndarray  # uint32, all even
    starts: np.ndarray  # uint64
    text: np.ndarray  # contains the names
    names: np.ndarray  # uint32 (m, 4): start and end of the namespace, and of the name; with
    # products (m, 8), for both factors


def is_raw(examples: Any) -> bool:
    """Whether these are the raw examples of a chunk, which need an encoder to become rows."""
    table = hasattr(examples, "column_names")  # pyarrow's, which need not be loaded
    return table or isinstance(examples, (Vectors, Texts, Hashed))


class Labels(NamedTuple):
    """The labels of some examples: values[codes]. An example without a label has code -1."""

    values: np.ndarray  # the distinct labels, in order of first appearance
    codes: np.ndarray  # int64


class Chunk(NamedTuple):
    """Consecutive examples of one file.

    Attributes
    ----------
    raw : Vectors, Texts, Hashed or pyarrow.Table
        The examples: vectors, documents, named features, or columns.
    n : int
        The number of examples.
    labels : Labels or None
        Their labels; None if the file has none.
    weights : array of float64, or None
        The cost of an error on each example.
    source : str
        The name of the file in error messages.
    lines : array of int64
        The line (from 1) on which each example starts, or its row in a file without lines.
    """

    raw: Any
    n: int
    labels: Labels | None
    weights: np.ndarray | None
    source: str
    lines: np.ndarray


class Flaw(NamedTuple):
    """A line that cannot be read."""

    line: int
    column: int  # from 1; 0 for the whole line
    message: str


class Piece(NamedTuple):
    """The content of some consecutive lines, whose numbers count from 0."""

    raw: Any
    n: int
    labels: Labels | None
    weights: np.ndarray | None
    lines: np.ndarray
    length: int  # the number of lines, including blank and bad ones
    flaws: list[Flaw]
