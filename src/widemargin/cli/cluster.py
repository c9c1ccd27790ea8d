"""`widemargin train --dask`: the same learners on a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from widemargin.cli import options
from widemargin.cli.linear import LinearTrainer
from widemargin.cli.row_trainer import RowTrainer, describe_accuracy
from widemargin.cli.svm import SVMTrainer
from widemargin.cli.trainer import NOTHING, Job, Section
from widemargin.cli.training_data import read_held_out
from widemargin.data.datasets import Classes, Encoded, make_encoder
from widemargin.data.readers.files import Files
from widemargin.distribute.clusters import open_engine
from widemargin.distribute.fit import (
    MixedFit,
    PartitionFit,
    Source,
    check_distributes,
    resumed_state,
)
from widemargin.distribute.partitions import partitions_of_files
from widemargin.distribute.svm_fit import SVMFit, check_svm_distributes
from widemargin.models.linear import LinearModel
from widemargin.models.text_defaults import NGRAMS
from widemargin.online.held_out import USUAL_PART, HeldOut
from widemargin.online.state import State
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.progress import Watcher

#: Options that apply only to examples in the memory of this machine.
_LOCAL = {
    *("folds", "tune", "nested", "threshold", "positive", "memory", "stream", "cache", "threads"),
}
#: The default mixture, as in Python.
MIX = "touched"


def refuse_local(typed: Mapping[str, str]) -> None:
    """Refuse options that have no effect on a cluster."""
    for name, written in typed.items():
        if name in _LOCAL:
            raise click.UsageError(f"{written} has no effect with --dask")


class _OnCluster(RowTrainer):
    """Base of trainers that learn from rows on the workers of a Dask cluster."""

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        if isinstance(self.settings.class_weight, Mapping):
            raise click.UsageError("--class-weight with --dask must be 'balanced'")
        self.source: Source
        self.partitions = self.held_back = 0

    def read(self) -> None:
        """Find the partitions; the workers read them."""
        files = self.files or Files(self.job.files, replace(self.reading, threads=1))
        self.files = files
        options.check_meaning(self.given, files.format)
        if options.only_texts(self.given, files.format):
            self.encoding = replace(self.encoding, text={"ngrams": NGRAMS, **self.encoding.text})
        encoder = make_encoder(files, self.encoding)
        made = partitions_of_files(files, self.given.get("partitions"))
        self.source = Source(made, encoder, files.options.skip_bad)
        if self.job.measures:
            self.settings = replace(self.settings, **self.hold_out(USUAL_PART, "rows"))

    def record_partitions(self, fit: PartitionFit) -> None:
        """Record what the report says about the partitions."""
        self.rows, self.partitions = fit.ready.survey.examples, fit.partitions
        self.held_back = fit.ready.held_out

    def count_partitions(self) -> str:
        """The number of partitions, in words."""
        return f"{self.partitions} partition{'s' * (self.partitions != 1)}"

    def read_valid(self, fit: PartitionFit) -> Encoded | None:
        """Read the examples of the held-out file, if there is one."""
        if self.job.valid is not None:
            known = Classes(fit.classes)
            self.measured = read_held_out(self.job.valid, self.reading, fit.encoder, known)
        return self.measured

    def measure(self, model: Any) -> Section:
        """The accuracy on held-out rows, from a file or from the partitions."""
        if self.measured is not None:
            return super().measure(model)
        epochs = {epoch.epoch: epoch.held_out for epoch in model.history}
        score = epochs.get(model.history.best or max(epochs, default=0))
        if score is None or not self.held_back:
            return NOTHING
        right = round(score * self.held_back)
        figures, line = describe_accuracy("", "held-out accuracy", right, self.held_back)
        if model.history.best is not None:
            line += "; the same rows chose the best epoch"
        return Section({"held_out_rows": self.held_back, **figures}, [line])


class ClusterTrainer(_OnCluster, LinearTrainer):
    """Trains a linear learner on the workers of a Dask cluster."""

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        self.mix = given.get("mix") or MIX
        check_distributes(self.settings, self.mix)

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> LinearModel:
        """Learn on the cluster, from the start or from a checkpoint."""
        with open_engine(self.given["dask"]) as engine:
            fit = MixedFit(engine, self.source, self.settings, self.mix, self.rng, watch.check)
            self.record_partitions(fit)

            def model(state: State, history: History) -> LinearModel:
                made = self._model(fit.classes, state, fit.bias, history, fit.encoder)
                return replace(made, mixture=(self.mix, fit.partitions))

            state, history = fit.learn(
                state=resumed_state(checkpoints, model),
                held_out=self._held_out(fit),
                watch=watch,
                checkpoints=checkpoints,
            )
        return model(state, history)

    def _held_out(self, fit: MixedFit) -> HeldOut | None:
        found = self.read_valid(fit)
        if found is None:
            return None
        rows = found.rows.with_bias(fit.bias)
        return HeldOut(rows, rows.everything, found.codes)

    def describe_learner(self, model: Any) -> Section:
        """The step rule, which weights predict, and the mixture."""
        figures, lines = super().describe_learner(model)
        told = f"{lines[0]}; {self.count_partitions()}, {self.mix} mixture"
        more = {"partitions": self.partitions, "mix": self.mix}
        return Section({**figures, **more}, [told])


class ClusterSVMTrainer(_OnCluster, SVMTrainer):
    """Trains a linear SVM on the workers of a Dask cluster."""

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        check_svm_distributes(self.settings)

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> LinearModel:
        """Solve the problem on the cluster."""
        with open_engine(self.given["dask"]) as engine:
            fit = SVMFit(engine, self.source, self.settings, self.rng, watch.check)
            self.record_partitions(fit)
            self.read_valid(fit)
            state, history, certificate = fit.learn(watch=watch)
        return self.make_model(fit.classes, state, history, certificate, fit.encoder)

    def describe_learner(self, model: Any) -> Section:
        """The loss and C, the number of epochs, why training stopped, and the partitions."""
        figures, lines = super().describe_learner(model)
        told = f"{lines[0]}; {self.count_partitions()}"
        return Section({**figures, "partitions": self.partitions}, [told])
