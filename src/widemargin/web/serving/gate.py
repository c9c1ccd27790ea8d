"""Access control of requests, before their bodies are read."""

from __future__ import annotations

from widemargin.web.security import Hosts, Tokens, bearer
from widemargin.web.serving.bodies import Refused
from widemargin.web.serving.messages import Request

#: Health checks, which load balancers send to an address, and often without a Host header.
HEALTH = ("healthz", "readyz")
#: Routes that need no token: a page without any data, and health checks.
OPEN = ("page", "openapi", *HEALTH)


class Gate:
    """Checks host, origin and token.

    Parameters
    ----------
    hosts : Hosts or None
        The host names that requests may use; None for any, so that only tokens protect.
    tokens : Tokens
        The accepted tokens, if tokens are required.
    """

    def __init__(self, hosts: Hosts | None, tokens: Tokens) -> None:
        self._hosts, self._tokens = hosts, tokens
        self._known: set[bytes] = set()

    def check(self, request: Request) -> None:
        """Raise Refused if this request may not be answered."""
        headers = request.headers
        host = headers.get(b"host", b"")
        if host not in self._known and request.route not in HEALTH:
            if self._hosts is not None and not self._hosts.owns(host.decode("latin-1")):
                raise Refused(
                    403, "the Host header does not name this server; --allow-host adds names"
                )
            if len(self._known) < 64:
                self._known.add(host)
        origin = headers.get(b"origin")
        if origin is not None and not self._is_own(origin, host):
            raise Refused(403, "the request comes from a page of another origin")
        if self._tokens and request.route not in OPEN:
            token = bearer(headers.get(b"authorization", b""))
            if not token:
                raise Refused(401, "a token is required: Authorization: Bearer TOKEN")
            if not self._tokens.accept(token):
                raise Refused(401, "the token is not valid")

    def _is_own(self, origin: bytes, host: bytes) -> bool:
        """Whether a page is this server's: by the same host, or one that a proxy has replaced."""
        scheme, _, name = origin.lower().partition(b"://")
        if scheme not in (b"http", b"https") or not name:
            return False
        if name == host.lower():
            return True
        return self._hosts is not None and self._hosts.adds(name.decode("latin-1"))
