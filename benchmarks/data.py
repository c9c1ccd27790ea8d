"""The folder of public data sets beside the repository, which may be absent."""

from __future__ import annotations

import gzip
import pathlib

import numpy as np

from benchmarks.harness import LeftOut

_DATA = pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"


def folder(name: str) -> pathlib.Path:
    """The folder of a data set; raises LeftOut if it is absent."""
    found = _DATA / name
    if not found.is_dir():
        raise LeftOut(f"the data set ../shared/data/{name} is absent")
    return found


def read_idx(path: pathlib.Path) -> np.ndarray:
    """An array of bytes from a gzipped IDX file: 0, 0, 8, rank, then the shape, big-endian."""
    with gzip.open(path) as file:
        content = file.read()
    if content[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path.name} is not an IDX file of bytes")
    rank = content[3]
    shape = np.frombuffer(content, ">i4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)
