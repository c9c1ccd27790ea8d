"""A memory-mapped cache file of encoded examples, in the form that the loops read.

The layout is that of safetensors, so the arrays can be used in place. The metadata records which
files the examples were made from, and how; if any of that has changed, or if the cache has another
format, it is rebuilt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from widemargin import __version__
from widemargin.data.datasets import Classes, Encoded
from widemargin.data.encode.encoder import Encoder
from widemargin.data.encode.labels import plain_labels, typed_labels
from widemargin.data.encode.registry import restore_encoder
from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.loops.storage import Dense, Sparse
from widemargin.modelfile.checks import check_counts, check_ends, check_places, check_shape
from widemargin.modelfile.files import MISFITS, describe_newer, one_line
from widemargin.modelfile.layout import KINDS, check_layout, pack, read_header
from widemargin.modelfile.packing import pack_strings, unpack_strings
from widemargin.stores.writing import write_file

#: Written into every cache, and increased when the layout changes.
_FORMAT = 1
#: A file with a longer header is not a cache.
_LONGEST_HEADER = 1 << 24


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
    # The widest first, so that all are aligned.
    ordered = dict(sorted(arrays.items(), key=lambda named: -named[1].itemsize))
    write_file(path, pack(ordered, {"examples": json.dumps(about)}))


def is_cache(path: str) -> bool:
    """Whether a file is a cache, of any format."""
    with open(path, "rb") as file:
        return _header(file) is not None


def read_cache(
    path: str, made_from: dict[str, Any] | None = None
) -> tuple[Encoded, Classes, Encoder] | None:
    """Map a cache into memory.

    Parameters
    ----------
    path : str
        The cache file.
    made_from : dict, optional
        What the cache must have been made from, see `stamp`; by default anything.

    Returns
    -------
    The examples, their classes and their encoder; None if the cache was made from something else,
    or has another format, so that it must be rebuilt.

    Raises
    ------
    DataError
        If the file is not a cache, is truncated or damaged, or has a newer format and `made_from`
        is not given.
    """
    with open(path, "rb") as file:  # once: another process may replace it meanwhile
        found = _header(file)
        if found is None:
            raise DataError(f"{path}: not a cache of examples, or cut short")
        header, about, begins = found
        if made_from is not None and (about["cache"], about["made_from"]) != (_FORMAT, made_from):
            return None
        if about["cache"] > _FORMAT:
            raise DataError(f"{path}: {describe_newer(about['cache'], _FORMAT, about)}")
        try:
            return _restored(_mapped(file, header, begins), about)
        except MISFITS as error:
            raise DataError(f"{path}: is a damaged cache ({one_line(error)}); delete it") from None


def _mapped(file: BinaryIO, header: dict[str, Any], begins: int) -> dict[str, np.ndarray]:
    """The arrays of a cache, mapped into memory; copies of those that are not aligned there."""
    arrays = {}
    for name, spec in header.items():
        start, end = spec["data_offsets"]
        dtype = np.dtype(KINDS[spec["dtype"]])
        if end > start:
            flat = np.memmap(file, dtype, "r", begins + start, ((end - start) // dtype.itemsize,))
            array = np.asarray(flat).reshape(spec["shape"])
            arrays[name] = frozen(array if array.flags.aligned else array.copy())
        else:
            arrays[name] = frozen(np.empty(spec["shape"], dtype))
    return arrays


def _restored(
    arrays: dict[str, np.ndarray], about: dict[str, Any]
) -> tuple[Encoded, Classes, Encoder]:
    """The examples in a cache; raises one of `MISFITS` if its parts are inconsistent."""
    parts = {name[5:]: array for name, array in arrays.items() if name.startswith("rows.")}
    stored: Any = Sparse(**parts, bias=0.0) if "starts" in parts else Dense(**parts, bias=0.0)
    mine = {name[8:]: array for name, array in arrays.items() if name.startswith("encoder.")}
    n, width = len(arrays["codes"]), about["width"]
    labels = typed_labels(unpack_strings("labels", arrays), about["labels"])
    encoder = restore_encoder(about["encoder"], mine)
    check_counts(about, "width")
    if width > encoder.width:
        raise ValueError(f"rows of {width} columns, but the encoder has {encoder.width}")
    _check_rows(stored, n, width)
    check_places("codes", arrays["codes"], len(labels), least=-1)  # -1: no label
    for name in ("codes", "lines", "weights"):
        check_shape(name, arrays.get(name, arrays["codes"]), (n,), kinds="fiu")
    data = Encoded(
        Rows(stored, n, width, about["distinct"] is True),
        arrays["codes"],
        arrays.get("weights"),
        arrays["lines"],
        [(str(source), int(rows)) for source, rows in about["sources"]],
    )
    return data, Classes(labels), encoder


def _check_rows(stored: Any, n: int, width: int) -> None:
    """Raise a ValueError unless these are n valid rows: a wrong index would be out of bounds."""
    if stored.values.itemsize < 4:
        raise ValueError(f"values are of the type {stored.values.dtype}")
    if isinstance(stored, Dense):
        check_shape("rows.values", stored.values, (n, width))
        return
    check_shape("rows.values", stored.values, (len(stored.indices),))
    check_shape("rows.starts", stored.starts, (n + 1,), kinds="u")
    check_shape("rows.indices", stored.indices, stored.values.shape, kinds="u")
    used = min(int(stored.starts[-1]), len(stored.values))
    check_ends("rows.starts", stored.starts, used)
    check_places("rows.indices", stored.indices[:used], width)


def _header(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Any], int] | None:
    """The header, metadata and data offset of a cache; None if the file is not a complete cache."""
    length = os.fstat(file.fileno()).st_size
    try:
        header, size = read_header(file, length, _LONGEST_HEADER)
        about = json.loads(header.pop("__metadata__")["examples"])
        form = about.get("cache")
        if type(form) is not int or form < _FORMAT:
            return None
        check_layout(header, length - 8 - size)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return header, about, 8 + size


def stamp(paths: Sequence[str], options: str) -> dict[str, Any]:
    """What examples are made from: the files with their sizes and times, and the options."""
    stats = [os.stat(path) for path in paths]
    return {
        "files": [
            [os.path.abspath(path), stat.st_size, stat.st_mtime_ns]
            for path, stat in zip(paths, stats, strict=True)
        ],
        "options": options,
    }
