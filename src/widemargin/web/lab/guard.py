"""Access control of the lab: only its own page, with the token in its address, may use it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.responses import PlainTextResponse

from widemargin.web.security import Hosts, Tokens

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: The content security policy: the page may load only its own files. Frames are for notebooks.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {}"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Passes on only requests that name this host, come from this page, and have the token.

    The token is the first part of the path, so that the page's relative URLs include it.

    Parameters
    ----------
    app : ASGI application
        The application that answers; it sees the path without the token.
    hosts : Hosts
        The names of this server.
    tokens : Tokens
        The accepted token.
    framed : bool
        Whether a notebook on this machine may show the page in a frame.
    """

    def __init__(self, app: Any, hosts: Hosts, tokens: Tokens, framed: bool = False) -> None:
        self.app, self.hosts, self.tokens = app, hosts, tokens
        frames = "http://127.0.0.1:* http://localhost:*" if framed else "'none'"
        fixed = {**_HEADERS, "Content-Security-Policy": _POLICY.format(frames)}
        self._headers = [(name.lower().encode(), value.encode()) for name, value in fixed.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no websockets here
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return

        async def answer(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *self._headers]}
            await send(message)

        reason = self._refusal(scope)
        if reason:
            await PlainTextResponse(reason + "\n", 403)(scope, receive, answer)
            return
        rest = scope["path"].partition("/")[2].partition("/")[2]
        await self.app({**scope, "path": "/" + rest}, receive, answer)

    def _refusal(self, scope: Scope) -> str:
        """The reason for refusing a request; empty if it is accepted."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or not self.hosts.owns(hosts[0].decode("latin-1")):
            return "the lab answers at 127.0.0.1 only"
        for origin in headers.get(b"origin", []):
            if not self.hosts.wrote(origin.decode("latin-1")):
                return "the lab answers its own page only"
        sites = headers.get(b"sec-fetch-site", [])
        if scope["method"] != "GET" and any(site != b"same-origin" for site in sites):
            return "the lab answers its own page only"
        token = scope["path"].lstrip("/").partition("/")[0]
        if not self.tokens.accept(token):
            return "the address has no valid token: open the one that the lab printed"
        return ""
