"""Validating the points of the page for the learners."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.errors import DataError

#: The limits of one page. Drawing is designed for 500 points; twice as many can still be moved.
MOST_POINTS, MOST_CLASSES = 1_000, 8
#: The limit for kernel learners, which send the kernel values of all support vectors with a grid of
#: points to the page: for 500 of them, that is 3 MB.
MOST_KERNEL_POINTS = 500
#: The largest coordinate; larger ones are of no use in a drawing.
_FARTHEST = 1e9
#: The largest number of letters in a label.
_LONGEST = 60


@dataclass(frozen=True)
class Placed:
    """Points of the plane with their classes.

    Learners see only the classes that have points, so these are numbered separately.

    Attributes
    ----------
    X : array (n, 2)
    labels : list
        All classes of the page, as whole numbers or strings; some may have no points.
    present : array
        The classes that have points, as indices into `labels`.
    codes : array (n,)
        The class of every point, as an index into `present`.
    """

    X: np.ndarray
    labels: list[Any]
    present: np.ndarray
    codes: np.ndarray

    @property
    def classes(self) -> np.ndarray:
        """The labels of the classes that have points."""
        return np.array([self.labels[code] for code in self.present])

    @property
    def y(self) -> np.ndarray:
        """The label of every point."""
        return self.classes[self.codes]


def read_points(given: Any) -> Placed:
    """Validate the points: `{"points": [[x, y, class], ...], "classes": [label, ...]}`."""
    points, labels = given.get("points"), given.get("classes", [-1, 1])
    _check_labels(labels)
    if not isinstance(points, list) or len(points) > MOST_POINTS:
        found = len(points) if isinstance(points, list) else repr(points)[:40]
        raise DataError(f"points must be a list of at most {MOST_POINTS}, found {found}")
    for number, point in enumerate(points):
        if not _is_point(point, len(labels)):
            raise DataError(
                f"point {number} must be [x, y, class] with finite numbers and a class from 0 to"
                f" {len(labels) - 1}, found {point!r:.80}"
            )
    X = np.array([point[:2] for point in points], np.float64).reshape(-1, 2)
    present, codes = np.unique([int(point[2]) for point in points], return_inverse=True)
    return Placed(X, labels, present.astype(np.int64), codes.astype(np.int64))


def _is_point(point: Any, classes: int) -> bool:
    """Whether this is a position with a class."""
    if not isinstance(point, list) or len(point) != 3:
        return False
    x, y, code = point
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in point)
    return numbers and _is_near(x) and _is_near(y) and code == int(code) and 0 <= code < classes


def _is_near(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= _FARTHEST


def _check_labels(labels: Any) -> None:
    """Require whole numbers or short strings in ascending order, as the library sorts them."""
    fine = isinstance(labels, list) and 2 <= len(labels) <= MOST_CLASSES
    if fine:
        whole = all(isinstance(label, int) and not isinstance(label, bool) for label in labels)
        words = all(isinstance(label, str) and len(label) <= _LONGEST for label in labels)
        fine = (whole or words) and labels == sorted(set(labels))
    if not fine:
        raise DataError(
            f"classes must be 2 to {MOST_CLASSES} different labels in ascending order, all whole"
            f" numbers or all strings of at most {_LONGEST} letters, found {labels!r:.100}"
        )


def read_frame(given: Any) -> tuple[float, float, float, float]:
    """Validate the part of the plane that the page shows: left, right, bottom, top."""
    fine = isinstance(given, list) and len(given) == 4
    fine = fine and all(isinstance(one, (int, float)) and _is_near(one) for one in given)
    if not fine or not (given[0] < given[1] and given[2] < given[3]):
        raise DataError(f"frame must be [left, right, bottom, top], found {given!r:.80}")
    return float(given[0]), float(given[1]), float(given[2]), float(given[3])


def grid_of(frame: Sequence[float], side: int) -> np.ndarray:
    """The positions of a grid over a frame, row by row from the top: (side * side, 2)."""
    left, right, bottom, top = frame
    across, down = np.linspace(left, right, side), np.linspace(top, bottom, side)
    return np.stack([np.tile(across, side), np.repeat(down, side)], axis=1)
