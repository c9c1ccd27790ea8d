"""A worker process, which answers requests until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from widemargin.web.security import Hosts, Tokens
from widemargin.web.serving.application import Application
from widemargin.web.serving.gate import Gate
from widemargin.web.serving.http import IDLE, Connection
from widemargin.web.serving.limits import Limits
from widemargin.web.serving.logs import RequestLog
from widemargin.web.serving.messages import new_prefix
from widemargin.web.serving.metrics import Counters
from widemargin.web.serving.served import Served

#: STOP: finish the requests in progress. RETIRE: the same, but give connections time to close by
#: themselves, because new workers have taken over.
STOP, RETIRE = signal.SIGTERM, signal.SIGUSR1
#: Seconds between checks for timeouts.
_LOOK = 0.25
#: Seconds during which input sent before the shutdown is still read.
_LAST_WORDS = 0.05
#: Seconds that an idle connection of a retired process stays open, as its client may be about to
#: send a request.
_RETIRED_IDLE = 2.0
#: The number of new objects that triggers garbage collection. Requests make no cycles, and scanning
#: all objects takes as long as dozens of answers.
_OBJECTS = 50_000


@dataclass(frozen=True)
class ServeSettings:
    """The settings of the server.

    Attributes
    ----------
    hosts : Hosts or None
        The host names that requests may use; None for any.
    tokens : Tokens
        The accepted tokens, if tokens are required.
    limits : Limits
        The limits of requests.
    workers : int
        The number of worker processes.
    wait : float
        Seconds that a question waits for others to be answered with it.
    grace : float
        Seconds that requests have to finish when the server stops.
    log : int or None
        The file descriptor of the log.
    """

    hosts: Hosts | None = None
    tokens: Tokens = field(default_factory=lambda: Tokens(()))
    limits: Limits = field(default_factory=Limits)
    workers: int = 1
    wait: float = 0.0
    grace: float = 10.0
    log: int | None = None


class Worker:
    """Serves some models on a listening socket.

    Parameters
    ----------
    models : sequence of Served
        The models.
    settings : ServeSettings
        The settings of the server.
    counters : Counters
        The shared counters.
    takeovers : int
        The number of times models were replaced before.
    """

    def __init__(
        self,
        models: Sequence[Served],
        settings: ServeSettings,
        counters: Counters,
        takeovers: int = 0,
    ) -> None:
        self._models, self._settings, self._counters = models, settings, counters
        self._takeovers = takeovers
        self._connections: set[Connection] = set()
        self._message = 0
        self._end = asyncio.Event()

    def run(self, listening: socket.socket, ready: Callable[[], None]) -> None:
        """Serve until a signal, in this process."""
        import uvloop

        new_prefix()
        gc.collect()
        gc.freeze()
        gc.set_threshold(_OBJECTS)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._until_signal(listening, ready))

    async def _until_signal(self, listening: socket.socket, ready: Callable[[], None]) -> None:
        loop, parent = asyncio.get_running_loop(), os.getppid()
        for message in (STOP, RETIRE):
            loop.add_signal_handler(message, self.tell, message)
        for message in (signal.SIGINT, signal.SIGHUP):  # sent to the whole terminal
            signal.signal(message, signal.SIG_IGN)  # the supervisor handles it
        serving = asyncio.ensure_future(self.serve(listening, ready))
        while not serving.done():
            await asyncio.wait([serving], timeout=_LOOK)
            if os.getppid() != parent:
                self.tell(STOP)
        serving.result()

    def tell(self, message: int) -> None:
        """Start to shut down."""
        if self._message != STOP:
            self._message = message
        self._end.set()

    async def serve(self, listening: socket.socket, ready: Callable[[], None]) -> None:
        """Serve until told to stop, then until all requests in progress are answered."""
        loop, settings = asyncio.get_running_loop(), self._settings
        log = RequestLog(loop, settings.log)
        app = Application(
            self._models,
            loop,
            Gate(settings.hosts, settings.tokens),
            settings.limits,
            self._counters,
            log,
            settings.wait,
            self._takeovers,
            settings.workers,
        )
        server = await loop.create_server(
            lambda: Connection(app, self._connections), sock=listening
        )
        ready()
        looking = asyncio.ensure_future(self._end_overdue())
        try:
            await self._end.wait()
            await asyncio.sleep(_LAST_WORDS)
            app.draining = True
            server.close()
            await self._drain()
        finally:
            looking.cancel()
            for connection in list(self._connections):
                connection.abort()
            await asyncio.sleep(0)
            log.flush()
            app.answering.close()

    async def _end_overdue(self) -> None:
        """End what takes too long."""
        while True:
            await asyncio.sleep(_LOOK)
            idle = _RETIRED_IDLE if self._message else IDLE
            for connection in list(self._connections):
                connection.look(time.monotonic(), idle)

    async def _drain(self) -> None:
        """Wait until all connections have closed, at most for the grace period."""
        until = time.monotonic() + self._settings.grace
        while self._connections and time.monotonic() < until:
            if self._message == STOP:
                for connection in list(self._connections):
                    if connection.idle:
                        connection.close()
            await asyncio.sleep(0.01)
