"""Warnings about examples that look wrong, before anything is learned from them, one line each.

The checks look at a few thousand rows only, so that they cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.data.datasets import Encoded

if TYPE_CHECKING:  # slow to import, and few files are tables
    from widemargin.data.encode.table import TableEncoder

#: The largest number of rows to check, ...
_ROWS = 5000
#: ... and the smallest number that shows anything.
_FEWEST = 100
#: Typical values that differ by more than this factor are not on one scale.
_ORDERS = 1000.0
#: Features that occur in a smaller share of the rows than this are not checked.
_OFTEN = 0.01
#: A column gives the answer away if it predicts at least this share of the labels, ...
_TOLD = 0.99
#: ... and avoids this share of the mistakes made by guessing the most frequent label.
_GAINED = 0.95
#: More labels than this share of the rows are hardly classes, ...
_MOST_LABELS = 0.5
#: ... if there are at least this many rows.
_ENOUGH_ROWS = 20


def check_data(data: Encoded, encoder: Any, scaled: bool = False) -> Iterator[str]:
    """Yield warnings about what looks wrong, and what to do about it.

    Parameters
    ----------
    data : Encoded
        The examples.
    encoder : Encoder or None
        The encoder that made the rows.
    scaled : bool
        Whether the learner scales the features.
    """
    yield from check_labels(data)
    if encoder is None or data.rows.n < _FEWEST:
        return
    step = -(-data.rows.n // _ROWS)
    which = np.arange(0, data.rows.n, step)
    matrix, codes = data.rows.take(which).to_matrix(), data.codes[which]
    if not scaled:
        yield from _find_scales(matrix, encoder)
    if encoder.kind == "table":
        yield from _find_leaks(matrix, codes, encoder)


def check_labels(data: Encoded) -> Iterator[str]:
    """Warn if most rows have a label of their own: then these are probably not classes."""
    labels, rows = len(np.unique(data.codes)), data.rows.n
    if rows >= _ENOUGH_ROWS and labels > _MOST_LABELS * rows:
        yield (
            f"{labels:,} different labels in {rows:,} rows can hardly be classes; in a table,"
            " --label names the column of the labels"
        )


def _find_scales(matrix: Any, encoder: Any) -> Iterator[str]:
    """Warn if the values of features differ by orders of magnitude and are not scaled."""
    if encoder.kind == "text" or getattr(encoder, "scale", "none") != "none":
        return
    if getattr(encoder, "text", None) is not None:
        return
    _, columns, values = _entries(matrix)
    width = matrix.shape[1]
    count = np.bincount(columns, minlength=width)
    square = np.bincount(columns, values.astype(np.float64) ** 2, minlength=width)
    often = np.flatnonzero(count >= max(1.0, _OFTEN * matrix.shape[0]))
    if len(often) < 2:
        return
    typical = np.sqrt(square[often] / count[often])
    low, high = int(np.argmin(typical)), int(np.argmax(typical))
    if not typical[high] > _ORDERS * typical[low]:
        return
    names = [encoder.feature_name(int(often[place])) for place in (high, low)]
    how = "add --scale standard" if encoder.kind == "table" else "scale them first"
    if encoder.kind == "numbers":
        how += ", or give --learner svm --scale maxabs"
    yield (
        f"values of feature {names[0]!r} are about {typical[high]:.3g}, those of {names[1]!r}"
        f" {typical[low]:.3g}: learners do badly where features differ by orders of magnitude;"
        f" {how}"
    )


def _find_leaks(matrix: Any, codes: np.ndarray, encoder: TableEncoder) -> Iterator[str]:
    """Warn about columns that alone predict nearly every label, unless there is only one."""
    if len(encoder.columns) < 2 or not len(codes):
        return
    # The halves are random, because the labels of successive rows may alternate.
    half = np.random.default_rng(0).permutation(len(codes)) < len(codes) // 2
    guess = np.max(np.bincount(codes[~half])) / np.count_nonzero(~half)
    if guess == 1.0:
        return
    first = encoder.width - sum(column.width for column in encoder.columns)
    for column in encoder.columns:
        last = first + column.width
        right = _share_predicted(matrix[:, first:last], column.kind, codes, half)
        if right >= _TOLD and 1.0 - right <= (1.0 - _GAINED) * (1.0 - guess):
            yield (
                f"column {column.name!r} alone predicts {100.0 * right:.1f} % of the labels: if it"
                f" will not be known when the model predicts, add --drop {column.name!r}"
            )
        first = last


def _share_predicted(block: Any, kind: str, codes: np.ndarray, half: np.ndarray) -> float:
    """The share of labels that a column predicts, trained on half of the rows, on the others."""
    rows, columns, values = _entries(block)
    if kind == "category":
        found = np.zeros(block.shape[0], np.int64)
        found[rows] = columns + 1
        return float(np.mean(_by_value(found, codes, half) == codes[~half]))
    plain = columns == 0  # the second feature marks missing numbers
    numbers, absent = np.zeros(block.shape[0]), np.zeros(block.shape[0], np.int64)
    numbers[rows[plain]], absent[rows[~plain]] = values[plain], 1
    right = _by_value(absent, codes, half) == codes[~half]
    known = absent == 0
    if np.any(known & half):
        right[known[~half]] = (
            _by_neighbour(numbers[known], codes[known], half[known]) == codes[~half & known]
        )
    return float(np.mean(right))


def _by_value(values: np.ndarray, codes: np.ndarray, half: np.ndarray) -> np.ndarray:
    """For rows outside the half, the most frequent label in it for the same value, or -1."""
    counts = np.zeros((int(values.max()) + 1, int(codes.max()) + 1), np.int64)
    np.add.at(counts, (values[half], codes[half]), 1)
    best = np.where(counts.sum(axis=1) > 0, np.argmax(counts, axis=1), -1)
    return best[values[~half]]


def _by_neighbour(numbers: np.ndarray, codes: np.ndarray, half: np.ndarray) -> np.ndarray:
    """For rows outside the half, the label of the row in it with the nearest number."""
    order = np.argsort(numbers[half], kind="stable")
    told, labels = numbers[half][order], codes[half][order]
    after = np.minimum(np.searchsorted(told, numbers[~half]), len(told) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(numbers[~half] - told[before]) < np.abs(told[after] - numbers[~half])
    return labels[np.where(nearer, before, after)]


def _entries(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows, columns and values of the nonzero entries."""
    if hasattr(matrix, "tocoo"):
        found = matrix.tocoo()
        stored = found.data != 0
        return found.row[stored], found.col[stored], found.data[stored]
    rows, columns = np.nonzero(matrix)
    return rows, columns, matrix[rows, columns]
