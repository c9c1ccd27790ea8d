"""Fit the perceptron family on partitions, from recipes and settings to a state and a history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.theorem import WEIGHTED
from widemargin.data.rows import Rows
from widemargin.distribute.engine import Engine
from widemargin.distribute.loading import Demands, Ready, Tick, load_partitions
from widemargin.distribute.mixing import MIXTURES
from widemargin.distribute.partitions import Partition
from widemargin.distribute.training import MixedTraining
from widemargin.loops.steps import REACH
from widemargin.models.linear import LinearModel, model_of
from widemargin.online.fit import begin
from widemargin.online.held_out import HeldOut
from widemargin.online.rules import step_size
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.parameters.values import check_choice
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.run import Run, Watch


class Source(NamedTuple):
    """The training data.

    Attributes
    ----------
    partitions : sequence of Partition
        The recipes.
    encoder : Encoder or None
        An encoder that has not seen any data yet; None for numeric rows.
    skip_bad : int
        How many bad lines may be skipped in total.
    """

    partitions: Sequence[Partition]
    encoder: Any
    skip_bad: int = 0


def check_distributes(settings: Settings, mix: str) -> None:
    """Raise an error if these settings are not supported on partitions."""
    check_choice("mix", mix, MIXTURES)
    if settings.keep == "vote":
        raise ValueError(
            "keep='vote' logs every correction, which does not distribute: use keep='average'"
        )
    if settings.batch == "full":
        raise ValueError(
            "batch='full' would be the batch of a partition, not of all examples: give a number"
        )


def resumed_state(
    checkpoints: Checkpoints | None, model: Callable[[State, History], LinearModel]
) -> State | None:
    """Have a checkpoint of the model saved after every epoch; returns the state to resume, if any.

    Parameters
    ----------
    checkpoints : Checkpoints, optional
        Where to write them.
    model : callable
        Makes a model from a state and a history.
    """
    if checkpoints is None:
        return None
    checkpoints.every = 0.0
    checkpoints.describe = lambda training, history: model(training.state, history).contents()
    if checkpoints.saved is None:
        return None
    found: State = model_of(checkpoints.path, *checkpoints.saved).state
    return found


class PartitionFit:
    """A fit on partitions, which are loaded on construction.

    Attributes
    ----------
    ready : Ready
        The partitions.
    seed : int
        The seed of all random choices.
    bias : float
        The constant feature of all rows.
    """

    bias: float

    def __init__(self, engine: Engine, source: Source, demands: Demands, tick: Tick) -> None:
        self.engine, self.seed = engine, demands.seed
        self.ready: Ready = load_partitions(
            engine, source.partitions, source.encoder, demands, tick
        )

    @property
    def classes(self) -> np.ndarray:
        """The labels."""
        return self.ready.survey.classes

    @property
    def encoder(self) -> Any:
        """Turns raw examples into rows, and has feature names; None for numeric rows."""
        return self.ready.survey.encoder

    @property
    def partitions(self) -> int:
        """The number of partitions with examples, which are those that are mixed."""
        return sum(fact.learned > 0 for fact in self.ready.facts)


class MixedFit(PartitionFit):
    """A fit by iterative parameter mixing, in two steps: load the partitions, and learn.

    Parameters
    ----------
    engine : Engine
        Runs the training.
    source : Source
        The training data.
    settings : Settings
        How to learn.
    mix : {"uniform", "touched"}
        How to mix the weights of the partitions.
    rng : numpy Generator
        The source of all random choices.
    tick : callable
        Called while partitions are read.
    """

    def __init__(
        self,
        engine: Engine,
        source: Source,
        settings: Settings,
        mix: str,
        rng: np.random.Generator,
        tick: Tick,
    ) -> None:
        check_distributes(settings, mix)
        self.settings, self.mix, self.rng = settings, mix, rng
        demands = Demands(
            settings.class_weight,
            settings.validation,
            settings.step.form == REACH,
            int(rng.integers(1 << 62)),
            source.skip_bad,
        )
        super().__init__(engine, source, demands, tick)
        automatic = settings.fit_intercept == "auto"
        self.bias = self.ready.typical if automatic else float(settings.fit_intercept)

    def learn(
        self,
        *,
        state: State | None = None,
        held_out: HeldOut | None = None,
        watch: Watch | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> tuple[State, History]:
        """Learn, from the start or from the state of a checkpoint."""
        ready, settings = self.ready, self.settings
        if state is None:
            nothing = Rows.of(np.empty((0, ready.width), ready.dtype), bias=self.bias)
            state = begin(nothing, len(self.classes), settings, self.rng)
            if settings.measures_eta:
                state.eta = step_size(ready.log2_squared_length)
        # The prices already include class weights, so the passes must not apply them again.
        training = MixedTraining(
            self.engine,
            ready.loaded,
            state,
            replace(settings.resolved(state), class_weight=None),
            mix=self.mix,
            bias=self.bias,
            seed=self.seed,
            held_out=held_out,
            held_back=ready.held_out,
        )
        run = Run(
            training,
            settings.stops,
            held_out=held_out is not None or ready.held_out > 0,
            watch=watch,
            checkpoints=checkpoints,
        )
        history = run.finish()
        history.depart(WEIGHTED if any(fact.weighted for fact in ready.facts) else "")
        self.engine.release(ready.loaded)
        return state, history
