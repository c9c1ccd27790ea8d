"""Bodies, headers and connections that are wrong, too large, too slow or too many."""

import gzip
import json
import time

import pytest
from http_client import answers, request

TOKEN = "0123456789abcdef"
JSON = "application/json"

#: Comparing each key with all others would take minutes.
MANY_KEYS = b"{" + b", ".join(b'"%d": 1' % key for key in [*range(200_000), 7]) + b"}"
#: Model, content type, body, status, and what the message says.
BAD = [
    ("texts", JSON, b"", 422, "body:1:1: not JSON: expecting value"),
    ("texts", JSON, b"[1, 2", 422, "body:1:6: not JSON"),
    ("texts", JSON, b'{"text": "a"\n "b"}', 422, "body:2:2: not JSON"),
    ("texts", JSON, b'"\xff"', 422, "body:1:2: the byte 0xff is not UTF-8"),
    ("texts", JSON, b'"a\\ud800"', 422, "half of a surrogate pair"),
    ("texts", JSON, b"17", 422, "found 17, where a string"),
    ("texts", JSON, b'{"txt": "a"}', 422, "found an object, where a string"),
    ("texts", JSON, b'["a", 3]', 422, "example 2 is 3"),
    ("texts", JSON, b'{"text": "a", "text": "b"}', 422, "the key 'text' occurs twice"),
    ("texts", JSON, MANY_KEYS, 422, "the key '7' occurs twice"),
    ("texts", JSON, b"[" * 100_000, 422, "body:1:17: nested deeper than 16 levels"),
    ("texts", JSON, b'{"a":' * 50_000, 422, "nested deeper than 16 levels"),
    ("texts", "text/plain", b"good\n\xff\n", 422, "body:2:1: byte 0xff is not UTF-8"),
    ("texts", "text/plain", b"a\x00b\n", 422, "body:1:2: found a NUL byte"),
    ("texts", "text/plain", b"", 422, "there are no examples"),
    ("texts", "application/x-ndjson", b'"a"\n{"text":\n', 422, "body:2:9: not JSON"),
    ("texts", "application/x-ndjson", b'["a"]\n', 422, "line 1 holds 1 examples"),
    ("texts", "text/csv", b"a,b\n", 415, "this model reads texts, not csv"),
    ("texts", "text/html", b"a", 415, "the Content-Type 'text/html' is not understood"),
    ("texts", "", b"a", 415, "the Content-Type is missing"),
    ("texts", "text/plain; charset=latin-1", b"a", 415, "is not UTF-8; convert the body"),
    ("vectors", JSON, b"[1, 2, 3]", 422, "found 3 numbers, but the model was trained with 5"),
    ("vectors", JSON, b"[1, 2, 3, 4, NaN]", 422, "NaN is not a finite number"),
    ("vectors", JSON, b"[1, 2, 3, 4, -Infinity]", 422, "-Infinity is not a finite number"),
    ("vectors", JSON, b"[1, 2, 3, 4, 1e999]", 422, "too large for a float"),
    ("vectors", JSON, b"[1, 2, 3, 4, 1" + b"0" * 400 + b"]", 422, "too large for a float"),
    ("vectors", JSON, b"[1, 2, 3, 4, 1" + b"0" * 5000 + b"]", 422, "too many digits"),
    ("vectors", JSON, b'[1, 2, 3, 4, "5"]', 422, "number 5 is '5', not a number"),
    ("vectors", JSON, b"[1, 2, 3, 4, null]", 422, "number 5 is null, not a number"),
    ("vectors", JSON, b"[[1, 2, 3, 4, 5], [1]]", 422, "example 2: found 1 numbers"),
    ("vectors", JSON, b"[[1, 2, 3, 4, 5], 7]", 422, "example 2 is 7"),
    ("vectors", JSON, b'{"x9": 1}', 422, "there is no feature 'x9'"),
    ("vectors", JSON, b"true", 422, "where a list of numbers"),
    ("svmlight", "text/x-svmlight", b"1 1:0.5\n1 3:x\n", 422, "body:2:5: expected a number"),
    ("svmlight", JSON, b'{"one": 1}', 422, "is not a number"),
    ("svmlight", JSON, b'{"-1": 1}', 422, "an index is not from 0"),
    ("svmlight", JSON, b'{"1": 1, "01": 2}', 422, "an index occurs twice"),
    ("svmlight", JSON, b'{"0": 1}', 422, "found index 0"),
    ("table", JSON, b'{"colour": "red"}', 422, "none of the columns that the model needs"),
    ("table", JSON, b'{"weight": [1]}', 422, "the cell of 'weight' is a list"),
    ("table", JSON, b'{"weight": "heavy"}', 422, "column 'weight' holds strings"),
    (
        "table",
        "application/x-ndjson",
        b'{"weight": 1, "indoor": true, "food": "a"}\n{"weight": }\n',
        422,
        "body:2",
    ),
    ("table", "text/csv", b"weight,indoor,food\n1,true\n", 422, "body:2"),
    ("table", JSON, b'{"weight": 1180591620717411303424}', 422, "of more than 64 bits"),
    ("table", JSON, b'{"weight": 1' + b"0" * 400 + b"}", 422, "of more than 64 bits"),
    ("table", JSON, b'{"food": "\\ud800"}', 422, "column 'food' holds half of a surrogate pair"),
    ("named", JSON, b'{"size": null}', 422, "the feature 'size' is null"),
    ("named", JSON, b'{"size": 1' + b"0" * 400 + b"}", 422, "feature 'size' is too large"),
    ("tagger", JSON, b"[1]", 422, "example 1 is not a list of words"),
    ("tagger", JSON, b'{"word": "the"}', 422, "must be a list of strings"),
    ("tagger", "text/x-conll", b"the D\ndog\n", 422, "body:2: 1 column"),
    ("parser", "text/x-conllu", b"1\tthe\n", 422, "body:1: 2 columns"),
]


