"""Work that is stopped when it takes too long: a peer may need hours for what is compared."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

#: What it takes to begin and to end a process, in seconds, and as a part of the limit.
_MORE, _PART = 0.2, 0.1


def within(limit: float, work: Callable[[], Any]) -> Any:
    """What some work returns, done by a process of its own; None if it takes too long.

    The time that counts is for the work to measure: a process that is over the limit by a little
    may still answer.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=lambda: there.send(work()))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(limit + _MORE + _PART * limit) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()
