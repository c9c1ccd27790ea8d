"""A tagger as arrays and a description, the contents of its file."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.data.encode.templates import Templates
from widemargin.data.rows import frozen
from widemargin.loops.sequences.tagging import Lexicon
from widemargin.loops.sequences.templates import Index
from widemargin.modelfile.checks import (
    check_counts,
    check_kinds,
    check_places,
    check_room,
    check_shape,
)
from widemargin.modelfile.packing import pack_params, pack_strings, unpack_params, unpack_strings
from widemargin.parameters.values import check_choice, check_positive
from widemargin.structured.saved import certificate_of, pack_certificate
from widemargin.structured.spans import SCHEMES
from widemargin.structured.sparse_rows import (
    pack_flags,
    pack_rows,
    packed_rows,
    unpack_flags,
    unpack_rows,
)
from widemargin.structured.tagger.feature_names import FeatureNames
from widemargin.structured.tagger.weights import row_width, transition_rows
from widemargin.training.history import History

#: Files with wider beams are rejected: their states would fill the memory.
_WIDEST = 1 << 16
#: The fields of a certificate that are saved.
_CERTIFIED = ("mistakes", "epochs", "no_bound", "n", "R", "margin", "bound")


def pack_tagger(model: Any, names: bool = True) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the description for a file. Weights of zero are left out."""
    R = model.features
    table, unit = _table_of(model)
    W = pack_rows("W", table)
    rows = packed_rows("W", W, len(model.W))
    rows = rows[rows < R]
    arrays: dict[str, Any] = {
        **W,
        **_pack_index(model.index),
        "lexicon.keys": model.lexicon.keys,
        "lexicon.rows": model.lexicon.rows,
        "lexicon.masks": model.lexicon.masks,
        "allowed": model.allowed.astype(np.uint8),
        "known": model.known,
        **pack_strings("tags", model.tags),
    }
    if model.numbers:
        arrays["numbers.rows"] = np.array(list(model.numbers.values()), np.uint32)
        arrays |= pack_strings("numbers", list(model.numbers))
    named = names and model.names is not None
    if named:
        assert model.names is not None
        arrays |= model.names.pack(rows)
    about = {
        "learner": model.learner,
        "templates": model.templates.written,
        "features": R,
        "shape": list(model.W.shape),
        "index": len(model.index.keys) or len(model.index.rows),
        "shift": int(model.index.shift),
        "order": model.order,
        "beam": model.beam,
        "scheme": model.scheme,
        "given_scheme": model.given_scheme,
        "column": model.column,
        "half": model.half,
        "unit": unit,
        "temperature": model.temperature,
        "names": named,
        "params": pack_params(model.params),
        "history": model.history.to_dict(),
        "certificate": pack_certificate(model.certificate, _CERTIFIED),
    }
    return arrays, about


