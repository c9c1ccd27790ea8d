"""Encoder for vectors whose columns are numbered in the file, from 0 or from 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from widemargin.data.readers.chunk import Vectors
from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.modelfile.checks import check_counts


class NumbersEncoder:
    """Vectors as rows, whose first column is the first index.

    Parameters
    ----------
    first : {0, 1, None}
        The index of the first column. None: 0 if that index occurs in what is observed, else 1.

    Examples
    --------
    >>> encoder = NumbersEncoder(first=1)
    >>> encoder.feature_name(0)
    '1'
    """

    kind: ClassVar[str] = "numbers"

    def __init__(self, first: int | None = None) -> None:
        self._given, self._least, self.width = first, 1, 0

    @property
    def first(self) -> int:
        """The index of the first column."""
        return self._least if self._given is None else self._given

    def observe(self, raw: Vectors) -> None:
        """Record which indices occur."""
        before = self.first
        self._least = min(self._least, raw.least)
        self.width = max(self.width + before - self.first, raw.rows.width - self.first)

    def absorb(self, other: Self) -> None:
        """Add the indices that another encoder observed."""
        end = max(self.width + self.first, other.width + other.first if other.width else 0)
        self._least = min(self._least, other._least)
        self.width = max(self.width, end - self.first)

    def encode(self, raw: Vectors, bias: float, threads: int = 1, *, note: bool = False) -> Rows:
        """Vectors as rows; with `note`, wider vectors widen the encoder.

        Otherwise, features beyond the width, which did not occur in training, are left out.
        """
        if raw.least < self.first and raw.rows.stored_values:
            raise DataError(
                f"found index {raw.least}, but indices seemed to start at {self.first};"
                " set zero_based (--zero-based)"
            )
        stored, width = raw.rows.stored, raw.rows.width - self.first
        if self.first:
            stored = stored._replace(indices=frozen(stored.indices - np.uint32(self.first)))
        rows = Rows(stored._replace(bias=float(bias)), raw.rows.n, width, raw.rows.distinct)
        if note:
            self.width = max(self.width, width)
        if width > self.width:
            matrix = rows.to_matrix()[:, : self.width]
            rows = replace(Rows.of(matrix, bias=bias), distinct=rows.distinct)
        return rows.widened(self.width)

    def feature_name(self, column: int) -> str:
        """The index in the file."""
        return str(column + self.first)

    def describe(self) -> dict[str, Any]:
        """The JSON part of a model file."""
        return {"first": self.first, "width": self.width}

    def arrays(self) -> dict[str, np.ndarray]:
        """No arrays: the encoder has none."""
        return {}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Undo `describe`."""
        check_counts(about, "first", "width")
        if about["first"] > 1:
            raise ValueError(f"{about['width']} features from {about['first']} on")
        encoder = cls(about["first"])
        encoder.width = about["width"]
        return encoder
