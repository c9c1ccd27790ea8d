"""Whether the C library keeps freed memory for reuse or returns it to the system.

Fresh memory costs about as much as what is written into it, because the system clears each page on
its first use. Memory that is kept takes up space. Only glibc can be configured; elsewhere nothing
changes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

#: Arrays of a stream with at least this many bytes are returned to the system; smaller ones are
#: cheaper to keep: on a pipe of 1.5 GB, this threshold cost a tenth of the processor time in a
#: single run, and half of it cost more.
_LARGE = 1 << 21
#: Up to this many freed bytes at the end of a heap are kept for the next arrays, several times the
#: size of a batch. With glibc's 128 KB, every batch would get fresh memory.
_KEPT = 1 << 24
#: The largest thresholds that glibc chooses on its own, once arrays of that size have been freed.
_LARGEST_CHOSEN = 1 << 25, 1 << 26
#: On a worker with a memory limit, arrays of more than this fraction of it are mapped separately,
#: but none that are smaller than those that glibc maps by default.
_SMALL_PART, _LEAST_MAPPED = 1 / 64, 1 << 17
#: The numbers of the parameters in glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
#: What Dask sets in the environment of the workers it starts, unless configured otherwise.
_TRIM_VARIABLE, _TRIM_OF_DASK = "MALLOC_TRIM_THRESHOLD_", "65536"


def give_back_large_arrays() -> None:
    """Return large arrays to the system as soon as they are freed.

    glibc keeps what is freed for the next array, up to 32 MB once arrays of that size have been
    freed. Batches of a stream, some of whose rows live long, then fragment the heap: a pipe of 1.5
    GB took 490 MB of memory at its peak, and 418 MB with this; the difference grows with the
    stream.
    """
    _set_thresholds(_LARGE, _KEPT)


def keep_memory_on_dask_workers(limit: int | None) -> None:
    """Let a Dask worker reuse freed memory, as any other process does, if it has enough.

    Dask starts workers with a fixed MALLOC_TRIM_THRESHOLD_, so that they return memory early. A
    fixed threshold also keeps glibc from raising the size above which each array is mapped
    separately, which then stays at 128 KB: nearly every array gets fresh memory. Reading and
    learning from 100 million values took 8.1 s of processor time on such a worker, and 5.6 s with
    glibc's own thresholds. Values other than Dask's default are left alone.

    Dask pauses a worker at 80 % of its memory limit until memory is returned. On a small worker,
    freed arrays that are kept could be what fills it, and it would wait for ever: so the smaller
    the limit, the less is kept.

    Parameters
    ----------
    limit : int or None
        The worker's memory limit in bytes; None if it has none.
    """
    if os.environ.get(_TRIM_VARIABLE) == _TRIM_OF_DASK:
        mapped, trimmed = _LARGEST_CHOSEN
        most = mapped if limit is None else max(_LEAST_MAPPED, int(limit * _SMALL_PART))
        _set_thresholds(min(mapped, most), min(trimmed, 2 * most))


def keep_freed_memory() -> None:
    """Keep as much freed memory as glibc does once an array of 32 MB has been freed.

    Before that it returns the arrays of a few megabytes, such as weights, to the system whenever
    they are freed, and takes seven times as long to compute with them.
    """
    _set_thresholds(*_LARGEST_CHOSEN)


def _set_thresholds(mapped: int, trimmed: int) -> None:
    """Map arrays from `mapped` bytes separately; keep up to `trimmed` freed bytes in a heap."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            libc = ctypes.CDLL(None)
            libc.mallopt(_M_MMAP_THRESHOLD, mapped)
            libc.mallopt(_M_TRIM_THRESHOLD, trimmed)
