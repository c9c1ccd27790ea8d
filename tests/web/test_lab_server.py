"""The lab's server: who may ask, what is refused, and what happens when a page goes away."""

import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import urllib.parse

import numpy as np
import pytest
from shell import run_shell

pytest.importorskip("starlette", reason="the lab needs starlette")

import widemargin
from widemargin.cli import lab as cli_lab
from widemargin.web.lab import app as lab_app
from widemargin.web.lab.trainings import StoppedError
from widemargin.web.lab.work import BusyError, OneAtATime

SIX = [[-1, 2, 0], [1, 0, 1], [1, 1, 1], [-1, 0, 0], [-1, -2, 0], [1, -1, 1]]
TWO = {"points": [[0, 0, 0], [1, 1, 1]], "classes": [-1, 1]}


@pytest.fixture(scope="module")
def running():
    with widemargin.lab([[0, 0, 1], [1, 1, 2], [2, 1, 0]], ["no", "yes", "yes"]) as lab:
        yield lab


def ask(lab, path="", body=None, method=None, **headers):
    """The status, headers and body of an answer."""
    parts = urllib.parse.urlsplit(lab.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=240)
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    told = {} if body is None else {"Content-Type": "application/json"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    target = path if path.startswith("/") else parts.path + path
    try:
        connection.request(method or ("GET" if body is None else "POST"), target, data, told)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_the_page_and_its_parts_are_served(running):
    status, headers, page = ask(running)
    assert status == 200
    assert b"main.js" in page
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
    status, headers, _ = ask(running, "main.js")
    assert status == 200
    assert headers["Content-Type"].startswith("text/javascript")
    assert b"http://" not in page.replace(b"http://www.w3.org", b"")
    assert b"https://" not in page


def test_learning_over_http(running):
    body = {"points": SIX, "classes": [-1, 1], "frame": [-4, 4, -4, 4]}
    body["learners"] = [{"learner": "perceptron", "settings": {"fit_intercept": False}}]
    status, _, told = ask(running, "learn", body)
    assert status == 200
    assert json.loads(told)["runs"][0]["mistakes"] == [0, 2, 4]
    status, _, told = ask(running, "verdict", {"points": SIX, "bias": False})
    assert json.loads(told)["verdict"]["verdict"] == "separable"
    status, _, told = ask(running, "python", body)
    assert "Perceptron(" in json.loads(told)["program"]
    status, _, told = ask(running, "sample", {"columns": [0, 1]})
    assert json.loads(told)["classes"] == ["no", "yes"]


def test_one_learner_may_fail_while_the_other_learns(running):
    learners = [{"learner": "perceptron", "settings": {"epochs": 5000}}, {"learner": "soft-svm"}]
    points = [[i, i % 3, i % 2] for i in range(10)]
    body = {"points": points, "classes": [-1, 1], "frame": [-9, 9, -9, 9], "learners": learners}
    status, _, told = ask(running, "learn", body)
    runs = json.loads(told)["runs"]
    assert status == 200
    assert "20,000" in runs[0]["error"]
    assert runs[1]["passes"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "file://"},
    ],
)
@pytest.mark.parametrize("body", [None, TWO])
def test_other_hosts_and_origins_are_refused(running, headers, body):
    port = str(urllib.parse.urlsplit(running.url).port)
    told = {name: value.replace("{port}", port) for name, value in headers.items()}
    status, _, text = ask(running, "verdict" if body else "", body, **told)
    assert status == 403
    assert b"the lab answers" in text


def test_own_origin_is_fine_and_other_sites_are_not(running):
    parts = urllib.parse.urlsplit(running.url)
    own = f"http://{parts.netloc}"
    assert ask(running, "verdict", TWO, Origin=own, Sec_Fetch_Site="same-origin")[0] == 200
    for site in ("cross-site", "same-site", "none"):
        assert ask(running, "verdict", TWO, Origin=own, Sec_Fetch_Site=site)[0] == 403


@pytest.mark.parametrize(
    "path", ["/", "/main.js", "/wrong-token-of-some-length/", "//", "/%2e%2e/"]
)
def test_nothing_without_the_token(running, path):
    status, _, text = ask(running, path)
    assert status == 403
    assert b"token" in text
    assert ask(running, path.rstrip("/") + "/verdict", TWO)[0] == 403


