"""`python -m benchmarks.soak`: run everything at random for hours, watching memory and handles.

One process trains, predicts, reads, streams, saves and loads in a random order, and sends requests
to a server that it has started. Results are compared on the way: a saved model must give the same
predictions when loaded, and the server must answer as the model does. Models are bounded: the same
classes and names recur, so that growing memory means a leak.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import http.client
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import widemargin

#: The longest run, in minutes.
_LONGEST = 100.0
#: Shorter runs are still warming up, and only check that answers are right.
_SHORTEST = 20.0
#: The fraction of a run that warms up: imports, machine code, work arrays, allocator free lists.
_WARM = 0.2
#: More than this counts as growth: in runs without leaks, fragmentation in the allocator stayed
#: below half of it.
_MOST_MEGABYTES, _MOST_HANDLES = 32.0, 2
_WIDTH, _CLASSES, _ROWS = 40, 4, 200
_WORDS = [f"word{k}" for k in range(500)]
#: A model is retrained after this many updates.
_UPDATES = 100
#: A step takes milliseconds. One that took longer, in seconds, was suspended with the machine or
#: starved: the rest of its time does not count as soaking, and a request that it sent is repeated.
_LONGEST_STEP = 20.0
#: How often a request is sent before the server counts as lost.
_TRIES = 5


class Reading(NamedTuple):
    """The memory, handles and threads of the processes at one moment."""

    minutes: float
    megabytes: float
    handles: int
    threads: int
    server_megabytes: float
    server_handles: int


class Soak:
    """The objects that live throughout a run."""

    def __init__(self, folder: pathlib.Path, seed: int) -> None:
        self.folder, self.rng = folder, np.random.default_rng(seed)
        self.done: Counter[str] = Counter()
        self.truth = np.random.default_rng(0).normal(size=(_WIDTH, _CLASSES))
        self.learners: list[Any] = [
            widemargin.Perceptron(random_state=0),
            widemargin.PassiveAggressive(random_state=0),
            widemargin.OnlineLogistic(random_state=0),
            widemargin.Perceptron(keep="last", multiclass="ovr", random_state=0),
        ]
        X, y = self.examples()
        for learner in self.learners:
            learner.partial_fit(X, y, classes=range(_CLASSES))
        self.named = widemargin.Perceptron(random_state=0)
        self.text = widemargin.TextClassifier(random_state=0, bits=12).fit(*self.texts())
        self.updates = 0
        self.train_anew()
        self.served = widemargin.Perceptron(random_state=0).fit(X, y)
        self.served.save(folder / "served.wm")
        self.server, self.port = _start_server(folder / "served.wm")
        # A long timeout, because other work on the machine may stall both sides for minutes.
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=900)
        self.steps: dict[str, Callable[[], None]] = {
            name.removeprefix("do_"): getattr(self, name)
            for name in dir(self)
            if name.startswith("do_")
        }

    # Data

    def examples(self, n: int = _ROWS) -> tuple[np.ndarray, np.ndarray]:
        """Rows with noisy linear classes."""
        X = self.rng.normal(size=(n, _WIDTH))
        return X, np.argmax(X @ self.truth + self.rng.normal(size=(n, _CLASSES)), axis=1)

    def texts(self, n: int = 40) -> tuple[list[str], list[str]]:
        """Texts of known words, and labels."""
        texts = [" ".join(self.rng.choice(_WORDS, 12)) for _ in range(n)]
        return texts, [f"label{k % 3}" for k in range(n)]

    def dict_of(self) -> dict[str, Any]:
        """An example as a dict."""
        names = self.rng.choice(_WORDS, 8)
        return {
            str(name): float(value)
            for name, value in zip(names, self.rng.normal(size=8), strict=True)
        }

    def svmlight(self, path: pathlib.Path, n: int = _ROWS) -> pathlib.Path:
        """A file of examples."""
        X, y = self.examples(n)
        lines = (
            f"{label} " + " ".join(f"{j}:{x:.4f}" for j, x in enumerate(row, 1))
            for row, label in zip(X.tolist(), y.tolist(), strict=True)
        )
        path.write_text("\n".join(lines) + "\n")
        return path

    # Steps

    def any_learner(self) -> Any:
        """A random learner of rows."""
        return self.learners[self.rng.integers(len(self.learners))]

    def do_partial_fit(self) -> None:
        """Learn from some rows at once, dense or sparse."""
        import scipy.sparse

        X, y = self.examples(int(self.rng.integers(1, _ROWS)))
        self.any_learner().partial_fit(scipy.sparse.csr_matrix(X) if len(y) % 2 else X, y)

    def do_predict(self) -> None:
        """Predict, and check that the best score wins."""
        X, _ = self.examples(int(self.rng.integers(1, _ROWS)))
        learner = self.any_learner()
        scores = learner.decision_function(X)
        assert np.array_equal(learner.predict(X), np.argmax(scores, axis=1))

    def do_learn_one(self) -> None:
        """Learn from dicts, one by one."""
        for _ in range(50):
            x = self.dict_of()
            self.named.learn_one(x, "much" if sum(x.values()) > 0 else "little")
            assert self.named.predict_one(x) in ("much", "little")

    def do_text(self) -> None:
        """Learn from texts, and predict for some with new words."""
        texts, labels = self.texts()
        self.text.partial_fit(texts, labels)
        self.text.predict([*texts, "unheard of"])

    def do_save_and_load(self) -> None:
        """Check that a saved model gives the same answers when loaded."""
        X, _ = self.examples()
        learner = self.any_learner()
        path = self.folder / "saved.wm"
        learner.save(path)
        assert np.array_equal(widemargin.load(path).predict(X), learner.predict(X))

    def do_stream(self) -> None:
        """Stream a file in chunks."""
        path = self.svmlight(self.folder / "stream.svm", 1000)
        learner = self.any_learner()
        for X, y in widemargin.stream(path, n_features=_WIDTH, block=20_000):
            learner.partial_fit(X, y)

    def do_read(self) -> None:
        """Read a file of each format, and an invalid one."""
        X, y = self.examples(50)
        texts, labels = self.texts(50)
        pairs = list(zip(labels, texts, strict=True))
        cells = list(zip(X.tolist(), y.tolist(), strict=True))
        contents = {
            "r.vw": "".join(
                f"{k + 1} | {text}\n" for (_, k), text in zip(cells, texts, strict=True)
            ),
            "r.tsv": "".join(f"{label}\t{text}\n" for label, text in pairs),
            "r.csv": "a,b,label\n" + "".join(f"{x[0]},{x[1]},{k}\n" for x, k in cells),
            "r.jsonl": "".join(f'{{"a": {x[0]}, "label": {k}}}\n' for x, k in cells),
            "r.svm": "1 1:1\n2 2:x\n",
        }
        for name, content in contents.items():
            path = self.folder / name
            path.write_text(content)
            table = {"label": "label"} if name in ("r.csv", "r.jsonl") else {}
            try:
                rows, _ = widemargin.read(path, **table)
                assert rows.shape[0] == 50
            except widemargin.DataError:
                if name != "r.svm":
                    raise

    def do_fit(self) -> None:
        """Fit learners that need all examples at once."""
        X, y = self.examples()
        kinds = (widemargin.LinearSVM, widemargin.KernelSVM, widemargin.KernelPerceptron)
        learner: Any = kinds[self.rng.integers(len(kinds))](random_state=0)
        learner.fit(X, y).predict(X)

    def do_tag(self) -> None:
        """Train a tagger, and tag."""
        words = [list(self.rng.choice(_WORDS, 6)) for _ in range(20)]
        tags = [[word[-1] for word in sentence] for sentence in words]
        widemargin.Tagger(epochs=1, random_state=0).fit(words, tags).predict(words)

    def do_lemmatize(self) -> None:
        """Train a lemmatizer, and check that its file gives the same lemmas."""
        words = [[f"{word}s" for word in self.rng.choice(_WORDS, 6)] for _ in range(20)]
        lemmas = [[word[:-1] for word in sentence] for sentence in words]
        given = {"word": words, "lemma": lemmas, "upos": [["NOUN"] * 6] * 20}
        learner = widemargin.Lemmatizer(2, tags="upos", bits=12, random_state=0).fit(given)
        learner.save(self.folder / "lemmas.wm")
        found = widemargin.load(self.folder / "lemmas.wm").predict(given)
        assert found == learner.predict(given) == lemmas

    def train_anew(self) -> None:
        """Retrain the model that the shell updates."""
        rows = self.svmlight(self.folder / "update.svm")
        _shell("train", rows, "--model", self.folder / "updated.wm", "--quiet", "--force")

    def do_update(self) -> None:
        """Update the shell's model, and predict with it."""
        rows, model = self.svmlight(self.folder / "update.svm"), self.folder / "updated.wm"
        self.updates += 1
        if self.updates % _UPDATES == 0:
            self.train_anew()
        _shell("update", model, rows, "--quiet", "--model", model, "--force")
        _shell("predict", model, rows)

    def do_ask(self) -> None:
        """Send requests over one connection, and check that the answers are the model's."""
        for _ in range(10):
            X, _ = self.examples(int(self.rng.integers(1, 20)))
            status, found = self.post(json.dumps(X.tolist()).encode())
            assert status == 200, found
            told = [answer["label"] for answer in found["predictions"]]
            assert told == self.served.predict(X).tolist()

    def do_ask_badly(self) -> None:
        """Send unreadable bodies and half requests, and disconnect early."""
        for body in (b"[", b"\xff", b"[[1]]", b'{"a": 1e999}', b"[" * 3000):
            status, found = self.post(body)
            assert status in (413, 422), (status, found)
        for data in (b"POST /predict HTTP/1.1\r\nHo", b"nonsense\r\n\r\n", b""):
            with socket.create_connection(("127.0.0.1", self.port)) as line:
                line.sendall(data)

    def do_replace_served(self) -> None:
        """Once in a while, give the server another model."""
        if self.rng.random() > 0.02:
            return
        self.served = widemargin.Perceptron(random_state=0).fit(*self.examples())
        self.served.save(self.folder / "served.wm")
        X, _ = self.examples(1)
        for _ in range(300):  # a minute on a busy machine
            _, found = self.post(json.dumps(X.tolist()).encode())
            if found["digest"] == _digest_of(self.folder / "served.wm"):
                break
            time.sleep(0.2)
        else:
            raise AssertionError("the server still has the old model")
        self.connection.close()  # it may lead to a process with the old model

    def post(self, body: bytes) -> tuple[int, Any]:
        """Send a request to the server, again if the connection was closed or time stood still."""
        about = {"Content-Type": "application/json"}
        for tries in range(1, _TRIES + 1):
            began = time.monotonic()
            try:
                self.connection.request("POST", "/predict", body, about)
                answer = self.connection.getresponse()
                found = json.loads(answer.read())
                if answer.getheader("Connection", "").lower() == "close":
                    self.connection.close()
                # The server's clock went on while nothing ran, and told it to give up.
                if answer.status != 408 or time.monotonic() - began < _LONGEST_STEP:
                    return answer.status, found
            except (http.client.HTTPException, ConnectionError, TimeoutError):
                self.connection.close()
                if tries == _TRIES:
                    raise
        raise AssertionError(f"{_TRIES} requests in a row took more than {_LONGEST_STEP:g} s")

    def step(self) -> None:
        """Run one random step."""
        name = str(self.rng.choice(list(self.steps)))
        self.steps[name]()
        self.done[name] += 1

    def look(self, seconds: float) -> Reading:
        """Read the memory and handles of this process and the server after these seconds."""
        gc.collect()
        mine, theirs = [os.getpid()], _family(self.server.pid)
        return Reading(
            seconds / 60,
            _megabytes(mine),
            _handles(mine),
            len(os.listdir("/proc/self/task")),
            _megabytes(theirs),
            _handles(theirs),
        )

    def close(self) -> None:
        """End the server."""
        self.connection.close()
        self.server.terminate()
        self.server.wait(60)


