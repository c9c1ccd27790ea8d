"""Passes over examples, which can be run piece by piece."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.loops.linear.passes import (
    Batch,
    Log,
    Tally,
    binary_pass,
    minibatch_pass,
    multiclass_pass,
)
from widemargin.loops.steps import REACH, SIGMOID, Rule
from widemargin.online.mistake_log import NO_LOG, log_buffer
from widemargin.online.state import State

#: A loop runs for about this long at a time, so that Ctrl-C and deadlines are noticed.
_SLICE_SECONDS = 0.1
#: A safe first guess of how many values a loop reads in that time; the driver then measures it.
_SLICE_VALUES = 10_000_000


class Window(NamedTuple):
    """Examples that are in memory together, and the order in which to learn from them."""

    rows: Rows
    y: np.ndarray  # the class code of every row, 0 ... k - 1
    price: np.ndarray | None  # the cost of an error on each row; None: 1
    order: np.ndarray  # the rows to learn from
    first_row: int = 0  # the number of the first row in the log

    @property
    def is_weighted(self) -> bool:
        """Whether an error on some example costs more or less than 1."""
        return are_weighted(self.price, self.order)


def are_weighted(price: np.ndarray | None, which: np.ndarray) -> bool:
    """Whether an error on some of these examples costs more or less than 1."""
    return price is not None and bool(np.any(price[which] != 1.0))


class Pass:
    """One pass to run: over all classes together, or over one of them against the rest."""

    def __init__(self, window: Window, state: State, rule: Rule, size: int, c: int) -> None:
        alone = len(state.W) > 1 and not state.joint
        mine = slice(c, c + 1) if alone else slice(None)
        self.W, self.U, self.clock = state.W[mine], state.U[mine], state.clock[c]
        self.rule, self.size, self.logged = rule, size, state.log is not None
        self.label = c if alone else None
        self.changed = 2 if len(self.W) > 1 and rule.form != SIGMOID else len(self.W)
        y = (window.y == c) if alone else window.y
        if len(self.W) == 1 and size == 1:
            signs = y.astype(np.int8)  # small, and multiplied by in the binary loop
            signs += signs
            signs -= 1
            y = frozen(signs)
        else:
            y = frozen(np.asarray(y, dtype=np.int64))
        price = np.empty(0) if window.price is None else window.price
        price = frozen(np.ascontiguousarray(price, np.float64))
        self.examples = (window.rows.stored, y, price)
        self.batch = Batch(
            np.empty(size, np.uint64), np.empty((size, len(self.W))), np.zeros(1, np.int64)
        )

    @property
    def settled(self) -> bool:
        """Whether no batch is unfinished."""
        return self.batch.filled[0] == 0

    def run(self, order: np.ndarray, last: bool) -> tuple[Tally, Log]:
        """Learn from a piece of the order; the last piece also completes an unfinished batch."""
        log = NO_LOG if not self.logged else log_buffer((len(order) + self.size) * self.changed)
        start = (*self.examples, order, self.rule)
        if self.size > 1:
            tally = minibatch_pass(*start, self.W, self.U, self.clock, log, self.batch, last)
        elif len(self.W) > 1:
            tally = multiclass_pass(*start, self.W, self.U, self.clock, log)
        else:
            u = self.U[0] if len(self.U) else np.empty(0)
            tally = binary_pass(*start, self.W[0], u, self.clock, log)
        written = Log(*(column[: tally.logged] for column in log))
        if self.label is not None:
            written.label[:] = self.label
        return tally, written


class ReadyRows:
    """Prepares rows for the passes, and caches the last ones: most are used in many epochs."""

    def __init__(self) -> None:
        self._before: tuple[Any, ...] = ()
        self._ready: Rows

    def rows(self, rows: Rows, state: State, rule: Rule) -> Rows:
        """Return rows in the form that this rule's passes read; the state makes room for them."""
        if not (self._before and self._before[0] is rows and self._before[1] is state.columns):
            ready = rows
            if rule.form == REACH:
                ready = rows.without_duplicates()  # its step depends on |x|^2
            self._ready = state.prepare_rows(ready)
            self._before = (rows, state.columns)
        return self._ready


def passes_over(window: Window, state: State, rule: Rule, batch: int) -> list[Pass]:
    """The passes to run in parallel: one, or one per class if each is a separate problem.

    Parameters
    ----------
    window, state
        The examples to learn from, whose rows are ready (see `ReadyRows`), and the state to
        train.
    rule : Rule
        How far to step on one example.
    batch : int
        Number of examples per update; 0 means all.
    """
    n = len(window.order)
    size = max(1, n if batch == 0 else min(batch, n))
    if 2.0 * rule.eta * rule.l2 * size >= 1.0:
        raise ValueError(
            f"eta={rule.eta:g} times l2={rule.l2:g} times {size} examples in a batch must"
            " be less than 1/2, or weights change sign"
        )
    alone = len(state.W) > 1 and not state.joint
    return [Pass(window, state, rule, size, c) for c in range(len(state.W) if alone else 1)]


class Pace:
    """Cuts an epoch into pieces of about a tenth of a second, without effect on the result."""

    def __init__(self) -> None:
        self.values = _SLICE_VALUES

    def slices(
        self,
        order: np.ndarray,
        rows: Rows,
        classes: int,
        begin: int = 0,
        batch: int = 1,
        stop: Callable[[], int] | None = None,
    ) -> Iterator[np.ndarray]:
        """Yield the order in pieces whose lengths adapt to the time of the previous piece.

        Pieces end where batches do, and after at most `stop()` examples.
        """
        row = max(1, rows.stored_values * classes // max(1, rows.n))
        while begin < len(order):
            length = max(1, self.values // row)
            whole = length - length % batch if length > batch else length
            piece = whole if stop is None else min(whole, stop())
            clock = time.monotonic()
            yield frozen(order[begin : begin + piece])
            begin += piece
            seconds = max(time.monotonic() - clock, 1e-9)
            if piece == whole and begin <= len(order):
                self.values = max(
                    1, int(self.values * min(2.0, max(0.1, _SLICE_SECONDS / seconds)))
                )


def explain_bad_score(rows: Rows, row: int) -> None:
    """Raise an error that says why the score of a row is not finite."""
    rows.check_finite()
    raise DataError(
        f"row {row}: its score or norm is too large for a float, so nothing can be learned from it;"
        " scale the features down"
    )
