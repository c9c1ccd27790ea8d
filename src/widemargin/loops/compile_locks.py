"""Locks that let one process at a time compile a loop; others wait, and load the result.

The workers of a pool, and a process that compiles in the background
(`loops/background_compiling.py`), thus never compile the same loop twice. Another such lock lets
one process at a time save. The system releases the lock of a process that dies.
"""

from __future__ import annotations

import contextlib
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None

#: Seconds between two attempts to take the lock, and the longest wait: the process that holds it
#: may have been suspended. No loop took longer than 5 seconds to compile where this was measured.
_LOOK, _LONGEST = 0.02, 60.0


class CompileLock:
    """A lock that lets one process at a time compile a loop, or save its code.

    Parameters
    ----------
    folder : Path
        The folder of the lock files.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._held: list[Any] = []  # at most one file

    def acquire(self, name: str, meanwhile: Callable[[], bool] = lambda: False) -> None:
        """Wait until no other process holds the lock of this name, and take it.

        Parameters
        ----------
        name : str
            The name of the lock.
        meanwhile : callable
            Called instead of sleeping, as long as it finds work to do and returns True.
        """
        self.release()
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            file = open(self._folder / name, "w")  # noqa: SIM115
            given_up = time.monotonic() + _LONGEST
            while not _lock(file) and time.monotonic() < given_up:
                if not meanwhile():
                    time.sleep(_LOOK)
            self._held.append(file)

    @contextlib.contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold the lock of this name."""
        self.acquire(name)
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Release the lock, even if a process forked meanwhile still has the file open.

        Threads that compiled the same loop may do this at once: only one of them gets the file.
        """
        while self._held:
            with contextlib.suppress(IndexError), self._held.pop() as file:
                if fcntl is not None:
                    with contextlib.suppress(OSError):
                        fcntl.flock(file, fcntl.LOCK_UN)


def is_locked(folder: pathlib.Path, name: str) -> bool:
    """Whether a process is compiling the loop of this name."""
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
