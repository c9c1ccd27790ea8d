"""Linear learning: order x rule x keep, run by the epoch driver."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Generator
from typing import Any

import numpy as np

from widemargin.certificates.theorem import WEIGHTED
from widemargin.data.rows import Rows
from widemargin.errors import DataError, NotSeparableWarning
from widemargin.loops.linear.passes import Log, Tally
from widemargin.loops.steps import ERROR, MARGIN
from widemargin.modelfile.checks import check_counts, check_kinds, check_lengths, check_places
from widemargin.modelfile.packing import pack_value
from widemargin.online.examples import Examples, Place
from widemargin.online.held_out import HeldOut, HeldOutScore
from widemargin.online.mistake_log import NO_LOG, Part, read_log
from widemargin.online.orders import read_states
from widemargin.online.passes import (
    Pace,
    Pass,
    ReadyRows,
    Window,
    explain_bad_score,
    passes_over,
)
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.threads import run_all
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.cycles import CycleFinder
from widemargin.training.history import Cycle, Epoch, History
from widemargin.training.run import Counts, Run, Training, Watch, reason_to_stop


def learn(
    examples: Examples,
    state: State,
    settings: Settings,
    rng: np.random.Generator,
    *,
    held_out: HeldOut | None = None,
    every: int = 0,
    watch: Watch | None = None,
    checkpoints: Checkpoints | None = None,
) -> History:
    """Train on examples, changing `state` in place.

    Parameters
    ----------
    examples : Examples
        The training examples.
    state : State
        The state to start from.
    settings : Settings
        How to learn.
    rng : numpy Generator
        Random generator.
    held_out : HeldOut, optional
        Examples to score after each epoch; the best state is then returned instead of the last.
    every, watch, checkpoints
        See `Run`.
    """
    training = LinearTraining(examples, state, settings, rng, held_out=held_out, every=every)
    run = Run(
        training,
        settings.stops,
        held_out=held_out is not None,
        every=every,
        watch=watch,
        checkpoints=checkpoints,
    )
    history = run.finish()
    history.rows = training.rows
    history.depart(WEIGHTED if training.weighted else "")
    return history


def learn_once(window: Window, state: State, settings: Settings) -> list[Tally]:
    """Learn once from a few rows, without the driver; returns the counts of each pass."""
    settings = settings.resolved(state)
    state.lay_out(window.rows.is_sparse)
    ready = window._replace(rows=ReadyRows().rows(window.rows, state, settings.step))
    tallies, logs = [], []
    for one in passes_over(ready, state, settings.step, settings.batch_size):
        tally, log = one.run(window.order, True)
        if tally.bad >= 0:
            explain_bad_score(window.rows, tally.bad)
        tallies.append(tally)
        logs.append(log)
    if state.log is not None:
        state.log.append(Part.of(window.rows, logs, window.first_row))
    return tallies


def learn_few(window: Window, state: State, settings: Settings) -> History:
    """Run one epoch over a few rows, without the driver: the same history as with `learn`."""
    began, before = time.monotonic(), state.last()
    counts = Counts(len(window.order))
    tallies = learn_once(window, state, settings)
    for tally in tallies:
        counts.add(0, int(tally.mistakes), int(tally.updates), float(tally.loss) / len(tallies))
    change = distance_moved(before, state)
    row = Epoch(
        1,
        counts.mistakes,
        counts.updates,
        counts.mean_loss,
        change,
        None,
        time.monotonic() - began,
        counts.examples,
    )
    nothing_to_do = counts.updates == 0
    stopped = reason_to_stop(counts.mistakes, nothing_to_do, change, settings.tol)
    no_bound = WEIGHTED if window.is_weighted else ""
    end = window.first_row + window.rows.n
    return History([row], stopped or "epochs", no_bound=no_bound, rows=end)


def distance_moved(before: np.ndarray | None, state: State) -> float | None:
    """How far the weights have moved; an error if they are not finite."""
    change = None if before is None else state.distance_from(before)
    known = change if change is not None else np.sum(state.W, dtype=np.float64)
    if not math.isfinite(known):
        raise DataError("the weights are too large for a float; scale the features down")
    return change


class LinearTraining(Training):
    """A linear learner in training.

    Parameters
    ----------
    examples, state, settings, rng
        The training examples, the state to start from, how to learn, and the random generator.
    held_out : HeldOut, optional
        Examples to score after each epoch.
    every : int
        In a stream that is read once, pieces end after this many examples; 0 means anywhere.

    Attributes
    ----------
    place : Place
        How far the epoch has come.
    before : array or None
        The weights at the start of the epoch.
    logs : list of list of Log
        For every epoch, the corrections that are not yet in the log of the state.
    weighted : bool
        Whether some examples have other weights than the rest.
    rows : int
        The number of the row after the last one.
    """

    def __init__(
        self,
        examples: Examples,
        state: State,
        settings: Settings,
        rng: np.random.Generator,
        *,
        held_out: HeldOut | None = None,
        every: int = 0,
    ) -> None:
        settings = settings.resolved(state)
        self.examples, self.state, self.settings, self.rng = examples, state, settings, rng
        self.every = every
        self.place = Place(generator_states={"run": rng.bit_generator.state})
        self.before: np.ndarray | None = None
        self.logs: list[list[Log]] = []
        self.weighted, self.rows = False, 0
        self._pace = Pace()
        self._ready = ReadyRows()
        if examples.whole is not None:  # now, as its weights are compared with later ones
            self._prepare(examples.whole, state)
        self._counted = 0  # epochs whose corrections have voted on the held-out examples
        self.held_out = None
        if held_out is not None:
            self.held_out = HeldOutScore(held_out, state, settings.keep, settings.threads)
        self.cycles: CycleFinder | None = None
        if examples.whole is not None and _repeats(settings):
            self.cycles = CycleFinder.start(state.W)

    # An epoch

    def begin_epoch(self, epoch: int, resumed: bool) -> None:
        """Record the weights and the state of the random generator."""
        if resumed:
            self.rng.bit_generator.state = self.place.generator_states["epoch"]
            return
        self.place.begin_epoch()
        self.place.generator_states["epoch"] = self.rng.bit_generator.state
        self.logs.append([])
        self.before = None  # freed before another copy is made: they may be large
        if self.settings.epochs > 1 or not self.every:
            self.before = self.state.last()

    def learn(self, counts: Counts) -> Generator[float, None, None]:
        """Learn from one window after another, each in pieces."""
        seen = self.place.rows
        for window in self.examples.epoch(self.place, self.rng):
            counts.examples += self.place.rows - seen  # while there was only one class
            yield from self._learn_from(window, counts)
            self.place.leave(window.rows.n)
            seen = self.place.rows

    def _learn_from(self, window: Window, counts: Counts) -> Generator[float, None, None]:
        place, settings = self.place, self.settings
        self.weighted = self.weighted or window.is_weighted
        self.rows = max(self.rows, window.first_row + window.rows.n)
        prepared = self._prepare(window, self.state)
        passes = passes_over(prepared, self.state, settings.step, settings.batch_size)
        until_row = (lambda: max(1, self.every - counts.examples)) if self.every else None
        first = passes[0]
        pieces = self._pace.slices(
            window.order, window.rows, len(first.W), place.done, first.size, until_row
        )
        try:
            for piece in pieces:
                ends = place.done + len(piece) == len(window.order)
                self._run(passes, piece, ends, window.rows, counts)
                place.done += len(piece)
                self.settled = all(one.settled for one in passes)
                whole = self.examples.whole is not None
                yield place.done / len(window.order) if whole else 0.0
        finally:
            if self.examples.whole is None and self.state.log is not None:
                self._log(Part.of(window.rows, self.logs[-1], window.first_row))
                self.logs[-1] = []

    def _prepare(self, window: Window, state: State) -> Window:
        """A window in the form that the passes need; the state makes room for its columns."""
        state.lay_out(window.rows.is_sparse)
        return window._replace(rows=self._ready.rows(window.rows, state, self.settings.step))

    def _run(
        self, passes: list[Pass], piece: np.ndarray, ends: bool, rows: Rows, counts: Counts
    ) -> None:
        """Learn from a piece of a window; independent classes learn in parallel."""
        found = run_all(lambda one: one.run(piece, ends), passes, self.settings.threads)
        counts.examples += len(piece)
        for tally, log in found:
            counts.add(0, int(tally.mistakes), int(tally.updates), float(tally.loss) / len(passes))
            if tally.bad >= 0:
                explain_bad_score(rows, tally.bad)
            if self.state.log is not None:
                self.logs[-1].append(log)

    def _log(self, part: Part) -> None:
        """Add corrections to the log of the state; they also vote on the held-out examples."""
        assert self.state.log is not None
        self.state.log.append(part)
        if self.held_out is not None:
            self.held_out.count_votes(part)

    def end_epoch(self) -> float | None:
        """Return how far the weights moved; raise an error if they are not finite."""
        return distance_moved(self.before, self.state)

    def missed_mistakes(self) -> bool:
        """Check all examples, without learning, for mistakes that random draws missed."""
        window, settings = self.examples.whole, self.settings
        if window is None or settings.shuffle != "draw":
            return False
        state = self.state.copy()
        prepared = self._prepare(window, state)
        passes = passes_over(prepared, state, settings.step, settings.batch_size)
        return any(one.run(window.order, True)[0].updates for one in passes)

    def find_cycle(self, epoch: int, updates: int) -> Cycle | None:
        """Find out whether earlier weights have recurred, and what that proves."""
        if self.cycles is None:
            return None
        first = self.cycles.look(self.state.W, epoch, updates)
        if first is None:
            return None
        proof = self._was_exact(self.cycles)
        message = "more epochs only repeat this cycle"
        if proof:
            whose = "the classes are" if self.state.joint else "some class against the rest is"
            message = (
                f"the corrections in between add up to zero, which proves that {whose} not linearly"
                f" separable; {message}"
            )
        warnings.warn(
            f"the weights after epoch {epoch} are the same as after epoch {first}: {message}",
            NotSeparableWarning,
            stacklevel=5,
        )
        return Cycle(first, epoch, proof)

    def _was_exact(self, cycles: CycleFinder) -> bool:
        """Whether every number in the run was an integer that the weights represent exactly."""
        window = self.examples.whole
        assert window is not None
        limit = 2.0**24 if self.state.W.dtype == np.float32 else 2.0**53
        price = np.ones(1) if window.price is None else window.price
        steps, values = self.settings.step.eta * price, window.rows.stored.values
        bias = abs(window.rows.bias)
        largest = np.max(np.abs(values), initial=max(1.0, bias))
        reach = float(np.max(np.abs(steps), initial=0.0) * largest)
        numbers = (steps, values, np.array(bias), self.state.W)
        whole = (np.all(each == np.rint(each)) for each in numbers)
        return all(whole) and cycles.largest + cycles.most_updates * reach < limit

    # Held-out examples

    def score(self) -> float:
        """Accuracy on the held-out examples of the hypothesis that would be deployed now."""
        assert self.held_out is not None
        whole = self.examples.whole
        if whole is not None and self.settings.keep == "vote":
            for logs in self.logs[self._counted :]:
                self.held_out.count_votes(Part.of(whole.rows, logs))
            self._counted = len(self.logs)
        return self.held_out.accuracy()

    def snapshot(self) -> tuple[State, int]:
        """The state, and how many epochs have been logged."""
        return self.state.copy(), len(self.logs)

    def restore(self, snapshot: tuple[State, int]) -> None:
        """Restore the state of a snapshot."""
        state, epochs = snapshot
        self.state.become(state)
        del self.logs[epochs:]

    def finish(self) -> None:
        """Put the corrections of all epochs into the log of the state."""
        whole = self.examples.whole
        if whole is not None and self.state.log is not None:
            flat = [log for epoch in self.logs for log in epoch]
            self.state.log.append(Part.of(whole.rows, flat, whole.first_row))

    # Checkpoints. The state itself is in the model that is stored with them.

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The place, the corrections of this run, and the data needed to find a cycle."""
        place = self.place
        about: dict[str, Any] = {
            "place": [place.window, place.rows, place.done],
            "generators": pack_value(place.generator_states),
            "logs": [[len(log.example) for log in epoch] for epoch in self.logs],
            "cycles": None if self.cycles is None else self.cycles.about(),
            "weighted": self.weighted,
            "rows": self.rows,
        }
        arrays = {} if self.before is None else {"before": self.before}
        flat = [log for epoch in self.logs for log in epoch]
        if flat:
            for name, columns in zip(Log._fields, zip(*flat, strict=True), strict=True):
                arrays[f"log.{name}"] = np.concatenate(columns)
        return arrays, about

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        self.state.check_keep(self.settings.keep)
        whole = self.examples.whole
        check_kinds(about, weighted=bool)
        check_counts(about, "rows")
        place = dict(zip(("window", "rows", "done"), about["place"], strict=True))
        check_counts(place, *place)
        others = () if whole is not None else ("window",)
        states = read_states(about["generators"], self.rng, *others)
        self.place = Place(**place, generator_states=states)
        self.before = arrays.get("before")
        self.weighted, self.rows = about["weighted"], about["rows"]
        if self.before is not None and (self.before.ndim != 2 or not self.before.size):
            raise ValueError(f"weights have the shape {self.before.shape}")
        # The entries of a stream refer to a window that is read again, and are checked against it
        # then.
        most = np.iinfo(np.int64).max if whole is None else whole.rows.n
        log = read_log(arrays, most) if any(about["logs"]) else NO_LOG
        check_places("log.label", log.label, len(self.state.W))
        lengths = [length for epoch in about["logs"] for length in epoch]
        check_lengths({"logs": lengths}, "logs", len(log.example))
        self.logs, start = [], 0
        for lengths in about["logs"]:
            self.logs.append([])
            for length in lengths:
                piece = slice(start, start + length)
                self.logs[-1].append(Log(*(column[piece] for column in log)))
                start += length
        if about["cycles"] is not None:
            self.cycles = CycleFinder.of(about["cycles"])

    def pack_snapshot(
        self, snapshot: tuple[State, int]
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """A snapshot as arrays and JSON."""
        state, epochs = snapshot
        about = {"epochs": epochs, "joint": state.joint, "logged": state.log is not None}
        return state.arrays(), about

    def unpack_snapshot(
        self, arrays: dict[str, np.ndarray], about: dict[str, Any]
    ) -> tuple[State, int]:
        """Undo `pack_snapshot`."""
        assert self.held_out is not None
        bias = self.held_out.held_out.rows.bias
        check_kinds(about, joint=bool, logged=bool)
        check_counts(about, "epochs")
        state = State.of(arrays, bias, about["joint"], about["logged"])
        state.check_keep(self.settings.keep)
        if len(state.W) > len(self.state.W) or state.width > self.state.width:
            raise ValueError(f"the best weights have the shape {state.W.shape}")
        return state, about["epochs"]


def _repeats(settings: Settings) -> bool:
    """Whether the same weights at the end of an epoch imply that all later epochs repeat."""
    fixed_order = settings.shuffle in (False, "once") or (
        settings.batch_size == 0 and settings.shuffle != "draw"
    )
    rule = settings.step
    return (
        settings.epochs > 1
        and fixed_order
        and rule.form in (ERROR, MARGIN)
        and rule.power == 0.0
        and rule.l2 == 0.0
    )
