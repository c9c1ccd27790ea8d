"""HTTP/1.1 over a connection: httptools parses; this module limits, orders and writes.

There is one object per connection and no task per request; tasks are what an ASGI server spends
most of its time on when answers take microseconds. Requests are answered in the order in which they
arrived, and there is a time limit for each request to arrive and for each answer to be read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from time import monotonic
from typing import Any

import httptools

from widemargin.web.serving.application import Application
from widemargin.web.serving.batches import Question
from widemargin.web.serving.bodies import Refused
from widemargin.web.serving.messages import Answer, Request, refusal, refusal_of

#: The largest size of a request's headers and URL. Browsers send at most about 8 kB.
_HEADER_BYTES = 16_384
#: The largest number of requests to read from a connection before the first is answered.
_AHEAD = 16
#: Seconds that a connection may be idle. Load balancers close theirs after 60 seconds: if the
#: server did so first, it might close a connection on which a request is under way.
IDLE = 75.0
#: Seconds during which input of a refused client is discarded, so that it can read the answer.
_LINGER = 2.0


class Connection(asyncio.Protocol):
    """A connection and the requests on it.

    Parameters
    ----------
    app : Application
        The application that answers.
    connections : set
        All open connections; this one adds and removes itself.
    """

    def __init__(self, app: Application, connections: set[Connection]) -> None:
        self._app, self._connections = app, connections
        self._transport: Any = None
        self._parser: Any = None
        self._client = ""
        self._request: Request | None = None  # being read
        self._refused: Answer | None = None
        self._waiting: deque[tuple[Request, Answer | None]] = deque()  # read, not answered
        self._asked: tuple[Request, Question | None] | None = None  # being answered
        self._keep = True
        self._ended = False  # nothing more is read
        self._stuck = False  # the client does not read its answers
        self._body: list[bytes] = []
        self._size = 0
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._trailing = False  # headers now follow a chunked body, and have no effect
        self._since = 0.0  # when the current state began
        self._began = 0.0  # when the request being read began; 0 if there is none

    # What the event loop calls

    def connection_made(self, transport: Any) -> None:
        """Start a connection, or refuse it if there are too many."""
        self._transport, self._since = transport, monotonic()
        peer = transport.get_extra_info("peername")
        self._client = str(peer[0]) if peer else ""
        self._connections.add(self)
        self._app.counters.add("connections")
        self._parser = httptools.HttpRequestParser(self)
        if len(self._connections) > self._app.limits.connections:
            self._end(refusal(503, f"{self._app.limits.connections} connections are open"))

    def connection_lost(self, error: Exception | None) -> None:
        """Clean up; pending requests are not answered."""
        self._connections.discard(self)
        self._app.counters.add("connections", by=-1.0)
        if self._asked is not None:
            request, question = self._asked
            self._release(request)
            if question is not None:
                question.dropped = True
        for request, refused in self._waiting:
            if refused is None:
                self._release(request)
        if self._request is not None and self._refused is None:
            self._release(self._request)
        self._asked, self._request, self._ended = None, None, True
        self._waiting.clear()

    def data_received(self, data: bytes) -> None:
        """Parse the data received."""
        if self._ended:
            return
        if not self._began:
            self._began = monotonic()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._end(refusal(400, "this is not HTTP/1.1"))  # no effect if it has already ended

    def eof_received(self) -> bool:
        """Handle the end of the client's input: answer its pending requests, and end."""
        if self._asked is None and not self._waiting:
            return False
        self._ended = True
        self._keep = False
        return True

    def pause_writing(self) -> None:
        """Stop reading requests, because the client does not read its answers."""
        self._stuck, self._since = True, monotonic()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading."""
        self._stuck, self._since = False, monotonic()
        self._transport.resume_reading()

    # What the parser calls

    def on_message_begin(self) -> None:
        """Start a request."""
        self._url, self._headers, self._body, self._size = b"", {}, [], 0
        self._trailing = False
        self._began = self._began or monotonic()

    def on_url(self, url: bytes) -> None:
        """Add a part of the URL."""
        self._url += url
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; duplicates are refused where they would be ambiguous."""
        if self._trailing:
            return
        name = name.lower()
        self._count_header(len(name) + len(value))
        if name in self._headers:
            if name in (b"host", b"authorization", b"content-type", b"origin"):
                self._end(refusal(400, f"the header {name.decode('latin-1')} occurs twice"))
            value = self._headers[name] + b", " + value
        self._headers[name] = value

    def _count_header(self, size: int) -> None:
        self._size += size
        if self._size > _HEADER_BYTES:
            self._end(refusal(431, f"the headers are larger than {_HEADER_BYTES:,} bytes"))

    def on_headers_complete(self) -> None:
        """Decide whether to answer the request, before its body is read."""
        self._size, self._trailing = 0, True
        if self._parser.should_upgrade():
            self._end(refusal(400, "this server does not support protocol upgrades"))
        if self._ended:
            return
        url = self._url if self._url.startswith(b"/") else _without_host(self._url)
        path, _, query = url.partition(b"?")
        request = Request(
            self._parser.get_method().decode("latin-1"),
            path,
            query,
            self._headers,
            self._client,
            self._began,
        )
        self._request, self._refused = request, None
        waits = self._headers.get(b"expect", b"").lower() == b"100-continue"
        try:
            self._app.admit(request)
        except Refused as error:
            self._refused = refusal_of(error, request)
            if error.status == 413 or waits:  # its body is too large, or never comes
                self._end(self._refused)
            return
        self._app.under_way += 1
        self._app.counters.add("under_way")
        if waits and self._asked is None and not self._waiting:  # else it might be taken for theirs
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Add a part of the body; that of a refused request is discarded."""
        if self._ended or self._refused is not None:
            return
        self._size += len(body)
        if self._size > self._app.limits.body:
            request = self._request
            if request is not None:
                self._release(request)
            message = f"the body is larger than {self._app.limits.body:,} bytes"
            self._refused = refusal(413, message, request)
            self._end(self._refused)
            return
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Answer a complete request, or queue it until earlier ones are answered."""
        request = self._request
        if self._ended or request is None:
            return
        request.body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._request, self._began = None, 0.0
        if not self._parser.should_keep_alive():
            self._keep = False
        self._waiting.append((request, self._refused))
        if self._asked is None:
            self._next()
        elif len(self._waiting) >= _AHEAD:
            self._transport.pause_reading()
        if not self._keep:
            self._ended = True  # what follows is not a request

    # Answering

    def _next(self) -> None:
        """Answer the next request."""
        while self._waiting and self._asked is None and not self._transport.is_closing():
            request, refused = self._waiting.popleft()
            self._asked = request, None
            if refused is not None:
                self._respond(request, refused, admitted=False)
                continue
            question = self._app.handle(request, partial(self._respond, request))
            if question is not None and self._asked is not None:
                self._asked = request, question

    def _respond(self, request: Request, answer: Answer, admitted: bool = True) -> None:
        """Write the answer to the current request."""
        if self._asked is None or self._asked[0] is not request:
            return  # it timed out, or the client has gone
        self._asked = None
        if admitted:
            self._release(request)
        self._tell(request, answer)
        if self._transport.is_closing():
            return
        close = not self._keep and not self._waiting
        if self._app.draining and not self._waiting:
            close = True
        self._transport.write(answer.encode(request, close, request.method == "HEAD"))
        self._since = monotonic()
        if close:
            self._linger()
        elif self._waiting:
            self._app.loop.call_soon(self._next)
        elif not self._stuck:
            self._transport.resume_reading()

    def _tell(self, request: Request, answer: Answer) -> None:
        """Count and log an answer."""
        seconds = monotonic() - request.began
        self._app.counters.answered(request.route, answer.status, seconds)
        self._app.log.add(request, answer.status, len(answer.body), seconds)

    def _release(self, request: Request) -> None:
        """Count an admitted request as finished."""
        self._app.under_way -= 1
        self._app.counters.add("under_way", by=-1.0)

    # Ending

    def _end(self, answer: Answer) -> None:
        """Refuse the request being read, after earlier ones are answered, and end."""
        if self._ended:
            return
        self._ended, self._keep = True, False
        if self._request is not None and self._refused is None:
            self._release(self._request)  # it was admitted, but is now refused
        request = self._request or Request("-", b"-", b"", {}, self._client, monotonic())
        self._request, self._began = None, 0.0
        self._waiting.append((request, answer))
        if self._asked is None:
            self._next()

    def _linger(self) -> None:
        """Close after the client has had time to read: closing at once may lose the answer."""
        self._ended, self._since = True, monotonic()
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._app.loop.call_later(_LINGER, self._transport.close)

    def look(self, now: float, idle: float) -> None:
        """End what takes too long; called regularly.

        Parameters
        ----------
        now : float
            The current time.
        idle : float
            Seconds that a connection may stay open without a request.
        """
        seconds = self._app.limits.seconds
        if (self._ended and self._asked is None) or self._stuck:
            if now - self._since > seconds:
                self._transport.abort()
        elif self._asked is not None:
            request, question = self._asked
            if now - request.began > seconds:
                if question is not None:
                    question.dropped = True
                self._keep = False
                self._waiting.clear()
                self._respond(request, refusal(503, f"no answer in {seconds:g} seconds", request))
        elif self._began:
            if now - self._began > seconds:
                self._end(refusal(408, f"the request was not complete in {seconds:g} seconds"))
        elif now - self._since > idle:
            self._transport.close()

    @property
    def idle(self) -> bool:
        """Whether there is no request on the connection."""
        return self._asked is None and not self._began and not self._waiting

    def close(self) -> None:
        """Close an idle connection."""
        self._transport.close()

    def abort(self) -> None:
        """Close the connection, even if requests are in progress."""
        self._transport.abort()


def _without_host(url: bytes) -> bytes:
    """The path and query of a URL with a host, which is how clients write to a proxy.

    >>> _without_host(b"http://localhost:8000/models?x=1")
    b'/models?x=1'
    """
    _, _, rest = url.partition(b"://")
    host, _, path = rest.partition(b"/")
    return b"/" + path if host else url
