"""Draws the pictures of docs/kernels.md: `python docs/pictures/kernels.py`."""

from __future__ import annotations

import pathlib

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image
from sklearn.datasets import load_digits, make_circles

from widemargin import KernelPerceptron

HERE = pathlib.Path(__file__).parent
COLOURS = np.array(["#c2571a", "#2a6f97"])


def draw_boundary(ax: Axes, learner: KernelPerceptron, X: np.ndarray, y: np.ndarray) -> None:
    """Show where scores are zero, how they grow, and which examples are stored."""
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    across, up = np.meshgrid(np.linspace(low[0], high[0], 90), np.linspace(low[1], high[1], 90))
    scores = learner.decision_function(np.column_stack([across.ravel(), up.ravel()]))
    scores = scores.reshape(across.shape)
    most = np.abs(scores).max()
    ax.contourf(across, up, scores, levels=np.linspace(-most, most, 13), cmap="PuOr", alpha=0.6)
    ax.contour(across, up, scores, levels=[0.0], colors="black", linewidths=1.2)
    ax.scatter(*X.T, c=COLOURS[y], s=18, zorder=3)
    ax.scatter(*X[learner.support_].T, s=70, facecolors="none", edgecolors="black", zorder=4)
    ax.set_xticks([])
    ax.set_yticks([])


def draw_circles() -> None:
    """Two circles: a line cannot, degree 2 and a Gaussian can."""
    X, y = make_circles(80, factor=0.5, noise=0.06, random_state=0)
    chosen = [
        ("linear", {"kernel": "linear"}),
        ("(x.z + 1)^2", {"kernel": "poly", "degree": 2}),
        ("Gaussian, gamma = 2", {"kernel": "rbf", "gamma": 2.0}),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
    for ax, (title, params) in zip(axes, chosen, strict=True):
        learner = KernelPerceptron(**params, keep="last", epochs=50, random_state=0).fit(X, y)
        draw_boundary(ax, learner, X, y)
        wrong = int(np.sum(learner.predict(X) != y))
        ax.set_title(f"{title}\n{len(learner.support_)} stored, {wrong} wrong", fontsize=10)
    save(figure, "circles")


def draw_xor() -> None:
    """The four points of XOR, by one multiplication."""
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
    figure, axes = plt.subplots(1, 2, figsize=(6.2, 3.1), layout="constrained")
    how = {"keep": "last", "shuffle": False, "epochs": 100}
    for ax, params in zip(
        axes, ({"kernel": "poly", "degree": 2}, {"kernel": "rbf", "gamma": 2.0}), strict=True
    ):
        learner = KernelPerceptron(**params, **how).fit(X, y)
        draw_boundary(ax, learner, X, y)
        ax.set_title(f"{learner.kernel_}\n{learner.mistakes_} mistakes", fontsize=10)
    save(figure, "xor")


def draw_digits() -> None:
    """The images that a model of threes against eights adds and takes away most."""
    X, y = load_digits(return_X_y=True)
    two = (y == 3) | (y == 8)
    X, y = X[two] / 16.0, y[two]
    learner = KernelPerceptron(kernel="poly", degree=4, epochs=10, random_state=0).fit(X, y)
    coef = learner.dual_coef_[0]
    order = np.argsort(coef)
    figure, axes = plt.subplots(2, 8, figsize=(8, 2.6), layout="constrained")
    for row, chosen in zip(axes, (order[:8], order[::-1][:8]), strict=True):
        for ax, place in zip(row, chosen, strict=True):
            ax.imshow(learner.support_vectors_[place].reshape(8, 8), cmap="gray_r")
            ax.set_title(f"{y[learner.support_[place]]}: {coef[place]:+.2f}", fontsize=9)
            ax.axis("off")
    save(figure, "digits")


def save(figure: plt.Figure, name: str) -> None:
    """Write a picture that weighs little."""
    path = HERE / f"{name}.png"
    figure.savefig(path, dpi=80)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(48).save(path, optimize=True)


if __name__ == "__main__":
    plt.rcParams["font.size"] = 9
    draw_circles()
    draw_xor()
    draw_digits()
