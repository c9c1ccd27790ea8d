"""Requests to the server, which must be answered or refused with one line of JSON."""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

from fuzz.forged import TESTS, model_files

_TYPES = [
    *("application/json", "application/x-ndjson", "text/plain", "text/csv", "text/x-svmlight"),
    *("text/tab-separated-values", "text/x-vw", "text/x-conll", "text/x-conllu", None),
]


@functools.cache
def _server() -> tuple[Any, list[str], Any]:
    """A server with models of every kind, without a socket."""
    sys.path.append(str(TESTS / "web"))
    from http_client import Server, request  # type: ignore[import-not-found]

    from widemargin.web.serving.served import load_served

    paths = model_files(served=True)
    models = [load_served(str(path), path.stem) for path in paths]
    return Server(models), [path.stem for path in paths], request


def body(data: bytes) -> None:
    """Send any body to any model."""
    server, names, request = _server()
    if len(data) < 3:
        return
    name, kind = names[data[0] % len(names)], _TYPES[data[1] % len(_TYPES)]
    verb = ("predict", "explain", "predict")[data[2] % 3]
    query = ("", "?scores=true", "?proba=true", "?top=3&token=1")[data[2] // 3 % 4]
    asked = request("POST", f"/{verb}/{name}{query}", data[3:], kind)
    ((status, headers, told),) = server.say(asked)
    _check(status, headers, told)
    assert status in (200, 413, 415, 422), (status, told)


def raw(data: bytes) -> None:
    """Send arbitrary bytes over a connection."""
    server, _, _ = _server()
    connection, wire = server.connect()
    connection.data_received(data)
    server.turn()
    if b"HEAD" not in data:  # its answers have no bodies
        for status, headers, told in _answers(wire.sent):
            _check(status, headers, told)
    connection.connection_lost(None)  # as an event loop does, whichever side closed it
    server.turn()
    assert server.app.under_way == 0


def _answers(sent: bytes) -> Any:
    from http_client import answers  # type: ignore[import-not-found]

    return answers(sent)


def _check(status: int, headers: dict[str, str], told: bytes) -> None:
    """Check that an error is one line of JSON, never a traceback or a server error."""
    assert status < 500 or status == 503, (status, told)
    assert b"Traceback" not in told
    if status >= 400 and told:
        error = json.loads(told)["error"]
        assert "\n" not in error
