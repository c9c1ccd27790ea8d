"""A server on a bound socket, which a signal ends gracefully."""

import http.client
import signal
import threading

import pytest

from widemargin.errors import DataError

pytest.importorskip("uvicorn")
from widemargin.web.running import Running, address_of, listen


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"].endswith("shutdown"):
                return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


def test_a_port_in_use_is_one_line():
    with (
        listen("127.0.0.1", 0) as first,
        pytest.raises(DataError, match="cannot listen at") as error,
    ):
        listen("127.0.0.1", first.getsockname()[1])
    assert "--port" in str(error.value)
    assert "\n" not in str(error.value)


def test_no_such_port():
    with pytest.raises(DataError, match="cannot listen at"):
        listen("127.0.0.1", 99999)


def test_it_answers_until_it_is_stopped():
    listening, stopped = listen("127.0.0.1", 0), []
    running = Running(app, on_stop=lambda: stopped.append(True))
    thread = threading.Thread(target=running.run_on, args=(listening,))
    host, port = listening.getsockname()
    assert address_of(listening) == f"http://127.0.0.1:{port}"
    thread.start()
    connection = http.client.HTTPConnection(host, port, timeout=10)
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"here"
    connection.close()
    running.stop(signal.SIGTERM)
    thread.join(10)
    assert not thread.is_alive()
    assert running.stopped_by == signal.SIGTERM
    assert stopped == [True]
    with pytest.raises(OSError):
        http.client.HTTPConnection(host, port, timeout=1).request("GET", "/")
