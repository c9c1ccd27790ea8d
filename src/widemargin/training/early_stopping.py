"""Early stopping: score held-out examples after each epoch, and return the best hypothesis."""

from __future__ import annotations

import math
from typing import Any


class EarlyStopping:
    """Scores a training after each epoch, and remembers the best.

    Parameters
    ----------
    training : Training
        The training, of which `score`, `snapshot` and `restore` are used.
    patience : int or None
        Number of epochs to wait for a better score; None only measures: the score then affects
        neither when training ends nor which hypothesis is returned.

    Attributes
    ----------
    epoch : int
        The best epoch so far, counted from 1; 0 before the first.
    score : float
        Its score.
    snapshot : Any
        The snapshot of the training after that epoch.
    """

    def __init__(self, training: Any, patience: int | None) -> None:
        self.training, self.patience = training, patience
        self.epoch, self.score, self.snapshot = 0, -math.inf, None

    def look(self, epoch: int) -> float:
        """Score the held-out examples after an epoch."""
        score = float(self.training.score())
        if self.patience is not None and score > self.score:
            self.epoch, self.score = epoch, score
            self.snapshot = self.training.snapshot()
        return score

    def is_over(self, epoch: int) -> bool:
        """Whether there was no better score for `patience` epochs."""
        return self.patience is not None and epoch - self.epoch >= self.patience

    def restore(self) -> int | None:
        """Restore the best snapshot; return its epoch, or None if scores were only measured."""
        if self.epoch:
            self.training.restore(self.snapshot)
        return None if self.patience is None else self.epoch
