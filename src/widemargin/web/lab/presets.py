"""Presets: sets of points, each with the learners that illustrate it best."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Preset(NamedTuple):
    """Points with their classes, and the learners to watch."""

    name: str
    title: str
    about: str
    points: list[list[float]]
    classes: list[int]
    learners: list[dict[str, Any]]
    frame: list[float] | None = None  # left, right, bottom, top; None to fit the points


def _perceptron(**settings: Any) -> dict[str, Any]:
    return {"learner": "perceptron", "settings": settings}


def _labelled(*groups: np.ndarray) -> list[list[float]]:
    """The points of one class after the other, rounded for readability."""
    return [
        [round(float(x), 2), round(float(y), 2), code]
        for code, group in enumerate(groups)
        for x, y in group
    ]


def _mixed(points: list[list[float]], seed: int) -> list[list[float]]:
    """The same points in a random order."""
    return [points[i] for i in np.random.default_rng(seed).permutation(len(points))]


def _clouds(seed: int, n: int, *centres: tuple[float, float], spread: float) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.array(centre) + spread * rng.standard_normal((n, 2)) for centre in centres]


def _narrow() -> list[list[float]]:
    """Two classes on either side of a line, with some points very near to it."""
    rng = np.random.default_rng(5)
    along, across = rng.uniform(-3.0, 3.0, 60), rng.uniform(0.12, 2.2, 60)
    side = np.where(np.arange(60) % 2, 1.0, -1.0)
    direction = np.array([0.8, 0.6])
    places = along[:, None] * direction + (side * across)[:, None] * np.array([-0.6, 0.8])
    points = _labelled(places[side < 0] + [0.4, 0.3], places[side > 0] + [0.4, 0.3])
    return _mixed(points, 1)


def _rings() -> list[list[float]]:
    rng = np.random.default_rng(3)
    turn = rng.uniform(0.0, 2.0 * np.pi, 70)
    reach = np.concatenate([rng.uniform(2.2, 3.2, 40), rng.uniform(0.0, 1.3, 30)])
    places = reach[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return _mixed(_labelled(places[:40], places[40:]), 2)


def _corners() -> list[list[float]]:
    """Exclusive or, in whole numbers: coordinates of equal or of different signs."""
    shape = np.array([[1, 1], [2, 1], [1, 2]])
    same = np.vstack([shape, -shape])
    return _mixed(_labelled(same, same * [1, -1]), 4)


#: The labels of two classes, as in the lectures.
_TWO = [-1, 1]


def _whole(points: list[list[int]]) -> list[list[float]]:
    """Points with whole-number coordinates, in the format of the page."""
    return [[float(x), float(y), code] for x, y, code in points]


def _of_lectures() -> list[Preset]:
    """The worked example and the problem set."""
    six = [[-1, 2, 0], [1, 0, 1], [1, 1, 1], [-1, 0, 0], [-1, -2, 0], [1, -1, 1]]
    eight = [[1, 1, 1], [1, 3, 1], [2, 1, 1], [2, 2, 1], [-1, -1, 0], [-1, -3, 0]]
    eight += [[-2, -1, 0], [-2, -2, 0]]
    return [
        Preset(
            "six",
            "The lecture's six points",
            "The worked example: three mistakes, then w = (3, 1) separates all six.",
            _whole(six),
            _TWO,
            [_perceptron(fit_intercept=False)],
            [-4.0, 4.0, -4.0, 4.0],
        ),
        Preset(
            "eight",
            "The problem set",
            "Eight points: other starts and steps lead to other separators.",
            _whole(eight),
            _TWO,
            [_perceptron(start="random"), _perceptron(start="random", random_state=3, eta=0.1)],
        ),
    ]


def _of_margins() -> list[Preset]:
    """Linearly separable classes, with wide and narrow margins."""
    wide = _labelled(*_clouds(1, 18, (-1.9, -1.2), (1.8, 1.5), spread=0.6))
    return [
        Preset(
            "wide",
            "A wide margin",
            "Far apart: few mistakes, and a small bound.",
            _mixed(wide, 7),
            _TWO,
            [_perceptron()],
        ),
        Preset(
            "narrow",
            "A narrow margin",
            "Nearly touching: the bound is large, and there are more mistakes.",
            _narrow(),
            _TWO,
            [_perceptron(epochs=100), {"learner": "hard-svm"}],
        ),
        Preset(
            "outlier",
            "An outlier",
            "One point near the other class: the hard margin obeys it, the soft one need not.",
            [*_mixed(wide, 7), [0.6, 0.45, 0]],
            _TWO,
            [{"learner": "hard-svm"}, {"learner": "soft-svm", "settings": {"C": 0.1}}],
        ),
    ]


def _of_kernels() -> list[Preset]:
    """Classes that no line separates, but a kernel does."""
    poly = {"learner": "kernel-perceptron", "settings": {"kernel": "poly", "degree": 2}}
    return [
        Preset(
            "xor",
            "Exclusive or",
            "No line separates it: the perceptron cycles, but a quadratic kernel does not.",
            _corners(),
            _TWO,
            [_perceptron(epochs=30), poly],
        ),
        Preset(
            "rings",
            "Rings",
            "One class around the other: a case for a Gaussian kernel.",
            _rings(),
            _TWO,
            [
                {"learner": "kernel-perceptron", "settings": {"gamma": 0.5}},
                {"learner": "kernel-svm", "settings": {"gamma": 0.5}},
            ],
        ),
    ]


def presets() -> list[Preset]:
    """All presets, in the order in which the page shows them."""
    wide, narrow, outlier = _of_margins()
    crossing = _labelled(*_clouds(8, 20, (1.0, 0.8), (-1.0, -0.4), spread=0.75))
    three = _labelled(*_clouds(6, 14, (-2.0, -1.2), (2.0, -1.0), (0.0, 2.0), spread=0.62))
    return [
        *_of_lectures(),
        wide,
        narrow,
        *_of_kernels(),
        outlier,
        Preset(
            "sorted",
            "A sorted order",
            "One class first, then the other: this order ends badly, a shuffled one does not.",
            crossing,
            _TWO,
            [_perceptron(epochs=1), _perceptron(epochs=1, shuffle="rows")],
        ),
        Preset(
            "three",
            "Three classes",
            "One weight vector per class; a mistake corrects two of them.",
            _mixed(three, 9),
            [0, 1, 2],
            [_perceptron()],
        ),
    ]
