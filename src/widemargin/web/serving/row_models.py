"""Choosing how a model of rows is served, by the kind of its examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from widemargin.data.encode.registry import sole_text
from widemargin.errors import DataError
from widemargin.web.serving.askable import Askable
from widemargin.web.serving.table_models import TableModel
from widemargin.web.serving.text_models import StringsModel, TextModel, VwModel
from widemargin.web.serving.vector_models import NamedModel, VectorsModel


def rows_model(path: str, model: Any) -> Askable:
    """Wrap a model of rows for serving, by the kind of its examples."""
    encoder: Any = model.encoder
    kernel = getattr(model, "kernel", None)
    if kernel is not None and kernel.on_objects:
        if kernel.function is None:
            raise DataError(
                f"{path}: its kernel is the function {kernel.called!r}, which a file cannot store:"
                " use the model in Python"
            )
        return StringsModel(model)
    if model.by_name:
        return NamedModel(model)
    if encoder is None or encoder.kind == "numbers":
        return VectorsModel(model)
    if encoder.kind == "table":
        column = sole_text(encoder)
        if column is None:
            return TableModel(model)
        return TextModel(replace(model, encoder=encoder.text), column)
    return TextModel(model) if encoder.kind == "text" else VwModel(model)
