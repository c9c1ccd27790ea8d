"""The stages of a parser's training: taggers, labels, arcs, one after the other."""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from typing import Any

from widemargin.data.readers.corpus import Corpus
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.tagger.tagger import Tagger
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.run import Moment, Run, Stops, Training, Watch


class Stages:
    """Runs one stage after the other within one time limit, each with a checkpoint of its own.

    A training that goes on from its checkpoints runs its finished stages again from where each was
    saved last, and so comes to the same bits.

    Parameters
    ----------
    watch : callable, optional
        Told where learning stands; stops the stage, and all later ones, by answering True.
    checkpoints : Checkpoints, optional
        Where to save the stages.
    max_seconds : float or None
        The time for all of them.
    """

    def __init__(
        self, watch: Watch | None, checkpoints: Checkpoints | None, max_seconds: float | None
    ) -> None:
        self._watch, self._checkpoints = watch, checkpoints
        self._limit = math.inf if max_seconds is None else float(max_seconds)
        self._began = time.monotonic()
        self._stopped = False

    def run(self, name: str, training: Training, stops: Stops, held_out: bool = False) -> History:
        """Run a stage."""
        return Run(
            training,
            replace(stops, max_seconds=self._left),
            held_out=held_out,
            stage=name,
            watch=self._tell,
            checkpoints=self._part(name),
        ).finish()

    def fit_tagger(self, name: str, params: dict[str, Any], tagged: Corpus) -> TaggerModel:
        """A tagger that has learned the column "tag"."""
        own = params["max_seconds"]
        limit = min(self._left, math.inf if own is None else own)
        tagger = Tagger(**{**params, "max_seconds": limit})

        def tell(moment: Moment) -> bool:
            return self._tell(moment._replace(stage=name))

        tagger.fit(tagged, column="tag", watch=tell, checkpoint=self._part(name))
        model = tagger.model_
        return replace(model, params={**model.params, "max_seconds": own})

    def end(self) -> None:
        """Say whether the training came to its end."""
        if self._checkpoints is not None:
            self._checkpoints.interrupted = self._stopped

    @property
    def _left(self) -> float:
        """Seconds that are left; never none, so that every stage learns something."""
        return max(1e-3, self._limit - (time.monotonic() - self._began))

    def _tell(self, moment: Moment) -> bool:
        if not self._stopped and self._watch is not None:
            self._stopped = bool(self._watch(moment))
        return self._stopped

    def _part(self, name: str) -> Checkpoints | None:
        if self._checkpoints is None:
            return None
        return self._checkpoints.part(re.sub(r"\W+", "-", name))
