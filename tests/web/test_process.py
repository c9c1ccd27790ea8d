"""The server as a process: start, takeover, crash, and a graceful end."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest
from forked import Forked, run_forked
from serving_models import KINDS, TEXTS

import widemargin

pytest.importorskip("httptools")
pytest.importorskip("uvloop")
TOKEN = "0123456789abcdef"
JSON = {"Content-Type": "application/json"}


class Process:
    """A running `widemargin serve`."""

    def __init__(self, folder, *words, **options):
        self.folder = folder
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = ("-m", "widemargin", "serve", *words, "--port", "0")
        self.process = Forked(*command, cwd=folder, text=True, **pipes, **options)
        said = self.process.stderr.readline()
        self.port = int(re.search(r":(\d+)$", said.strip())[1])
        self.log = []
        threading.Thread(target=self._read, daemon=True).start()
        wait_until(lambda: self.ask("GET", "/readyz")[0] == 200)

    def _read(self):
        self.log += map(json.loads, self.process.stdout)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def ask(self, method, path, value=None, **headers):
        with contextlib.closing(self.connect()) as connection:
            body = None if value is None else json.dumps(value)
            connection.request(method, path, body, {**JSON, **headers})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def predict(self, value):
        status, body = self.ask("POST", "/predict", value)
        assert status == 200, body
        return json.loads(body)

    @property
    def children(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path) as file:
            return [int(one) for one in file.read().split()]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(30)


def wait_until(true, seconds=30.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if true():
                return
        time.sleep(0.02)
    raise AssertionError("it did not come to pass")


@pytest.fixture
def start(folder, tmp_path):
    shutil.copy(folder / "texts.wm", tmp_path / "texts.wm")
    started = []

    def begin(*words, **options):
        started.append(Process(tmp_path, *words, **options))
        return started[-1]

    yield begin
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
        server.process.stderr.close()


def replace_model(folder, kinds):
    """Save another model over the first, as training again does."""
    widemargin.TextClassifier(random_state=0).fit(TEXTS * 3, kinds).save(folder / "texts.wm")


def test_it_answers_logs_and_ends_on_sigterm(start):
    server = start("texts.wm")
    assert server.predict("win money")["prediction"] == {"label": "spam"}
    assert server.end() == 0
    wait_until(lambda: any(line["path"] == "/predict" for line in server.log))
    (line,) = (line for line in server.log if line["path"] == "/predict")
    assert (line["status"], line["rows"], line["model"]) == (200, 1, "texts")


@pytest.mark.parametrize(
    ("number", "terminal", "code"),
    [(signal.SIGTERM, False, 0), (signal.SIGINT, True, 130), (signal.SIGHUP, True, 0)],
)
def test_signals_finish_what_was_begun(start, number, terminal, code):
    """A request of which half has arrived is read to its end and answered."""

    def heed():  # the tests may run under nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    server = start("texts.wm", preexec_fn=heed)
    connection, idle = server.connect(), server.connect()
    idle.request("GET", "/healthz")
    assert idle.getresponse().read()
    body = b'"win money"'
    connection.putrequest("POST", "/predict")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body[:3])
    wait_until(lambda: b"requests_under_way 2" in server.ask("GET", "/metrics")[1])
    for process in server.children if terminal else ():  # a terminal signals all processes
        os.kill(process, number)
    server.process.send_signal(number)
    assert idle.sock.recv(1) == b""  # closed at once
    with pytest.raises(OSError):
        server.ask("GET", "/healthz")
    connection.send(body[3:])
    answer = connection.getresponse()
    assert answer.status == 200
    assert json.loads(answer.read())["prediction"] == {"label": "spam"}
    assert answer.getheader("Connection") == "close"
    assert server.process.wait(30) == code


def test_a_server_under_nohup_survives_the_terminal(start):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    server = start("texts.wm", preexec_fn=ignore)
    for process in (*server.children, server.process.pid):
        os.kill(process, signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(0.5)
    assert server.predict("win money")["prediction"] == {"label": "spam"}
    assert server.end() == 0


def test_ctrl_c_is_130(start):
    assert start("texts.wm").end(signal.SIGINT) == 130


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.exhaustive), "2"])
def test_a_replaced_model_is_taken_over_without_losing_a_request(start, workers):
    server = start("texts.wm", "--workers", workers, "--quiet")
    before = server.predict("win money")["digest"]
    answers, wrong, stop = [], [], threading.Event()

    def keep_asking():
        connection = server.connect()
        while not stop.is_set():
            try:
                connection.request("POST", "/predict", b'"win money"', JSON)
                answer = connection.getresponse()
                found = json.loads(answer.read())
                answers.append((found["digest"], found["prediction"]["label"]))
                if answer.getheader("Connection") == "close":
                    connection.close()
            except (OSError, http.client.HTTPException, KeyError) as error:
                wrong.append(repr(error))
                connection.close()

    clients = [threading.Thread(target=keep_asking) for _ in range(4)]
    for client in clients:
        client.start()
    replace_model(server.folder, [kind.upper() for kind in KINDS] * 3)
    try:
        wait_until(lambda: server.predict("win money")["digest"] != before)
        count = len(answers)
        wait_until(lambda: len(answers) > count + 100 and answers[-1][0] != before)
    finally:
        stop.set()
        for client in clients:
            client.join()
    assert wrong == []
    after = server.predict("win money")["digest"]
    assert set(answers) == {(before, "spam"), (after, "SPAM")}
    assert server.end() == 0


def test_a_damaged_model_is_not_taken_over(start):
    server = start("texts.wm")
    before = server.predict("a")["digest"]
    (server.folder / "texts.wm").write_bytes(b"no model")
    wait_until(lambda: any(line.get("event") == "model refused" for line in server.log))
    assert server.predict("a")["digest"] == before
    os.unlink(server.folder / "texts.wm")
    assert server.predict("a")["digest"] == before
    assert server.end() == 0


def test_a_model_that_does_not_fit_into_memory_is_not_taken_over(folder, tmp_path, monkeypatch):
    """Whatever happens while a new file is loaded, the server goes on with the old one."""
    from widemargin.web.serving import supervisor
    from widemargin.web.serving.worker import ServeSettings

    path = tmp_path / "texts.wm"
    shutil.copy(folder / "texts.wm", path)
    read, write = os.pipe()
    server = supervisor.Supervisor({"texts": str(path)}, ServeSettings(log=write))
    old = server.models

    def fail(*arguments):
        raise MemoryError("no room")

    monkeypatch.setattr(supervisor, "load_served", fail)
    os.utime(path, (1, 1))
    for _ in range(3):  # first it is seen, then loaded, then known to be bad
        server._look_at_files(None)
    (line,) = os.read(read, 4096).splitlines()
    os.close(read)
    os.close(write)
    assert server.models is old
    assert json.loads(line)["error"] == "MemoryError('no room')"


@pytest.mark.parametrize(("soft", "hard", "most"), [(80, 4096, 1024), (80, 100, 36)])
def test_connections_are_as_many_as_files_may_be_open(start, soft, hard, most):
    """What is beyond them is refused in words."""
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    server = start("texts.wm", preexec_fn=limit)
    (worker,) = server.children
    with open(f"/proc/{worker}/limits") as file:
        (line,) = (line for line in file if line.startswith("Max open files"))
    assert int(line.split()[3]) == most + 64
    if most > 100:
        return
    assert f"at most {most} connections" in server.process.stderr.readline()
    held = []
    try:
        for _ in range(most):
            held.append(server.connect())
            held[-1].connect()
        wait_until(lambda: server.ask("GET", "/healthz")[0] == 503)
    finally:
        for connection in held:
            connection.close()


def test_a_worker_that_dies_is_replaced(start):
    server = start("texts.wm")
    (worker,) = server.children
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: server.predict("a")["digest"] and server.children != [worker])
    replacement = server.children
    for _ in range(50):
        server.predict("a")
    assert server.children == replacement
    assert server.end() == 0
    ended = [line["process"] for line in server.log if line.get("event") == "worker ended"]
    assert ended == [worker]


def test_workers_end_with_their_supervisor(start):
    server = start("texts.wm")
    (worker,) = server.children
    server.process.kill()
    server.process.wait()
    wait_until(lambda: has_ended(worker))


def has_ended(process):
    """Whether a process is no more, or waits only for somebody to take note of its end."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_processes_share_the_memory_of_a_model(start, folder):
    """What two workers have in memory together is hardly more than what one of them has."""
    server = start("texts.wm", "--workers", "2")
    for _ in range(20):
        server.predict("win money")

    def kilobytes(process, kind):
        with open(f"/proc/{process}/smaps_rollup") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(kind))

    for worker in server.children:
        private = kilobytes(worker, ("Private_Dirty", "Private_Clean"))
        assert private < 0.5 * kilobytes(worker, "Rss")


def serve_command(folder, *words):
    return run_forked("-m", "widemargin", "serve", *words, cwd=folder)


def test_others_may_not_ask_without_a_token(folder):
    done = serve_command(folder, "texts.wm", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert "--token" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.wm"], "absent.wm: No such file or directory"),
        (["train.svm"], "train.svm: not a widemargin model"),
        (["texts.wm", "texts.wm"], "would both be called texts"),
        (["texts.wm", "--token", "short"], "at least 16 characters"),
    ],
)
def test_errors_are_one_line(folder, words, message):
    done = serve_command(folder, *words, "--port", "0")
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_token_on_the_command_line(start):
    server = start("texts.wm", "--token", TOKEN)
    assert server.ask("GET", "/models")[0] == 401
    assert server.ask("GET", "/models", Authorization=f"Bearer {TOKEN}")[0] == 200
