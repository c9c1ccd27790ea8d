"""Detects long runs of one label, a sign that examples are sorted by class."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from widemargin.errors import DataWarning

#: A run is suspicious if it is this many times as long as the longest expected by chance.
_SUSPICIOUS = 10.0
#: Shorter runs are never suspicious.
_SHORT = 1000


class LabelRuns:
    """The longest run of one label among examples in the order in which they are learned from.

    Attributes
    ----------
    longest : int
        The number of examples in the longest run so far.
    label : int
        The code of their label.

    Examples
    --------
    >>> runs = LabelRuns()
    >>> runs.add(np.array([0, 1, 1]))
    >>> runs.add(np.array([1, 1, 0]))
    >>> runs.longest, runs.label
    (4, 1)
    """

    def __init__(self) -> None:
        self.longest = self.label = 0
        self._last, self._open = -1, 0  # the label and length of the run in progress
        self._counts = np.zeros(0, np.int64)

    def add(self, codes: np.ndarray) -> None:
        """Add the labels of more examples."""
        if not len(codes):
            return
        ends = np.append(np.flatnonzero(np.diff(codes)) + 1, len(codes))
        lengths = np.diff(ends, prepend=0)
        if codes[0] == self._last:
            lengths[0] += self._open
        found = int(np.argmax(lengths))
        if lengths[found] > self.longest:
            self.longest, self.label = int(lengths[found]), int(codes[ends[found] - 1])
        self._last, self._open = int(codes[-1]), int(lengths[-1])
        more = np.bincount(codes, minlength=len(self._counts))
        more[: len(self._counts)] += self._counts
        self._counts = more

    def rename(self, codes: np.ndarray) -> None:
        """Recode the labels: what was 0 is now codes[0], and so on."""
        counts = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
        counts[codes[: len(self._counts)]] = self._counts
        self._counts, self.label = counts, int(codes[self.label])
        self._last = int(codes[self._last]) if self._last >= 0 else -1

    @property
    def is_suspicious(self) -> bool:
        """Whether the longest run is too long to be due to chance.

        Of n examples in random order, a share q of which has the label, the longest run has about
        log(n (1 - q)) / log(1 / q) examples.
        """
        n = int(self._counts.sum())
        if self.longest < _SHORT or self.longest == n:
            return False
        q = min(self._counts[self.label] / n, 1.0 - 1.0 / n)
        return self.longest > _SUSPICIOUS * max(1.0, math.log(n * (1.0 - q))) / -math.log(q)


def find_runs(settings: Any, codes: np.ndarray, classes: np.ndarray) -> str:
    """The warning about examples sorted by class and learned from in that order, or "".

    Parameters
    ----------
    settings : Settings, KernelSettings or others
        How to learn; settings without an order give no warning.
    codes, classes : arrays
        The labels are classes[codes].
    """
    as_given = getattr(settings, "shuffle", True) is False
    if not as_given or getattr(settings, "batch", 1) == "full":
        return ""
    runs = LabelRuns()
    runs.add(codes)
    if not runs.is_suspicious:
        return ""
    return (
        f"{runs.longest} consecutive rows have the label {classes[runs.label]}: rows sorted by"
        " class are learned badly unless they are shuffled, as they are by default"
    )


def warn_of_runs(settings: Any, codes: np.ndarray, classes: np.ndarray) -> None:
    """Give the warning of `find_runs`, if any; to be called from a function that `fit` calls."""
    message = find_runs(settings, codes, classes)
    if message:
        warnings.warn(message, DataWarning, stacklevel=4)
