"""`widemargin train --learner perceptron`, `pa` and `logistic`, from memory or from a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click
import numpy as np

from widemargin.cli.row_trainer import RowTrainer, describe_accuracy
from widemargin.cli.trainer import NOTHING, Job, Section
from widemargin.cli.training_data import Examples, read_examples, read_held_out
from widemargin.data.datasets import Classes, Encoded, make_encoder
from widemargin.data.memory import give_back_large_arrays
from widemargin.data.readers.files import Files
from widemargin.models.linear import LinearModel, model_of
from widemargin.online.fit import check_classes, fit_linear
from widemargin.online.from_files import FromFiles
from widemargin.online.held_out import HeldOut
from widemargin.online.learn import learn
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.parameters.effects import Use
from widemargin.parameters.settings import settings_from
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.progress import Watcher

#: The default step rule of each learner.
_RULES = {"perceptron": "perceptron", "pa": "pa1", "logistic": "logistic"}
#: In a single pass over a stream, the history has a row per this many examples.
_EVERY = 100_000
#: Bytes of examples to read from a pipe at a time, ...
_PIPED = 1 << 25
#: ... and bytes to keep back and learn from last, unless --memory allows less. The limits are well
#: below --memory, because learning starts only when this buffer is full. With twice as much of
#: both, a pipe of 2 GB took 725 MB in all; a pipe of any length must take less than 500 MB.
_KEPT = 1 << 26


class LinearTrainer(RowTrainer):
    """Trains a linear learner, in memory or window by window."""

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        rule = self.params.get("rule", _RULES[learner])
        if learner == "pa" and not rule.startswith("pa"):
            raise click.UsageError("--rule of the learner pa must be pa, pa1 or pa2")
        for name, value in (("batch", 1), ("shuffle", True)):
            self.params.setdefault(name, value)
        if learner == "logistic" and given.get("eta") is None:
            power = given.get("power")
            self.params["eta"] = ("auto", power) if power else "auto"
        self.settings = Settings(**{**self.params, "rule": rule})
        self.settings.check()
        self.params["random_state"] = self.seed
        self._stream: FromFiles | None = None

    def uses(self) -> dict[str, Use]:
        """Which parameters have an effect."""
        return self.settings.uses(held_out=self.job.valid is not None or self.job.measures)

    @property
    def epochs(self) -> int:
        """The largest number of epochs."""
        return self.settings.epochs

    def read_files(self, files: Files) -> Examples | None:
        """Read files into memory if they fit, else prepare to stream them."""
        if not files.readable_again and self.settings.epochs != 1:
            if "epochs" in self.params:
                raise click.UsageError("a pipe can be read only once: give --epochs 1, or files")
            self.settings = replace(self.settings, epochs=1)
            self.params["epochs"] = 1
        settings, job = self.settings, self.job
        once = settings.epochs == 1 and settings.shuffle is False
        if not (once or job.stream) and files.readable_again:
            found = read_examples(files, self.encoding, job.memory, job.cache)
            if found is not None:
                return found
        self._stream = self._open_stream(files)
        return None

    def _open_stream(self, files: Files) -> FromFiles:
        if self.settings.validation > 0.0 or (self.job.measures and "patience" in self.params):
            raise click.UsageError(
                "examples that are not in memory cannot be split: give --valid a file"
            )
        if self.settings.shuffle not in (True, False):
            raise click.UsageError(
                "examples that are not in memory are shuffled in blocks, or not at all"
            )
        if self.job.cache:
            raise click.UsageError(
                "--cache needs all examples in memory: give a file instead of a pipe, enough"
                " --memory, no --stream, and not --epochs 1 with --shuffle no"
            )
        if self.settings.batch == "full":
            raise click.UsageError(
                "--batch full needs all examples in memory: give more --memory, or a file"
            )
        if self.settings.class_weight is not None:
            raise click.UsageError(
                "--class-weight needs all examples in memory: give more --memory, or a file"
            )
        give_back_large_arrays()
        room = self.job.memory // 2
        piped = room if files.readable_again else min(room // 4, _PIPED)
        encoder = make_encoder(files, self.encoding)
        return FromFiles(files, encoder, Classes(), self.settings, piped, min(room // 2, _KEPT))

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> LinearModel:
        """Learn, from the start or from the model saved in a checkpoint."""
        saved = None
        if checkpoints is not None and checkpoints.saved is not None:
            saved = model_of(checkpoints.path, *checkpoints.saved)
        if self._stream is None:
            return self._fit_in_memory(saved, watch, checkpoints)
        model = self._fit_stream(self._stream, saved, watch, checkpoints)
        check_classes(model.classes)
        return model

    def _fit_in_memory(
        self, saved: LinearModel | None, watch: Watcher, checkpoints: Checkpoints | None
    ) -> LinearModel:
        examples, settings = self.examples, self.settings
        data, classes = examples.data, examples.classes.values
        rows = settings.extend(data.rows)

        def model(state: State, history: History) -> LinearModel:
            return self._model(classes, state, rows.bias, history, examples.encoder)

        _describe(checkpoints, model)
        state, history = fit_linear(
            rows,
            classes,
            data.codes,
            settings,
            self.rng,
            state=None if saved is None else saved.state,
            sample_weight=data.weights,
            held_out=_held_out(examples.held_out, rows.bias),
            watch=watch,
            checkpoints=checkpoints,
        )
        return model(state, history)

    def _fit_stream(
        self,
        stream: FromFiles,
        saved: LinearModel | None,
        watch: Watcher,
        checkpoints: Checkpoints | None,
    ) -> LinearModel:
        if saved is not None:
            assert saved.encoder is not None
            stream.encoder, stream.classes = saved.encoder, Classes(saved.classes)
            stream.continue_from(saved.state, saved.bias)
        else:
            stream.start(self.rng)
        assert stream.bias is not None
        bias = stream.bias

        def model(state: State, history: History) -> LinearModel:
            return self._model(stream.classes.values, state, bias, history, stream.encoder)

        _describe(checkpoints, model)
        if self.job.valid is not None:
            self.measured = read_held_out(
                self.job.valid, self.reading, stream.encoder, stream.classes
            )
        history = learn(
            stream,
            stream.state,
            self.settings,
            self.rng,
            held_out=_held_out(self.measured, bias),
            every=_EVERY if self.settings.epochs == 1 else 0,
            watch=watch,
            checkpoints=checkpoints,
        )
        self.rows = history.examples_per_epoch
        return model(stream.state, history)

    def _model(
        self, classes: np.ndarray, state: State, bias: float, history: History, encoder: Any
    ) -> LinearModel:
        return LinearModel(
            classes=classes,
            state=state,
            keep=self.settings.keep,
            rule=self.settings.rule,
            bias=bias,
            learner=self.estimator,
            params=self.params,
            history=history,
            generator_state=self.rng.bit_generator.state,
            encoder=encoder,
        )

    def measure(self, model: Any) -> Section:
        """The accuracy on held-out rows, or the progressive accuracy of a stream's first epoch.

        In a stream every row is predicted before it is learned from, so the rows of the first epoch
        test weights that have not seen them. One-vs-rest counts the mistakes of each class rather
        than of rows, which says nothing about accuracy.
        """
        joint = self.settings.multiclass != "ovr" or len(model.classes) == 2
        if self._stream is None or self.measured is not None or not joint:
            return super().measure(model)
        if self._stream.runs.is_suspicious:  # then the previous row's label is an easy guess
            return NOTHING
        first = [epoch for epoch in model.history if epoch.epoch == 1]
        right = self.rows - sum(epoch.mistakes for epoch in first)
        figures, line = describe_accuracy(
            "progressive_", "accuracy before learning from a row", right, self.rows
        )
        return Section(figures, [line])

    def describe_result(self, model: Any) -> Section:
        """The number of bad lines; warns if the rows seem to be sorted by class."""
        found = super().describe_result(model)
        runs = None if self._stream is None else self._stream.runs
        if runs is None or not runs.is_suspicious:
            return found
        label = model.classes[runs.label]
        mend = "leave out --shuffle no"
        if self.settings.shuffle is not False:
            mend = "shuffle the file first, for example with shuf, or give more --memory"
        click.echo(
            f"warning: {runs.longest:,} consecutive rows had the label {label}; rows sorted by"
            f" class are learned badly unless they are shuffled: {mend}",
            err=True,
        )
        return Section({**found.figures, "longest_run": runs.longest}, found.lines)

    def describe_learner(self, model: Any) -> Section:
        """The step rule, and which weights predict."""
        figures = {"rule": model.rule, "keep": model.keep}
        return Section(figures, [f"{self.estimator}, {model.rule} rule, {model.keep} kept"])


def _describe(checkpoints: Checkpoints | None, model: Any) -> None:
    """Make checkpoints store the model so far, so that they can be loaded as models."""
    if checkpoints is not None:
        checkpoints.describe = lambda training, history: model(training.state, history).contents()


def _held_out(data: Encoded | None, bias: float) -> HeldOut | None:
    if data is None:
        return None
    rows = data.rows.with_bias(bias)
    return HeldOut(rows, rows.everything, data.codes)


def settings_of(model: LinearModel, **changed: Any) -> Settings:
    """The settings that a model was trained with, with some changes; they are validated."""
    return settings_from(Settings, model.params, **{"rule": model.rule, **changed})
