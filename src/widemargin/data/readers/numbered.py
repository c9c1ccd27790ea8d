"""Numeric labels: integers, each of them a class."""

from __future__ import annotations

import numpy as np

from widemargin.data.readers.chunk import Flaw, Labels
from widemargin.data.readers.pieces import column_of, line_starts, token_at

#: Beyond this, a double no longer represents a unique integer.
_LARGEST = 2.0**53


def whole_labels(found: np.ndarray) -> Labels | None:
    """Integer labels from floats, NaN for examples without a label; None if all are missing."""
    given = ~np.isnan(found)
    if not np.any(given):
        return None
    values, codes = np.unique(found[given], return_inverse=True)
    every = np.full(len(found), -1)
    every[given] = codes
    return Labels(values.astype(np.int64), every)


def bad_labels(
    text: np.ndarray, found: np.ndarray, lines: np.ndarray, flaws: int, need_label: bool = True
) -> list[Flaw]:
    """The first lines whose labels are missing or not classes."""
    with np.errstate(invalid="ignore"):  # an infinite label is not an integer
        bad = ~((found == np.rint(found)) & (np.abs(found) <= _LARGEST))
    if not need_label:
        bad &= ~np.isnan(found)
    which = np.flatnonzero(bad)[:flaws]
    if not len(which):
        return []
    starts = line_starts(text)
    return [_flaw(text, found[i], int(lines[i]), int(starts[lines[i]])) for i in which]


def _flaw(text: np.ndarray, label: float, line: int, begins: int) -> Flaw:
    while text[begins] in b" \t\r":
        begins += 1
    if np.isnan(label):
        message = "the example has no label"
    elif abs(label) > _LARGEST:
        message = f"the label {token_at(text, begins)} is too large: more than 2^53"
    else:
        message = f"the label {token_at(text, begins)} is a measurement, not a class"
    return Flaw(line, column_of(text, begins), message)
