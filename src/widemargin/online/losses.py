"""Losses as functions of the margin m = y g(x), to evaluate and to plot.

0/1            1 where m <= 0            piecewise constant: no useful gradient
perceptron     max(0, -m)                piecewise linear, zero without mistakes
hinge          max(0, h - m)             h = 0 is the perceptron's, h = 1 the SVM's
logistic       log(1 + exp(-m))          smooth, never quite zero
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Loss = Callable[[np.ndarray], np.ndarray]


def zero_one(m: Any) -> np.ndarray:
    """1 for a mistake (a tie is one), else 0.

    Examples
    --------
    >>> zero_one([-1.0, 0.0, 2.0])
    array([1., 1., 0.])
    """
    return (np.asarray(m) <= 0.0).astype(np.float64)


def perceptron(m: Any) -> np.ndarray:
    """Perceptron loss, the distance on the wrong side: max(0, -m).

    Examples
    --------
    >>> perceptron([-1.0, 0.0, 2.0])
    array([1., 0., 0.])
    """
    return hinge(m, h=0.0)


def hinge(m: Any, h: float = 1.0) -> np.ndarray:
    """Hinge loss, the shortfall from margin h: max(0, h - m).

    Examples
    --------
    >>> hinge([-1.0, 0.0, 2.0])
    array([2., 1., 0.])
    """
    return np.maximum(0.0, h - np.asarray(m, dtype=np.float64))


def logistic(m: Any) -> np.ndarray:
    """Logistic loss: -log P(y | x) = log(1 + exp(-m)).

    Examples
    --------
    >>> logistic([0.0]).round(3)
    array([0.693])
    """
    return np.logaddexp(0.0, -np.asarray(m, dtype=np.float64))


def average_loss(loss: Loss, w: Any, X: Any, y: Any, b: float = 0.0) -> float:
    """J(w) = (1/n) sum of the losses of y (w . x + b).

    Examples
    --------
    >>> average_loss(zero_one, [1.0], [[1.0], [-1.0]], [1, 1])
    0.5
    """
    margins = np.asarray(y) * (np.asarray(X, dtype=np.float64) @ np.asarray(w, np.float64) + b)
    return float(np.mean(loss(margins)))


def along_weight(
    loss: Loss, w: Any, X: Any, y: Any, j: int, values: Any, b: float = 0.0
) -> np.ndarray:
    """Average loss as weight j takes the given values and the other weights are fixed.

    Examples
    --------
    >>> along_weight(perceptron, [0.0], [[1.0], [-2.0]], [1, -1], j=0, values=[-1.0, 0.0, 1.0])
    array([1.5, 0. , 0. ])
    """
    found = []
    for value in values:
        changed = np.array(w, dtype=np.float64)
        changed[j] = value
        found.append(average_loss(loss, changed, X, y, b))
    return np.array(found)


def perceptron_subgradient(w: Any, x: Any, y: float) -> np.ndarray:
    """A subgradient of the perceptron loss: 0 where y w . x > 0, else -y x.

    At the kink, y w . x = 0, any convex combination of the two is a subgradient; this choice gives
    the perceptron step.

    Examples
    --------
    >>> perceptron_subgradient([0.0, 0.0], [1.0, 2.0], -1)
    array([1., 2.])
    """
    x = np.asarray(x, dtype=np.float64)
    return np.zeros_like(x) if y * np.dot(w, x) > 0.0 else -y * x
