"""`widemargin train`: from files, or the embedded set, to a model."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np

from widemargin.cli.held_out import answered_right, read_held_out
from widemargin.cli.learners import Learner
from widemargin.cli.report import Job, Report, say_if_cold, watch_of
from widemargin.data.cache import is_cache, read_cache, stamp, write_cache
from widemargin.data.datasets import Classes, Encoded, EncodeOptions, make_encoder, read_all
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.readers.sources import find_files, is_seekable, name_of
from widemargin.models.linear import LinearModel, model_of
from widemargin.online.fit import check_classes, fit_linear
from widemargin.online.from_files import FromFiles
from widemargin.online.held_out import HeldOut
from widemargin.online.learn import learn
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.progress import Watcher

#: In one pass over a stream the history has a row after so many examples.
_EVERY = 100_000
#: Bytes of examples from a pipe that are shuffled together.
_PIPED = 1 << 26


def train_files(
    patterns: Sequence[str],
    reading: ReadOptions,
    encoding: EncodeOptions,
    learner: Learner,
    job: Job,
    check: Callable[[str], None] = lambda format: None,
) -> int:
    """Train on files, whose format is checked first; returns the exit code."""
    say_if_cold(job)
    began = time.monotonic()
    if len(patterns) == 1 and os.path.isfile(patterns[0]) and is_cache(patterns[0]):
        training = _Training(None, reading, encoding, learner, job)
        training.from_cache(patterns[0])
    else:
        files = Files(patterns, reading)
        check(files.format)
        training = _Training(files, reading, encoding, _for_pipes(learner, files), job)
        settings = training.learner.settings
        once = settings.epochs == 1 and settings.shuffle is False
        if once or job.stream or not files.readable_again or not training.in_memory():
            training.from_files()
    model, watch = training.finish()
    report = Report(
        ", ".join(map(name_of, patterns)), training.rows, training.learner, model, job, began
    )
    report.skipped = training.skipped
    report.tell(training.measure(model))
    return 130 if watch.interrupted else 0


def _for_pipes(learner: Learner, files: Files) -> Learner:
    """What comes from a pipe is learned from once."""
    if files.readable_again or learner.settings.epochs == 1:
        return learner
    if learner.params.get("epochs") is not None:
        raise click.UsageError("a pipe can be read only once: give --epochs 1, or files")
    once = replace(learner.settings, epochs=1)
    return Learner(learner.name, once, {**learner.params, "epochs": 1})


class _Training:
    """One training from files, in memory or window by window."""

    def __init__(
        self,
        files: Files | None,
        reading: ReadOptions,
        encoding: EncodeOptions,
        learner: Learner,
        job: Job,
    ) -> None:
        self.files, self.reading, self.encoding = files, reading, encoding
        self.learner, self.job = learner, job
        self.rng = learner.generator()
        self.encoder: Any = None if files is None else make_encoder(files, encoding)
        self.classes = Classes()
        self.inputs = [] if files is None else files.paths
        self.data: Encoded | None = None
        self.stream: FromFiles | None = None
        self.held_out: Encoded | None = None
        self.rows = 0
        self.checkpoints: Checkpoints | None = None
        self.saved: LinearModel | None = None

    def _task(self) -> dict[str, Any]:
        """What a checkpoint must be of to go on from."""
        stats = [os.stat(path) for path in self.inputs if is_seekable(path)]
        valid = [] if self.job.valid is None else find_files(self.job.valid)
        held_out = [os.stat(path) for path in valid if os.path.isfile(path)]
        params = {name: repr(value) for name, value in self.learner.params.items()}
        return {
            "files": [[stat.st_size, stat.st_mtime_ns] for stat in stats],
            "valid": [[stat.st_size, stat.st_mtime_ns] for stat in held_out],
            "learner": [self.learner.name, self.learner.settings.rule, params],
            "reading": repr((self.reading.format, self.reading.table)),
            "encoding": repr(self.encoding),
            "memory": [self.job.memory, self.job.stream],
        }

    @property
    def skipped(self) -> int:
        """How many bad lines were skipped."""
        return 0 if self.files is None else self.files.patience.skipped

    def from_cache(self, path: str) -> None:
        """Take examples that were parsed before."""
        found = read_cache(path)
        assert found is not None
        self.data, self.classes, self.encoder = found
        self.rows, self.inputs = self.data.rows.n, [path]

    def in_memory(self) -> bool:
        """Read everything, if there is room for it."""
        assert self.files is not None
        cache = f"{self.files.paths[0]}.wmc" if self.job.cache else None
        made_from = stamp(self.files.paths, repr((self.files.options, self.encoding)))
        if cache is not None and os.path.exists(cache) and is_cache(cache):
            found = read_cache(cache, made_from)
            if found is not None:
                self.data, self.classes, self.encoder = found
                self.rows = self.data.rows.n
                return True
        self.data = read_all(
            self.files, self.encoder, self.classes, learn=True, budget=self.job.memory
        )
        if self.data is None:
            self.encoder, self.classes = make_encoder(self.files, self.encoding), Classes()
            return False
        if cache is not None:
            write_cache(cache, self.data, self.classes, self.encoder, made_from)
        self.rows = self.data.rows.n
        return True

    def from_files(self) -> None:
        """Make ready to read window by window."""
        if self.learner.settings.validation > 0.0:
            raise click.UsageError(
                "examples that are not in memory cannot be split: give --valid a file"
            )
        if self.learner.settings.shuffle not in (True, False):
            raise click.UsageError(
                "examples that are not in memory are shuffled in blocks, or not at all"
            )
        assert self.files is not None
        room = self.job.memory // 2
        if not self.files.readable_again:
            room = min(room, _PIPED)
        self.stream = FromFiles(self.files, self.encoder, self.classes, self.learner.settings, room)

    def finish(self) -> tuple[LinearModel, Watcher]:
        """Learn, and save the model."""
        if self.job.checkpoint is not None:
            self.checkpoints = Checkpoints(
                self.job.checkpoint, self._task(), self.job.every, resume=self.job.resume
            )
            if self.checkpoints.saved is not None:
                self.saved = model_of(self.checkpoints.path, *self.checkpoints.saved)
        with watch_of(self.learner, self.job) as watch:
            model = self._learn_in_memory(watch) if self.stream is None else self._learn(watch)
        check_classes(model.classes)
        model.save(self.job.model)
        if self.checkpoints is not None and not watch.interrupted:
            self.checkpoints.remove()
        return model, watch

    def _learn_in_memory(self, watch: Watcher) -> LinearModel:
        data, settings = self.data, self.learner.settings
        assert data is not None
        classes = self.classes.values
        check_classes(classes)
        rows = settings.extend(data.rows)
        held_out = self._held_out(rows.bias)
        self._describe_checkpoints(rows.bias)
        state, history = fit_linear(
            rows,
            classes,
            data.codes,
            settings,
            self.rng,
            state=None if self.saved is None else self.saved.state,
            sample_weight=data.weights,
            held_out=held_out,
            watch=watch,
            checkpoints=self.checkpoints,
        )
        return self._model(state, rows.bias, history)

    def _learn(self, watch: Watcher) -> LinearModel:
        stream, settings = self.stream, self.learner.settings
        assert stream is not None
        if self.saved is not None:
            model = self.saved
            assert model.encoder is not None
            self.encoder = stream.encoder = model.encoder
            self.classes = stream.classes = Classes(model.classes)
            stream.go_on(model.state, model.bias)
        else:
            stream.start(self.rng)
        assert stream.bias is not None
        bias = stream.bias
        self._describe_checkpoints(bias)
        history = learn(
            stream,
            stream.state,
            settings,
            self.rng,
            held_out=self._held_out(bias),
            every=_EVERY if settings.epochs == 1 else 0,
            watch=watch,
            checkpoints=self.checkpoints,
        )
        self.rows = stream.state.seen // max(1, len({e.epoch for e in history}))
        return self._model(stream.state, bias, history)

    def _describe_checkpoints(self, bias: float) -> None:
        """Have checkpoints hold the model so far, so that they can be loaded as one."""
        if self.checkpoints is not None:
            self.checkpoints.describe = lambda training, history: self._model(
                training.state, bias, history
            ).contents()

    def _model(self, state: Any, bias: float, history: History) -> LinearModel:
        return self.learner.model(self.classes.values, state, bias, history, self.rng, self.encoder)

    def _held_out(self, bias: float) -> HeldOut | None:
        if self.job.valid is None:
            return None
        self.held_out = read_held_out(
            self.job.valid, self.reading, self.encoder, self.classes, bias
        )
        rows = self.held_out.rows
        return HeldOut(rows, rows.everything, self.held_out.codes)

    def measure(self, model: LinearModel) -> tuple[int, int] | None:
        """How many of the held-out examples the model gets right, if there are any."""
        if self.held_out is None:
            return None
        right = answered_right(model, self.held_out)
        return int(np.sum(right)), len(right)
