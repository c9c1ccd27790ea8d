"""Early stopping: what would be deployed is scored after each epoch, and the best is given back."""

from __future__ import annotations

import math
from typing import Any


class EarlyStopping:
    """Scores a training after each epoch, and remembers the best.

    Parameters
    ----------
    training : Training
        What learns; it is asked for `score` and `snapshot`, and told to `restore`.
    patience : int
        How many epochs to wait for a better score.

    Attributes
    ----------
    epoch : int
        The best epoch so far, counted from 1; 0 before the first.
    score : float
        Its score.
    snapshot : Any
        What the training was like then.
    """

    def __init__(self, training: Any, patience: int) -> None:
        self.training, self.patience = training, patience
        self.epoch, self.score, self.snapshot = 0, -math.inf, None

    def look(self, epoch: int) -> float:
        """The held-out score after an epoch."""
        score = float(self.training.score())
        if score > self.score:
            self.epoch, self.score = epoch, score
            self.snapshot = self.training.snapshot()
        return score

    def is_over(self, epoch: int) -> bool:
        """Whether a better score has been waited for long enough."""
        return epoch - self.epoch >= self.patience

    def restore(self) -> int:
        """Bring the training back to where it was best; returns that epoch."""
        if self.epoch:
            self.training.restore(self.snapshot)
        return self.epoch
