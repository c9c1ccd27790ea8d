"""Requests and answers, independent of the transport."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from widemargin.web.serving.bodies import Refused
from widemargin.web.serving.predictor import plain_json

JSON = b"application/json"
_ID = re.compile(rb"[A-Za-z0-9_.:-]{1,64}")
_HEADS = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
#: Headers of every answer: browsers must not guess its type, and no cache may store it.
_ALWAYS = b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n"
_numbers = itertools.count(1)
_prefix = [secrets.token_hex(4)]
#: The second that was formatted last, and its header.
_shown: list[Any] = [0, b""]


def new_prefix() -> None:
    """Make the request ids of this process different from those of all others."""
    _prefix[0] = secrets.token_hex(4)


def _date() -> bytes:
    """The time as a header, formatted once per second."""
    now = int(time.time())
    if now != _shown[0]:
        _shown[:] = now, b"date: %b\r\n" % formatdate(now, usegmt=True).encode()
    return _shown[1]


def request_id(given: bytes) -> str:
    """The id of a request: the client's, if it is well-formed, else a new one."""
    if given and _ID.fullmatch(given):
        return given.decode()
    return f"{_prefix[0]}-{next(_numbers):x}"


class Request:
    """A request, complete except that its body may still be arriving.

    Attributes
    ----------
    method : str
        The method, such as POST.
    path, query : bytes
        The parts of the URL.
    headers : dict
        The headers, by lower-case name.
    body : bytes
        The body.
    client : str
        The address of the client.
    began : float
        When the first byte arrived, by the monotonic clock.
    id : str
        The id in the log line and in the answer.
    """

    __slots__ = (
        *("began", "body", "client", "digest", "headers", "id", "method", "model", "path"),
        *("query", "route", "rows"),
    )

    def __init__(
        self,
        method: str,
        path: bytes,
        query: bytes,
        headers: dict[bytes, bytes],
        client: str,
        began: float,
    ) -> None:
        self.method, self.path, self.query, self.headers = method, path, query, headers
        self.client, self.began, self.body = client, began, b""
        self.id = request_id(headers.get(b"x-request-id", b""))
        self.route, self.model, self.digest, self.rows = "other", "", "", 0


class Answer:
    """A status, a body, and headers besides the usual ones."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes,
        content_type: bytes = JSON,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        self.status, self.body = status, body
        self.content_type, self.headers = content_type, headers

    def encode(self, request: Request | None, close: bool, head: bool = False) -> bytes:
        """The bytes of the answer to a request.

        Parameters
        ----------
        request : Request or None
            The request, if it is known.
        close : bool
            Whether the connection closes after the answer.
        head : bool
            Whether to send only the headers.
        """
        parts = [
            _HEADS[self.status],
            b"content-type: %b\r\ncontent-length: %d\r\n" % (self.content_type, len(self.body)),
            _ALWAYS,
            _date(),
        ]
        if request is not None:
            parts.append(b"x-request-id: %b\r\n" % request.id.encode())
        parts += [b"%b: %b\r\n" % header for header in self.headers]
        parts.append(b"connection: close\r\n\r\n" if close else b"\r\n")
        if not head:
            parts.append(self.body)
        return b"".join(parts)


def refusal_of(error: Refused, request: Request) -> Answer:
    """The answer to a refused request."""
    answer = refusal(error.status, str(error), request, **error.more)
    if error.allow:
        answer.headers += ((b"allow", error.allow.encode()),)
    return answer


def refusal(status: int, message: str, request: Request | None = None, **more: Any) -> Answer:
    """An error answer, with the reason in one line."""
    body = {"error": message, **more}
    if request is not None:
        body["id"] = request.id
        if request.model:
            body |= {"model": request.model, "digest": request.digest}
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if status in (429, 503):
        headers = ((b"retry-after", b"1"),)
    elif status == 401:
        headers = ((b"www-authenticate", b"Bearer"),)
    return Answer(status, plain_json(body).encode("utf-8", "replace"), headers=headers)
