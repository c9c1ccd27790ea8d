"""Stop work that takes too long, because a peer may need hours for a comparison."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from typing import Any


def within(limit: float, work: Callable[[], Any]) -> Any:
    """Run some work in a separate process; return its result, or None if it takes too long.

    The limit is in processor seconds, which do not depend on what else the machine is doing. The
    work measures its own time.
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
    """The processor time used by this process and its finished child processes."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
