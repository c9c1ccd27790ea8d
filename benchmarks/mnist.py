"""The handwritten digits of the kernel benchmarks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.data import folder, read_idx
from benchmarks.harness import LeftOut

#: Number of training images at toy size.
_FEW = 1000


class Digits(NamedTuple):
    """Images as float32 rows with values from 0 to 1."""

    name: str
    X: np.ndarray
    y: np.ndarray
    test: np.ndarray
    test_y: np.ndarray
    made: bool  # not the real data, so figures are meaningless


def read_mnist(toy: bool) -> Digits:
    """All of MNIST or, at toy size, a part of it or of scikit-learn's digits."""
    try:
        where = folder("mnist")
    except LeftOut:
        if not toy:
            raise
        X, y = load_digits(return_X_y=True)
        X = (X / 16.0).astype(np.float32)
        return Digits("digits", X[:_FEW], y[:_FEW], X[_FEW:], y[_FEW:], made=True)
    parts = []
    for name in ("train", "t10k"):
        images = read_idx(where / f"{name}-images-idx3-ubyte.gz")
        labels = read_idx(where / f"{name}-labels-idx1-ubyte.gz").astype(np.int64)
        few = slice(_FEW) if toy else slice(None)
        parts += [(images.reshape(len(images), -1)[few] / 255).astype(np.float32), labels[few]]
    return Digits("MNIST", *parts, made=toy)