@pytest.mark.parametrize(("name", "kind", "body", "status", "message"), BAD)
def test_bodies_that_cannot_be_read(serve, name, kind, body, status, message):
    found, told = serve().ask("POST", f"/predict/{name}", body, kind)
    assert (found, message in told["error"]) == (status, True), told
    assert "\n" not in told["error"]
    assert "Traceback" not in json.dumps(told)
    if status == 422 and "body:" in message:
        assert told["line"] >= 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/predict", 405),
        ("POST", "/models", 405),
        ("DELETE", "/predict/texts", 405),
        ("POST", "/predict/other", 404),
        ("POST", "/predict/..%2f..%2fetc", 404),
        ("POST", "/predict", 422),
        ("POST", "/predict/texts?scores=maybe", 422),
        ("POST", "/predict/texts?top=3", 422),
        ("POST", "/predict/texts?scores=true&scores=true", 422),
        ("POST", "/predict/texts?proba=true", 422),
        ("POST", "/predict/texts?model=vw", 422),
        ("POST", "/explain/texts?top=0", 422),
        ("POST", "/explain/texts?token=1", 422),
        ("POST", "/explain/several", 422),
    ],
)
def test_addresses_that_lead_nowhere(serve, method, path, status):
    body = b"[1, 1, 1, 1, 1]" if "several" in path else b'"a"'
    found, told = serve().ask(method, path, body if method == "POST" else b"", JSON)
    assert found == status, told
    assert told["error"]


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("OPTIONS", "/healthz", "get, head"),
        ("PUT", "/models", "get, head"),
        ("GET", "/predict", "post"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(serve, method, path, allow):
    ((status, headers, _),) = serve("texts").say(request(method, path))
    assert (status, headers["allow"]) == (405, allow)


def test_compressed_bodies_are_not_read(serve):
    body = gzip.compress(b'"win money"')
    server = serve("texts")
    status, told = server.ask("POST", "/predict", body, JSON, Content_Encoding="gzip")
    assert (status, "Content-Encoding 'gzip'" in told["error"]) == (415, True)
    assert server.ask("POST", "/predict", b'"a"', JSON, Content_Encoding="identity")[0] == 200


def test_a_body_that_is_too_large_is_refused_before_it_is_read(serve):
    server = serve("texts", body=100)
    connection, wire = server.connect()
    head = request("POST", "/predict", b"", JSON).replace(
        b"Content-Length: 0", b"Content-Length: 101"
    )
    connection.data_received(head)
    ((status, headers, _),) = answers(wire.sent)
    assert (status, headers["connection"]) == (413, "close")
    connection.data_received(b"x" * 101)  # thrown away
    assert len(answers(wire.sent)) == 1
    connection.connection_lost(None)
    assert server.app.under_way == 0


def test_a_chunked_body_is_counted(serve):
    server = serve("texts", body=100)
    head = request("POST", "/predict", b"", JSON).replace(
        b"Content-Length: 0", b"Transfer-Encoding: chunked"
    )
    ((status, _, body),) = server.say(head + b'5\r\n"abc"\r\n0\r\n\r\n')
    assert status == 200, body
    ((status, _, _),) = server.say(head + b"80\r\n" + b"x" * 128 + b"\r\n")
    assert status == 413
    assert server.app.under_way == 0


def test_trailers_have_no_effect(serve):
    """What follows a chunked body is neither a header nor counted with the headers."""
    text = b'"%b"' % (b"a " * 20_000)
    trailers = b"X-Checksum: 1\r\nContent-Type: text/html\r\n\r\n"
    chunks = b"%x\r\n%b\r\n0\r\n%b" % (len(text), text, trailers)
    head = request("POST", "/predict", b"", JSON).replace(
        b"Content-Length: 0", b"Transfer-Encoding: chunked"
    )
    ((status, _, body),) = serve("texts").say(head + chunks)
    assert status == 200, body
    untyped = head.replace(b"Content-Type: application/json\r\n", b"")
    late = chunks.replace(b"text/html", b"application/json")
    ((status, _, _),) = serve("texts").say(untyped + late)
    assert status == 415


def test_too_many_examples(serve):
    server = serve("texts", rows=2)
    assert server.ask("POST", "/predict", ["a", "b"])[0] == 200
    status, told = server.ask("POST", "/predict", ["a", "b", "c"])
    assert (status, "3 examples" in told["error"]) == (413, True)


def test_no_example_is_no_answer(serve):
    assert serve("texts").ask("POST", "/predict", [])[1]["predictions"] == []


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
)
def test_what_is_not_http(serve, data):
    ((status, headers, _),) = serve("texts").say(data)
    assert (status, headers["connection"]) == (400, "close")


