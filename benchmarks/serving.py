"""Our model server, compared with what people write: FastAPI with a scikit-learn pipeline."""

from __future__ import annotations

import atexit
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.data import folder
from benchmarks.harness import Comparison, LeftOut, Outcome, Side, Target, faster
from benchmarks.load import Load, ask_at_rate, ask_in_turn, post
from benchmarks.text import read_reviews
from widemargin.web.serving.limits import Limits

#: The peer: an asynchronous function, which FastAPI calls faster than a plain one, with uvloop and
#: httptools, and without a log line per request (ours writes one, as always).
_PEER = """
import joblib
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
pipeline = joblib.load({path!r})


class Example(BaseModel):
    x: {kind}


@app.get("/healthz")
async def healthz():
    return {{}}


@app.post("/predict")
async def predict(example: Example):
    return {{"label": pipeline.predict([example.x])[0].item()}}
"""
#: Numbers of client connections.
_CONNECTIONS = (1, 8, 64)
#: The server and the client have a core each.
_CORES = sorted(os.sched_getaffinity(0))
_SERVER_CORE, _CLIENT_CORE = (_CORES[0], _CORES[1]) if len(_CORES) > 1 else (None, None)
#: For the overload: the number of connections, and the load as a multiple of the capacity.
_CROWD, _TIMES = 512, 2.0
#: An accepted request waits for those admitted before it, and between them about as many others are
#: refused, twice in a row at worst; the client's own delays are included.
_BOUND = 5.0


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Send both servers the same requests, one example each, over 1, 8 and 64 connections."""
    for package in ("httptools", "uvloop"):
        try:
            __import__(package)
        except ImportError:
            raise LeftOut(f"{package} is absent: install widemargin[serve]") from None
    tasks = [_texts(toy, scratch), _vectors(toy, scratch)]
    sides, targets = [], []
    for task in tasks:
        for connections in _CONNECTIONS:
            ours, peer = f"{task.name}, {connections}", f"FastAPI, {task.name}, {connections}"
            sides.append(_side(ours, task, connections))
            sides.append(_side(peer, task, connections, "fastapi"))
            if connections > 1:
                targets.append(faster(ours, peer, 3.0))
        crowd = f"{task.name}, twice the capacity"
        sides.append(_crowd(crowd, task))
        targets += [_sheds(crowd), _bounded(crowd)]
    return Comparison(
        title="a server of models",
        data="one example per request, loopback, one process on one core, the client on the other;"
        f" {tasks[0].data}; {tasks[1].data}",
        sides=sides,
        targets=targets,
        ratios=False,
    )


@dataclass(frozen=True)
class _Task:
    """A model, the commands that serve it, and requests."""

    name: str
    data: str
    ours: list[str]
    peer: list[str]
    bodies: dict[str, list[bytes]]  # by package: ours and the peer's


def _texts(toy: bool, scratch: pathlib.Path) -> _Task:
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    import widemargin

    imdb, most = folder("imdb"), 200 if toy else 5000
    learned = read_reviews(imdb / "train.jsonl.xz", most)
    asked = [text for _, text in read_reviews(imdb / "test.jsonl.xz", 50 if toy else 1000)]
    texts, labels = [text for _, text in learned], [int(label == "pos") for label, _ in learned]
    widemargin.TextClassifier(random_state=0).fit(texts, labels).save(scratch / "texts.wm")
    pipeline = make_pipeline(
        HashingVectorizer(ngram_range=(1, 2)), SGDClassifier(average=True, random_state=0)
    )
    size = sum(map(len, asked)) / len(asked)
    return _task(
        "texts",
        f"texts: {len(asked):,} IMDB reviews of {size:,.0f} bytes, words and bigrams, a linear"
        " model",
        scratch,
        pipeline.fit(texts, labels),
        "str",
        asked,
    )


def _vectors(toy: bool, scratch: pathlib.Path) -> _Task:
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import widemargin

    X, y = load_digits(return_X_y=True)
    widemargin.OnlineLogistic(random_state=0).fit(X, y).save(scratch / "vectors.wm")
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    asked = X.tolist() * (1 if toy else 2)
    return _task(
        "vectors",
        f"vectors: {len(asked):,} digits of {X.shape[1]} numbers, ten classes, logistic regression",
        scratch,
        pipeline,
        "list[float]",
        asked[: 50 if toy else None],
    )


def _task(
    name: str, data: str, scratch: pathlib.Path, pipeline: Any, kind: str, asked: list[Any]
) -> _Task:
    import joblib

    joblib.dump(pipeline, scratch / f"{name}.joblib")
    module = scratch / f"peer_{name}.py"
    module.write_text(_PEER.format(path=str(scratch / f"{name}.joblib"), kind=kind))
    ours = [sys.executable, "-m", "widemargin", "serve", str(scratch / f"{name}.wm")]
    peer = [sys.executable, "-m", "uvicorn", f"peer_{name}:app", "--app-dir", str(scratch)]
    peer += ["--no-access-log", "--log-level", "error", "--loop", "uvloop", "--http", "httptools"]
    return _Task(
        name,
        data,
        ours,
        peer,
        {
            "widemargin": [json.dumps(one).encode() for one in asked],
            "fastapi": [json.dumps({"x": one}).encode() for one in asked],
        },
    )


class _Running:
    """A server process on its core, and the requests to it."""

    def __init__(self, command: list[str], bodies: list[bytes]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.requests = [post(self.port, "/predict", body) for body in bodies]
        self._process = subprocess.Popen(
            [*command, "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_pin,
        )
        until = time.monotonic() + 60.0
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
                break
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    self.stop()
                    raise
                time.sleep(0.05)
        ask_in_turn(self.port, self.requests[:200], 8, _CLIENT_CORE)  # warm

    def stop(self) -> None:
        """End it."""
        if self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _pin() -> None:
    if _SERVER_CORE is not None:
        os.sched_setaffinity(0, {_SERVER_CORE})


def _figures(load: Load) -> dict[str, float]:
    return {
        "requests/s": len(load.accepted) / load.seconds,
        "p50 ms": 1000.0 * load.percentile(0.5),
        "p99 ms": 1000.0 * load.percentile(0.99),
    }


_servers: dict[tuple[str, str], _Running] = {}


def _server(task: _Task, package: str) -> _Running:
    """The server of a task, which runs until everything is measured; idle, it disturbs nothing."""
    key = task.ours[-1], package
    if key not in _servers:
        command = task.ours if package == "widemargin" else task.peer
        _servers[key] = _Running(command, task.bodies[package])
        atexit.register(_servers[key].stop)
    return _servers[key]


def _side(name: str, task: _Task, connections: int, package: str = "widemargin") -> Side:
    """Send all requests over some connections; only this is timed."""

    def work(server: _Running) -> Load:
        return ask_in_turn(server.port, server.requests, connections, _CLIENT_CORE)

    def figures(load: Load) -> Mapping[str, float]:
        if load.lost or set(load.statuses) != {200}:
            raise RuntimeError(f"{name}: {load.lost} lost, {load.statuses}")
        return _figures(load)

    ours = "widemargin serve MODEL"
    shown = ours if package == "widemargin" else f"uvicorn app:app {' '.join(task.peer[6:])}"
    return Side(name, shown, work, figures, package, prepare=lambda repeat: _server(task, package))


def _crowd(name: str, task: _Task) -> Side:
    """Send twice as many requests per second as the server can answer."""

    def prepare(repeat: int) -> tuple[_Running, float]:
        server = _server(task, "widemargin")
        load = ask_in_turn(server.port, server.requests, 64, _CLIENT_CORE)
        return server, len(load.accepted) / load.seconds

    def work(found: tuple[_Running, float]) -> Load:
        server, capacity = found
        requests = server.requests * 3
        return ask_at_rate(server.port, requests, _CROWD, _CLIENT_CORE, _TIMES * capacity)

    def figures(load: Load) -> Mapping[str, float]:
        shed = sum(load.statuses.get(status, 0) for status in (429, 503))
        other = sum(load.statuses.values()) - shed - load.statuses.get(200, 0)
        return {**_figures(load), "shed": shed, "lost": load.lost + other}

    return Side(name, "widemargin serve MODEL, 512 connections", work, figures, prepare=prepare)


def _sheds(side: str) -> Target:
    def found(mine: Outcome) -> tuple[str, bool]:
        shed, lost = mine.mean("shed") or 0.0, mine.mean("lost") or 0.0
        return f"{shed:.0f} shed, {lost:.0f} lost", shed > 0 and lost == 0

    return Target(f"{side}: sheds with 429 or 503, loses nothing", (side,), found)


def _bounded(side: str) -> Target:
    most = Limits().concurrent

    def found(mine: Outcome) -> tuple[str, bool]:
        slow, rate = mine.mean("p99 ms") or 0.0, mine.mean("requests/s") or 1.0
        times = slow / (1000.0 * most / rate)
        return f"{slow:.1f} ms, {times:.1f}x", times <= _BOUND

    told = f"p99 of accepted requests <= {_BOUND:g}x the time of {most}, as many as are admitted"
    return Target(f"{side}: {told}", (side,), found)
