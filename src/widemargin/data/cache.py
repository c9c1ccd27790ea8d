"""Examples in the form that the loops read, in a file that is mapped into memory.

The layout is that of safetensors, so that the arrays can be used in place. The description says
from which files they were made and how; if one of these has changed, or if the cache has another
format, it is rebuilt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin import __version__
from widemargin.data.datasets import Classes, Encoded
from widemargin.data.encode.encoder import Encoder
from widemargin.data.encode.labels import plain_labels, typed_labels
from widemargin.data.encode.registry import restore_encoder
from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.loops.storage import Dense, Sparse
from widemargin.modelfile import (
    KINDS,
    pack,
    pack_strings,
    say_newer,
    unpack_strings,
    write_file,
)

#: Written into every cache, and increased when the layout changes.
_FORMAT = 1


def write_cache(
    path: str,
    data: Encoded,
    classes: Classes,
    encoder: Encoder,
    made_from: dict[str, Any] | None = None,
) -> None:
    """Write examples into a cache file, atomically."""
    rows, (labels, kind) = data.rows, plain_labels(classes.values)
    stored = {name: part for name, part in rows.stored._asdict().items() if name != "bias"}
    arrays = {
        **{f"rows.{name}": part for name, part in stored.items()},
        **{f"encoder.{name}": part for name, part in encoder.arrays().items()},
        **pack_strings("labels", labels),
        "codes": data.codes,
        "lines": data.lines,
    }
    if data.weights is not None:
        arrays["weights"] = data.weights
    about = {
        "cache": _FORMAT,
        "widemargin": __version__,
        "made_from": made_from,
        "width": rows.width,
        "distinct": rows.distinct,
        "labels": kind,
        "encoder": {"kind": encoder.kind, **encoder.describe()},
        "sources": data.sources,
    }
    write_file(path, pack(arrays, {"examples": json.dumps(about)}))


def is_cache(path: str) -> bool:
    """Whether a file is a cache, of any format."""
    return _header(path) is not None


def read_cache(
    path: str, made_from: dict[str, Any] | None = None
) -> tuple[Encoded, Classes, Encoder] | None:
    """Map a cache into memory.

    Parameters
    ----------
    path : str
        Where it is.
    made_from : dict, optional
        What it must have been made from; by default anything.

    Returns
    -------
    The examples, their classes and their encoder; None if it was made from something else, or has
    another format and can be rebuilt.

    Raises
    ------
    DataError
        If the file is not a cache, was cut short, or has another format and it is not known what
        it was made from.
    """
    found = _header(path)
    if found is None:
        raise DataError(f"{path}: is not a cache of examples, or is cut short")
    header, about, begins = found
    if made_from is not None and (about["cache"], about["made_from"]) != (_FORMAT, made_from):
        return None
    if about["cache"] > _FORMAT:
        raise DataError(f"{path}: {say_newer(about['cache'], _FORMAT, about)}")
    arrays = {}
    for name, spec in header.items():
        start, end = spec["data_offsets"]
        dtype = np.dtype(KINDS[spec["dtype"]])
        if end > start:
            flat = np.memmap(path, dtype, "r", begins + start, ((end - start) // dtype.itemsize,))
            arrays[name] = frozen(np.asarray(flat)).reshape(spec["shape"])
        else:
            arrays[name] = frozen(np.empty(spec["shape"], dtype))
    parts = {name[5:]: array for name, array in arrays.items() if name.startswith("rows.")}
    stored: Any = Sparse(**parts, bias=0.0) if "starts" in parts else Dense(**parts, bias=0.0)
    mine = {name[8:]: array for name, array in arrays.items() if name.startswith("encoder.")}
    n = len(arrays["codes"])
    data = Encoded(
        Rows(stored, n, about["width"], about["distinct"]),
        arrays["codes"],
        arrays.get("weights"),
        arrays["lines"],
        [(source, rows) for source, rows in about["sources"]],
    )
    labels = typed_labels(unpack_strings("labels", arrays), about["labels"])
    return data, Classes(labels), restore_encoder(about["encoder"], mine)


def _header(path: str) -> tuple[dict[str, Any], dict[str, Any], int] | None:
    """The description in a cache; None if the file is not a cache or is incomplete."""
    length = os.stat(path).st_size
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if length < 8 or size > min(length - 8, 1 << 24):
            return None
        try:
            header = json.loads(file.read(size))
            about = json.loads(header.pop("__metadata__")["examples"])
            ends = max(spec["data_offsets"][1] for spec in header.values())
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
    form = about.get("cache")
    known = type(form) is int and form >= _FORMAT
    return (header, about, 8 + size) if known and 8 + size + ends == length else None


def stamp(paths: Sequence[str], options: str) -> dict[str, Any]:
    """What examples were made from: the files with sizes and times, and the options."""
    stats = [os.stat(path) for path in paths]
    return {
        "files": [
            [os.path.abspath(path), stat.st_size, stat.st_mtime_ns]
            for path, stat in zip(paths, stats, strict=True)
        ],
        "options": options,
    }
