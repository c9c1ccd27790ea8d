"""The request log: one line of JSON per request, written once per event-loop iteration."""

from __future__ import annotations

import asyncio
import json
import os
import time

from widemargin.web.serving.messages import Request

#: The largest number of bytes to write at once: up to this many, what several processes write to a
#: pipe is not interleaved.
_TOGETHER = 4096
#: The longest path in a line, in characters; even escaped, it fits into a write.
_PATH = 200


class RequestLog:
    """Writes a line for each request.

    Parameters
    ----------
    loop : event loop
        The event loop; its next iteration writes what was logged in this one.
    file : int or None
        The file descriptor; None to write nothing.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, file: int | None) -> None:
        self._loop, self._file = loop, file
        self._lines: list[str] = []
        self._second, self._shown = 0, ""

    def add(self, request: Request, status: int, sent: int, seconds: float) -> None:
        """Log an answer."""
        if self._file is None:
            return
        if not self._lines:
            self._loop.call_soon(self.flush)
        now = time.time()
        if int(now) != self._second:
            self._second = int(now)
            self._shown = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self._second))
        path = request.path[:_PATH].decode("latin-1")
        if '"' in path or "\\" in path or not path.isascii() or not path.isprintable():
            path = json.dumps(path)[1:-1]
        self._lines.append(
            f'{{"time":"{self._shown}.{int(now % 1 * 1000):03d}Z","id":"{request.id}",'
            f'"client":"{request.client}","method":"{request.method}","path":"{path}",'
            f'"status":{status},"model":{json.dumps(request.model)},'
            f'"digest":"{request.digest[:12]}","rows":{request.rows},'
            f'"received":{len(request.body)},"sent":{sent},"ms":{seconds * 1000:.3f}}}\n'
        )

    def flush(self) -> None:
        """Write what was logged."""
        together, lines, self._lines = b"", self._lines, []
        for line in lines:
            written = line.encode("utf-8", "replace")
            if len(together) + len(written) > _TOGETHER:
                self._write(together)
                together = b""
            together += written
        self._write(together)

    def _write(self, lines: bytes) -> None:
        if lines and self._file is not None:
            try:
                os.write(self._file, lines)
            except OSError:  # the reader of the log has gone
                self._file = None
