"""Serving models of vectors and of named features."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from widemargin.data.encode.named import NamedFeatures, named_rows
from widemargin.data.encode.numbers import NumbersEncoder
from widemargin.data.readers.chunk import Vectors
from widemargin.data.readers.svmlight import LARGEST_INDEX, parse_lines
from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.loops.storage import Sparse
from widemargin.web.serving.bodies import SOURCE, Examples
from widemargin.web.serving.rows_model import (
    RowsModel,
    check_finite,
    one_or_many,
    pack_numbers,
    say,
)

#: The largest number of nonzero columns of a sample vector.
_FEW = 20


class VectorsModel(RowsModel):
    """A model of vectors, whose columns are numbered or named."""

    kind = "vectors"
    formats = ("jsonl", "svmlight")

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        plain = {"first": 1, "width": model.width}
        self._numbers = model.encoder or NumbersEncoder.restore(plain, {})
        self._columns: dict[str, int] = {}
        if model.encoder is None:
            names = model.feature_names or [f"x{j}" for j in range(model.width)]
            self._columns = {str(name): column for column, name in enumerate(names)}

    def encoder(self) -> Any:
        """The encoder: columns are numbered as in the training file, or from 1 for arrays."""
        return self._numbers

    def from_json(self, value: Any) -> Examples:
        """Read a list of all numbers, an object of the nonzero ones by name, or several."""
        wanted = "a list of numbers, or an object from feature to number,"
        if isinstance(value, dict):
            return self._by_name([value], True)
        if isinstance(value, list) and not isinstance(value[0] if value else 0, (list, dict)):
            return Examples("dense", [self._dense(value, "")], 1, True)
        kind = type(value[0]) if isinstance(value, list) else list
        items, _ = one_or_many(value, lambda item: item is not value and type(item) is kind, wanted)
        if kind is dict:
            return self._by_name(items, False)
        rows = [self._dense(row, f"example {place + 1}: ") for place, row in enumerate(items)]
        return Examples("dense", rows, len(rows), False)

    def _dense(self, row: list[Any], where: str) -> bytes:
        if len(row) != self.model.width:
            raise DataError(
                f"{SOURCE}: {where}found {len(row)} numbers, but the model was trained with"
                f" {self.model.width}"
            )
        return pack_numbers(row, where)

    def _by_name(self, items: list[dict[str, Any]], one: bool) -> Examples:
        if self.model.encoder is None:
            return Examples("dense", [self._filled(item) for item in items], len(items), one)
        return Examples("sparse", [self._numbered(item) for item in items], len(items), one)

    def _filled(self, item: dict[str, Any]) -> bytes:
        row: list[Any] = [0.0] * self.model.width
        for name, value in item.items():
            column = self._columns.get(name)
            if column is None:
                known = ", ".join(list(self._columns)[:5])
                raise DataError(f"{SOURCE}: there is no feature {name[:40]!r}, only {known}, ...")
            row[column] = value
        return pack_numbers(row, "")

    def _numbered(self, item: dict[str, Any]) -> tuple[bytes, bytes]:
        try:
            pairs = sorted((int(name), value) for name, value in item.items())
            indices = np.array([index for index, _ in pairs], np.int64)
        except (ValueError, OverflowError, TypeError):
            raise DataError(
                f"{SOURCE}: features are numbered here, as in svmlight files, and one of"
                f" {', '.join(repr(name[:20]) for name in list(item)[:3])} is not a number"
            ) from None
        if len(indices) and not 0 <= indices[0] <= indices[-1] <= LARGEST_INDEX:
            raise DataError(f"{SOURCE}: an index is not from 0 to {LARGEST_INDEX}")
        if np.any(np.diff(indices) == 0):
            raise DataError(f"{SOURCE}: an index occurs twice")
        values = pack_numbers([value for _, value in pairs], "")
        return indices.astype(np.uint32).tobytes(), values

    def from_body(self, body: bytes, format: str) -> Examples:
        """Read lines of svmlight; their labels are ignored."""
        double = self.model.dtype == np.float64
        chunk = self._chunk(body, partial(parse_lines, dtype=np.float64 if double else np.float32))
        return Examples("", [chunk.raw], chunk.n, False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """Rows, or vectors as readers yield them."""
        if form == "":
            return items[0]
        if form == "dense":
            values = np.frombuffer(b"".join(items)).reshape(len(items), self.model.width)
            check_finite(values)
            return Rows.of(values, bias=self.model.bias, dtype=self.model.dtype)
        indices = [np.frombuffer(item[0], np.uint32) for item in items]
        values = np.frombuffer(b"".join(item[1] for item in items))
        with np.errstate(over="ignore"):
            stored = values.astype(self.model.dtype)
        check_finite(stored)
        ends = np.cumsum([0, *map(len, indices)]).astype(np.uint64)
        columns = np.concatenate(indices)
        width = int(columns.max(initial=0)) + 1
        least = int(columns.min(initial=LARGEST_INDEX))
        rows = Rows(
            Sparse(frozen(stored), frozen(columns), frozen(ends), 0.0), len(items), width, True
        )
        return Vectors(rows, least)

    def other_samples(self) -> dict[str, bytes]:
        """A line."""
        return {"svmlight": b"0 1:1\n"}

    def sample(self) -> Any:
        """A vector whose first numbers are 1."""
        width, few = self.model.width, min(self.model.width, _FEW)
        if width > 200:
            return dict.fromkeys([self._name(j) for j in range(few)], 1.0)
        return [1.0] * few + [0.0] * (width - few)

    def _name(self, column: int) -> str:
        if self.model.encoder is None:
            return list(self._columns)[column]
        return str(self.model.encoder.feature_name(column))


class NamedModel(RowsModel):
    """A model of dicts from name to value, as `learn_one` takes them."""

    kind = "named features"

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._features = NamedFeatures(model.feature_names or ())

    def from_json(self, value: Any) -> Examples:
        """Read an object from name to number or string, or a list of them."""
        items, one = one_or_many(
            value, lambda item: isinstance(item, dict), "an object from name to value"
        )
        for item in items:
            for name, cell in item.items():
                if cell is None or isinstance(cell, (list, dict)):
                    raise DataError(f"{SOURCE}: the feature {name[:40]!r} is {say(cell)}")
        return Examples("named", [self._features.convert(item) for item in items], len(items), one)

    def raw(self, form: str, items: list[Any]) -> Any:
        """Sparse rows."""
        return named_rows(items, self.model.bias, self.model.width)

    def sample(self) -> Any:
        """The first names, each with the value 1."""
        return {str(name): 1 for name in list(self.model.feature_names or ())[:3]}
