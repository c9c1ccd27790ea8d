"""Run an ASGI application with uvicorn on a socket that is already bound, until a signal."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from widemargin.errors import DataError

#: The largest number of connections waiting to be accepted; the system refuses more.
_BACKLOG = 1024
#: Seconds after which a connection without a request is closed.
KEEP_ALIVE = 5


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens at an address; port 0 means any free port."""
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((name, port))
        found.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"cannot listen at {host}:{port}: {reason}; choose another --host or --port"
        ) from None
    found.setblocking(False)
    return found


def address_of(listening: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Running(uvicorn.Server):
    """A server that stops on a signal, after answering the requests in progress.

    Parameters
    ----------
    app : ASGI application
        The application to serve.
    grace : float
        Seconds that requests have to finish after a signal; unfinished ones are dropped.
    on_stop : callable, optional
        Called when a signal arrives, before anything is closed.
    options : dict, optional
        Further settings of uvicorn.

    Attributes
    ----------
    stopped_by : int
        The signal that stopped it; 0 if none did.
    """

    def __init__(
        self,
        app: Any,
        *,
        grace: float = 10.0,
        on_stop: Callable[[], None] | None = None,
        **options: Any,
    ) -> None:
        settings: dict[str, Any] = {
            "lifespan": "on",
            "log_config": None,
            "access_log": False,
            "server_header": False,
            "timeout_keep_alive": KEEP_ALIVE,
            "timeout_graceful_shutdown": max(1, round(grace)),
            "backlog": _BACKLOG,
        }
        super().__init__(uvicorn.Config(app, **{**settings, **options}))
        self.stopped_by = 0
        self._on_stop = on_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start to stop; a second Ctrl-C stops at once."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.stop(sig)

    def stop(self, sig: int = 0) -> None:
        """Start to stop, as on a signal."""
        self.stopped_by = self.stopped_by or sig
        self.should_exit = True
        if self._on_stop is not None:
            self._on_stop()

    def run_on(self, listening: socket.socket) -> int:
        """Serve until a signal, and return it."""
        with asyncio.Runner(loop_factory=self.config.get_loop_factory()) as runner:
            runner.run(self.serve(sockets=[listening]))
        return self.stopped_by
