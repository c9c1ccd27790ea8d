"""The driver: order x rule x keep. One loop over epochs serves every linear learner."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin.errors import DataError, NotSeparableWarning
from widemargin.history import Cycle, Epoch, History
from widemargin.loops.passes import Batch, Log, Tally, binary_pass, minibatch_pass, multiclass_pass
from widemargin.loops.steps import ERROR, MARGIN, REACH, SIGMOID, Rule
from widemargin.mistakes import NO_LOG, Part, log_buffer
from widemargin.order import Shuffle, orders
from widemargin.rows import Rows, frozen
from widemargin.scores import best_class, deployed_scores, votes_on
from widemargin.state import State
from widemargin.threads import run_all

#: A loop is given about this much work at a time, so that Ctrl-C and deadlines are heard.
_SLICE_SECONDS = 0.1
#: Values a loop surely reads in that time; the driver then finds out how many it really does.
_SLICE_VALUES = 10_000_000


@dataclass(frozen=True)
class Plan:
    """How to learn, apart from the data.

    Attributes
    ----------
    rule : Rule
        How far to step on one example.
    keep : {"last", "average", "vote"}
        What will be deployed, and so what is scored on held-out examples.
    epochs : int
        Passes over the examples at the most.
    shuffle : bool or str
        The order of an epoch, see `widemargin.order`.
    batch : int
        Examples that correct the same weights at once; 1 is the online perceptron, 0 means all.
    tol : float
        Stop when the weights move less than this in an epoch.
    patience : int
        Stop when the held-out score has not improved for so many epochs.
    max_seconds : float
        Stop when this much time has passed.
    threads : int
        Threads for problems that are independent.
    """

    rule: Rule
    keep: str = "average"
    epochs: int = 10
    shuffle: Shuffle = True
    batch: int = 1
    tol: float = 0.0
    patience: int = 5
    max_seconds: float = math.inf
    threads: int = 1


class HeldOut(NamedTuple):
    """Examples that are scored after every epoch and never learned from."""

    rows: Rows
    which: np.ndarray
    y: np.ndarray  # their class codes, one for each of `which`


class Moment(NamedTuple):
    """Where learning stands, as told to whoever watches it."""

    epoch: int
    done: float  # the part of this epoch that is done, 0 to 1
    mistakes: int  # in this epoch so far
    history: History  # the epochs before


#: Told every tenth of a second or so; learning stops when it answers True.
Watch = Callable[[Moment], bool]


def learn(
    rows: Rows,
    y: np.ndarray,
    state: State,
    plan: Plan,
    rng: np.random.Generator,
    *,
    which: np.ndarray | None = None,
    price: np.ndarray | None = None,
    held_out: HeldOut | None = None,
    first_row: int = 0,
    watch: Watch | None = None,
) -> History:
    """Learn from examples, changing `state` in place.

        for each epoch:
            for each example (or batch), in order:
                correct the weights as the rule says
            stop if there was nothing to correct, or nothing better came of it

    Parameters
    ----------
    rows : Rows
        The examples.
    y : array of int
        The class code of every row, 0 ... k - 1.
    state : State
        Where to go on from.
    plan : Plan
        How to learn.
    rng : numpy Generator
        Where chance comes from.
    which : array of uint64, optional
        The rows to learn from; all by default.
    price : array of float, optional
        What an error on each row costs; 1 by default.
    held_out : HeldOut, optional
        Scored after each epoch; then the best state is given back, not the last.
    first_row : int
        What the log calls the first row.
    watch : callable, optional
        Told where learning stands; stops it by answering True.

    Returns
    -------
    History
    """
    began = time.monotonic()
    rows.check_scale()
    state.lay_out(rows.is_sparse)
    which = rows.everything if which is None else which
    history, learned_from = History(), []
    turns = orders(which, plan.shuffle, rng)
    problems = _problems(rows, y, state, plan, price, len(which))
    referee = None if held_out is None else _Referee(held_out, state, plan)
    cycles = _CycleFinder(rows, state, plan, price) if _CycleFinder.can_find(plan) else None
    pace = Pace(rows, len(state.W))

    while len(history) < plan.epochs and not history.stopped:
        epoch, order = len(history) + 1, next(turns)
        before = state.last()
        mistakes, updates, loss, done, logs = 0, 0, 0.0, 0, []
        for piece in pace.slices(order):
            done += len(piece)
            last = done == len(order)
            for tally, log in run_all(lambda run: run(piece, last), problems, plan.threads):  # noqa: B023
                if tally.bad >= 0:
                    _explain_bad_score(rows, tally.bad)
                logs.append(log)
                mistakes += int(tally.mistakes)
                updates += int(tally.updates)
                loss += float(tally.loss)
            if watch is not None and watch(Moment(epoch, done / len(order), mistakes, history)):
                history.stopped = "interrupted"
            elif time.monotonic() - began > plan.max_seconds:
                history.stopped = "deadline"
            if history.stopped:
                break
        change = math.sqrt(np.sum(np.square(state.last() - before, dtype=np.float64)))
        if not math.isfinite(change):
            raise DataError(
                "the weights grew beyond what a float can hold; scale the features down"
            )
        if state.log is not None:
            learned_from.extend(logs)
        score = None if referee is None else referee.score(epoch, rows, logs)
        loss /= max(1, done * len(problems))
        seconds = time.monotonic() - began
        history.add(Epoch(epoch, mistakes, updates, loss, change, score, seconds))
        if cycles is not None and history.cycle is None:
            history.cycle = cycles.look(epoch, updates)
        history.stopped = history.stopped or _reason_to_stop(plan, history, referee)
        if history.stopped == "no mistakes" and plan.shuffle == "draw":
            # Who draws may have missed some: look at all of them, without learning.
            looked = _problems(rows, y, state.copy(), plan, price, len(which))
            if any(run(which, True)[0].updates for run in looked):
                history.stopped = "epochs" if epoch == plan.epochs else ""

    if referee is not None:
        history.best = referee.restore()
        learned_from = referee.best_logs
    if state.log is not None:
        state.log.append(Part.of(rows, learned_from, first_row))
    return history


def learn_stream(rows: Rows, y: np.ndarray, state: State, plan: Plan) -> Tally:
    """Learn from a few rows as they come, once, without the book-keeping of an epoch."""
    state.lay_out(rows.is_sparse)
    tallies, logs, first_row = [], [], state.seen
    for run in _problems(rows, y, state, plan, None, rows.n):
        tally, log = run(rows.everything, True)
        if tally.bad >= 0:
            _explain_bad_score(rows, tally.bad)
        tallies.append(tally)
        logs.append(log)
    if state.log is not None:
        state.log.append(Part.of(rows, logs, first_row))
    mistakes, updates, loss, logged, bad = map(sum, zip(*tallies, strict=True))
    return Tally(int(mistakes), int(updates), float(loss), logged, bad)


class Pace:
    """Cuts an epoch into pieces of about a tenth of a second; what is learned is the same."""

    def __init__(self, rows: Rows, classes: int) -> None:
        self.length = max(1, _SLICE_VALUES * rows.n // max(1, rows.stored_values * classes))

    def slices(self, order: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the order piece by piece, longer or shorter as the last one took."""
        start = 0
        while start < len(order):
            piece = frozen(order[start : start + self.length])
            start += len(piece)
            clock = time.monotonic()
            yield piece
            seconds = max(time.monotonic() - clock, 1e-9)
            if len(piece) == self.length:
                self.length = max(
                    1, int(self.length * min(2.0, max(0.1, _SLICE_SECONDS / seconds)))
                )


