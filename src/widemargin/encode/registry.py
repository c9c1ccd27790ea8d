"""Which class an encoder in a model file is of."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from widemargin.encode.encoder import Encoder

#: Kinds of encoders and where they live; imported when a file asks for one.
_HOMES = {
    "numbers": ("widemargin.encode.numbers", "NumbersEncoder"),
    "vw": ("widemargin.encode.hashed", "HashedEncoder"),
    "table": ("widemargin.encode.table", "TableEncoder"),
    "text": ("widemargin.encode.text", "TextEncoder"),
}


def restore_encoder(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Encoder:
    """An encoder from its description, in which `kind` says what it is, and its arrays."""
    rest = dict(about)
    kind = rest.pop("kind")
    if kind not in _HOMES:
        raise ValueError(f"unknown kind of encoder {kind!r}")
    module, name = _HOMES[kind]
    return getattr(import_module(module), name).restore(rest, arrays)