def test_a_form_of_another_site_is_not_read(running):
    """A browser sends such a form without asking first; JSON it would ask for, and be refused."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert ask(running, "verdict", TWO, Content_Type=kind)[0] == 415


def test_cross_site_websockets_are_refused(running):
    parts = urllib.parse.urlsplit(running.url)
    with socket.create_connection((parts.hostname, parts.port), 10) as raw:
        raw.sendall(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nOrigin: http://evil.example\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        answer = raw.recv(4096)
    assert b" 101 " not in answer.split(b"\r\n")[0]
    assert b"403" in answer.split(b"\r\n")[0]


@pytest.mark.parametrize(
    "path", ["../../pyproject.toml", "..%2f..%2fapp.py", "app.py", "page/main.js", "%00"]
)
def test_only_files_of_the_page_are_read(running, path):
    assert ask(running, path)[0] in (403, 404)


def test_limits(running):
    assert ask(running, "verdict", b"[" * 100_000)[0] == 400
    assert ask(running, "verdict", b" " * 300_000)[0] == 413
    assert ask(running, "verdict", b"[1]")[0] == 400
    assert ask(running, "verdict", b'{"points": [[NaN, 0, 1]]}')[0] == 422
    status, _, told = ask(running, "verdict", {"points": [[0, 0, 1]] * 2000})
    assert status == 422
    assert "at most 1000" in json.loads(told)["error"]
    assert ask(running, "learn", {**TWO, "frame": [0, 1, 0, 1], "learners": []})[0] == 422
    assert (
        ask(running, "learn", {**TWO, "frame": [1, 0, 0, 1], "learners": [{"learner": "pa"}]})[0]
        == 422
    )
    assert ask(running, "verdict", None)[0] == 404
    assert ask(running, "verdict", {**TWO, "bias": 1})[0] == 422


def test_no_traceback_leaves(running, monkeypatch, capfd):
    def fail(*_, **__):
        raise RuntimeError("a secret")

    monkeypatch.setattr(lab_app, "certified", fail)
    status, _, told = ask(running, "verdict", TWO)
    assert status == 500
    assert b"secret" not in told
    assert "a secret" in capfd.readouterr().err


def test_closing_the_page_stops_the_work(running, monkeypatch):
    began, ended = threading.Event(), threading.Event()

    def endless(choice, placed, frame, watch):
        began.set()
        while not watch():
            time.sleep(0.005)
        ended.set()
        raise StoppedError

    monkeypatch.setattr(lab_app, "train", endless)
    parts = urllib.parse.urlsplit(running.url)
    body = json.dumps({**TWO, "frame": [0, 1, 0, 1], "learners": [{"learner": "pa"}]}).encode()
    raw = socket.create_connection((parts.hostname, parts.port), 10)
    raw.sendall(
        f"POST {parts.path}learn HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    assert began.wait(30)
    # One more may wait; the next is turned away.
    waiting = threading.Thread(target=ask, args=(running, "verdict", TWO))
    waiting.start()
    statuses = []
    for _ in range(200):
        statuses.append(quick(running))
        if statuses[-1] == 429:
            break
        time.sleep(0.02)
    assert statuses[-1] == 429
    raw.close()
    assert ended.wait(30)
    waiting.join(30)
    assert not waiting.is_alive()
    assert ask(running, "verdict", TWO)[0] == 200


def quick(lab):
    """The status of a question that may have to wait, or 0 if it does."""
    parts = urllib.parse.urlsplit(lab.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=0.2)
    try:
        told = {"Content-Type": "application/json"}
        connection.request("POST", parts.path + "verdict", json.dumps(TWO), told)
        return connection.getresponse().status
    except TimeoutError:
        return 0
    finally:
        connection.close()


def test_one_at_a_time():
    import asyncio

    async def play():
        turns, gate = OneAtATime(), threading.Event()

        async def stays():
            await asyncio.sleep(60)

        def work(stop):
            gate.wait(10)
            return threading.current_thread().name

        tasks = [asyncio.create_task(turns.run(work, stays)) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(BusyError):
            await turns.run(work, stays)
        gate.set()
        assert len(set(await asyncio.gather(*tasks))) == 1
        turns.close()

    asyncio.run(play())


def test_a_lab_can_be_closed_and_shown():
    lab = widemargin.lab()
    assert f'src="{lab.url}"' in lab._repr_html_()
    status, headers, _ = ask(lab)
    assert status == 200
    assert "frame-ancestors http://127.0.0.1:*" in headers["Content-Security-Policy"]
    lab.close()
    with pytest.raises(OSError):
        ask(lab)


def test_the_command_prints_the_address_and_ends_with_ctrl_c(tmp_path):
    table = tmp_path / "pets.csv"
    table.write_text("legs,weight,pet\n4,5.5,cat\n4,20,dog\n4,4.5,cat\n3,18,dog\n")
    words = [sys.executable, "-m", "widemargin", "lab", str(table), "--no-browser"]
    told = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = told.stdout.readline()
        assert line.startswith("The lab is at http://127.0.0.1:")
        lab = types.SimpleNamespace(url=line.split()[-1])
        status, headers, _ = ask(lab)
        assert status == 200
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        about = json.loads(ask(lab, "setup")[2])["table"]
        assert about == {"source": str(table), "names": ["legs", "weight"], "rows": 4}
        shown = json.loads(ask(lab, "sample", {"columns": [0, 1], "standardised": False})[2])
        assert shown["points"][0] == [4, 5.5, 0]
        assert shown["classes"] == ["cat", "dog"]
        told.send_signal(signal.SIGINT)
        assert told.wait(30) == 0
        assert "Traceback" not in told.stderr.read()
    finally:
        told.kill()
        told.communicate()


def test_the_token_is_not_on_the_command_line_of_a_browser(monkeypatch):
    """Others on the machine can read that line, but not the file that it names."""
    seen = []

    def look(address):
        path = pathlib.Path(urllib.parse.urlsplit(address).path)
        seen.append((address, path.stat().st_mode & 0o077, path.read_text()))

    monkeypatch.setattr(cli_lab.webbrowser, "open", look)
    monkeypatch.setattr(cli_lab.Lab, "run", lambda lab: 0)
    cli_lab.lab(None, {"port": 0, "browser": True})
    ((address, others, text),) = seen
    assert address.startswith("file:")
    assert others == 0
    assert "url=http://127.0.0.1:" in text
    assert not pathlib.Path(urllib.parse.urlsplit(address).path).exists()


def test_wrong_use():
    with pytest.raises(ValueError, match="both X and y"):
        widemargin.lab([[0, 1]])
    with pytest.raises(ValueError, match="two features"):
        widemargin.lab(np.zeros((3, 1)), [0, 1, 0])


def test_without_what_it_needs_the_command_says_so_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr("widemargin.web.lab.start.find_spec", lambda name: None)
    done = run_shell(tmp_path, "lab", "--no-browser", code=1)
    assert done.stderr.count("\n") == 1
    assert "pip install 'widemargin[lab]'" in done.stderr
