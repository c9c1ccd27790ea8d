"""The limits of requests."""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace

#: Open files of a process besides its connections.
_OTHER_FILES = 64


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


def within_open_files(limits: Limits) -> Limits:
    """Let this process and its workers open as many files as they may need.

    Returns the limits with fewer connections if the system does not allow as many open files: a
    client beyond them is refused in words, and not cut off.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.connections + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return limits
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return replace(limits, connections=max(1, most - _OTHER_FILES))
