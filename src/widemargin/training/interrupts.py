"""Ctrl-C: one signal or several."""

import math
import time
from types import FrameType

#: A signal within this many seconds of the last one belongs to the same Ctrl-C: `timeout` and
#: process supervisors, for example, signal a process and then its whole group.
_SAME_SECONDS = 1.0


class Interrupts:
    """A handler of SIGINT that raises KeyboardInterrupt once for each Ctrl-C."""

    def __init__(self) -> None:
        self._last = -math.inf

    def is_new(self) -> bool:
        """Record a signal; return whether it is a new Ctrl-C."""
        now = time.monotonic()
        since, self._last = now - self._last, now
        return since >= _SAME_SECONDS

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.is_new():
            raise KeyboardInterrupt
