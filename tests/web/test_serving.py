"""What the server says beside predictions, and how it speaks HTTP."""

import json
import os
import time
from email.utils import parsedate_to_datetime

import pytest
from http_client import answers, request

from widemargin.web.serving.highlights import highlights

JSON = "application/json"


def test_requests_on_one_connection_are_answered_in_order(serve):
    server = serve("texts", "kernel")
    asked = [
        request("POST", "/predict/kernel", b"[1, 1, 1, 1, 1]", JSON, X_Request_Id="first"),
        request("POST", "/predict/texts", b'"a"', JSON, X_Request_Id="second"),
        request("GET", "/nothing", X_Request_Id="third"),
        request("GET", "/healthz", X_Request_Id="fourth"),
    ]
    found = server.say(b"".join(asked), 4)
    assert [status for status, *_ in found] == [200, 200, 404, 200]
    ids = [headers["x-request-id"] for _, headers, _ in found]
    assert ids == ["first", "second", "third", "fourth"]


def test_nonsense_after_a_request_is_refused_after_its_answer(serve):
    server = serve("texts")
    found = server.say(request("POST", "/predict", b'"a"', JSON) + b"nonsense\r\n\r\n", 2)
    assert [status for status, *_ in found] == [200, 400]
    assert server.app.under_way == 0


def test_requests_in_pieces(serve):
    server = serve("texts")
    connection, wire = server.connect()
    for byte in request("POST", "/predict", b'"a text"', JSON):
        connection.data_received(bytes([byte]))
    assert server.wait_for(wire, 1)[0][0] == 200


def test_the_connection_ends_when_the_client_says_so(serve):
    server = serve("texts")
    connection, wire = server.connect()
    connection.data_received(request("GET", "/healthz", Connection="close") * 2)
    server.wait_for(wire, 1)
    server.turn(0.05)  # in which a second answer would have come
    found = server.wait_for(wire, 1)
    assert [headers["connection"] for _, headers, _ in found] == ["close"]


def test_a_client_that_waits_is_told_to_go_on(serve):
    server = serve("texts")
    connection, wire = server.connect()
    whole = request("POST", "/predict", b'"a"', JSON, Expect="100-continue")
    connection.data_received(whole[:-3])
    assert wire.sent == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.data_received(whole[-3:])
    assert server.wait_for(wire, 2)[1][0] == 200


def test_a_refused_client_that_waits_is_told_at_once(serve):
    """Its body is never sent, so there would be nothing else to wait for."""
    connection, wire = serve("texts").connect()
    whole = request("POST", "/nothing", b'"a"', JSON, Expect="100-continue")
    connection.data_received(whole[:-3])
    ((status, headers, _),) = answers(wire.sent)
    assert (status, headers["connection"]) == (404, "close")


def test_a_client_with_earlier_requests_is_not_told_to_go_on(serve, monkeypatch):
    """It would take it for the answer to one of them."""
    server = serve("texts")
    monkeypatch.setattr(server.app.answering, "ask", lambda question: None)
    connection, wire = server.connect()
    connection.data_received(request("POST", "/predict", b'"a"', JSON))
    connection.data_received(request("POST", "/predict", b'"a"', JSON, Expect="100-continue")[:-3])
    assert wire.sent == b""
    connection.connection_lost(None)


def test_answers_have_a_date(serve):
    ((_, headers, _),) = serve("texts").say(request("GET", "/healthz"))
    then = parsedate_to_datetime(headers["date"].upper())
    assert abs(time.time() - then.timestamp()) < 5.0


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://127.0.0.1:8000/healthz", 200),
        ("http://127.0.0.1:8000/models?x=1", 200),
        ("http://127.0.0.1:8000", 200),
        ("*", 404),
    ],
)
def test_addresses_may_name_the_host(serve, url, status):
    assert serve("texts").ask("GET", url)[0] == status


def test_half_closed_connections_are_answered(serve):
    server = serve("texts")
    connection, wire = server.connect()
    connection.data_received(request("POST", "/predict", b'"a"', JSON))
    assert connection.eof_received()
    ((status, headers, _),) = server.wait_for(wire, 1)
    assert (status, headers["connection"]) == (200, "close")
    assert not server.connect()[0].eof_received()


def test_head_has_no_body(serve):
    connection, wire = serve("texts").connect()
    connection.data_received(request("HEAD", "/healthz"))
    assert wire.sent.endswith(b"\r\n\r\n")
    assert b"content-length: 15" in wire.sent


def test_a_large_body_is_read_apart(serve):
    server = serve("texts")
    texts = ["a text " * 10] * 2000
    assert len(server.predict("texts", texts)["predictions"]) == 2000


def test_a_draining_server_closes_connections_and_is_not_ready(serve):
    server = serve("texts")
    server.app.draining = True
    ((status, headers, _),) = server.say(request("POST", "/predict", b'"a"', JSON))
    assert (status, headers["connection"]) == (200, "close")
    assert server.ask("GET", "/readyz")[0] == 503
    assert server.ask("GET", "/healthz")[0] == 200


def test_metrics_are_prometheus_text(serve):
    server = serve("texts")
    server.ask("POST", "/predict", ["a", "b"])
    server.ask("POST", "/predict", 3)
    status, text = server.ask("GET", "/metrics")
    assert status == 200
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert samples['widemargin_requests_total{route="predict",status="200"}'] == "1"
    assert samples['widemargin_requests_total{route="predict",status="422"}'] == "1"
    assert samples['widemargin_examples_total{model="texts"}'] == "2"
    assert samples["widemargin_request_seconds_count"] == "2"
    assert samples['widemargin_request_seconds_bucket{le="+Inf"}'] == "2"
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert all(name.split("{")[0].startswith(tuple(named)) for name in samples)