def unpack_tagger(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> dict[str, Any]:
    """Undo `pack_tagger`: the fields of a `TaggerModel`."""
    _check_description(about)
    if "rows" in arrays:  # before format 4
        W, rows = _unpack_dense(arrays, about["features"])
        where = arrays["index.keys"], arrays["index.rows"]
    else:
        W = unpack_rows("W", arrays, about["shape"]).astype(np.float32, copy=False)
        W *= np.float32(about.get("unit", 1.0))
        rows = packed_rows("W", arrays, about["shape"][0])
        rows = rows[rows < about["features"]]
        where = _unpack_index(arrays, about["index"])
    names, numbers = [], np.zeros(0, np.uint32)
    if "numbers.rows" in arrays:
        names, numbers = unpack_strings("numbers", arrays), arrays["numbers.rows"]
    tags = unpack_strings("tags", arrays)
    index = Index(np.uint64(about["shift"]), *map(frozen, where))
    lexicon = Lexicon(*(frozen(arrays[f"lexicon.{name}"]) for name in Lexicon._fields))
    _check_sizes(W, len(tags), about["order"], about["beam"])
    features = len(W) - transition_rows(len(tags), about["order"])
    if features != about["features"]:
        raise ValueError(f"{features} rows of features, but the description says another number")
    _check_index(index, features)
    _check_lexicon(lexicon, W.shape[1])
    check_shape("allowed", arrays["allowed"], (len(tags) + 1, len(tags) + 1), kinds="u")
    check_shape("known", arrays["known"], (arrays["known"].size,), kinds="u")
    check_places("numbers.rows", numbers, features)
    return {
        "tags": tags,
        "templates": Templates(about["templates"]),
        "W": W,
        "index": index,
        "lexicon": lexicon,
        "allowed": arrays["allowed"].astype(bool),
        "order": about["order"],
        "beam": about["beam"],
        "scheme": about["scheme"],
        "given_scheme": about["given_scheme"],
        "column": about["column"],
        "params": unpack_params(about["params"]),
        "history": History.from_dict(about["history"]),
        "certificate": certificate_of(about["certificate"]),
        "names": FeatureNames.stored(rows, arrays) if about["names"] else None,
        "half": about["half"],
        "temperature": about.get("temperature", 1.0),  # files from version 0.1 have none
        "known": arrays["known"],
        "numbers": dict(zip(names, numbers.tolist(), strict=True)),
    }


def _table_of(model: Any) -> tuple[np.ndarray, float]:
    """The weights for a file, and the factor to multiply them by.

    Weights that are integer multiples of the unit, as `smaller` makes them, are saved as integers.
    """
    if model.half:
        return model.W.astype(np.float16), 1.0
    whole, _, unit, *_ = model.answering_weights
    if whole.dtype == np.int16 and np.array_equal(whole * np.float32(unit), model.W):
        return whole, unit
    return model.W, 1.0


def _check_description(about: dict[str, Any]) -> None:
    """Raise a ValueError unless the values have the types that `pack_tagger` writes."""
    filled = {"unit": 1.0, "temperature": 1.0, **about}  # files from version 0.1 have neither
    check_counts(filled, "features", "shift", "order", "beam")
    check_kinds(filled, column=str, half=bool, names=bool, unit=float, temperature=float)
    check_choice("scheme", about["scheme"], (*SCHEMES, None))
    check_choice("given_scheme", about["given_scheme"], (*SCHEMES, None))
    check_positive("temperature", filled["temperature"])


def _check_sizes(W: np.ndarray, labels: int, order: Any, beam: Any) -> None:
    """Raise a ValueError unless the weights fit the number of labels, the order and the beam."""
    if order not in (1, 2) or type(beam) is not int or not 0 <= beam <= _WIDEST:
        raise ValueError(f"a tagger of order {order!r:.20} with a beam of {beam!r:.20}")
    if not labels or len(W) <= transition_rows(labels, order):
        raise ValueError(f"{len(W)} rows of weights for {labels} tags")
    check_shape("W", W, (len(W), row_width(labels, order)))


def _check_index(index: Index, features: int) -> None:
    """Raise a ValueError unless every hash leads to a feature row."""
    size = len(index.keys) or len(index.rows) or features
    check_places("index.rows", index.rows, features)
    if len(index.keys):
        check_shape("index.keys", index.keys, index.rows.shape, kinds="u")
        _check_table("index.keys", index.keys)
    elif not 32 <= int(index.shift) < 64 or 1 << (64 - int(index.shift)) > size:
        raise ValueError(f"hashes of {64 - int(index.shift)} bits for {size} rows")


def _check_lexicon(lexicon: Lexicon, width: int) -> None:
    """Raise a ValueError unless every word leads to a row of masks."""
    check_shape("lexicon.masks", lexicon.masks, (max(1, len(lexicon.masks)), width))
    if lexicon.masks.dtype != np.float32:
        raise ValueError(f"lexicon.masks are of the type {lexicon.masks.dtype}")
    check_shape("lexicon.rows", lexicon.rows, lexicon.keys.shape, kinds="u")
    check_places("lexicon.rows", lexicon.rows, len(lexicon.masks))
    _check_table("lexicon.keys", lexicon.keys)


def _check_table(name: str, keys: np.ndarray) -> None:
    """Raise a ValueError unless every lookup in a hash table ends, at a key or an empty slot."""
    if keys.dtype != np.uint64 or len(keys) & (len(keys) - 1) or (len(keys) and np.all(keys)):
        raise ValueError(f"{name} is not a hash table")


def _unpack_dense(arrays: dict[str, np.ndarray], features: int) -> tuple[np.ndarray, np.ndarray]:
    """The weights of a file that stores whole rows, and which feature rows it has."""
    saved, rows = arrays["W"].astype(np.float32), arrays["rows"]
    check_room((features, saved.shape[1]), np.float32, saved.nbytes)
    check_places("rows", rows, features)
    W = np.zeros((features + len(saved) - len(rows), saved.shape[1]), np.float32)
    W[rows] = saved[: len(rows)]
    W[features:] = saved[len(rows) :]
    return W, rows


def _pack_index(index: Index) -> dict[str, np.ndarray]:
    """The arrays of an index without its empty slots; one bit per slot says whether it is taken.

    Without keys, the rows are 1, 2, 3 and so on, and need not be stored.
    """
    taken = index.keys != 0 if len(index.keys) else index.rows != 0
    packed = {"index.taken": pack_flags(taken), "index.keys": index.keys[index.keys != 0]}
    if len(index.keys):
        packed["index.rows"] = index.rows[taken]
    return packed


def _unpack_index(arrays: dict[str, np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Undo `_pack_index`: the keys and the rows."""
    check_room((size,), np.uint64, arrays["index.taken"].nbytes)
    taken = unpack_flags(arrays["index.taken"], size)
    keys, rows = np.zeros(0, np.uint64), np.zeros(size, np.uint32)
    if "index.rows" in arrays:
        keys = np.zeros(size, np.uint64)
        keys[taken] = arrays["index.keys"]
        rows[taken] = arrays["index.rows"]
    else:
        rows[taken] = np.arange(1, np.count_nonzero(taken) + 1)
    return keys, rows
