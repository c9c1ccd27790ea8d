"""What learners that choose among candidates share."""

from __future__ import annotations

import math
from typing import TypeVar

from widemargin.parameters import check_patience, check_positive, check_seconds, check_whole
from widemargin.structured.choices.training import ChoiceSettings
from widemargin.structured.estimator import SentenceEstimator, Trained
from widemargin.training.run import Stops

#: Weights below this are dropped.
_LEAST = 1e-3

Model = TypeVar("Model", bound=Trained)


class ChoiceEstimator(SentenceEstimator[Model]):
    """A learner that chooses among few candidates of many labels."""

    epochs: int
    C: float
    bits: int
    patience: int | None
    max_seconds: float | None

    def _settings(self) -> ChoiceSettings:
        """How to learn, after a look at the parameters."""
        check_whole("epochs", self.epochs, least=1)
        check_positive("C", self.C, infinite=True)
        check_whole("bits", self.bits, 8, 28)
        check_patience(self.patience)
        check_seconds("max_seconds", self.max_seconds)
        stops = Stops(self.epochs, self.patience, max_seconds=self.max_seconds or math.inf)
        return ChoiceSettings(self.C, self.bits, stops, _LEAST)
