"""What a piece of work costs: seconds, and how much more memory it needed."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import time
from collections.abc import Iterator

_KILO = 1024


class Usage:
    """Filled in when the work is done.

    Attributes
    ----------
    seconds : float
        By the clock on the wall.
    memory : int or None
        Bytes by which the resident memory of the process grew at its peak; None where the system
        cannot tell (it is Linux that can).
    """

    seconds: float = 0.0
    memory: int | None = None


@contextlib.contextmanager
def cheap_collections() -> Iterator[None]:
    """Make `measured`, which collects garbage before every piece of work, quick.

    A collection looks at every object that Python knows: with scikit-learn and numba imported that
    took a tenth of a second, 13 of the 16 seconds of a comparison. What exists now is set aside,
    so that only what the measured work leaves behind is looked at.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextlib.contextmanager
def measured() -> Iterator[Usage]:
    """Measure what is done within."""
    usage = Usage()
    gc.collect()
    _give_back()
    before = _resident() if _forget_peak() else None
    began = time.perf_counter()
    try:
        yield usage
    finally:
        usage.seconds = time.perf_counter() - began
        peak = _status("VmHWM")
        if before is not None and peak is not None:
            usage.memory = max(0, peak - before)


def _give_back() -> None:
    """Let the C library return what it keeps for later, or the next one would get it for free."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _forget_peak() -> bool:
    """Begin to measure the peak of the resident memory anew; whether that is possible."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _resident() -> int | None:
    return _status("VmRSS")


def _status(name: str) -> int | None:
    """A figure of the process, in bytes."""
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(f"{name}:"):
                    return int(line.split()[1]) * _KILO
    except OSError:
        pass
    return None
