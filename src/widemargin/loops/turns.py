"""One process at a time compiles a loop; others that need it wait, and load what it made.

So neither the workers of a pool nor a process that compiles ahead (`loops/ahead.py`) do the same
work twice. The system ends the turn of a process that dies.
"""

from __future__ import annotations

import contextlib
import pathlib
import time
from collections.abc import Callable
from typing import Any

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None

#: Seconds between two looks whether it is our turn, and after which we do not wait any longer: a
#: process may have been stopped. No loop takes longer than 5 seconds to compile on our machines.
_LOOK, _LONGEST = 0.02, 60.0


class Turn:
    """The right to compile, in the hands of one process.

    Parameters
    ----------
    folder : Path
        Where the files are whose locks are the turns.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._file: Any = None

    def wait(self, name: str, meanwhile: Callable[[], bool] = lambda: False) -> None:
        """Wait until nobody else compiles what has this name, and take the turn.

        Parameters
        ----------
        name : str
            The name.
        meanwhile : callable
            Called instead of sleeping, as long as it finds something to do and returns True.
        """
        self.end()
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            file = open(self._folder / name, "w")  # noqa: SIM115
            given_up = time.monotonic() + _LONGEST
            while not _lock(file) and time.monotonic() < given_up:
                if not meanwhile():
                    time.sleep(_LOOK)
            self._file = file

    def end(self) -> None:
        """Let others have their turn."""
        if self._file is not None:
            self._file.close()
            self._file = None


def is_taken(folder: pathlib.Path, name: str) -> bool:
    """Whether a process is compiling what has this name."""
    try:
        with open(folder / name) as file:
            return not _lock(file)
    except OSError:
        return False


def _lock(file: Any) -> bool:
    """Lock a file until it is closed; False if another process has locked it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
