"""Memory of the process."""

from __future__ import annotations

import contextlib
import ctypes
import sys

#: Arrays of at least this many bytes are given back; smaller ones are cheaper to keep: on a pipe of
#: 1.5 GB, this cost a tenth of the processor's time in a single run, and half of this size more.
_LARGE = 1 << 21
#: What was freed at the end of a heap is kept for the next arrays up to this many bytes, several
#: times those of a batch. With glibc's 128 KB, every batch would have fresh memory.
_KEPT = 1 << 24
#: The numbers of the parameters in glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def give_back_large_arrays() -> None:
    """Have large arrays return to the system as soon as they are freed.

    glibc keeps what is freed for the next array, up to 32 MB once arrays of that size have been
    freed. Batches of a stream, some of whose rows live long, then leave gaps that nothing fits: a
    pipe of 1.5 GB took 490 MB of memory at its peak, and 418 MB with this; a longer one more.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            libc = ctypes.CDLL(None)
            libc.mallopt(_M_MMAP_THRESHOLD, _LARGE)
            libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
