"""What the C library does with memory that was freed: keep it for the next array, or give it back.

Fresh memory costs about as much as what is written into it, because the system clears each page on
its first use. Memory that is kept costs room. Only glibc can be told; elsewhere nothing changes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

#: Arrays of a stream of at least this many bytes are given back; smaller ones are cheaper to keep:
#: on a pipe of 1.5 GB, this cost a tenth of the processor's time in a single run, and half of this
#: size more.
_LARGE = 1 << 21
#: What was freed at the end of a heap is kept for the next arrays up to this many bytes, several
#: times those of a batch. With glibc's 128 KB, every batch would have fresh memory.
_KEPT = 1 << 24
#: The largest thresholds that glibc chooses by itself, once arrays of that size have been freed.
_LARGEST_CHOSEN = 1 << 25, 1 << 26
#: The numbers of the parameters in glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
#: What Dask puts into the environment of the workers that it starts, unless it is configured.
_TRIM_VARIABLE, _TRIM_OF_DASK = "MALLOC_TRIM_THRESHOLD_", "65536"


def give_back_large_arrays() -> None:
    """Have large arrays return to the system as soon as they are freed.

    glibc keeps what is freed for the next array, up to 32 MB once arrays of that size have been
    freed. Batches of a stream, some of whose rows live long, then leave gaps that nothing fits: a
    pipe of 1.5 GB took 490 MB of memory at its peak, and 418 MB with this; a longer one more.
    """
    _set_thresholds(_LARGE, _KEPT)


def keep_memory_on_dask_workers() -> None:
    """Let a worker of Dask use freed memory again, as any other process does.

    Dask starts workers with a fixed MALLOC_TRIM_THRESHOLD_, so that they return memory early. A
    fixed threshold also keeps glibc from raising the size from which an array is mapped anew, which
    then stays at 128 KB: nearly every array has fresh memory. To read and learn from 100 million
    values cost 8.1 s of processor time on such a worker, and 5.6 s with glibc's own thresholds. A
    value that somebody else chose is left alone.
    """
    if os.environ.get(_TRIM_VARIABLE) == _TRIM_OF_DASK:
        _set_thresholds(*_LARGEST_CHOSEN)


def _set_thresholds(mapped: int, trimmed: int) -> None:
    """Arrays of `mapped` bytes get memory of their own; `trimmed` freed bytes stay with a heap."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            libc = ctypes.CDLL(None)
            libc.mallopt(_M_MMAP_THRESHOLD, mapped)
            libc.mallopt(_M_TRIM_THRESHOLD, trimmed)
