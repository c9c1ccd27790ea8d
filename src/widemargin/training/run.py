"""The one epoch driver: `Run` runs everything that learns from mistakes.

What it drives is a `Training`: a linear learner, a kernel perceptron, a structured perceptron, a
tagger, a parser. A training knows how to learn from a piece of an epoch, and how to remember and
score what it has learned. Everything else is written here, once: when to stop, early stopping, the
history, progress, Ctrl-C, deadlines, checkpoints and how to go on from one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from widemargin.training.checkpoints import Checkpoints, prefixed, without_prefix
from widemargin.training.early_stopping import EarlyStopping
from widemargin.training.history import Cycle, Epoch, History


@dataclass(frozen=True)
class Stops:
    """When to stop learning.

    Attributes
    ----------
    epochs : float
        After this many passes over the examples; a fraction looks at a part of them.
    patience : int
        When the held-out score has not improved for this many epochs.
    tol : float
        When the weights move less than this in an epoch.
    max_seconds : float
        When this much time has passed.
    """

    epochs: float
    patience: int = 5
    tol: float = 0.0
    max_seconds: float = math.inf


@dataclass
class Counts:
    """What happened in an epoch so far (in a stream, since the last row of the history)."""

    examples: int = 0
    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0  # summed over the examples

    def add(self, examples: int, mistakes: int, updates: int, loss: float) -> None:
        """Count what a piece of an epoch brought."""
        self.examples += examples
        self.mistakes += mistakes
        self.updates += updates
        self.loss += loss

    def reset(self) -> None:
        """Count anew."""
        self.examples = self.mistakes = self.updates = 0
        self.loss = 0.0

    @property
    def mean_loss(self) -> float:
        """The loss per example."""
        return self.loss / max(1, self.examples)


class Moment(NamedTuple):
    """Where learning stands, as told to whoever watches it."""

    epoch: int  # from 1
    part: float  # of the epoch that is done, 0 to 1; 0 if that is not known
    mistakes: int  # in this epoch so far
    loss: float  # its mean in this epoch so far
    history: History  # the epochs before
    seen: int = 0  # examples since the start
    seconds: float = 0.0
    epochs: float = 0.0  # how many there will be at the most; 0 if that is not known
    stage: str = ""  # of a training that has several


#: Told every tenth of a second or so; learning stops when it answers True.
Watch = Callable[[Moment], bool]

Arrays = dict[str, np.ndarray]
About = dict[str, Any]


class Training:
    """Something that learns, as the driver sees it. Subclasses fill in the verbs they need."""

    #: Whether no example waits for the rest of its batch, so that a checkpoint may be written.
    settled: bool = True

    def begin_epoch(self, epoch: int, resumed: bool) -> None:
        """Make ready for an epoch, counted from 1, or for the rest of one that was interrupted."""

    def learn(self, counts: Counts) -> Generator[float, None, None]:
        """Learn from the pieces of this epoch that are still to come.

        After each piece, of about a tenth of a second, it adds to `counts` what happened and
        yields the part of the epoch that is done. The driver may close the generator early.
        """
        raise NotImplementedError

    def end_epoch(self) -> float | None:
        """How far the weights moved in this epoch, if that is measured."""
        return None

    def missed_mistakes(self) -> bool:
        """Whether an epoch without corrections may still have missed a mistake."""
        return False

    def find_cycle(self, epoch: int, updates: int) -> Cycle | None:
        """Whether the weights are where they were after an earlier epoch."""
        return None

    def score(self) -> float:
        """The held-out score of what would be deployed now."""
        raise NotImplementedError

    def snapshot(self) -> Any:
        """What is needed to come back to this moment."""
        raise NotImplementedError

    def restore(self, snapshot: Any) -> None:
        """Forget what was learned since a snapshot."""
        raise NotImplementedError

    def finish(self) -> None:
        """Put what was learned in order, after the last epoch."""

    def contents(self) -> tuple[Arrays, About]:
        """All that must go into a checkpoint to go on to the bit, as arrays and JSON."""
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
        The epochs that are behind.
    epoch : int
        How many of them there are.
    begun : bool
        Whether the next epoch has begun.
    counts : Counts
        What happened in it so far.
    before : int
        Examples that were looked at before those in `counts`.
    seconds : float
        The time spent before the last start.
    """

    history: History = field(default_factory=History)
    epoch: int = 0
    begun: bool = False
    counts: Counts = field(default_factory=Counts)
    before: int = 0
    seconds: float = 0.0

    @property
    def seen(self) -> int:
        """Examples that were looked at since the start."""
        return self.before + self.counts.examples

    def row(self, change: float | None, held_out: float | None, seconds: float) -> Epoch:
        """What was counted, as a row of the history; counting begins anew."""
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
        """The position as JSON can hold it."""
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
            stop if there was nothing to correct, or nothing better came of it

    Parameters
    ----------
    training : Training
        What learns.
    stops : Stops
        When to stop.
    held_out : bool
        Whether to score the training after each epoch and to give back the best, not the last.
    every : int
        In a stream that is read once: add a row to the history after this many examples. 0: after
        each epoch.
    stage : str
        What this run is called, if a training has several stages.
    watch : callable, optional
        Told where learning stands; stops it by answering True.
    checkpoints : Checkpoints, optional
        Where to save the training now and then, and to go on from if something was saved.
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
            self._go_on(*checkpoints.saved)
        self.began = time.monotonic() - self.position.seconds

    @property
    def seconds(self) -> float:
        """Time spent so far, including before an interruption."""
        return time.monotonic() - self.began

    def finish(self) -> History:
        """Learn, and say what happened."""
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
            if self.every and position.counts.examples == self.every:
                history.add(position.row(None, None, self.seconds))
            history.stopped = self._reason_to_break_off(part)
            if history.stopped:
                break
        pieces.close()

    def _reason_to_break_off(self, part: float) -> str:
        """Why to stop within an epoch, or nothing; a good moment for a checkpoint, too."""
        position, seconds = self.position, self.seconds
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
            seconds=seconds,
            epochs=self.stops.epochs,
            stage=self.stage,
        )
        if self.watch is not None and self.watch(moment):
            return "interrupted"
        return "deadline" if seconds > self.stops.max_seconds else ""

    def _end_epoch(self) -> None:
        position, history, training = self.position, self.position.history, self.training
        change = training.end_epoch()
        position.epoch, position.begun = position.epoch + 1, False
        score = None if self.best is None else self.best.look(position.epoch)
        made = position.counts.mistakes, position.counts.updates
        if position.counts.examples or not self.every:
            history.add(position.row(change, score, self.seconds))
        if history.cycle is None:
            history.cycle = training.find_cycle(position.epoch, made[1])
        history.stopped = history.stopped or self._reason_to_stop(*made, change)

    def _reason_to_stop(self, mistakes: int, updates: int, change: float | None) -> str:
        """Why to stop after this epoch, or nothing."""
        epoch, stops = self.position.epoch, self.stops
        if not self.every:
            if updates == 0 and not self.training.missed_mistakes():
                return "no mistakes" if mistakes == 0 else "small change"
            if change is not None and change < stops.tol:
                return "small change"
            if self.best is not None and self.best.is_over(epoch):
                return "no improvement"
        return "epochs" if epoch >= stops.epochs else ""

    def _contents(self) -> tuple[Arrays, About]:
        """All that is needed to go on from here."""
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
        """Go on from a checkpoint."""
        run = about["run"]
        self.position = Position.of(run)
        self.training.resume(without_prefix("training", arrays), about["training"])
        if "best" in run:
            assert self.best is not None
            best = run["best"]
            mine = without_prefix("best", arrays)
            self.best.snapshot = self.training.unpack_snapshot(mine, best["snapshot"])
            self.best.epoch, self.best.score = best["epoch"], best["score"]
