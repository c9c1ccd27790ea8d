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

from widemargin.learn import Moment

#: Work shorter than this needs no progress line.
_QUIET_SECONDS = 0.5


class Watcher:
    """Answers True, to stop learning, once Ctrl-C was pressed; shows how far learning is."""

    def __init__(self, visible: bool, epochs: int) -> None:
        self.interrupted = False
        self._visible, self._epochs = visible, epochs
        self._began = time.monotonic()
        self._bar: Any = None

    def __call__(self, moment: Moment) -> bool:
        """Take note of where learning stands; True stops it."""
        if self._visible and time.monotonic() - self._began > _QUIET_SECONDS:
            self._show(moment)
        return self.interrupted

    def _show(self, moment: Moment) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("epoch {task.fields[epoch]}/{task.total:.0f}"),
                BarColumn(),
                TextColumn("{task.fields[mistakes]} mistakes"),
                TextColumn("{task.fields[held_out]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(
                "", total=self._epochs, epoch=1, mistakes=0, held_out=""
            )
            self._bar.start()
        course = moment.course
        scores = [e.held_out for e in course.history if e.held_out is not None]
        self._bar.update(
            self._task,
            completed=course.epoch + course.done / max(1, moment.length),
            epoch=course.epoch + 1,
            mistakes=course.mistakes,
            held_out=f"held out {scores[-1]:.4f}" if scores else "",
        )

    def close(self) -> None:
        """Take the progress line away."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def watched(progress: bool | None, epochs: int) -> Iterator[Watcher]:
    """Watch a fit.

    Parameters
    ----------
    progress : bool or None
        Show a progress line; None: if standard error is a terminal.
    epochs : int
        How many epochs there will be at the most.

    Ctrl-C is taken note of, so that the loop can end in good order; a second one ends at once.
    The caller looks at `interrupted` afterwards. Elsewhere than in the main thread, or where the
    program handles Ctrl-C itself, nothing is changed.
    """
    watcher = Watcher(sys.stderr.isatty() if progress is None else bool(progress), epochs)
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )

    def note(number: int, frame: FrameType | None) -> None:
        if watcher.interrupted:
            raise KeyboardInterrupt
        watcher.interrupted = True

    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield watcher
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        watcher.close()
