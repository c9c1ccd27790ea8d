"""Watching a fit: Ctrl-C between slices of work, and a progress line on terminals."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from widemargin.loops.jit import compile_seconds
from widemargin.markup.words import several
from widemargin.training.history import History
from widemargin.training.interrupts import Interrupts
from widemargin.training.run import Moment

#: Work shorter than this needs no progress line.
_QUIET_SECONDS = 0.5
#: The speed shown is averaged over this many seconds.
_RATE_SECONDS = 1.0
#: Minimum time between updates of the table, and maximum number of rows added in one update.
_ROW_SECONDS, _ROWS_AT_ONCE = 0.5, 3
_ROW = "{:>5}  {:>9}  {:>9}  {:>10}  {:>8}  {:>8}"
_HEADS = ("epoch", "mistakes", "updates", "loss", "held out", "seconds")


class Watcher:
    """Shows the progress of a fit, and returns True, to stop it, once Ctrl-C was pressed.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C was pressed.
    kept : bool
        Whether what was learned is safe, so that Ctrl-C need not wait. The caller sets it.
    """

    def __init__(self, visible: bool, epochs: int, table: bool = False) -> None:
        self.interrupted = self.kept = False
        self._visible, self._epochs, self._table = visible, epochs, table
        self._began, self._compiled_before = time.monotonic(), compile_seconds()
        self._last = (self._began, 0)
        self._bar: Any = None
        self._history, self._shown, self._last_row = History(), 0, 0.0
        self._stage = self._shown_stage = ""

    def __call__(self, moment: Moment) -> bool:
        """Record the progress so far; return True to stop."""
        if self._visible and time.monotonic() - self._began > _QUIET_SECONDS:
            self._show(moment)
        return self.interrupted

    def interrupt(self) -> None:
        """Record Ctrl-C; raise KeyboardInterrupt if it is the second, or if nothing can be lost."""
        again, self.interrupted = self.interrupted, True
        if again or self.kept:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt once Ctrl-C was pressed, where nothing is learned yet."""
        if self.interrupted:
            raise KeyboardInterrupt

    def _show(self, moment: Moment) -> None:
        if self._bar is None:
            self._start()
        if moment.history is not self._history:  # another stage
            self._show_rows(every=True)
            self._history, self._shown, self._stage = moment.history, 0, moment.stage
            self._last = (time.monotonic(), 0)
        self._show_rows()
        now, (before, had) = time.monotonic(), self._last
        rate = (moment.seen - had) / max(now - before, 1e-9) if had else 0.0
        if now - before > _RATE_SECONDS or not had:
            self._last = (now, moment.seen)
        scores = [e.held_out for e in moment.history if e.held_out is not None]
        self._bar.update(
            self._task,
            total=moment.epochs or self._epochs,
            stage=f"{moment.stage}: " if moment.stage else "",
            completed=moment.epoch - 1 + moment.part,
            epoch=moment.epoch,
            measured=_measured(moment),
            held_out=f"held out {scores[-1]:.4f}" if scores else "",
            rate=f"{rate:,.0f} rows/s" if rate else "",
        )

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.fields[stage]}epoch {task.fields[epoch]}/{task.total:.0f}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[measured]}"),
            TextColumn("{task.fields[held_out]}"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        nothing = {"stage": "", "epoch": 1, "measured": "", "held_out": "", "rate": ""}
        self._task = self._bar.add_task("", total=self._epochs, **nothing)
        self._bar.start()

    def _show_rows(self, every: bool = False) -> None:
        """Print rows of the history above the progress line; if epochs are short, only some."""
        history, now = self._history, time.monotonic()
        if not self._table or len(history) <= self._shown:
            return
        compiling = compile_seconds() - self._compiled_before
        if self._last_row == 0.0 and now - self._began - compiling < _QUIET_SECONDS:
            return  # the report will show all rows soon
        if not every and now - self._last_row < _ROW_SECONDS:
            return
        if self._last_row == 0.0:
            self._bar.console.print(_ROW.format(*_HEADS), highlight=False)
        self._last_row = now
        if self._stage != self._shown_stage:
            self._bar.console.print(self._stage, highlight=False)
            self._shown_stage = self._stage
        for row in history.epochs[max(self._shown, len(history) - _ROWS_AT_ONCE) :]:
            held_out = "" if row.held_out is None else f"{row.held_out:.4f}"
            cells = (row.epoch, row.mistakes, row.updates, f"{row.loss:.4g}", held_out)
            line = _ROW.format(*cells, f"{row.seconds:.2f}")
            self._bar.console.print(line, highlight=False)
        self._shown = len(history)

    def close(self) -> None:
        """Remove the progress line."""
        if self._bar is not None:
            self._show_rows(every=True)
            self._bar.stop()
            self._visible, self._bar = False, None


def _measured(moment: Moment) -> str:
    """What is measured while learning, in words."""
    figures = (
        None if moment.mistakes is None else several(moment.mistakes, "mistake"),
        None if moment.loss is None else f"loss {moment.loss:.4g}",
        None if moment.violation is None else f"violation {moment.violation:.4g}",
    )
    return " ".join(figure for figure in figures if figure is not None)


@contextmanager
def watched(progress: bool | None, epochs: int, table: bool = False) -> Iterator[Watcher]:
    """Watch a fit.

    Parameters
    ----------
    progress : bool or None
        Whether to show a progress line; None: only if standard error is a terminal.
    epochs : int
        Maximum number of epochs.
    table : bool
        Whether to also print a permanent row for every finished epoch.

    The first Ctrl-C is recorded, so that the loop can end cleanly; another one, a second later or
    more, interrupts at once. The caller checks `interrupted` afterwards. Outside the main thread,
    or if the program handles Ctrl-C itself, the handler is not changed.
    """
    visible = sys.stderr.isatty() if progress is None else bool(progress)
    watcher = Watcher(visible, epochs, table)
    before = signal.getsignal(signal.SIGINT)
    interrupts = before if isinstance(before, Interrupts) else Interrupts()
    ours = threading.current_thread() is threading.main_thread() and (
        before is interrupts or before is signal.default_int_handler
    )

    def note(number: int, frame: FrameType | None) -> None:
        if interrupts.is_new():
            watcher.interrupt()

    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield watcher
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
        watcher.close()
