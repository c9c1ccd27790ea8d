"""Run compiled loops, which release the interpreter lock, on several threads."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from numbers import Integral
from typing import Any

_HERE = threading.local()
_POOLS: dict[Any, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # a forked process does not inherit the threads
    os.register_at_fork(after_in_child=_POOLS.clear)


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


def map_in_order(work: Callable[[Any], Any], items: Iterable[Any], threads: int) -> Iterator[Any]:
    """Call `work` on items in parallel, a few ahead, and yield the results in order.

    The threads are kept for later calls: a stream reads many small windows. They are not those of
    `run_all`, which may compute while these wait for a file.
    """
    if threads == 1:
        yield from map(work, items)
        return
    pool = _kept(("reading", threads), threads)
    waiting: deque[Future[Any]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            # One more than the number of threads, so that none waits for the consumer.
            while len(waiting) > threads + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)


def _pool(threads: int) -> ThreadPoolExecutor:
    """A persistent thread pool: starting threads costs as much as a short piece of work."""
    return _kept(threads, threads)


def _kept(name: Any, threads: int) -> ThreadPoolExecutor:
    """The pool of this name, which is created once per process."""
    pool = _POOLS.get(name)
    # Its threads start with its first work, so that one that comes second here costs nothing.
    return _POOLS.setdefault(name, ThreadPoolExecutor(threads)) if pool is None else pool


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
