"""Decision thresholds: the aim of a threshold, and the best cut of ranked examples for it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

_KINDS = ("f1", "precision", "recall")


class Counts(NamedTuple):
    """How many positives and negatives have a score of at least each threshold."""

    thresholds: np.ndarray  # the distinct scores, largest first
    true: np.ndarray
    false: np.ndarray

    @classmethod
    def of(cls, truth: np.ndarray, scores: np.ndarray) -> Counts:
        """Count; `truth` says which scores are those of positives."""
        order = np.argsort(-scores, kind="stable")
        ranked, hits = scores[order], np.cumsum(truth[order])
        last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
        return cls(ranked[last], hits[last], last + 1 - hits[last])

    @property
    def recall(self) -> np.ndarray:
        """The recall (true positive rate) at each threshold."""
        return self.true / self.true[-1]

    @property
    def precision(self) -> np.ndarray:
        """The precision at each threshold."""
        return self.true / (self.true + self.false)

    @property
    def f1(self) -> np.ndarray:
        """The F1 at each threshold."""
        return 2.0 * self.true / (self.true + self.false + self.true[-1])


class Aim(NamedTuple):
    """What a threshold is chosen for: the best F1, or a precision or recall to reach."""

    kind: str
    wanted: float = 0.0

    def __str__(self) -> str:
        return self.kind if self.kind == "f1" else f"{self.kind}={self.wanted:g}"


def read_aim(given: Any) -> Aim | float:
    """Parse a threshold: a number, or an aim for choosing one.

    Examples
    --------
    >>> read_aim("precision=0.95"), read_aim("f1"), read_aim("-0.5")
    (Aim(kind='precision', wanted=0.95), Aim(kind='f1', wanted=0.0), -0.5)
    """
    if isinstance(given, Aim):
        return given
    kind, _, wanted = str(given).partition("=")
    expected = "a number, 'f1', 'precision=P' or 'recall=R' with P and R above 0 and at most 1"
    try:
        if kind not in _KINDS:
            number = float(given)
            if math.isfinite(number):
                return number
        elif kind == "f1" and not wanted:
            return Aim("f1")
        elif kind != "f1" and 0.0 < float(wanted) <= 1.0:
            return Aim(kind, float(wanted))
    except (TypeError, ValueError):
        pass
    raise ValueError(f"threshold={given!r}: expected {expected}")


def best_cut(counts: Counts, aim: Aim) -> int | None:
    """The index of the best threshold for an aim; None if no threshold reaches it.

    Of the thresholds that reach a precision, the one with the largest recall is best; of those that
    reach a recall, the one with the largest precision. On a tie, the larger score wins.
    """
    if aim.kind == "f1":
        return int(np.argmax(counts.f1))
    reached, best = counts.precision, counts.recall
    if aim.kind == "recall":
        reached, best = best, reached
    enough = np.flatnonzero(reached >= aim.wanted)
    return int(enough[np.argmax(best[enough])]) if len(enough) else None


def between(low: float, high: float) -> float:
    """A threshold t with low < t <= high, in the middle if possible.

    Examples
    --------
    >>> between(1.0, 2.0), between(float("-inf"), 2.0)
    (1.5, 2.0)
    """
    if low == -math.inf:
        return high
    if high == math.inf:
        return math.nextafter(low, math.inf)
    middle = low / 2.0 + high / 2.0
    return middle if low < middle <= high else high
