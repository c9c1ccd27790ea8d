"""The request log: one line of JSON per request, written once per event-loop iteration."""

from __future__ import annotations

import asyncio
import json
import os
import time

from widemargin.web.serving.messages import Request

#: The largest number of lines to write at once. They stay below 4,096 bytes, up to which writes of
#: several processes to a pipe are not interleaved.
_TOGETHER = 10


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
        path = request.path.decode("latin-1")
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
        lines, self._lines = self._lines, []
        for first in range(0, len(lines), _TOGETHER):
            self._write("".join(lines[first : first + _TOGETHER]))

    def _write(self, text: str) -> None:
        if text and self._file is not None:
            try:
                os.write(self._file, text.encode("utf-8", "replace"))
            except OSError:  # the reader of the log has gone
                self._file = None