def _shell(*words: Any) -> None:
    """Run the shell program in this process."""
    from click.testing import CliRunner

    from widemargin.cli.main import main

    ran = CliRunner().invoke(main, [str(word) for word in words], prog_name="widemargin")
    gc.unfreeze()  # the program takes its process to end, and exempts all objects from collection
    assert ran.exit_code == 0, ran.output


def _digest_of(path: pathlib.Path) -> str:
    return path.read_bytes()[-32:].hex()


def _start_server(model: pathlib.Path) -> tuple[subprocess.Popen[str], int]:
    """Start a server for a model; return the process and its port."""
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = line.getsockname()[1]
    words = ["serve", str(model), "--port", str(port), "--quiet"]
    server = subprocess.Popen(
        [sys.executable, "-m", "widemargin", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return server, port
        time.sleep(0.2)
    raise RuntimeError("the server did not start")


def _family(pid: int) -> list[int]:
    """A process and its children."""
    found = [pid]
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                found += _family(int(child))
    return found


def _megabytes(pids: list[int]) -> float:
    """Memory in use that is not shared with other processes or files: Pss, without files."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            told = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.findall(r"^Pss_Anon:\s+(\d+)", told, re.M)[0])
    return total / 1024


def _handles(pids: list[int]) -> int:
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += len(os.listdir(f"/proc/{pid}/fd"))
    return total


def growth(readings: list[Reading], field: str) -> float:
    """The median of the last quarter minus that of the first quarter after warm-up."""
    values = [float(getattr(reading, field)) for reading in readings]
    warm = values[int(len(values) * _WARM) :]
    quarter = max(len(warm) // 4, 1)
    return statistics.median(warm[-quarter:]) - statistics.median(warm[:quarter])


def run(minutes: float, seed: int, pause: float, log: Any) -> bool:
    """Soak for this many minutes; return whether nothing grew."""
    readings: list[Reading] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        soak = Soak(pathlib.Path(folder), seed)
        between = min(60.0, minutes * 60 / 40)  # short runs also need readings
        seconds = due = 0.0
        try:
            while seconds < 60 * minutes:
                began = time.monotonic()
                soak.step()
                time.sleep(pause)
                seconds += min(time.monotonic() - began, _LONGEST_STEP + pause)
                if seconds >= due:
                    due = seconds + between
                    readings.append(soak.look(seconds))
                    print(json.dumps(readings[-1]._asdict()), file=log, flush=True)
        finally:
            soak.close()
    grown = {field: growth(readings, field) for field in Reading._fields[1:]}
    memory = max(grown["megabytes"], grown["server_megabytes"])
    handles = max(grown["handles"], grown["server_handles"], grown["threads"])
    fine = memory <= _MOST_MEGABYTES and handles <= _MOST_HANDLES
    verdict = "nothing grew" if fine else "IT GREW"
    if minutes < _SHORTEST:
        fine, verdict = True, f"too short to judge growth (less than {_SHORTEST:g} minutes)"
    print(
        f"seed {seed}: {minutes:g} minutes ({time.process_time() / 60:.1f} of processor time),"
        f" {sum(soak.done.values()):,} steps"
        f" ({', '.join(f'{count} {name}' for name, count in sorted(soak.done.items()))});"
        f" memory {readings[0].megabytes:.0f} to {readings[-1].megabytes:.0f} MB,"
        f" grown by {grown['megabytes']:+.1f} MB after warming up, the server's by"
        f" {grown['server_megabytes']:+.1f} MB; handles {grown['handles']:+.0f} and"
        f" {grown['server_handles']:+.0f}, threads {grown['threads']:+.0f}: " + verdict,
        file=log,
        flush=True,
    )
    return fine


def main() -> None:
    """Parse the options and soak."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help=f"At most {_LONGEST:g}.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.0, help="Seconds between steps.")
    given = parser.parse_args()
    if not 0 < given.minutes <= _LONGEST:
        parser.error(f"--minutes must be above 0 and at most {_LONGEST:g}, got {given.minutes:g}")
    sys.exit(0 if run(given.minutes, given.seed, given.pause, sys.stdout) else 1)


if __name__ == "__main__":
    main()