def test_headers_without_end(serve):
    server = serve("texts")
    connection, wire = server.connect()
    connection.data_received(b"GET / HTTP/1.1\r\n")
    for number in range(200):
        connection.data_received(b"X-%d: %b\r\n" % (number, b"a" * 1000))
    assert [status for status, *_ in answers(wire.sent)] == [431]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8000"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": None}, 403),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:8000"}, 403),
        ({"Origin": "ftp://127.0.0.1:8000"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/models", "/"])
def test_other_hosts_and_origins_are_refused(serve, path, headers, status):
    assert serve("texts").ask("GET", path, **headers)[0] == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "models.example", "Origin": "https://models.example"}, 200),
        ({"Origin": "https://models.example"}, 200),  # the proxy has replaced the Host
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "models.example", "Origin": "https://evil.example"}, 403),
    ],
)
def test_pages_behind_a_proxy(serve, headers, status):
    assert serve("texts", hosts=["models.example"]).ask("GET", "/models", **headers)[0] == status


@pytest.mark.parametrize("host", [None, "10.1.2.3:8000"])
def test_health_checks_may_name_any_host(serve, host):
    """A load balancer names an address, or nothing."""
    server = serve("texts")
    assert server.ask("GET", "/healthz", Host=host)[0] == 200
    assert server.ask("GET", "/readyz", Host=host)[0] == 200
    assert server.ask("GET", "/models", Host=host)[0] == 403


@pytest.mark.parametrize("path", ["/models", "/metrics"])
def test_a_token_is_needed(serve, path):
    server = serve("texts", tokens=[TOKEN])
    ((status, headers, _),) = server.say(request("GET", path))
    assert (status, headers["www-authenticate"]) == (401, "bearer")
    assert server.ask("GET", path, Authorization="Bearer wrong")[0] == 401
    assert server.ask("GET", path, Authorization=f"Bearer {TOKEN}")[0] == 200


