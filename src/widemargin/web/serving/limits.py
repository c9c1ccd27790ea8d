"""The limits of requests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one request and of all together; what exceeds them is refused.

    Attributes
    ----------
    body : int
        Bytes of a body (413). The default is below the 4 MB that readers parse at a time.
    depth : int
        Nesting depth of JSON (422). Examples need 4 levels.
    rows : int
        Examples in one request (413).
    seconds : float
        Time from the first byte of a request to its answer (408 if the request itself is not
        complete by then, else 503).
    concurrent : int
        Concurrent requests in one process (429). At 5,000 requests per second, the last of 128
        waits for 26 ms.
    connections : int
        Connections to one process (503).
    """

    body: int = 4_000_000
    depth: int = 16
    rows: int = 10_000
    seconds: float = 30.0
    concurrent: int = 128
    connections: int = 1024
