"""Examples from a file that are only used to measure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.data.datasets import Classes, Encoded, read_all
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.models.kernel import KernelModel
from widemargin.models.linear import LinearModel


def read_held_out(
    path: str, reading: ReadOptions, encoder: Any, classes: Classes, bias: float
) -> Encoded:
    """Read a file as the training examples were read."""
    table = replace(reading.table, schema=getattr(encoder, "schema", None))
    data = read_all(Files(path, replace(reading, table=table)), encoder, classes, learn=False)
    assert data is not None
    return replace(data, rows=data.rows.with_bias(bias))


def answered_right(model: LinearModel | KernelModel, data: Encoded) -> np.ndarray:
    """Which of the examples a model gets right; one whose label is no class is never right."""
    rows = data.rows.widened(max(data.rows.width, model.width))
    answers = model.classes[np.maximum(data.codes, 0)]
    return (model.predict(rows) == answers) & (data.codes >= 0)
