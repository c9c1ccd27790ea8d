"""Access control of requests, before their bodies are read."""

from __future__ import annotations

from widemargin.web.security import Hosts, Tokens, bearer
from widemargin.web.serving.bodies import Refused
from widemargin.web.serving.messages import Request

#: Routes that need no token: a page without any data, and health checks.
OPEN = ("page", "openapi", "healthz", "readyz")


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
        if host not in self._known:
            if self._hosts is not None and not self._hosts.owns(host.decode("latin-1")):
                raise Refused(
                    403, "the Host header does not name this server; --allow-host adds names"
                )
            if len(self._known) < 64:
                self._known.add(host)
        origin = headers.get(b"origin")
        if origin is not None:
            _, _, name = origin.partition(b"://")
            if not name or name.lower() != host.lower():
                raise Refused(403, "the request comes from a page of another origin")
        if self._tokens and request.route not in OPEN:
            token = bearer(headers.get(b"authorization", b""))
            if not token:
                raise Refused(401, "a token is required: Authorization: Bearer TOKEN")
            if not self._tokens.accept(token):
                raise Refused(401, "the token is not valid")
