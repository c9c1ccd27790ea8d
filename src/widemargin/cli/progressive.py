"""`widemargin update --predictions`: predict each line, then learn from it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from widemargin.certificates.theorem import WEIGHTED
from widemargin.cli.model_input import ModelInput
from widemargin.cli.wording import on_one_line
from widemargin.data.datasets import Classes
from widemargin.data.readers.chunk import Chunk, Labels
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.models.linear import LinearModel
from widemargin.models.threshold import kept_threshold
from widemargin.online.fit import make_room, prices
from widemargin.online.learn import distance_moved
from widemargin.online.one_by_one import AnswerThenLearn
from widemargin.online.passes import are_weighted
from widemargin.online.settings import Settings
from widemargin.training.history import Epoch, History
from widemargin.training.run import Counts


class Progressive:
    """Predicts each example, in the order of arrival, before learning from it.

    Parameters
    ----------
    inputs : ModelInput
        The model's encoder and the examples. Those without a label are only predicted.
    model : LinearModel
        The model, whose state is modified.
    settings : Settings
        How to learn.
    rng : Generator
        The model's random generator.

    Attributes
    ----------
    interrupted : bool
        Whether it was stopped by Ctrl-C.
    counts : Counts
        Counts of examples, mistakes and updates.
    answered : int
        The number of examples that were predicted.
    labelled, right : int
        How many of them had a label, and how many of these were predicted correctly.
    """

    def __init__(
        self, inputs: ModelInput, model: LinearModel, settings: Settings, rng: np.random.Generator
    ) -> None:
        self._inputs, self._model, self._settings, self._rng = inputs, model, settings, rng
        self._classes, self._threshold = Classes(model.classes), model.threshold
        self._before, self._began = model.state.last(), time.monotonic()
        self._waiting = self.interrupted = self._weighted = False
        self.counts, self.answered = Counts(), 0
        self.labelled = self.right = 0

    @contextmanager
    def heeding_interrupts(self) -> Iterator[None]:
        """Let Ctrl-C end `run`, but nothing else, so that what was learned can be saved."""
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def run(self) -> None:
        """Predict and learn until the end of the examples, or Ctrl-C."""
        for chunk in self._chunks():
            labels = self._learn(chunk)
            self.answered += len(labels)
            sys.stdout.write("\n".join(labels) + "\n")
            sys.stdout.flush()

    def result(self) -> tuple[LinearModel, History]:
        """The model so far, and the history of this update."""
        state, counts = self._model.state, self.counts
        row = Epoch(
            1,
            counts.mistakes,
            counts.updates,
            counts.mean_loss,
            distance_moved(self._before, state),
            None,
            time.monotonic() - self._began,
            counts.examples,
        )
        stopped = "interrupted" if self.interrupted else "epochs"
        more = History([row], stopped, no_bound=WEIGHTED if self._weighted else "")
        history = self._model.history.copy()
        history.extend_by_call(more)
        learned = replace(
            self._model,
            classes=self._classes.values,
            keep=self._settings.keep,
            history=history,
            threshold=self._threshold,
        )
        return learned, more

    @property
    def new_classes(self) -> list[Any]:
        """The classes that the model did not have."""
        return np.setdiff1d(self._classes.values, self._model.classes).tolist()

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C: stop waiting at once, but finish what has been read."""
        self.interrupted = True
        if self._waiting:
            raise KeyboardInterrupt

    def _chunks(self) -> Iterator[Chunk]:
        """Yield the examples as they arrive."""
        chunks = iter(self._inputs.files.chunks())
        while not self.interrupted:
            self._waiting = True
            try:
                chunk = next(chunks, None)
            except KeyboardInterrupt:
                return
            finally:
                self._waiting = False
            if chunk is None:
                return
            yield chunk

    def _learn(self, chunk: Chunk) -> list[str]:
        """Predict the examples of a chunk, learn from them, and return the predictions."""
        options, encoder = self._inputs.files.options, self._inputs.encoder
        rows = encoder.encode(self._inputs.raw(chunk), 0.0, options.threads, note=True)
        rows = rows.with_bias(self._model.bias)
        known = self._classes.values
        make_room(self._model.state, known, known, rows, self._settings, self._rng)
        rows = rows.widened(self._model.state.width)
        turns = AnswerThenLearn(rows, self._model.state, self._settings)
        answers: list[str] = []
        labels, place = chunk.labels, 0
        while place < chunk.n:
            codes, new = np.full(chunk.n, -1), chunk.n
            if labels is not None:
                codes = self._classes.codes(labels)
                strange = np.flatnonzero((labels.codes[place:] >= 0) & (codes[place:] < 0))
                new = place + int(strange[0]) if len(strange) else chunk.n
            # A new label becomes a class only after its line has been predicted.
            end = min(new + 1, chunk.n)
            answers += self._take(turns, slice(place, end), codes, chunk)
            if new < chunk.n and labels is not None:
                self._add_class(labels._replace(codes=labels.codes[new:end]), chunk.source, rows)
                self._take(turns, slice(new, end), self._classes.codes(labels), chunk)
            place = end
        self._compare(answers, labels)
        return answers

    def _compare(self, answers: list[str], labels: Labels | None) -> None:
        """Count the correct predictions for examples that have a label."""
        if labels is not None:
            names = [str(label) for label in labels.values.tolist()]
            for answer, code in zip(answers, labels.codes.tolist(), strict=True):
                self.labelled += code >= 0
                self.right += code >= 0 and answer == names[code]

    def _take(
        self, turns: AnswerThenLearn, which: slice, codes: np.ndarray, chunk: Chunk
    ) -> list[str]:
        """Predict some examples and learn from them."""
        values = self._classes.values
        # Rows without a known class are not learned from, so their cost does not matter.
        weight = self._settings.class_weight
        price = prices(values, np.maximum(codes, 0), weight, chunk.weights, in_stream=True)
        self._weighted = self._weighted or are_weighted(price, codes >= 0)
        answers, tally = turns.run(which, codes, price, self._threshold)
        counted = (codes[which] >= 0) & (True if price is None else price[which] > 0.0)
        learned = int(np.count_nonzero(counted))
        self.counts.add(learned, int(tally.mistakes), int(tally.updates), float(tally.loss))
        return list(map(on_one_line, values[answers].tolist()))

    def _add_class(self, label: Labels, source: str, rows: Rows) -> None:
        """Add a class for a new label."""
        before = replace(self._model, classes=self._classes.values, threshold=self._threshold)
        self._classes.add(label, source)
        now = self._classes.values
        make_room(self._model.state, before.classes, now, rows, self._settings, self._rng)
        self._threshold = kept_threshold(before, now)


def refuse_predictions(path: str, settings: Settings, given: Any) -> None:
    """Raise an error if a model cannot predict and learn in turn."""
    if given["epochs"] not in (None, 1):
        raise DataError("--predictions: each example is learned from once; leave out --epochs")
    if settings.keep == "vote":
        raise DataError(
            f"--predictions: {path} votes with all its hypotheses, and votes are not recounted"
            " after each example; train with --keep average or last"
        )
    if settings.batch_size != 1:
        raise DataError(
            f"--predictions: {path} learns from several examples at once; train it with --batch 1"
        )
