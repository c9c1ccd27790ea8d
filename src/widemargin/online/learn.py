"""The driver: order x rule x keep. One loop over epochs serves every linear learner."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.loops.linear.passes import Log, Tally
from widemargin.online.cycles import CycleFinder, Past
from widemargin.online.early_stopping import Best, HeldOut, Referee
from widemargin.online.mistake_log import Part
from widemargin.online.orders import Shuffle, orders
from widemargin.online.passes import Pace, Problem, Window, explain_bad_score, problems_of
from widemargin.online.plan import Plan
from widemargin.online.state import State
from widemargin.threads import run_all
from widemargin.training.history import Epoch, History


@dataclass
class Course:
    """How far learning has come: with the state, all that is needed to go on as if never stopped.

    Attributes
    ----------
    history : History
        The epochs that are behind.
    epoch : int
        How many that are.
    begun : bool
        Whether the next epoch has begun.
    window, rows, done : int
        Windows of this epoch that are behind, the examples in them, and those of this window.
    examples, mistakes, updates, loss
        What happened in this epoch so far (in a stream, since the last row of the history).
    before : array or None
        The weights when the epoch began.
    chance : dict
        How the generator stood when the run, the epoch and the window began.
    logs : list of list of Log
        Of every epoch the corrections that are not yet in the log of the state.
    best : Best or None
        The best epoch so far, if examples are held out.
    past : Past or None
        What is needed to see weights come back.
    seconds : float
        The time spent before the last start.
    """

    history: History = field(default_factory=History)
    epoch: int = 0
    begun: bool = False
    window: int = 0
    rows: int = 0
    done: int = 0
    examples: int = 0
    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0
    before: np.ndarray | None = None
    chance: dict[str, Any] = field(default_factory=dict)
    logs: list[list[Log]] = field(default_factory=list)
    best: Best | None = None
    past: Past | None = None
    seconds: float = 0.0

    def count(self, examples: int, tallies: list[Tally]) -> None:
        """Take note of what a piece of an epoch brought."""
        self.done += examples
        self.examples += examples
        for tally in tallies:
            self.mistakes += int(tally.mistakes)
            self.updates += int(tally.updates)
            self.loss += float(tally.loss) / len(tallies)

    def row(self, change: float | None, held_out: float | None, seconds: float) -> Epoch:
        """What was counted, as a row of the history; counting begins anew."""
        epoch = self.epoch + self.begun
        loss = self.loss / max(1, self.examples)
        row = Epoch(
            epoch, self.mistakes, self.updates, loss, change, held_out, seconds, self.examples
        )
        self.examples = self.mistakes = self.updates = 0
        self.loss = 0.0
        return row


class Moment(NamedTuple):
    """Where learning stands, as told to whoever watches it."""

    epoch: int  # from 1
    part: float  # of the epoch that is done, 0 to 1; 0 if that is not known
    mistakes: int  # in this epoch so far
    loss: float  # its mean in this epoch so far
    history: History  # the epochs before
    seen: int = 0  # examples since the start
    seconds: float = 0.0
    course: Course | None = None
    state: State | None = None
    settled: bool = False  # no example waits for the rest of its batch: a good moment to save


#: Told every tenth of a second or so; learning stops when it answers True.
Watch = Callable[[Moment], bool]


class Examples(Protocol):
    """What is learned from, epoch by epoch, in windows that are in memory one after the other."""

    #: The window, if there is only one and it stays; its corrections are then logged at the end.
    whole: Window | None

    def epoch(self, course: Course, rng: np.random.Generator) -> Iterator[Window]:
        """Yield the windows of this epoch that are still to come.

        The generator is at the start of the run, the epoch or the window that the course says, or
        is brought there with `course.chance`.
        """


class InMemory:
    """Examples that are in memory all at once: one window, in the orders of `orders.py`."""

    def __init__(
        self,
        rows: Rows,
        y: np.ndarray,
        shuffle: Shuffle,
        which: np.ndarray | None = None,
        price: np.ndarray | None = None,
        first_row: int = 0,
    ) -> None:
        rows.check_scale()
        order = rows.everything if which is None else which
        window = Window(rows, y, price, order, first_row)
        self.whole: Window | None = window
        self._window = window
        self._shuffle = shuffle
        self._turns: Iterator[np.ndarray] | None = None

    def epoch(self, course: Course, rng: np.random.Generator) -> Iterator[Window]:
        """Yield the one window, in a new order."""
        if self._turns is None:
            if self._shuffle == "once":
                rng.bit_generator.state = course.chance["run"]
            self._turns = orders(self._window.order, self._shuffle, rng)
        yield self._window._replace(order=next(self._turns))


def learn(
    examples: Examples,
    state: State,
    plan: Plan,
    rng: np.random.Generator,
    *,
    held_out: HeldOut | None = None,
    course: Course | None = None,
    watch: Watch | None = None,
) -> History:
    """Learn from examples, changing `state` in place.

        for each epoch:
            for each example (or batch), in order:
                correct the weights as the rule says
            stop if there was nothing to correct, or nothing better came of it

    Parameters
    ----------
    examples : Examples
        What to learn from.
    state : State
        Where to go on from.
    plan : Plan
        How to learn.
    rng : numpy Generator
        Where chance comes from.
    held_out : HeldOut, optional
        Scored after each epoch; then the best state is given back, not the last.
    course : Course, optional
        How far an earlier run had come with the same examples and plan.
    watch : callable, optional
        Told where learning stands; stops it by answering True.

    Returns
    -------
    History
    """
    run = _Run(examples, state, plan, rng, held_out, course or Course(), watch)
    return run.finish()


def learn_stream(rows: Rows, y: np.ndarray, state: State, plan: Plan) -> Tally:
    """Learn from a few rows as they come, once, without the book-keeping of an epoch."""
    state.lay_out(rows.is_sparse)
    tallies, logs, first_row = [], [], state.seen
    window = Window(rows, y, None, rows.everything)
    for problem in problems_of(window, state, plan.rule, plan.batch):
        tally, log = problem.run(rows.everything, True)
        if tally.bad >= 0:
            explain_bad_score(rows, tally.bad)
        tallies.append(tally)
        logs.append(log)
    if state.log is not None:
        state.log.append(Part.of(rows, logs, first_row))
    mistakes, updates, loss, logged, bad = map(sum, zip(*tallies, strict=True))
    return Tally(int(mistakes), int(updates), float(loss), logged, bad)


class _Run:
    """One call of `learn`."""

    def __init__(
        self,
        examples: Examples,
        state: State,
        plan: Plan,
        rng: np.random.Generator,
        held_out: HeldOut | None,
        course: Course,
        watch: Watch | None,
    ) -> None:
        self.examples, self.state, self.plan, self.rng = examples, state, plan, rng
        self.course, self.watch = course, watch
        self.began = time.monotonic() - course.seconds
        self.pace = Pace()
        course.chance.setdefault("run", rng.bit_generator.state)
        self.referee = None
        if held_out is not None:
            self.referee = Referee(held_out, state, plan.keep, plan.threads)
            self.referee.best = course.best or self.referee.best
            if examples.whole is not None:
                for logs in course.logs[: course.epoch]:
                    self.referee.hear(Part.of(examples.whole.rows, logs))
        self.cycles = None
        if examples.whole is not None and CycleFinder.can_find(plan):
            whole = examples.whole
            self.cycles = CycleFinder(whole.rows, state, plan, whole.price)
            self.cycles.past = course.past = course.past or self.cycles.past

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def finish(self) -> History:
        """Run epoch after epoch until there is a reason to stop."""
        course, history = self.course, self.course.history
        while not history.stopped and course.epoch < self.plan.epochs:
            self._begin_epoch()
            for window in self.examples.epoch(course, self.rng):
                self._learn_from(window)
                if history.stopped:
                    break
                course.window += 1
                course.rows += window.rows.n
                course.done = 0
            self._end_epoch()
        return self._result()

    def _begin_epoch(self) -> None:
        course = self.course
        if course.begun:  # and was interrupted
            self.rng.bit_generator.state = course.chance["epoch"]
            return
        course.begun, course.window, course.rows, course.done = True, 0, 0, 0
        course.chance["epoch"] = self.rng.bit_generator.state
        course.logs.append([])
        course.before = None if self.plan.epochs == 1 and self.plan.every else self.state.last()

    def _learn_from(self, window: Window) -> None:
        course, plan, history = self.course, self.plan, self.course.history
        self.state.lay_out(window.rows.is_sparse)
        problems = problems_of(window, self.state, plan.rule, plan.batch)
        until_row = (lambda: plan.every - course.examples) if plan.every else None
        first = problems[0]
        for piece in self.pace.slices(
            window.order, window.rows, len(first.W), course.done, first.size, until_row
        ):
            ends = course.done + len(piece) == len(window.order)
            found = run_all(lambda problem: problem.run(piece, ends), problems, plan.threads)  # noqa: B023
            course.count(len(piece), [tally for tally, _ in found])
            for tally, log in found:
                if tally.bad >= 0:
                    explain_bad_score(window.rows, tally.bad)
                if self.state.log is not None:
                    course.logs[-1].append(log)
            if course.examples == plan.every:
                history.add(course.row(None, None, self.seconds))
            if self._hears_stop(window, problems):
                break
        if self.examples.whole is None and self.state.log is not None:
            part = Part.of(window.rows, course.logs[-1], window.first_row)
            course.logs[-1] = []
            self.state.log.append(part)
            if self.referee is not None:
                self.referee.hear(part)

    def _hears_stop(self, window: Window, problems: list[Problem]) -> bool:
        course = self.course
        moment = Moment(
            epoch=course.epoch + 1,
            part=course.done / len(window.order) if self.examples.whole is not None else 0.0,
            mistakes=course.mistakes,
            loss=course.loss / max(1, course.examples),
            history=course.history,
            seen=self.state.seen,
            seconds=self.seconds,
            course=course,
            state=self.state,
            settled=all(problem.settled for problem in problems),
        )
        if self.watch is not None and self.watch(moment):
            self.course.history.stopped = "interrupted"
        elif self.seconds > self.plan.max_seconds:
            self.course.history.stopped = "deadline"
        return bool(self.course.history.stopped)

    def _end_epoch(self) -> None:
        course, history, plan = self.course, self.course.history, self.plan
        last, change = self.state.W, None
        if course.before is not None and course.before.shape == last.shape:
            change = math.sqrt(np.sum(np.square(self.state.last() - course.before, dtype=float)))
        if not math.isfinite(change if change is not None else np.sum(last, dtype=np.float64)):
            raise DataError(
                "the weights grew beyond what a float can hold; scale the features down"
            )
        course.epoch, course.begun = course.epoch + 1, False
        score = None
        if self.referee is not None:
            if self.examples.whole is not None and plan.keep == "vote":
                self.referee.hear(Part.of(self.examples.whole.rows, course.logs[-1]))
            score = self.referee.score(course.epoch)
            course.best = self.referee.best
        updates = course.updates
        if course.examples or not plan.every:
            history.add(course.row(change, score, self.seconds))
        if self.cycles is not None and history.cycle is None:
            history.cycle = self.cycles.look(course.epoch, updates)
        history.stopped = history.stopped or self._reason_to_stop(updates, change)

    def _reason_to_stop(self, updates: int, change: float | None) -> str:
        """Why to stop after this epoch, or nothing."""
        course, plan = self.course, self.plan
        if plan.every:
            return "epochs" if course.epoch == plan.epochs else ""
        if updates == 0 and not self._missed_mistakes():
            return "no mistakes"
        if change is not None and change < plan.tol:
            return "small change"
        if course.best is not None and course.epoch - course.best.epoch >= plan.patience:
            return "no improvement"
        return "epochs" if course.epoch == plan.epochs else ""

    def _missed_mistakes(self) -> bool:
        """Who draws examples may have missed some: look at all of them, without learning."""
        window = self.examples.whole
        if window is None or self.plan.shuffle != "draw":
            return False
        problems = problems_of(window, self.state.copy(), self.plan.rule, self.plan.batch)
        return any(problem.run(window.order, True)[0].updates for problem in problems)

    def _result(self) -> History:
        course, history = self.course, self.course.history
        logs = course.logs
        if self.referee is not None:
            history.best = self.referee.restore()
            logs = logs[: history.best]
        whole = self.examples.whole
        if whole is not None and self.state.log is not None:
            flat = [log for epoch in logs for log in epoch]
            self.state.log.append(Part.of(whole.rows, flat, whole.first_row))
        return history
