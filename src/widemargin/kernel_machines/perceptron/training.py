"""Training of a kernel perceptron, run by the shared epoch driver."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import numpy as np

from widemargin.data.rows import frozen
from widemargin.kernel_machines.perceptron.budget import Budget
from widemargin.kernel_machines.perceptron.online import KernelTask, Online
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernels.points import Points
from widemargin.loops.linear.passes import Log
from widemargin.modelfile.checks import check_counts
from widemargin.models.kernel import RunningScores
from widemargin.online.mistake_log import NO_LOG
from widemargin.online.orders import EpochOrders
from widemargin.online.scores import best_class
from widemargin.training.checkpoints import prefixed, without_prefix
from widemargin.training.run import Counts, Training


class KernelTraining(Training):
    """Trains a kernel perceptron, either on all examples in blocks or on a budget.

    Parameters
    ----------
    task : KernelTask
        What to learn.
    settings : KernelSettings
        How to learn.
    which : array of uint64
        The examples to learn from.
    rng : numpy Generator
        Random generator.
    held_out : (Points, array), optional
        Examples to score after each epoch, and their class codes.

    Attributes
    ----------
    R : float
        The norm of the longest example in feature space.
    """

    def __init__(
        self,
        task: KernelTask,
        settings: KernelSettings,
        which: np.ndarray,
        rng: np.random.Generator,
        held_out: tuple[Points, np.ndarray] | None,
    ) -> None:
        self.task, self.settings, self.held_out = task, settings, held_out
        self.learner: Online | Budget
        if settings.budget is None:
            self.learner = Online(task, settings.epochs, settings.memory)
        else:
            self.learner = Budget(task, settings, rng)
        self.R = math.sqrt(max(0.0, float(np.max(self.learner.q[which.astype(np.int64)]))))
        self._orders = EpochOrders(which, settings.shuffle, rng)
        self._which, self._order, self._complete, self._done = which, which, True, 0
        self._running: RunningScores | None = None
        if held_out is not None and isinstance(self.learner, Online):
            self._running = RunningScores(task.kernel, held_out[0], task.k, task.joint)
        self._logs_scored = 0  # number of logs that the running scores include

    # An epoch

    def begin_epoch(self, epoch: int, resumed: bool) -> None:
        """Put the examples in order; a fraction of an epoch visits only the first of them."""
        order = self._orders.begin(resumed)
        if not resumed:
            self._done = 0
        part = min(1.0, self.settings.epochs - (epoch - 1))
        examples = max(1, round(part * len(order)))
        self._order, self._complete = frozen(order[:examples]), examples == len(order)

    def learn(self, counts: Counts) -> Generator[float, None, None]:
        """Learn block by block."""
        for examples, tally in self.learner.run(self._order, self._done):
            counts.add(examples, int(tally.mistakes), int(tally.updates), float(tally.loss))
            self._done += examples
            yield self._done / len(self._order)

    def missed_mistakes(self) -> bool:
        """Check all examples, without learning, for mistakes that draws or a part missed."""
        missing = not self._complete or self.settings.shuffle == "draw"
        return missing and self.learner.would_correct(frozen(self._which))

    # Held-out examples

    def score(self) -> float:
        """The held-out accuracy of the model that would be deployed now."""
        assert self.held_out is not None
        points, y = self.held_out
        learner, keep = self.learner, self.settings.keep
        if isinstance(learner, Online):
            assert self._running is not None
            log = join_logs(learner.logs[self._logs_scored :])
            self._logs_scored = len(learner.logs)
            self._running.add(*support_of(self.task.points, log), self.task.threads)
            found = self._running.result(keep, learner.count)
        else:
            found = learner.scores(points, keep)
        return float(np.mean(best_class(found[:, 0] if found.shape[1] == 1 else found) == y))

    def snapshot(self) -> Any:
        """A snapshot of the learner."""
        return self.learner.remember()

    def restore(self, snapshot: Any) -> None:
        """Return to a snapshot."""
        self.learner.restore(snapshot)

    # Checkpoints

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The state of the learner, and the position in the epoch."""
        arrays, about = self.learner.contents()
        if self._running is not None:
            arrays |= prefixed("running", self._running.arrays())
        about |= {"done": self._done, "logs_scored": self._logs_scored, **self._orders.about()}
        return arrays, about

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        check_counts(about, "done", "logs_scored")
        self.learner.resume(arrays, about)
        self._orders.resume(about)
        self._done, self._logs_scored = about["done"], about["logs_scored"]
        if self._running is not None:
            self._running.resume(without_prefix("running", arrays))

    def pack_snapshot(self, snapshot: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """A snapshot as arrays."""
        return self.learner.pack_snapshot(snapshot), {}

    def unpack_snapshot(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Any:
        """Undo `pack_snapshot`."""
        return self.learner.unpack_snapshot(arrays)


def join_logs(logs: list[Log]) -> Log:
    """Concatenate logs."""
    return Log(*(np.concatenate(column) for column in zip(NO_LOG, *logs, strict=True)))


def support_of(points: Points, log: Log) -> tuple[Points, Log]:
    """The examples in a log, and the log with `example` as an index into them."""
    which, example = np.unique(log.example, return_inverse=True)
    support = points.take(which.astype(np.int64))
    return support, log._replace(example=example.astype(np.uint64))