def _reason_to_stop(plan: Plan, history: History, referee: _Referee | None) -> str:
    """Why to stop after the last epoch, or nothing."""
    if history.epochs[-1].updates == 0:
        return "no mistakes"
    if (history.epochs[-1].change or 0.0) < plan.tol:
        return "small change"
    if referee is not None and len(history) - referee.best_epoch >= plan.patience:
        return "no improvement"
    return "epochs" if len(history) == plan.epochs else ""


def _explain_bad_score(rows: Rows, row: int) -> None:
    """Say why the score of a row is not a finite number."""
    rows.check_finite()
    raise DataError(
        f"row {row}: its score or norm is too large for a float, so nothing can be learned from it;"
        " scale the features down"
    )


def _problems(
    rows: Rows, y: np.ndarray, state: State, plan: Plan, price: np.ndarray | None, n: int
) -> list[Callable[[np.ndarray, bool], tuple[Tally, Log]]]:
    """The passes to run side by side: one, or one a class when each is a problem of its own.

    Each takes a piece of the order and whether it ends the epoch.
    """
    if plan.rule.form == REACH:
        rows = rows.without_duplicates()  # its step depends on |x|^2
    prices = frozen(np.empty(0) if price is None else np.ascontiguousarray(price, np.float64))
    size = n if plan.batch == 0 else min(plan.batch, n)
    if 2.0 * plan.rule.eta * plan.rule.l2 * size >= 1.0:
        raise ValueError(
            f"eta={plan.rule.eta:g} times l2={plan.rule.l2:g} times {size} examples in a batch must"
            " be less than 1/2, or weights change sign"
        )
    alone = len(state.W) > 1 and not state.joint

    def problem(c: int) -> Callable[[np.ndarray, bool], tuple[Tally, Log]]:
        """The pass over class c against the rest, or over all of them together."""
        mine = slice(c, c + 1) if alone else slice(None)
        W, U, clock = state.W[mine], state.U[mine], state.clock[c]
        codes = frozen(np.asarray((y == c) if alone else y, dtype=np.int64))
        changed = 2 if len(W) > 1 and plan.rule.form != SIGMOID else len(W)
        signs = frozen((2 * codes - 1).astype(np.int8)) if len(W) == 1 else None
        u = U[0] if len(U) else np.empty(0)
        batch = Batch(np.empty(size, np.uint64), np.empty((size, len(W))), np.zeros(1, np.int64))

        def run(order: np.ndarray, last: bool) -> tuple[Tally, Log]:
            room = (len(order) + size) * changed
            log = NO_LOG if state.log is None else log_buffer(room)
            start = (rows.stored, codes if signs is None or size > 1 else signs, prices, order)
            if size > 1:
                tally = minibatch_pass(*start, plan.rule, W, U, clock, log, batch, last)
            elif len(W) > 1:
                tally = multiclass_pass(*start, plan.rule, W, U, clock, log)
            else:
                tally = binary_pass(*start, plan.rule, W[0], u, clock, log)
            written = Log(*(column[: tally.logged] for column in log))
            if alone:
                written.label[:] = c
            return tally, written

        return run

    return [problem(c) for c in range(len(state.W) if alone else 1)]


