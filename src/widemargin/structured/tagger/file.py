"""The arrays and the description of a tagger for its file."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.encode.templates import Templates
from widemargin.data.rows import frozen
from widemargin.loops.sequences.tagging import Lexicon
from widemargin.loops.sequences.templates import Index
from widemargin.modelfile import pack_strings, pack_value, unpack_strings, unpack_value
from widemargin.structured.tagger.feature_names import FeatureNames
from widemargin.training.history import History


def pack_tagger(model: Any, names: bool = True) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the description for a file. Empty rows are left out."""
    R = model.features
    rows = np.flatnonzero(np.any(model.W[:R], axis=1)).astype(np.uint32)
    W = np.concatenate([model.W[rows], model.W[R:]])
    arrays: dict[str, Any] = {
        "W": W.astype(np.float16) if model.half else W,
        "rows": rows,
        "index.keys": model.index.keys,
        "index.rows": model.index.rows,
        "lexicon.keys": model.lexicon.keys,
        "lexicon.rows": model.lexicon.rows,
        "lexicon.masks": model.lexicon.masks,
        "allowed": model.allowed.astype(np.uint8),
        "known": model.known,
        **pack_strings("tags", model.tags),
    }
    named = names and model.names is not None
    if named:
        assert model.names is not None
        arrays |= model.names.pack(rows)
    about = {
        "learner": "Tagger",
        "templates": model.templates.written,
        "features": R,
        "shift": int(model.index.shift),
        "order": model.order,
        "beam": model.beam,
        "scheme": model.scheme,
        "given_scheme": model.given_scheme,
        "column": model.column,
        "half": model.half,
        "temperature": model.temperature,
        "names": named,
        "params": {name: pack_value(value) for name, value in model.params.items()},
        "history": model.history.to_dict(),
        "certificate": _certificate_numbers(model.certificate),
    }
    return arrays, about


def unpack_tagger(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> dict[str, Any]:
    """Undo `pack_tagger`: the fields of a `TaggerModel`."""
    saved, rows = arrays["W"].astype(np.float32), arrays["rows"]
    W = np.zeros((about["features"] + len(saved) - len(rows), saved.shape[1]), np.float32)
    W[rows] = saved[: len(rows)]
    W[about["features"] :] = saved[len(rows) :]
    certificate = about["certificate"]
    return {
        "tags": unpack_strings("tags", arrays),
        "templates": Templates(about["templates"]),
        "W": W,
        "index": Index(
            np.uint64(about["shift"]),
            frozen(arrays["index.keys"]),
            frozen(arrays["index.rows"]),
        ),
        "lexicon": Lexicon(*(frozen(arrays[f"lexicon.{name}"]) for name in Lexicon._fields)),
        "allowed": arrays["allowed"].astype(bool),
        "order": about["order"],
        "beam": about["beam"],
        "scheme": about["scheme"],
        "given_scheme": about["given_scheme"],
        "column": about["column"],
        "params": {name: unpack_value(value) for name, value in about["params"].items()},
        "history": History.from_dict(about["history"]),
        "certificate": None if certificate is None else RunCertificate(**certificate),
        "names": FeatureNames.stored(rows, arrays) if about["names"] else None,
        "half": about["half"],
        "temperature": about.get("temperature", 1.0),  # files of 0.1 have none
        "known": arrays["known"],
    }


def _certificate_numbers(certificate: RunCertificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    kept = ("mistakes", "epochs", "no_bound", "n", "R", "margin", "bound")
    return {name: getattr(certificate, name) for name in kept}
