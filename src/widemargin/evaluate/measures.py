"""The quality of predictions: accuracy, precision, recall, F1, each with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.evaluate.intervals import wilson
from widemargin.markup.reprs import brief_repr

#: Number of confusion tables drawn for the intervals of F1.
_DRAWS = 1000


@dataclass(frozen=True)
class Measures:
    """Quality measures of a confusion table.

    Parameters
    ----------
    labels : list
        The classes.
    confusion : array (k + 1, k) of int
        How often class i was predicted as class j. The last row is for examples whose label is not
        a class of the model; they count as mistakes.

    Examples
    --------
    >>> import numpy as np
    >>> found = Measures(["ham", "spam"], np.array([[50, 2], [3, 45], [0, 0]]))
    >>> round(found.accuracy, 2), [round(f, 3) for f in found.f1]
    (0.95, [0.952, 0.947])
    """

    labels: list[Any]
    confusion: np.ndarray

    __repr__ = brief_repr

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self.confusion.sum())

    @property
    def right(self) -> int:
        """Number of correct predictions."""
        return int(np.trace(self.confusion))

    @property
    def accuracy(self) -> float:
        """Fraction of correct predictions."""
        return self.right / self.n

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """95 % interval of the accuracy (Wilson)."""
        return wilson(self.right, self.n)

    @property
    def support(self) -> np.ndarray:
        """Number of examples of each class."""
        return self.confusion.sum(axis=1)[:-1]

    @property
    def predicted(self) -> np.ndarray:
        """How often each class was predicted."""
        return self.confusion.sum(axis=0)

    @property
    def precision(self) -> list[float]:
        """Precision of each class; 0 if it was never predicted."""
        return _parts(np.diag(self.confusion), self.predicted)

    @property
    def recall(self) -> list[float]:
        """Recall of each class; 0 if it has no examples."""
        return _parts(np.diag(self.confusion), self.support)

    @property
    def precision_intervals(self) -> list[tuple[float, float]]:
        """95 % intervals of the precisions (Wilson)."""
        return _intervals(np.diag(self.confusion), self.predicted)

    @property
    def recall_intervals(self) -> list[tuple[float, float]]:
        """95 % intervals of the recalls (Wilson)."""
        return _intervals(np.diag(self.confusion), self.support)

    @property
    def f1(self) -> list[float]:
        """F1 of each class: the harmonic mean of precision and recall."""
        return _f1(self.confusion).tolist()

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes that occur or are predicted."""
        return float(_macro(self.confusion))

    def f1_intervals(self) -> tuple[tuple[float, float], list[tuple[float, float]]]:
        """95 % intervals of the mean F1 and of the F1 of each class, by resampling this table."""
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


def _intervals(some: np.ndarray, of: np.ndarray) -> list[tuple[float, float]]:
    return [wilson(part, n) for part, n in zip(some.tolist(), of.tolist(), strict=True)]


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
    """Count how often class `answers[i]` (-1: not a class) was predicted as `found[i]`."""
    rows = np.where(answers < 0, classes, answers)
    counts = np.bincount(rows * classes + found, minlength=(classes + 1) * classes)
    return counts.reshape(classes + 1, classes)
