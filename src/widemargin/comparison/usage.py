"""Measure the time and the additional memory of a piece of work."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import time
from collections.abc import Iterator

_KILO = 1024


class Usage:
    """Time and memory used, filled in when the work is done.

    Attributes
    ----------
    seconds : float
        Wall-clock time.
    memory : int or None
        Peak growth of the resident memory of the process, in bytes; None on systems other than
        Linux.
    """

    seconds: float = 0.0
    memory: int | None = None


@contextlib.contextmanager
def cheap_collections() -> Iterator[None]:
    """Speed up `measured`, which collects garbage before every piece of work.

    A collection visits every Python object: with scikit-learn and numba imported that took a tenth
    of a second, 13 of the 16 seconds of a comparison. Existing objects are frozen, so that only
    those left behind by the measured work are visited.
    """
    if gc.get_freeze_count():  # the caller has frozen objects itself, and will unfreeze them
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextlib.contextmanager
def measured() -> Iterator[Usage]:
    """Measure the work done in the `with` block."""
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
    """Have the C library release free memory, so that reusing it does not look free."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other C libraries, Windows
        ctypes.CDLL(None).malloc_trim(0)


def _forget_peak() -> bool:
    """Reset the peak of the resident memory; return whether that was possible."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _resident() -> int | None:
    return _status("VmRSS")


def _status(name: str) -> int | None:
    """Read a memory figure of the process, in bytes."""
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(f"{name}:"):
                    return int(line.split()[1]) * _KILO
    except OSError:
        pass
    return None
