"""Work that is stopped when it takes too long: a peer may need hours for what is compared."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from typing import Any


def within(limit: float, work: Callable[[], Any]) -> Any:
    """What some work returns, done by a process of its own; None if it takes too long.

    The limit is one of processor seconds, which do not depend on what else the machine does. The
    time that counts is for the work to measure.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def limited() -> None:
        signal.setitimer(signal.ITIMER_PROF, limit)  # the signal ends the process
        there.send(work())

    process = context.Process(target=limited)
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def processor_seconds() -> float:
    """What this process and those that it began and that have ended have taken of a processor."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
