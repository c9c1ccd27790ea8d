"""The weight column of a table: the cost of an error on each example."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin.data.readers.parser import SCHEMA_KEY
from widemargin.errors import DataError


def take_weights(table: Any, column: str, place: Callable[[int], str]) -> tuple[Any, np.ndarray]:
    """Split a table into the other columns and the values of its weight column.

    Parameters
    ----------
    table : pyarrow.Table
        The table, with numbers in that column. If it has a stored schema, the column is removed
        from there as well.
    column : str
        Its name.
    place : callable
        Gives the position of a row for error messages.
    """
    cells = table[column].combine_chunks()
    weights = cells.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    bad = np.flatnonzero(~((weights >= 0.0) & np.isfinite(weights)))
    if len(bad):
        found = weights[bad[0]]
        wrong = "is missing" if np.isnan(found) else f"{found:g} must be finite and not negative"
        raise DataError(f"{place(int(bad[0]))}: column {column!r}: the weight {wrong}")
    rest, described = table.drop_columns([column]), dict(table.schema.metadata or {})
    if SCHEMA_KEY in described:
        schema = json.loads(described[SCHEMA_KEY])
        schema["columns"] = [[name, kind] for name, kind in schema["columns"] if name != column]
        described[SCHEMA_KEY] = json.dumps(schema).encode()
    return rest.replace_schema_metadata(described), weights
