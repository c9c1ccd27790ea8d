"""Ten epochs over dense images of ten digits."""

from __future__ import annotations

import pathlib

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron as ScikitPerceptron

from benchmarks.data import folder, read_idx
from benchmarks.harness import Comparison, Side, at_least, faster
from widemargin import Perceptron

EPOCHS = 10


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Fit float32 pixels in [0, 1], which suit scikit-learn too (10 % slower with float64)."""
    (X, y), (unseen, answers), data = _digits() if toy else _mnist()

    def figures(model) -> dict[str, float]:
        return {"test accuracy": model.score(unseen, answers)}

    return Comparison(
        title="ten epochs of multiclass perceptron",
        data=data,
        sides=(
            Side(
                "ours",
                f"Perceptron(epochs={EPOCHS}, random_state=repeat)",
                work=lambda seed: Perceptron(epochs=EPOCHS, random_state=seed).fit(X, y),
                figures=figures,
            ),
            Side(
                "scikit-learn Perceptron",
                f"Perceptron(max_iter={EPOCHS}, tol=None, random_state=repeat)",
                work=lambda seed: ScikitPerceptron(
                    max_iter=EPOCHS, tol=None, random_state=seed
                ).fit(X, y),
                figures=figures,
                package="scikit-learn",
            ),
        ),
        targets=(
            faster("ours", "scikit-learn Perceptron", 10),
            at_least("ours", "test accuracy", 0.91),
        ),
    )


def _mnist():
    """MNIST as published: 60,000 images to learn from, 10,000 to test."""
    files = folder("mnist")

    def part(name: str) -> tuple[np.ndarray, np.ndarray]:
        images = read_idx(files / f"{name}-images-idx3-ubyte.gz")
        labels = read_idx(files / f"{name}-labels-idx1-ubyte.gz")
        return images.reshape(len(images), -1) / np.float32(255), labels

    return part("train"), part("t10k"), "MNIST, 60,000 x 784 dense float32, pixels / 255"


def _digits():
    """The small digits that scikit-learn ships, with the last 400 held out."""
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    return (X[:-400], y[:-400]), (X[-400:], y[-400:]), "scikit-learn's digits, 1,397 x 64 dense"
