"""The embedded data set: the handwritten digits that scikit-learn ships."""

from __future__ import annotations

import gzip
import importlib.util
import pathlib

import numpy as np

from widemargin.errors import DataError


def read_digits() -> tuple[np.ndarray, np.ndarray]:
    """1,797 images of 8 x 8 pixels and their digits.

    They are read from scikit-learn's folder without importing it, which would take longer than
    training.
    """
    found = importlib.util.find_spec("sklearn")
    if found is None or found.origin is None:
        raise DataError("the embedded data set comes with scikit-learn, which is not installed")
    path = pathlib.Path(found.origin).parent / "datasets" / "data" / "digits.csv.gz"
    with gzip.open(path, "rt", encoding="ascii") as file:
        table = np.loadtxt(file, delimiter=",")
    return table[:, :-1], table[:, -1].astype(np.int64)
