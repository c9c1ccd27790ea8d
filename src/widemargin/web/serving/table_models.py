"""Serving models of tables."""

from __future__ import annotations

import io
from typing import Any

from widemargin.data.readers.columns import TableOptions
from widemargin.data.readers.files import ReadOptions
from widemargin.data.readers.frames import Frame
from widemargin.data.readers.table import read_table
from widemargin.errors import DataError
from widemargin.web.serving.bodies import SOURCE, Examples, is_table
from widemargin.web.serving.limits import Limits
from widemargin.web.serving.predictor import only_chunk
from widemargin.web.serving.rows_model import (
    RowsModel,
    one_or_many,
    say,
)


class TableModel(RowsModel):
    """A model of tables: an example is an object from column to cell."""

    kind = "rows of a table"
    formats = ("jsonl", "csv", "tsv")

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._schema = model.encoder.schema
        self._reading = TableOptions(need_label=False, schema=self._schema, first=1)
        self._columns = [column.name for column in self._schema.columns]

    def from_json(self, value: Any) -> Examples:
        """Read an object from column to cell, or a list of them; absent cells are missing."""
        items, one = one_or_many(
            value, lambda item: isinstance(item, dict), "an object from column to cell"
        )
        for item in items:
            self._check(item)
        return Examples("table", items, len(items), one)

    def _check(self, item: dict[str, Any]) -> None:
        if item.keys().isdisjoint(self._columns):
            raise DataError(
                f"{SOURCE}: an example has none of the columns that the model needs:"
                f" {', '.join(map(repr, self._columns[:20]))}"
            )
        for name in self._columns:
            cell = item.get(name)
            if isinstance(cell, (list, dict)):
                raise DataError(f"{SOURCE}: the cell of {name!r} is {say(cell)}")

    def from_lines(self, body: bytes, limits: Limits) -> Examples:
        """Read objects with the file reader."""
        return self.from_body(body, "jsonl")

    def from_body(self, body: bytes, format: str) -> Examples:
        """Read a table with the file reader."""
        assert is_table(format)
        whole = len(body) + 1  # in one piece
        chunk = only_chunk(list(read_table(io.BytesIO(body), SOURCE, format, self._reading, whole)))
        return Examples("", [chunk.raw], chunk.n, False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """An Arrow table."""
        if form == "":
            return items[0]
        cells = {name: [item.get(name) for item in items] for name in self._columns}
        (chunk,) = Frame(cells, None, ReadOptions(table=self._reading)).chunks()
        return chunk.raw

    def to_explain(self, raw: Any) -> Any:
        """The table itself if it has texts, because the names of words are found in it."""
        return raw if self.model.encoder.text is not None else self.rows(raw)

    def marks(self, examples: Examples, reasons: list[dict[str, Any]]) -> dict[str, Any]:
        """How much each column decided."""
        shares = dict.fromkeys(self._columns, 0.0)
        for reason in reasons:
            for name in self._columns:
                if reason["feature"] == name or reason["feature"].startswith(
                    (f"{name}=", f"{name} is")
                ):
                    shares[name] += reason["share"]
        return {"columns": shares}

    def describe(self) -> dict[str, Any]:
        """Describe the model for clients."""
        columns = [{"name": column.name, "kind": column.kind} for column in self._schema.columns]
        return {**super().describe(), "columns": columns}

    def sample(self) -> Any:
        """A row of zeros, and the first value of each category."""
        usual = {"number": 0, "boolean": False, "text": "a text"}
        values = {column.name: column.values for column in self.model.encoder.columns}
        return {
            column.name: usual.get(column.kind, next(iter(values.get(column.name, ())), None))
            for column in self._schema.columns
        }
