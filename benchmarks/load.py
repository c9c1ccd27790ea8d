"""A load-testing client that sends requests over many connections at once, using plain sockets."""

from __future__ import annotations

import os
import select
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

#: Number of bytes read at a time; answers are smaller.
_READ = 1 << 16


@dataclass
class Load:
    """The results of some requests.

    Attributes
    ----------
    seconds : float
        From the first request to the last answer.
    statuses : dict
        The number of answers with each status.
    accepted, refused : list of float
        The seconds taken by answers with status 200, and by those with other statuses.
    lost : int
        The number of requests without an answer.
    """

    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    accepted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    lost: int = 0

    def percentile(self, share: float) -> float:
        """The time within which this share of the accepted requests was answered."""
        times = sorted(self.accepted)
        return times[min(len(times) - 1, int(share * len(times)))]


def post(port: int, path: str, body: bytes) -> bytes:
    """The bytes of a request."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Link:
    """A connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.began, self.read = 0.0, b""

    def send(self, request: bytes, began: float) -> None:
        self.began = began
        self.socket.sendall(request)

    def receive(self) -> int | None:
        """Read; return the status of the answer once it is complete."""
        data = self.socket.recv(_READ)
        if not data:
            raise ConnectionResetError
        self.read = self.read + data if self.read else data
        end = self.read.find(b"\r\n\r\n")
        if end < 0:
            return None
        at = self.read.lower().find(b"content-length:", 0, end)
        size = int(self.read[at + 15 : self.read.index(b"\r\n", at)])
        if len(self.read) < end + 4 + size:
            return None
        status = int(self.read[9:12])
        self.read = b""
        return status


def ask_in_turn(port: int, requests: Sequence[bytes], connections: int, core: int | None) -> Load:
    """Send requests over some connections, each of which waits for its answer before the next."""
    return _ask(port, requests, connections, core, None)


def ask_at_rate(
    port: int, requests: Sequence[bytes], connections: int, core: int | None, rate: float
) -> Load:
    """Send requests at this rate per second, whether or not earlier ones were answered.

    A request that is due waits for a free connection; its time counts from when it was due.
    """
    return _ask(port, requests, connections, core, rate)


def _ask(
    port: int, requests: Sequence[bytes], connections: int, core: int | None, rate: float | None
) -> Load:
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    links = {link.socket.fileno(): link for link in (_Link(port) for _ in range(connections))}
    polled = select.epoll()
    for number in links:
        polled.register(number, select.EPOLLIN)
    try:
        return _run(list(requests), links, polled, rate)
    finally:
        for link in links.values():
            link.socket.close()
        polled.close()
        os.sched_setaffinity(0, before)


def _run(
    requests: list[bytes], links: dict[int, _Link], polled: select.epoll, rate: float | None
) -> Load:
    load, free = Load(), deque(links.values())
    began, sent, done = time.perf_counter(), 0, 0
    while done < len(requests):
        now = time.perf_counter()
        due = len(requests) if rate is None else min(len(requests), int((now - began) * rate) + 1)
        while free and sent < due:
            free.popleft().send(requests[sent], time.perf_counter())
            sent += 1
        wait = 1.0 if rate is None or not free else 0.0005
        for number, _ in polled.poll(wait):
            link = links[number]
            try:
                status = link.receive()
            except OSError:
                load.lost, done = load.lost + 1, done + 1
                polled.unregister(number)
                continue
            if status is None:
                continue
            took = time.perf_counter() - link.began
            (load.accepted if status == 200 else load.refused).append(took)
            load.statuses[status] = load.statuses.get(status, 0) + 1
            done += 1
            free.append(link)
        if time.perf_counter() - began > 120.0:  # a server that does not answer
            load.lost += len(requests) - done
            break
    load.seconds = time.perf_counter() - began
    return load