def test_counters_of_processes_add_up():
    from widemargin.web.serving.metrics import Counters

    counters = Counters(2, ["m"])
    for slot in (0, 1):
        counters.take_slot(slot)
        counters.add("examples", "m", by=3)
        counters.answered("predict", 200, 0.003)
    assert counters.total("examples", "m") == 6
    assert 'le="0.005"} 2' in counters.text([("m", "d", "l")], 0, 2)


def test_lines_of_long_paths_are_written_whole(serve, monkeypatch):
    """What a process writes at once stays below the size up to which pipes keep it together."""
    read, write = os.pipe()
    written, write_all = [], os.write

    def note(file, data):
        written.append(data)
        return write_all(file, data)

    monkeypatch.setattr(os, "write", note)
    server = serve("texts", log=write)
    server.say(request("GET", "/" + '"' * 900) * 10 + request("GET", "/healthz"), 11)
    server.turn()
    assert max(map(len, written)) <= 4096
    lines = [json.loads(line) for line in os.read(read, 1 << 16).splitlines()]
    os.close(read)
    os.close(write)
    assert [line["status"] for line in lines] == [404] * 10 + [200]


def test_each_request_is_one_line_of_json(serve, models):
    read, write = os.pipe()
    server = serve("texts", log=write)
    server.ask("POST", "/predict/texts", ["a", "b"], X_Request_Id="mine")
    server.ask("GET", '/no"thing\\')
    server.say(b"nonsense\r\n\r\n")
    server.turn()
    lines = [json.loads(line) for line in os.read(read, 1 << 16).decode().splitlines()]
    os.close(read)
    os.close(write)
    assert [line["status"] for line in lines] == [200, 404, 400]
    first = lines[0]
    assert (first["id"], first["rows"], first["model"]) == ("mine", 2, "texts")
    (digest,) = (served.digest for served in models if served.name == "texts")
    assert digest.startswith(first["digest"])
    assert lines[1]["path"] == '/no"thing\\'
    assert len({line["id"] for line in lines}) == 3


def test_strange_request_ids_are_not_repeated(serve):
    ((_, headers, _),) = serve("texts").say(request("GET", "/healthz", X_Request_Id="a b<c>"))
    assert "<" not in headers["x-request-id"]


def test_openapi_describes_every_path(serve, models):
    server = serve()
    status, api = server.ask("GET", "/openapi.json")
    assert status == 200
    assert api["openapi"].startswith("3.1")
    explaining = {
        one["name"] for one in server.ask("GET", "/models")[1]["models"] if one["explains"]
    }
    assert explaining
    assert {path for path in api["paths"] if path.startswith("/explain/")} == {
        f"/explain/{name}" for name in explaining
    }
    for served in models:
        for route in ("predict", "explain") if served.name in explaining else ("predict",):
            post = api["paths"][f"/{route}/{served.name}"]["post"]
            example = post["requestBody"]["content"][JSON]["example"]
            if route == "predict":
                assert server.predict(served.name, example)["prediction"]
            assert {"200", "413", "422", "429", "503"} <= post["responses"].keys()


def test_what_models_say_of_themselves(serve, models):
    _, told = serve().ask("GET", "/models")
    kinds = {one["name"]: one["kind"] for one in told["models"]}
    assert kinds["texts"] == "texts"
    assert kinds["table"] == "rows of a table"
    assert kinds["parser"] == "sentences to parse"
    (logistic,) = (one for one in told["models"] if one["name"] == "logistic")
    assert (logistic["classes"], logistic["probabilities"]) == ([0, 1], True)


def test_the_page_asks_nobody_else(serve):
    server = serve("texts")
    found = [server.say(request("GET", path))[0] for path in ("/", "/tryout.js", "/tryout.css")]
    for status, headers, body in found:
        assert status == 200
        assert "default-src 'none'" in headers["content-security-policy"]
        assert b"http://" not in body
        assert b"https://" not in body
        assert b"innerHTML" not in body


def test_waiting_for_others(serve):
    server = serve("texts", wait=0.05)
    wires = []
    for text in (b'"a"', b'"b"', b'"c"'):
        connection, wire = server.connect()
        connection.data_received(request("POST", "/predict", text, JSON))
        server.turn()
        assert answers(wire.sent) == []
        wires.append(wire)
    assert all(server.wait_for(wire, 1)[0][0] == 200 for wire in wires)
    assert server.counters.total("batches") == 1


@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
def test_marks_of_characters(analyzer):
    options = {"analyzer": analyzer, "ngrams": (2, 2), "lowercase": True, "min_length": 2}
    pieces = highlights("Abc  ab", [{"feature": "ab", "share": 4.0}], options)
    assert "".join(piece for piece, _ in pieces) == "Abc  ab"
    weights = [weight for piece, weight in pieces for _ in piece]
    assert weights == [1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]


def test_marks_of_n_grams_skip_short_words():
    options = {"analyzer": "word", "ngrams": (1, 2), "lowercase": True, "min_length": 2}
    reasons = [{"feature": "~is rose", "share": 2.0}, {"feature": "nowhere", "share": 9.0}]
    pieces = dict(highlights("is a ROSE", reasons, options))
    assert (pieces["is"], pieces["ROSE"], pieces["a"]) == (1.0, 1.0, 0.0)
