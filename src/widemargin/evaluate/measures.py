"""How good predictions are: accuracy, precision, recall, F1, each with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.evaluate.intervals import wilson

#: Confusion tables drawn to see how far F1 may lie off.
_DRAWS = 1000


@dataclass(frozen=True)
class Measures:
    """What a table of answers says.

    Parameters
    ----------
    labels : list
        The classes.
    confusion : array (k + 1, k) of int
        How often class i was predicted as class j. The last row is for examples whose label is no
        class of the model: they count as mistakes.

    Examples
    --------
    >>> import numpy as np
    >>> found = Measures(["ham", "spam"], np.array([[50, 2], [3, 45], [0, 0]]))
    >>> round(found.accuracy, 2), [round(f, 3) for f in found.f1]
    (0.95, [0.952, 0.947])
    """

    labels: list[Any]
    confusion: np.ndarray

    @property
    def n(self) -> int:
        """How many examples there were."""
        return int(self.confusion.sum())

    @property
    def right(self) -> int:
        """How many of them were predicted right."""
        return int(np.trace(self.confusion))

    @property
    def accuracy(self) -> float:
        """The part that was predicted right."""
        return self.right / self.n

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """95 % interval (Wilson)."""
        return wilson(self.right, self.n)

    @property
    def support(self) -> np.ndarray:
        """How many examples each class has."""
        return self.confusion.sum(axis=1)[:-1]

    @property
    def predicted(self) -> np.ndarray:
        """How often each class was predicted."""
        return self.confusion.sum(axis=0)

    @property
    def precision(self) -> list[float]:
        """Of each class: how much of what was predicted as it is right. 0 if nothing was."""
        return _parts(np.diag(self.confusion), self.predicted)

    @property
    def recall(self) -> list[float]:
        """Of each class: how much of it was found. 0 if there is none of it."""
        return _parts(np.diag(self.confusion), self.support)

    @property
    def f1(self) -> list[float]:
        """Of each class the harmonic mean of precision and recall."""
        return _f1(self.confusion).tolist()

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes that occur."""
        return float(_macro(self.confusion))

    def f1_intervals(self) -> tuple[tuple[float, float], list[tuple[float, float]]]:
        """95 % intervals of the mean F1 and of each class's, by drawing tables like this one."""
        rng = np.random.default_rng(0)
        drawn = rng.multinomial(self.n, self.confusion.ravel() / self.n, size=_DRAWS)
        tables = drawn.reshape(_DRAWS, *self.confusion.shape)
        low, high = np.percentile(_f1(tables), (2.5, 97.5), axis=0)
        mean_low, mean_high = np.percentile(_macro(tables), (2.5, 97.5))
        return (float(mean_low), float(mean_high)), list(
            zip(low.tolist(), high.tolist(), strict=True)
        )


def _parts(some: np.ndarray, of: np.ndarray) -> list[float]:
    return np.divide(some, of, out=np.zeros(len(of)), where=of > 0).tolist()


def _f1(confusion: np.ndarray) -> np.ndarray:
    """F1 of every class, for one table or many."""
    right = np.diagonal(confusion[..., :-1, :], axis1=-2, axis2=-1)
    either = confusion.sum(axis=-1)[..., :-1] + confusion.sum(axis=-2)
    return np.divide(2.0 * right, either, out=np.zeros(right.shape), where=either > 0)


def _macro(confusion: np.ndarray) -> np.ndarray:
    """The mean F1 of the classes that occur or are predicted, for one table or many."""
    either = confusion.sum(axis=-1)[..., :-1] + confusion.sum(axis=-2)
    return _f1(confusion).sum(axis=-1) / np.maximum(1, (either > 0).sum(axis=-1))


def confusion_of(answers: np.ndarray, found: np.ndarray, classes: int) -> np.ndarray:
    """Count how often code `answers[i]` (-1: none of the classes) was predicted as `found[i]`."""
    rows = np.where(answers < 0, classes, answers)
    counts = np.bincount(rows * classes + found, minlength=(classes + 1) * classes)
    return counts.reshape(classes + 1, classes)
