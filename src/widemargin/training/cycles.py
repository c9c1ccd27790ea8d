"""Cycles: if earlier weights recur, learning in a fixed order repeats forever."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin.modelfile.checks import check_counts, check_kinds


@dataclass
class CycleFinder:
    """Detects that the weights are the same as after an earlier epoch.

    Attributes
    ----------
    epochs : dict
        Maps a fingerprint of the weights to the epoch after which they first occurred.
    largest : float
        The largest weight at the end of an epoch.
    most_updates : int
        The largest number of corrections in an epoch.

    Examples
    --------
    >>> finder = CycleFinder.start(np.zeros(2))
    >>> finder.look(np.ones(2), 1, 3), finder.look(np.zeros(2), 2, 3)
    (None, 0)
    """

    epochs: dict[str, int] = field(default_factory=dict)
    largest: float = 0.0
    most_updates: int = 0

    @classmethod
    def start(cls, weights: np.ndarray) -> CycleFinder:
        """Begin with the weights before the first epoch."""
        finder = cls()
        finder.look(weights, 0, 0)
        return finder

    @classmethod
    def of(cls, about: list[Any]) -> CycleFinder:
        """Undo `about`; a ValueError if the state is damaged."""
        epochs, largest, most_updates = about
        finder = cls(epochs, largest, most_updates)
        check_kinds(vars(finder), epochs=dict, largest=float)
        check_counts(vars(finder), "most_updates")
        check_counts(finder.epochs, *finder.epochs)
        return finder

    def look(self, weights: np.ndarray, epoch: int, updates: int) -> int | None:
        """The earlier epoch after which the weights were the same, if there were updates since."""
        self.largest = max(self.largest, float(np.max(np.abs(weights), initial=0.0)))
        self.most_updates = max(self.most_updates, updates)
        first = self.epochs.setdefault(_fingerprint(weights), epoch)
        return None if first == epoch or updates == 0 else first

    def about(self) -> list[Any]:
        """The state of the finder, as JSON."""
        return [self.epochs, self.largest, self.most_updates]


def _fingerprint(weights: np.ndarray) -> str:
    positive_zeros = np.ascontiguousarray(weights + 0.0)  # turns -0.0 into 0.0
    return hashlib.blake2b(positive_zeros.tobytes(), digest_size=16).hexdigest()
