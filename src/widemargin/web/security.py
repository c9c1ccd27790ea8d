"""Access control: the host and origin that a request must name, and tokens.

A page on another site can make a browser send requests to 127.0.0.1, and with a name that first
resolves to its own address and then to 127.0.0.1 (DNS rebinding) it can even read the answers. So a
request must name a host that the server was configured with, and if a browser states the page that
it comes from, that page must be the server's own.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
import stat
from collections.abc import Iterable

from widemargin.errors import DataError

#: The smallest length of a token chosen by a user: 16 random letters and digits are 95 bits, which
#: cannot be guessed over a network.
LEAST_TOKEN = 16
#: The names of this machine in the address bar of its own browser.
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Tokens:
    """The accepted tokens. Comparing takes constant time.

    Parameters
    ----------
    tokens : iterable of str
        The tokens. Only a digest of each is stored, so that no token can be found in the memory of
        the server.

    Examples
    --------
    >>> tokens = Tokens(["correct-horse-battery"])
    >>> tokens.accept("correct-horse-battery"), tokens.accept("wrong")
    (True, False)
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self._digests = []
        for token in tokens:
            if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable():
                raise DataError(
                    f"a token must have at least {LEAST_TOKEN} characters, letters and digits, and"
                    f" one of them has {len(token)}; `openssl rand -hex 16` makes a good one"
                )
            self._digests.append(_digest(token.encode()))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._digests)

    def accept(self, given: str | bytes) -> bool:
        """Whether this is one of the tokens."""
        digest = _digest(given if isinstance(given, bytes) else given.encode("utf-8", "replace"))
        found = False
        for known in self._digests:  # all of them, so that the time does not reveal which
            found |= hmac.compare_digest(digest, known)
        return found


def _digest(token: bytes) -> bytes:
    """A digest; all have the same length, so that comparing does not reveal that of the token."""
    return hashlib.sha256(token).digest()


def new_token() -> str:
    """Make a token that cannot be guessed."""
    return secrets.token_urlsafe(24)


def read_tokens(path: str) -> Tokens:
    """Read tokens from a file, one per line; lines that begin with # are comments."""
    if os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH):
        raise DataError(f"{path}: others can read the tokens; run: chmod 600 {path}")
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise DataError(f"{path}: has no token; write one per line")
    try:
        return Tokens(found)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def bearer(header: bytes | str) -> bytes:
    """The token in an Authorization header; empty if there is none.

    >>> bearer(b"Bearer abc")
    b'abc'
    """
    raw = header.encode("latin-1", "replace") if isinstance(header, str) else header
    kind, _, token = raw.partition(b" ")
    return token.strip() if kind.lower() == b"bearer" else b""


def is_loopback(host: str) -> bool:
    """Whether a server bound to this address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Hosts:
    """The names under which a server may be requested.

    The names of this machine, such as localhost, are always accepted.

    Parameters
    ----------
    host : str
        The address that the server is bound to.
    port : int
        Its port.
    more : iterable of str
        Further names, such as those passed on by a proxy, with or without a port.

    Examples
    --------
    >>> hosts = Hosts("127.0.0.1", 8000)
    >>> hosts.owns("localhost:8000"), hosts.owns("evil.example:8000"), hosts.owns("localhost")
    (True, False, False)
    >>> hosts.wrote("http://127.0.0.1:8000"), hosts.wrote("http://evil.example"), hosts.wrote("")
    (True, False, True)
    """

    def __init__(self, host: str, port: int, more: Iterable[str] = ()) -> None:
        names = set(_LOOPBACK) if is_loopback(host) else {*_LOOPBACK, _bracketed(host)}
        self._known = {f"{name}:{port}" for name in names}
        if port == 80:
            self._known |= names
        self._more = set()
        for name in more:
            if "/" in name or not name:
                raise DataError(f"{name!r} is not a host: expected a name such as models.example")
            self._more.add(name.lower())

    def owns(self, host: str) -> bool:
        """Whether a Host header names this server."""
        return host.strip().lower() in self._known or self.adds(host)

    def adds(self, host: str) -> bool:
        """Whether this is one of the further names; one without a port is valid with any."""
        name = host.strip().lower()
        return name in self._more or _without_port(name) in self._more

    def wrote(self, origin: str) -> bool:
        """Whether an Origin header is absent, or names a page of this server."""
        if not origin:
            return True
        scheme, _, name = origin.strip().lower().partition("://")
        return scheme in ("http", "https") and self.owns(name)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.lower()


def _without_port(name: str) -> str:
    head, _, port = name.rpartition(":")
    return head if port.isdecimal() else name
