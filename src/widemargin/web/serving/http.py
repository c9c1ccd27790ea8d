"""HTTP/1.1 over a connection: httptools parses, this limits, orders and writes.

One object per connection and no task per request, which is what an ASGI server spends most of its
time on when answers take microseconds. Requests are answered in the order in which they came, and a
connection is given a bounded time for each request, and for each answer to be taken.
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
from widemargin.web.serving.messages import Answer, Request, refusal

#: Most bytes of a request's headers and address. Browsers send at most about 8 kB.
_HEADER_BYTES = 16_384
#: Requests of one connection that are read before the first of them is answered.
_AHEAD = 16
#: Seconds that a connection may be idle.
IDLE = 60.0
#: Seconds for which what a refused client still sends is thrown away, so that it reads the answer.
_LINGER = 2.0


class Connection(asyncio.Protocol):
    """A connection and the requests on it.

    Parameters
    ----------
    app : Application
        What answers.
    connections : set
        All connections; this one is among them while it is open.
    """

    def __init__(self, app: Application, connections: set[Connection]) -> None:
        self._app, self._connections = app, connections
        self._transport: Any = None
        self._parser: Any = None
        self._client = ""
        self._request: Request | None = None  # that is being read
        self._refused: Answer | None = None
        self._waiting: deque[tuple[Request, Answer | None]] = deque()  # read, not answered
        self._asked: tuple[Request, Question | None] | None = None  # that is being answered
        self._keep = True
        self._ended = False  # nothing more is read
        self._stuck = False  # the client does not take its answers
        self._body: list[bytes] = []
        self._size = 0
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._since = 0.0  # when the current state began
        self._began = 0.0  # when the request that is being read began; 0 if none is

    # What the event loop calls

    def connection_made(self, transport: Any) -> None:
        """Begin, unless there are too many."""
        self._transport, self._since = transport, monotonic()
        peer = transport.get_extra_info("peername")
        self._client = str(peer[0]) if peer else ""
        self._connections.add(self)
        self._app.counters.add("connections")
        self._parser = httptools.HttpRequestParser(self)
        if len(self._connections) > self._app.limits.connections:
            self._end(refusal(503, f"{self._app.limits.connections} connections are open"))

    def connection_lost(self, error: Exception | None) -> None:
        """Forget everything; what was asked is not answered."""
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
        """Parse what arrived."""
        if self._ended:
            return
        if not self._began:
            self._began = monotonic()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._end(refusal(400, "this is not HTTP/1.1"))  # unless it has ended already

    def eof_received(self) -> bool:
        """The client sends no more: answer what it has asked, and end."""
        if self._asked is None and not self._waiting:
            return False
        self._ended = True
        self._keep = False
        return True

    def pause_writing(self) -> None:
        """The client does not take its answers: read no more of its questions."""
        self._stuck, self._since = True, monotonic()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on."""
        self._stuck, self._since = False, monotonic()
        self._transport.resume_reading()

    # What the parser calls

    def on_message_begin(self) -> None:
        """A request begins."""
        self._url, self._headers, self._body, self._size = b"", {}, [], 0
        self._began = self._began or monotonic()

    def on_url(self, url: bytes) -> None:
        """A part of the address."""
        self._url += url
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header. One that comes twice, where that could be read in two ways, is refused."""
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
        """Decide whether the request is to be answered, before its body is read."""
        self._size = 0
        if self._parser.should_upgrade():
            self._end(refusal(400, "this server does not change protocols"))
        if self._ended:
            return
        path, _, query = self._url.partition(b"?")
        request = Request(
            self._parser.get_method().decode("latin-1"),
            path,
            query,
            self._headers,
            self._client,
            self._began,
        )
        self._request, self._refused = request, None
        try:
            self._app.admit(request)
        except Refused as error:
            self._refused = refusal(error.status, str(error), request, **error.more)
            if error.status == 413:
                self._end(self._refused)
            return
        self._app.under_way += 1
        self._app.counters.add("under_way")
        if self._headers.get(b"expect", b"").lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """A part of the body; of a refused request it is thrown away."""
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
        """The request is complete: answer it, or remember it until those before are answered."""
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
        """Write the answer to the request that is being answered."""
        if self._asked is None or self._asked[0] is not request:
            return  # its time was over, or the client has gone
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
        """An admitted request is not under way any more."""
        self._app.under_way -= 1
        self._app.counters.add("under_way", by=-1.0)

    # Ending

    def _end(self, answer: Answer) -> None:
        """Refuse what is being read, after the requests before it were answered, and end."""
        if self._ended:
            return
        self._ended, self._keep = True, False
        if self._request is not None and self._refused is None:
            self._release(self._request)  # it was admitted, and is refused after all
        request = self._request or Request("-", b"-", b"", {}, self._client, monotonic())
        self._request, self._began = None, 0.0
        self._waiting.append((request, answer))
        if self._asked is None:
            self._next()

    def _linger(self) -> None:
        """Close once the client has had time to read: to close at once may destroy the answer."""
        self._ended, self._since = True, monotonic()
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._app.loop.call_later(_LINGER, self._transport.close)

    def look(self, now: float, idle: float) -> None:
        """End what takes too long. Called now and then.

        Parameters
        ----------
        now : float
            The time.
        idle : float
            Seconds that a connection without a request may stay.
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
        """Whether nothing is asked or answered on it."""
        return self._asked is None and not self._began and not self._waiting

    def close(self) -> None:
        """Close an idle connection."""
        self._transport.close()

    def abort(self) -> None:
        """Close whatever is under way."""
        self._transport.abort()
