"""Saves encoders to model files and restores them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from widemargin.data.encode.encoder import Encoder

#: Kinds of encoders and their modules, which are imported when needed.
_HOMES = {
    "numbers": ("widemargin.data.encode.numbers", "NumbersEncoder"),
    "vw": ("widemargin.data.encode.hashed", "HashedEncoder"),
    "table": ("widemargin.data.encode.table", "TableEncoder"),
    "text": ("widemargin.data.encode.text", "TextEncoder"),
}
#: The prefix of an encoder's arrays in a model file.
_START = "encoder."


def restore_encoder(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Encoder:
    """An encoder from its description, which includes its `kind`, and its arrays."""
    rest = dict(about)
    kind = rest.pop("kind")
    if kind not in _HOMES:
        raise ValueError(f"unknown kind of encoder {kind!r}")
    module, name = _HOMES[kind]
    return getattr(import_module(module), name).restore(rest, arrays)


def write_encoder(encoder: Encoder | None) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """The description and the arrays of a model's encoder, if it has one."""
    if encoder is None:
        return None, {}
    arrays = {f"{_START}{name}": part for name, part in encoder.arrays().items()}
    return {"kind": encoder.kind, **encoder.describe()}, arrays


def read_encoder(arrays: dict[str, np.ndarray], about: dict[str, Any] | None) -> Encoder | None:
    """Undo `write_encoder`; files of the first versions have no encoder."""
    if about is None:
        return None
    mine = {name[len(_START) :]: part for name, part in arrays.items() if name.startswith(_START)}
    return restore_encoder(about, mine)


def sole_text(encoder: Any) -> str | None:
    """The column of a table's only text, if nothing else is used; None otherwise.

    Then the model is one of texts, unless the column is to be found by its name.
    """
    if encoder.by_name or not encoder.only_texts or len(encoder.text_columns) > 1:
        return None
    return encoder.text_columns[0]
