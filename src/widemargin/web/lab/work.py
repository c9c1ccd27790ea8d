"""Run one task at a time, and stop it when its client has gone."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class BusyError(Exception):
    """One task is running and one is waiting, so this one is rejected."""


class OneAtATime:
    """Runs tasks in one thread; one more may wait, and further ones are rejected."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lab")
        self._turn = asyncio.Lock()
        self._inside = 0
        self._stops: set[threading.Event] = set()

    async def run(
        self, work: Callable[[threading.Event], Any], gone: Callable[[], Awaitable[None]]
    ) -> Any:
        """Run a task.

        Parameters
        ----------
        work : callable
            Called in the thread with an event, which is set when the task should stop.
        gone : callable
            Returns when the client has gone.
        """
        if self._inside >= 2:
            raise BusyError
        self._inside += 1
        stop = threading.Event()
        self._stops.add(stop)
        leaving = asyncio.ensure_future(gone())
        leaving.add_done_callback(lambda _: stop.set())
        try:
            async with self._turn:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._thread, work, stop)
        finally:
            self._inside -= 1
            self._stops.discard(stop)
            leaving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leaving

    def close(self) -> None:
        """Stop running tasks, and wait until they have ended."""
        for stop in self._stops:
            stop.set()
        self._thread.shutdown()