def test_nothing_is_asked_without_a_token(serve):
    server = serve("texts", tokens=[TOKEN])
    assert server.ask("POST", "/predict", "a")[0] == 401
    assert server.ask("POST", "/predict", "a", Authorization=f"Bearer {TOKEN}")[0] == 200
    for path in ("/healthz", "/readyz", "/", "/openapi.json"):
        assert server.ask("GET", path)[0] == 200


def test_too_many_requests_under_way(serve):
    server = serve("texts", concurrent=2)
    whole = request("POST", "/predict", b'"a"', JSON)
    slow = [server.connect() for _ in range(2)]
    for connection, _ in slow:
        connection.data_received(whole[:-1])
    ((status, headers, _),) = server.say(whole)
    assert (status, headers["retry-after"]) == (429, "1")
    assert server.ask("GET", "/healthz")[0] == 200
    for connection, wire in slow:
        connection.data_received(whole[-1:])
        assert server.wait_for(wire, 1)[0][0] == 200
    assert server.ask("POST", "/predict", "a")[0] == 200
    assert server.app.under_way == 0


def test_too_many_connections(serve):
    server = serve("texts", connections=1)
    first, wire = server.connect()
    ((status, _, _),) = server.say(b"")
    assert status == 503
    first.data_received(request("GET", "/healthz"))
    assert server.wait_for(wire, 1)[0][0] == 200


def test_a_request_that_does_not_end_is_ended(serve):
    server = serve("texts", seconds=5.0)
    connection, wire = server.connect()
    connection.data_received(request("POST", "/predict", b'"a"', JSON)[:-1])
    connection.look(time.monotonic() + 4.0, 60.0)
    assert wire.sent == b""
    connection.look(time.monotonic() + 6.0, 60.0)
    assert answers(wire.sent)[0][0] == 408
    assert server.app.under_way == 0


def test_an_answer_that_takes_too_long_is_given_up(serve, monkeypatch):
    server = serve("texts", seconds=5.0)
    monkeypatch.setattr(server.app.answering, "ask", lambda question: None)
    connection, wire = server.connect()
    connection.data_received(request("POST", "/predict", b'"a"', JSON))
    connection.look(time.monotonic() + 6.0, 60.0)
    ((status, headers, _),) = answers(wire.sent)
    assert (status, headers["connection"]) == (503, "close")
    assert server.app.under_way == 0


def test_idle_connections_and_clients_that_do_not_read_are_closed(serve):
    server = serve("texts", seconds=5.0)
    connection, wire = server.connect()
    connection.look(time.monotonic() + 1.0, 60.0)
    assert not wire.closed
    connection.look(time.monotonic() + 61.0, 60.0)
    assert wire.closed
    connection, wire = server.connect()
    connection.pause_writing()
    assert wire.paused
    connection.look(time.monotonic() + 6.0, 60.0)
    assert wire.closed


def test_a_client_that_goes_away_is_forgotten(serve):
    server = serve("texts")
    whole = request("POST", "/predict", b'"a"', JSON)
    for data in (whole, whole[:-1], whole + whole):
        connection, _ = server.connect()
        connection.data_received(data)
        connection.connection_lost(None)
        server.turn(0.01)
    assert server.app.under_way == 0
    assert server.counters.total("connections") == 0
    assert server.ask("POST", "/predict", "a")[0] == 200


def test_no_traceback_leaves(serve, monkeypatch, capsys):
    server = serve("texts")
    (served,) = server.app.models.values()

    def fail(*arguments):
        raise RuntimeError("a secret")

    monkeypatch.setattr(served.predictor, "answer", fail)
    status, told = server.ask("POST", "/predict", "a")
    assert status == 500
    assert "secret" not in json.dumps(told)
    assert "a secret" in capsys.readouterr().err


def test_requests_that_turn_out_not_to_be_http_are_not_counted_for_ever(serve):
    server = serve("texts")
    for _ in range(200):  # more than may be under way
        sent = request("GET", "/metrics", **{"Transfer_Encoding": "chu\x90ked"})
        ((status, _, _),) = server.say(sent + b"0\r\n\r\n")
        assert status == 400
    assert server.app.under_way == 0
    assert server.ask("POST", "/predict/texts", "a text")[0] == 200
