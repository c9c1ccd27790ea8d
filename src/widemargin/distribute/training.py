"""Iterative parameter mixing, as a training for the common epoch driver."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from widemargin.distribute.engine import Engine, gather, tree
from widemargin.distribute.mixing import (
    Change,
    Epoch,
    Mixture,
    Weights,
    add_changes,
    apply_mixture,
    count_right,
    learn_partition,
    mix_weights,
)
from widemargin.distribute.rounds import Rounds
from widemargin.modelfile.checks import check_counts, check_kinds
from widemargin.online.held_out import HeldOut, HeldOutScore
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.training.run import Counts


class Mixing(Rounds):
    """Iterative parameter mixing of anything that has weights.

    Subclasses define what is sent to partitions and how a partition learns.

    Attributes
    ----------
    engine : Engine
        Runs the training.
    loaded : sequence of handles
        The partitions that are ready.
    mix : {"uniform", "touched"}
        How to mix the partitions' weights.
    change : float or None
        How far the mixture moved in the last round.
    """

    engine: Engine
    loaded: Sequence[Any]
    mix: str
    change: float | None = None

    def start(self) -> tuple[np.ndarray, Any]:
        """The weights from which all partitions start, and how they learn."""
        raise NotImplementedError

    def take(self, mixture: Mixture) -> float:
        """Make the mixture the next starting point; returns how far the weights moved."""
        raise NotImplementedError

    #: Mixes the sum of all changes into the weights: (change, weights, mix) to a Mixture.
    mix_parts: Callable[[Change, Weights, str], Mixture]
    #: Learns from a partition for one epoch: (loaded, weights, how) to a Change.
    learn_part: Callable[[Any, Weights, Any], Change]

    def do_round(self, counts: Counts) -> Generator[float, None, None]:
        """Let all partitions learn in parallel, and mix their weights."""
        mixture: Mixture | None = None
        total, changes, others = self._submit()
        count = len(changes)
        try:
            for report in self.engine.finished([total], kept=self.loaded, watched=changes):
                if isinstance(report, int):
                    yield report / (count + 1)
                else:
                    mixture = report[1]
        finally:
            self.engine.release([total, *changes, *others])
        assert mixture is not None
        counts.add(mixture.examples, mixture.mistakes, mixture.updates, mixture.loss)
        self.change = self.take(mixture)

    def _submit(self) -> tuple[Any, list[Any], list[Any]]:
        """Submit an epoch; returns the handles of the mixture, the partitions, and the rest."""
        engine, e = self.engine, self.epoch
        weights, how = self.start()
        start, learn = engine.share(f"weights of epoch {e}", Weights.of(weights)), self.learn_part
        changes = [
            engine.submit(f"learn, epoch {e}, partition {i + 1}", learn, one, start, how)
            for i, one in enumerate(self.loaded)
        ]
        finish = (self.mix_parts, start, self.mix)
        mixture, joints = tree(engine, f"mix epoch {e}", add_changes, changes, finish)
        return mixture, changes, [*joints, start]

    def end_epoch(self) -> float | None:
        """Return how far the mixture moved."""
        return self.change if self.finished == self.epoch else None


class MixedTraining(Mixing):
    """A linear learner in training on partitions.

    The state is held by the driver and sent out again in every epoch, so everything lost with a
    worker can be restored from here and from the recipes.

    Parameters
    ----------
    engine : Engine
        Runs the training.
    loaded : sequence of handles
        The partitions that are ready.
    state : State
        The state to start from; it is changed in place.
    settings : Settings
        How to learn.
    mix : {"uniform", "touched"}
        How to mix the partitions' weights.
    bias : float
        The constant feature of all rows.
    seed : int
        The seed of the orders.
    held_out : HeldOut, optional
        Examples to score after each epoch.
    held_back : int
        How many examples the partitions hold out, to be scored there.
    """

    def __init__(
        self,
        engine: Engine,
        loaded: Sequence[Any],
        state: State,
        settings: Settings,
        *,
        mix: str,
        bias: float,
        seed: int,
        held_out: HeldOut | None = None,
        held_back: int = 0,
    ) -> None:
        self.engine, self.loaded, self.state, self.settings = engine, loaded, state, settings
        self.mix, self.bias, self.seed, self.held_back = mix, bias, seed, held_back
        self.held_out: HeldOutScore | None = None
        self._scored = (0, 0.0)  # after which round, and the score
        if held_out is not None:
            self.held_out = HeldOutScore(held_out, state, settings.keep, settings.threads)

    learn_part = staticmethod(learn_partition)
    mix_parts = staticmethod(mix_weights)

    def start(self) -> tuple[np.ndarray, Epoch]:
        """The weights, and how to learn."""
        return self.state.W, Epoch(self.settings, self.bias, self.seed, self.epoch - 1)

    def take(self, mixture: Mixture) -> float:
        """Make the mixture the next starting point."""
        return apply_mixture(self.state, mixture)

    def score(self) -> float:
        """Accuracy on held-out examples of the hypothesis that would be deployed now."""
        if self.held_out is not None:
            return self.held_out.accuracy()
        if self.finished and self._scored[0] == self.finished:
            return self._scored[1]  # this round was interrupted: do not wait for workers
        engine = self.engine
        W, divisor = self.state.deployed(self.settings.keep)
        weights = engine.share(f"deployed after epoch {self.epoch}", Weights.of(W))
        handles = [
            engine.submit(
                f"score, epoch {self.epoch}, partition {i + 1}",
                *(count_right, one, weights, divisor, self.bias),
            )
            for i, one in enumerate(self.loaded)
        ]
        right = sum(gather(engine, handles))
        engine.release([*handles, weights])
        self._scored = self.finished, right / self.held_back
        return self._scored[1]

    def snapshot(self) -> State:
        """The state."""
        return self.state.copy()

    def restore(self, snapshot: State) -> None:
        """Restore the state of a snapshot."""
        self.state.become(snapshot)

    # Checkpoints. The state itself is in the model that is stored with them.

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The progress of the training."""
        return {}, {"finished": self.finished, "change": self.change}

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        check_counts(about, "finished")
        check_kinds(about, change=float | None)
        self.finished, self.change = about["finished"], about["change"]

    def pack_snapshot(self, snapshot: State) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """A snapshot as arrays and JSON."""
        return snapshot.arrays(), {"joint": snapshot.joint}

    def unpack_snapshot(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> State:
        """Undo `pack_snapshot`."""
        check_kinds(about, joint=bool)
        state = State.of(arrays, self.bias, about["joint"], logged=False)
        state.check_keep(self.settings.keep)
        if state.W.shape != self.state.W.shape:
            raise ValueError(f"the best weights have the shape {state.W.shape}")
        return state
