"""The epoch driver: `Run` runs everything that learns from mistakes.

It drives a `Training`: a linear learner, a kernel perceptron, a structured perceptron, a tagger or
a parser. A training knows how to learn from a piece of an epoch, and how to save, restore and score
what it has learned. Everything else is done here, once: when to stop, early stopping, history,
progress, Ctrl-C, deadlines, checkpoints and resuming from them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from widemargin.loops.jit import compile_seconds
from widemargin.modelfile.checks import check_counts, check_kinds
from widemargin.modelfile.files import restore
from widemargin.training.checkpoints import Checkpoints, prefixed, without_prefix
from widemargin.training.early_stopping import EarlyStopping
from widemargin.training.history import Cycle, Epoch, History

#: A limit, in seconds, that any piece of an epoch exceeds.
_NO_TIME = 1e-9


@dataclass(frozen=True)
class Stops:
    """When to stop learning.

    Attributes
    ----------
    epochs : float
        After this many epochs. (Only kernel perceptrons accept a fraction.)
    patience : int or None
        When the held-out score has not improved for this many epochs; None only measures it.
    tol : float
        When the weights move less than this in an epoch.
    max_seconds : float
        When this much time has passed.
    """

    epochs: float
    patience: int | None = 5
    tol: float = 0.0
    max_seconds: float = math.inf


def seconds_left(limit: float, began: float) -> float:
    """Seconds until a limit that counts from `began`.

    Always more than zero: a training that has no time left still learns from one piece.
    """
    return max(_NO_TIME, limit - (time.monotonic() - began))


@dataclass
class Counts:
    """Counts of an epoch so far (in a stream, since the last row of the history)."""

    examples: int = 0
    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0  # summed over the examples

    def add(self, examples: int, mistakes: int, updates: int, loss: float) -> None:
        """Add the counts of a piece of an epoch."""
        self.examples += examples
        self.mistakes += mistakes
        self.updates += updates
        self.loss += loss

    def reset(self) -> None:
        """Set all counts to zero."""
        self.examples = self.mistakes = self.updates = 0
        self.loss = 0.0

    @property
    def mean_loss(self) -> float:
        """The loss per example."""
        return self.loss / max(1, self.examples)


class Moment(NamedTuple):
    """The progress of a training, as reported to the `watch` callback."""

    epoch: int  # from 1
    part: float  # fraction of the epoch that is done; 0 if unknown
    mistakes: int | None  # in this epoch so far; None if they are not counted
    loss: float | None  # mean loss in this epoch so far; for a linear SVM its objective
    history: History  # the epochs before this one
    seen: int = 0  # examples since the start
    seconds: float = 0.0
    epochs: float = 0.0  # maximum number of epochs; 0 if unknown
    stage: str = ""  # name of the stage, if a training has several
    violation: float | None = None  # of the optimality conditions, for a kernel SVM

    def within(self, stage: str) -> Moment:
        """The same moment as a part of a larger stage."""
        return self._replace(stage=f"{stage}, {self.stage}" if self.stage else stage)


#: Called about every tenth of a second with the progress so far; returns True to stop.
Watch = Callable[[Moment], bool]

Arrays = dict[str, np.ndarray]
About = dict[str, Any]


class Training:
    """A learner in training, as the driver sees it. Subclasses override the methods they need."""

    #: Whether no batch is unfinished, so that a checkpoint may be written.
    settled: bool = True

    def begin_epoch(self, epoch: int, resumed: bool) -> None:
        """Prepare for an epoch, counted from 1, or for the rest of an interrupted one."""

    def learn(self, counts: Counts) -> Generator[float, None, None]:
        """Learn from the remaining pieces of this epoch.

        After each piece of about a tenth of a second, it updates `counts` and yields the fraction
        of the epoch that is done. The driver may close the generator early.
        """
        raise NotImplementedError

    def end_epoch(self) -> float | None:
        """Return how far the weights moved in this epoch, if that is measured."""
        return None

    def missed_mistakes(self) -> bool:
        """Whether an epoch without corrections may still have missed a mistake."""
        return False

    def find_cycle(self, epoch: int, updates: int) -> Cycle | None:
        """Find out whether the weights are the same as after an earlier epoch."""
        return None

    def score(self) -> float:
        """The held-out score of the hypothesis that would be deployed now."""
        raise NotImplementedError

    def snapshot(self) -> Any:
        """Return what is needed to restore the current state."""
        raise NotImplementedError

    def restore(self, snapshot: Any) -> None:
        """Restore the state of a snapshot."""
        raise NotImplementedError

    def finish(self) -> None:
        """Finalise the model after the last epoch."""

    def contents(self) -> tuple[Arrays, About]:
        """Everything a checkpoint needs to resume with exactly the same result: arrays and JSON."""
        raise NotImplementedError

    def resume(self, arrays: Arrays, about: About) -> None:
        """Undo `contents`, in a training made with the same examples and settings."""
        raise NotImplementedError

    def pack_snapshot(self, snapshot: Any) -> tuple[Arrays, About]:
        """A snapshot as arrays and JSON."""
        raise NotImplementedError

    def unpack_snapshot(self, arrays: Arrays, about: About) -> Any:
        """Undo `pack_snapshot`."""
        raise NotImplementedError


@dataclass
class Position:
    """How far a run has come.

    Attributes
    ----------
    history : History
        The finished epochs.
    epoch : int
        Number of finished epochs.
    begun : bool
        Whether the next epoch has begun.
    counts : Counts
        Its counts so far.
    before : int
        Number of examples seen before those in `counts`.
    seconds : float
        Time spent before the last start or resume.
    """

    history: History = field(default_factory=History)
    epoch: int = 0
    begun: bool = False
    counts: Counts = field(default_factory=Counts)
    before: int = 0
    seconds: float = 0.0

    @property
    def seen(self) -> int:
        """Number of examples seen since the start."""
        return self.before + self.counts.examples

    def row(self, change: float | None, held_out: float | None, seconds: float) -> Epoch:
        """Return the counts as a row of the history, and reset them."""
        counts = self.counts
        row = Epoch(
            self.epoch + self.begun,
            counts.mistakes,
            counts.updates,
            counts.mean_loss,
            change,
            held_out,
            seconds,
            counts.examples,
        )
        self.before = self.seen
        counts.reset()
        return row

    def about(self) -> About:
        """The position as JSON."""
        return {
            "history": self.history.to_dict(),
            "epoch": self.epoch,
            "begun": self.begun,
            "counts": asdict(self.counts),
            "before": self.before,
        }

    @classmethod
    def of(cls, about: About) -> Position:
        """Undo `about`."""
        check_kinds(about, begun=bool, seconds=float)
        check_counts(about, "epoch", "before")
        check_kinds(about["counts"], loss=float)
        check_counts(about["counts"], "examples", "mistakes", "updates")
        return cls(
            History.from_dict(about["history"]),
            about["epoch"],
            about["begun"],
            Counts(**about["counts"]),
            about["before"],
            about["seconds"],
        )


class Run:
    """Runs a training, epoch after epoch, until there is a reason to stop.

        for each epoch:
            for each piece of it:
                learn
            stop if there were no mistakes or no improvement

    Parameters
    ----------
    training : Training
        The training to run.
    stops : Stops
        When to stop.
    held_out : bool
        Whether to score the training after each epoch, and to return the best state, not the last,
        unless the patience is None.
    every : int
        In a stream that is read once: add a row to the history after this many examples. 0: after
        each epoch.
    stage : str
        The name of this run, if a training has several stages.
    watch : callable, optional
        Called with the progress so far; return True to stop.
    checkpoints : Checkpoints, optional
        Where to save periodic checkpoints, and where to resume from if there is one.
    """

    def __init__(
        self,
        training: Training,
        stops: Stops,
        *,
        held_out: bool = False,
        every: int = 0,
        stage: str = "",
        watch: Watch | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.training, self.stops, self.every, self.stage = training, stops, every, stage
        self.watch, self.checkpoints = watch, checkpoints
        self.position = Position()
        self.best = EarlyStopping(training, stops.patience) if held_out else None
        if checkpoints is not None and checkpoints.saved is not None:
            restore(checkpoints.path, *checkpoints.saved, self._go_on)
        self.began = time.monotonic() - self.position.seconds
        self.compiled_before = compile_seconds()

    @property
    def seconds(self) -> float:
        """Time spent so far, including before an interruption, but not compiling."""
        compiling = compile_seconds() - self.compiled_before
        return time.monotonic() - self.began - compiling

    def finish(self) -> History:
        """Run the training to its end, and return the history."""
        position, history = self.position, self.position.history
        while not history.stopped and position.epoch < self.stops.epochs:
            self._learn_epoch()
            self._end_epoch()
        if self.checkpoints is not None and history.stopped == "interrupted":
            self.checkpoints.interrupted = True
        if self.best is not None:
            history.best = self.best.restore()
        self.training.finish()
        return history

    def _learn_epoch(self) -> None:
        position, history = self.position, self.position.history
        self.training.begin_epoch(position.epoch + 1, resumed=position.begun)
        position.begun = True
        pieces = self.training.learn(position.counts)
        for part in pieces:
            if self.every and position.counts.examples >= self.every:
                history.add(position.row(None, None, self.seconds))
            history.stopped = self._reason_to_break_off(part)
            if history.stopped:
                break
        pieces.close()

    def _reason_to_break_off(self, part: float) -> str:
        """The reason to stop within an epoch, or ""; also writes a checkpoint if one is due."""
        position = self.position
        if self.checkpoints is not None and self.training.settled and self.checkpoints.due():
            self.checkpoints.write(*self._contents())
        counts = position.counts
        moment = Moment(
            epoch=position.epoch + 1,
            part=part,
            mistakes=counts.mistakes,
            loss=counts.mean_loss,
            history=position.history,
            seen=position.seen,
            seconds=self.seconds,
            epochs=self.stops.epochs,
            stage=self.stage,
        )
        if self.watch is not None and self.watch(moment):
            return "interrupted"
        return "deadline" if time.monotonic() - self.began > self.stops.max_seconds else ""

    def _end_epoch(self) -> None:
        position, history, training = self.position, self.position.history, self.training
        change = training.end_epoch()
        position.epoch, position.begun = position.epoch + 1, False
        score = None if self.best is None else self.best.look(position.epoch)
        made = position.counts.mistakes, position.counts.updates
        if position.counts.examples or not (self.every or history.stopped):
            history.add(position.row(change, score, self.seconds))
        if history.cycle is None:
            history.cycle = training.find_cycle(position.epoch, made[1])
        history.stopped = history.stopped or self._reason_to_stop(*made, change)

    def _reason_to_stop(self, mistakes: int, updates: int, change: float | None) -> str:
        """The reason to stop after this epoch, or ""."""
        epoch, stops = self.position.epoch, self.stops
        if not self.every:
            nothing_to_do = updates == 0 and not self.training.missed_mistakes()
            reason = reason_to_stop(mistakes, nothing_to_do, change, stops.tol)
            if reason:
                return reason
            if self.best is not None and self.best.is_over(epoch):
                return "no improvement"
        return "epochs" if epoch >= stops.epochs else ""

    def _contents(self) -> tuple[Arrays, About]:
        """Everything needed to resume from here."""
        position, describe = self.position, self.checkpoints and self.checkpoints.describe
        arrays, about = describe(self.training, position.history) if describe else ({}, {})
        mine, training = self.training.contents()
        arrays |= prefixed("training", mine)
        run = {**position.about(), "seconds": self.seconds}
        if self.best is not None and self.best.epoch:
            best_arrays, best = self.training.pack_snapshot(self.best.snapshot)
            arrays |= prefixed("best", best_arrays)
            run["best"] = {"epoch": self.best.epoch, "score": self.best.score, "snapshot": best}
        return arrays, {**about, "training": training, "run": run}

    def _go_on(self, arrays: Arrays, about: About) -> None:
        """Resume from a checkpoint."""
        run = about["run"]
        self.position = Position.of(run)
        self.training.resume(without_prefix("training", arrays), about["training"])
        if "best" in run:
            if self.best is None:
                raise ValueError("the checkpoint uses early stopping, but this training does not")
            best = run["best"]
            check_kinds(best, score=float)
            check_counts(best, "epoch")
            mine = without_prefix("best", arrays)
            self.best.snapshot = self.training.unpack_snapshot(mine, best["snapshot"])
            self.best.epoch, self.best.score = best["epoch"], best["score"]


def reason_to_stop(mistakes: int, nothing_to_do: bool, change: float | None, tol: float) -> str:
    """The reason to stop after an epoch with these results, or "".

    Parameters
    ----------
    mistakes : int
        The mistakes made in the epoch.
    nothing_to_do : bool
        Whether no example would change the weights.
    change : float or None
        How far the weights moved.
    tol : float
        The smallest distance that justifies another epoch.
    """
    if nothing_to_do:
        return "no mistakes" if mistakes == 0 else "small change"
    return "small change" if change is not None and change < tol else ""
