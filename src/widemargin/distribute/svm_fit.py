"""Fit linear SVMs on partitions, from recipes and settings to weights and a certificate."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from widemargin.certificates.gap import GapCertificate
from widemargin.distribute.engine import Engine, gather
from widemargin.distribute.fit import PartitionFit, Source
from widemargin.distribute.loading import Demands, Tick
from widemargin.distribute.mixing import Weights, count_right
from widemargin.distribute.svm_training import SVMTraining
from widemargin.linear_svm.fit import SVMSettings
from widemargin.online.state import State
from widemargin.parameters.values import seconds_limit
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.run import Run, Stops, Watch


def check_svm_distributes(settings: SVMSettings) -> None:
    """Raise an error if such an SVM cannot be solved on partitions."""
    if settings.free:
        raise ValueError("bias='free' does not distribute: use bias='regularised'")
    if settings.multiclass == "joint":
        raise ValueError("multiclass='joint' does not distribute: use multiclass='ovr'")
    if math.isinf(settings.C):
        raise ValueError("C=inf does not distribute: give a large, finite C")


class SVMFit(PartitionFit):
    """A fit of linear SVMs, in two steps: load the partitions, and solve.

    Parameters
    ----------
    engine, source, rng, tick
        As for `MixedFit`.
    settings : SVMSettings
        What to solve.
    """

    def __init__(
        self,
        engine: Engine,
        source: Source,
        settings: SVMSettings,
        rng: np.random.Generator,
        tick: Tick,
    ) -> None:
        check_svm_distributes(settings)
        seed = int(rng.integers(1 << 62))
        weights, validation = settings.class_weight, settings.validation
        demands = Demands(weights, validation, True, seed, source.skip_bad)
        super().__init__(engine, source, demands, tick)
        self.settings, self.bias = settings, settings.weighted

    def learn(
        self,
        *,
        state: State | None = None,
        watch: Watch | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> tuple[State, History, GapCertificate]:
        """Solve the problems, from the start or from the weights of a checkpoint."""
        settings, ready = self.settings, self.ready
        if state is None:
            problems = 1 if len(self.classes) == 2 else len(self.classes)
            W = np.zeros((problems, ready.width + 1))
            state = State.begin(W, "last", joint=True, own=True)
        rows = [fact.rows for fact in ready.facts]
        training = SVMTraining(self.engine, ready.loaded, rows, state, settings, self.seed)
        longest = seconds_limit(settings.max_seconds)
        stops = Stops(int(settings.epochs), tol=float(settings.tol), max_seconds=longest)
        found = Run(training, stops, watch=watch, checkpoints=checkpoints).finish()
        certificate = training.certify(np.asarray(self.classes))
        history = _as_svm(found, settings.tol)
        if ready.held_out and len(history):
            score = self._score(state)
            history.epochs[-1] = history.epochs[-1]._replace(held_out=score)
        self.engine.release(ready.loaded)
        return state, history, certificate

    def _score(self, state: State) -> float:
        """The accuracy on the held-out examples of the partitions."""
        engine = self.engine
        weights = engine.share("weights found", Weights.of(state.W))
        divisor = np.ones(1)
        handles = [
            engine.submit(
                f"score, partition {i + 1}", count_right, one, weights, divisor, self.bias
            )
            for i, one in enumerate(self.ready.loaded)
        ]
        right = sum(gather(engine, handles))
        engine.release([*handles, weights])
        return right / self.ready.held_out


def _as_svm(found: History, tol: float) -> History:
    """Convert a history to that of an SVM: the driver's change is the relative duality gap."""
    gaps = [epoch.change for epoch in found]
    epochs = [epoch._replace(change=None, gap=epoch.change) for epoch in found]
    stopped = found.stopped
    if stopped in ("small change", "no mistakes"):
        stopped = "gap reached" if gaps[-1] is not None and gaps[-1] <= tol else "no progress"
    return replace(found, epochs=epochs, stopped=stopped)
