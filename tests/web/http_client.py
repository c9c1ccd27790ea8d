"""Talk HTTP to the server in this process, without sockets."""

import asyncio
import json

from widemargin.web.security import Hosts, Tokens
from widemargin.web.serving.application import Application
from widemargin.web.serving.gate import Gate
from widemargin.web.serving.http import Connection
from widemargin.web.serving.limits import Limits
from widemargin.web.serving.logs import RequestLog
from widemargin.web.serving.metrics import Counters

HOST = "127.0.0.1:8000"


class Wire(asyncio.Transport):
    """A transport that remembers what was written to it."""

    def __init__(self):
        super().__init__()
        self.sent, self.closed, self.paused = b"", False, False

    def get_extra_info(self, name, default=None):
        return ("192.0.2.7", 4711) if name == "peername" else default

    def write(self, data):
        assert not self.closed
        self.sent += data

    def can_write_eof(self):
        return True

    def write_eof(self):
        pass

    def close(self):
        self.closed = True

    abort = close

    def is_closing(self):
        return self.closed

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False


def request(method, path, body=b"", content_type=None, **headers):
    """The bytes of a request."""
    given = {"Host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    if content_type:
        given["Content-Type"] = content_type
    if body or method == "POST":
        given["Content-Length"] = len(body)
    lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in given.items() if v is not None)]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answers(sent):
    """The answers in what was written: (status, headers, body)."""
    found = []
    while sent:
        head, _, rest = sent.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        status = int(first.split()[1])
        headers = dict(line.lower().split(": ", 1) for line in lines)
        size = int(headers.get("content-length", 0)) if status != 100 else 0
        found.append((status, headers, rest[:size]))
        sent = rest[size:]
    return found


class Server:
    """An application without a socket."""

    def __init__(self, models, *, tokens=(), hosts=(), log=None, wait=0.0, **limits):
        self.loop = asyncio.new_event_loop()
        self.counters = Counters(2, [served.name for served in models])
        self.app = Application(
            models,
            self.loop,
            Gate(Hosts("127.0.0.1", 8000, hosts), Tokens(tokens)),
            Limits(**limits),
            self.counters,
            RequestLog(self.loop, log),
            wait,
        )
        self.connections = set()

    def connect(self):
        wire = Wire()
        connection = Connection(self.app, self.connections)
        connection.connection_made(wire)
        return connection, wire

    def turn(self, seconds=0.0):
        """Let the event loop run."""
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def wait_for(self, wire, count):
        for _ in range(3000):
            if wire.closed or len(answers(wire.sent)) >= count:
                break
            self.turn(0.001 if _ > 5 else 0.0)
        return answers(wire.sent)

    def say(self, data, count=1):
        """Send bytes over a new connection; what was answered."""
        connection, wire = self.connect()
        connection.data_received(data)
        found = self.wait_for(wire, count)
        connection.connection_lost(None)
        return found

    def ask(self, method, path, body=b"", content_type=None, **headers):
        """One request; its status and the JSON of the answer, or its text."""
        if not isinstance(body, bytes):
            body, content_type = json.dumps(body).encode(), content_type or "application/json"
        ((status, told, found),) = self.say(request(method, path, body, content_type, **headers))
        is_json = told["content-type"] == "application/json"
        return status, json.loads(found) if is_json else found.decode()

    def predict(self, name, value, **options):
        query = "&".join(f"{k}=true" for k in options)
        status, found = self.ask("POST", f"/predict/{name}?{query}", value)
        assert status == 200, found
        return found

    def close(self):
        self.app.answering.close()
        self.turn()
        self.loop.close()
