"""Memory of the process."""

from __future__ import annotations

import contextlib
import ctypes
import sys

#: Arrays of at least this many bytes are given back; smaller ones are cheaper to keep: on a pipe of
#: 1.5 GB, this cost a tenth of the processor's time in a single run, and half of this size more.
_LARGE = 1 << 21
#: The number of the parameter in glibc's malloc.h.
_M_MMAP_THRESHOLD = -3


def give_back_large_arrays() -> None:
    """Have large arrays return to the system as soon as they are freed.

    glibc keeps what is freed for the next array, up to 32 MB once arrays of that size have been
    freed. Batches of a stream, some of whose rows live long, then leave gaps that nothing fits: a
    pipe of 1.5 GB took 490 MB of memory at its peak, and 418 MB with this; a longer one more.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
