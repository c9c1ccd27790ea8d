"""The stages of a parser's training, one after another: taggers, labels, arcs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from widemargin.data.readers.corpus import Corpus
from widemargin.parameters.values import seconds_limit
from widemargin.structured.sentence_training import SentenceTraining, Spread
from widemargin.structured.stage_clock import StageClock
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.tagger.tagger import Tagger
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.run import Run, Stops, Watch


class Stages:
    """Runs one stage after another within one time limit, each with its own checkpoint.

    A resumed training reruns its finished stages from the last checkpoint of each, so the result
    is bit-for-bit the same.

    Parameters
    ----------
    watch : callable, optional
        Called with the progress so far; return True to stop this stage and all later ones.
    checkpoints : Checkpoints, optional
        Where to save the stages.
    max_seconds : float or None
        The time limit for all stages together.
    spread : callable, optional
        Runs the training of every stage elsewhere.
    """

    def __init__(
        self,
        watch: Watch | None,
        checkpoints: Checkpoints | None,
        max_seconds: float | None,
        spread: Spread | None = None,
    ) -> None:
        self._spread, self._checkpoints = spread, checkpoints
        self._clock = StageClock(max_seconds, watch)

    def run(
        self, name: str, training: SentenceTraining, stops: Stops, held_out: bool = False
    ) -> History:
        """Run a stage."""
        return Run(
            training if self._spread is None else self._spread(training),
            replace(stops, max_seconds=self._clock.left),
            held_out=held_out,
            stage=name,
            watch=self._clock.tell,
            checkpoints=self._part(name),
        ).finish()

    def fit_tagger(self, name: str, params: dict[str, Any], tagged: Corpus) -> TaggerModel:
        """Train a tagger on the column "tag"."""
        limit = min(self._clock.left, seconds_limit(params["max_seconds"]))
        tagger = Tagger(**{**params, "max_seconds": limit})
        tagger._spread = self._spread
        watch, checkpoint = self._clock.watch(name), self._part(name)
        tagger.fit(tagged, column="tag", watch=watch, checkpoint=checkpoint)
        model = tagger.model_
        return replace(model, params={**model.params, "max_seconds": params["max_seconds"]})

    def end(self) -> None:
        """Report whether the training was completed."""
        if self._checkpoints is not None:
            self._checkpoints.interrupted = self._clock.stopped

    def _part(self, name: str) -> Checkpoints | None:
        if self._checkpoints is None:
            return None
        return self._checkpoints.part(re.sub(r"\W+", "-", name))
