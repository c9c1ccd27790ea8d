"""Run compiled loops, which release the interpreter lock, on several threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from numbers import Integral
from typing import Any

_HERE = threading.local()
_POOLS: dict[Any, Any] = {}


def thread_count(n_jobs: int | None) -> int:
    """The number of threads for n_jobs: None means one, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} is invalid; use None or 1 for one thread, -1 for all cores"
        )
    if n_jobs < 0:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return max(1, (cores or 1) + 1 + n_jobs)
    return n_jobs


def run_all(
    work: Callable[[Any], Any],
    parts: Iterable[Any],
    threads: int,
    stop: Callable[[], None] | None = None,
) -> list[Any]:
    """Call `work` on every part in parallel, and return the results in order.

    If waiting is ended by an error or Ctrl-C, `stop` is called, which should end long work early.
    """
    parts = list(parts)
    if threads == 1 or len(parts) < 2 or getattr(_HERE, "at_work", False):
        return [work(part) for part in parts]

    def alone(part: Any) -> Any:
        _HERE.at_work = True  # a thread that waits for its own pool would deadlock
        try:
            return work(part)
        finally:
            _HERE.at_work = False

    waiting = [_pool(threads).submit(alone, part) for part in parts]
    try:
        return [future.result() for future in waiting]
    except BaseException:
        if stop is not None:
            stop()
        raise
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)


def _pool(threads: int) -> ThreadPoolExecutor:
    """A persistent thread pool: starting threads costs as much as a short piece of work."""
    return _kept(threads, threads)


def reading_pool(threads: int) -> ThreadPoolExecutor:
    """The persistent thread pool of the readers, which may wait while other threads compute."""
    return _kept(("reading", threads), threads)


def _kept(name: Any, threads: int) -> ThreadPoolExecutor:
    """The pool of this name, which is created once per process."""
    if os.getpid() != _POOLS.get("process"):
        _POOLS.clear()  # a forked process does not inherit the threads
        _POOLS["process"] = os.getpid()
    if name not in _POOLS:
        _POOLS[name] = ThreadPoolExecutor(threads)
    pool: ThreadPoolExecutor = _POOLS[name]
    return pool


def split(n: int, threads: int, least: int = 1000) -> list[slice]:
    """Cut n rows into one slice per thread, none much smaller than `least`."""
    parts = max(1, min(threads, n // least))
    edges = [n * part // parts for part in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, so that each of our threads computes its own products."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    """The controller of the BLAS in use, cached because finding it takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
