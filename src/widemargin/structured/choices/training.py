"""Training of a chooser: from words with their right labels to weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.sequences.choices import Words, choosing_pass
from widemargin.structured.choices.chooser import Chooser, rounded, shift_of
from widemargin.structured.sentence_training import SentenceTraining
from widemargin.training.run import Counts, Run, Stops, Watch

#: Words between two checks of the clock; takes less than a tenth of a second.
_PIECE = 1 << 14
#: The target lead of the right label.
_TARGET = 1.0


class ChoiceSettings(NamedTuple):
    """The largest step, the number of weights, when to stop, and the smallest weight to keep."""

    C: float
    bits: int
    stops: Stops
    least: float = 0.0


class ChoiceTraining(SentenceTraining):
    """A chooser in training.

    Parameters
    ----------
    chooser : Chooser
        The chooser to train, without weights.
    words : Words
        What to learn from.
    y : array of uint32
        The right labels.
    settings : ChoiceSettings
        How to learn.
    rng : numpy Generator
        Random generator.
    score : callable, optional
        The held-out score of weights.
    """

    def __init__(
        self,
        chooser: Chooser,
        words: Words,
        y: np.ndarray,
        settings: ChoiceSettings,
        rng: np.random.Generator,
        score: Callable[[np.ndarray], float] | None = None,
    ) -> None:
        super().__init__(len(words.starts) - 1, True, rng, score)
        self.words, self.y, self.settings = words, frozen(y), settings
        self.among, self.room = chooser.among, chooser.room()
        self.W = np.zeros(1 << settings.bits, np.float32)
        self.U = np.zeros(1 << settings.bits)
        self.clock = np.ones(1)

    def cut(self, order: np.ndarray) -> list[np.ndarray]:
        """Cut the order of an epoch into pieces with about the same number of words."""
        lengths = np.diff(self.words.starts.astype(np.int64))[order.astype(np.int64)]
        return np.split(order, np.flatnonzero(np.diff(np.cumsum(lengths) // _PIECE)) + 1)

    def learn_piece(self, piece: np.ndarray, epoch: int, counts: Counts) -> None:
        """Learn from some sentences."""
        tally = choosing_pass(
            self.words,
            self.y,
            piece,
            self.among,
            _TARGET,
            float(self.settings.C),
            self.W,
            self.U,
            self.clock,
            shift_of(len(self.W)),
            self.room,
        )
        counts.add(int(tally.words), int(tally.mistakes), int(tally.updates), float(tally.loss))

    def deployed(self) -> np.ndarray:
        """The average of the weights, rounded as in a file."""
        return rounded((self.W - self.U / self.clock[0]).astype(np.float32), self.settings.least)

    def carried(self) -> dict[str, np.ndarray]:
        """The weights, and the sums for their average."""
        return {"W": self.W, "U": self.U, "clock": self.clock}


def learn_choices(
    chooser: Chooser,
    words: Words,
    y: np.ndarray,
    settings: ChoiceSettings,
    rng: np.random.Generator,
    *,
    score: Callable[[Chooser], float] | None = None,
    stage: str = "",
    watch: Watch | None = None,
) -> Chooser:
    """Train a chooser; `score` measures it on held-out words."""
    held_out = None
    if score is not None:

        def held_out(W: np.ndarray) -> float:
            return score(replace(chooser, W=W))

    training = ChoiceTraining(chooser, words, y, settings, rng, held_out)
    run = Run(training, settings.stops, held_out=score is not None, stage=stage, watch=watch)
    history = run.finish()
    return replace(chooser, W=training.answer(), history=history)