class _Referee:
    """Scores after each epoch what would be deployed, and remembers the best."""

    def __init__(self, held_out: HeldOut, state: State, plan: Plan) -> None:
        self.rows, self.which, self.y = held_out
        self.state, self.plan = state, plan
        self.best_epoch, self.best_score, self.best = 0, -math.inf, state
        self.logs: list[Log] = []
        self.best_logs: list[Log] = []
        if plan.keep == "vote":
            self.votes = votes_on(state, self.rows, self.which, plan.threads)

    def score(self, epoch: int, rows: Rows, logs: list[Log]) -> float:
        """The accuracy on the held-out examples after an epoch with these corrections."""
        state, threads = self.state, self.plan.threads
        self.logs += logs
        if self.plan.keep == "vote":
            self.votes.update(Part.of(rows, logs), threads)
            found = self.votes.result(state.count)
        else:
            deployed = state.deployed(self.plan.keep)
            found = deployed_scores(*deployed, self.rows, self.which, threads)
        score = float(np.mean(best_class(found) == self.y))
        if score > self.best_score:
            self.best_epoch, self.best_score = epoch, score
            self.best, self.best_logs = state.copy(), list(self.logs)
        return score

    def restore(self) -> int:
        """Bring the state back to where it was best; returns that epoch."""
        vars(self.state).update(vars(self.best))
        return self.best_epoch


class _CycleFinder:
    """Notices, in a fixed order, that the weights are where they were after an earlier epoch."""

    def __init__(self, rows: Rows, state: State, plan: Plan, price: np.ndarray | None) -> None:
        self.rows, self.state, self.plan, self.price = rows, state, plan, price
        self.epochs = {self._fingerprint(): 0}
        self.largest, self.most_updates = float(np.max(np.abs(state.W), initial=0.0)), 0

    @staticmethod
    def can_find(plan: Plan) -> bool:
        """Whether the same weights at the end of an epoch mean the same epochs for ever."""
        fixed_order = plan.shuffle in (False, "once") or (
            plan.batch == 0 and plan.shuffle != "draw"
        )
        rule = plan.rule
        return (
            plan.epochs > 1
            and fixed_order
            and rule.form in (ERROR, MARGIN)
            and rule.power == 0.0
            and rule.l2 == 0.0
        )

    def _fingerprint(self) -> bytes:
        W = self.state.W + 0.0  # turns -0.0 into 0.0
        return hashlib.blake2b(np.ascontiguousarray(W).tobytes(), digest_size=16).digest()

    def look(self, epoch: int, updates: int) -> Cycle | None:
        """Look at the weights after an epoch."""
        self.largest = max(self.largest, float(np.max(np.abs(self.state.W), initial=0.0)))
        self.most_updates = max(self.most_updates, updates)
        first = self.epochs.setdefault(self._fingerprint(), epoch)
        if first == epoch or updates == 0:
            return None
        proof = self._was_exact()
        warnings.warn(
            f"the weights after epoch {epoch} are those after epoch {first}: "
            + (
                "the corrections between add up to zero, which proves that"
                f" {'the classes are' if self.state.joint else 'some class against the rest is'}"
                " not linearly separable; more epochs only repeat this cycle"
                if proof
                else "more epochs only repeat this cycle"
            ),
            NotSeparableWarning,
            stacklevel=5,
        )
        return Cycle(first, epoch, proof)

    def _was_exact(self) -> bool:
        """Whether every number on the way was a whole number that the weights hold exactly."""
        limit = 2.0**24 if self.state.W.dtype == np.float32 else 2.0**53
        steps = self.plan.rule.eta * (np.ones(1) if self.price is None else self.price)
        values = self.rows.stored.values
        reach = float(np.max(np.abs(steps), initial=0.0) * np.max(np.abs(values), initial=1.0))
        whole = (np.all(numbers == np.rint(numbers)) for numbers in (steps, values, self.state.W))
        return all(whole) and self.largest + self.most_updates * reach < limit
