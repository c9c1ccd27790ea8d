"""One example at a time, as dicts, as single rows and as lines in a pipe."""

from __future__ import annotations

import os
import pathlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.linear_model import SGDClassifier

from benchmarks.commands import run_command
from benchmarks.harness import OURS, Comparison, Outcome, Side, Target, faster
from widemargin import PassiveAggressive, Perceptron

_WIDTH = 20
#: Size of the vocabulary from which the words of a dict are drawn.
_VOCABULARY = 20_000
_NAMES = [f"feature {j}" for j in range(_WIDTH)]
#: Rows per call with several rows.
_BATCH = 100
#: How often such calls learn from all rows: a single time is too short to be measured.
_AGAIN = 20


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Compare with River on dicts and with scikit-learn on rows, including single predictions."""
    n = 200 if toy else 20_000
    sides: list[Side] = []
    targets: list[Target] = []
    for classes in (2, 10):
        X, y = _examples(n, classes)
        _add_dicts(sides, targets, X, y, classes)
        few = slice(0, n // 20)
        _add_rows(sides, targets, X[few], y[few], classes)
    _add_changing_names(sides, targets, n)
    sides.append(_long_stream(toy))
    targets += [
        _figure_at_most(sides[-1].name, "last / first", 1.1),
        _figure_at_most(sides[-1].name, "MB grown", 1.0),
    ]
    for side in _pipes(scratch, 2_000 if toy else 1_000_000):
        sides.append(side)
        targets.append(_lines_per_second(side.name, 200_000))
    return Comparison(
        title="one example at a time",
        data=f"{n} examples of {_WIDTH} normally distributed features with noisy linear classes;"
        f" rows: the first {n // 20}; lines of five features; where names change, {_WIDTH} of"
        f" {_VOCABULARY} words by Zipf's law, or new ones",
        sides=sides,
        targets=targets,
        ratios=False,
    )


def _examples(n: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, _WIDTH))
    scores = X @ rng.normal(size=(_WIDTH, classes))
    return X, np.argmax(scores + 0.5 * rng.normal(size=scores.shape), axis=1)


# Dicts


def _river(learner: str, classes: int) -> Any:
    """River's learner of this name, one per class if there are more than two."""
    from river import linear_model, multiclass

    made = getattr(linear_model, learner)()
    return made if classes == 2 else multiclass.OneVsRestClassifier(made)


def _add_dicts(
    sides: list[Side], targets: list[Target], X: np.ndarray, y: np.ndarray, classes: int
) -> None:
    """Learn from all examples and then predict all of them."""
    dicts = [dict(zip(_NAMES, row, strict=True)) for row in X.tolist()]
    labels = [bool(label) for label in y] if classes == 2 else y.tolist()
    river = "{}()" if classes == 2 else "OneVsRestClassifier({}())"
    learners: dict[str, tuple[str, str, Callable[[], Any]]] = {
        "Perceptron": (OURS, "Perceptron()", Perceptron),
        "PassiveAggressive": (OURS, "PassiveAggressive()", PassiveAggressive),
        "River's Perceptron": (
            "river",
            river.format("Perceptron"),
            lambda: _river("Perceptron", classes),
        ),
        "River's PAClassifier": (
            "river",
            river.format("PAClassifier"),
            lambda: _river("PAClassifier", classes),
        ),
    }

    def learn(learner: Any) -> Any:
        for x, label in zip(dicts, labels, strict=True):
            learner.learn_one(x, label)
        return learner

    def ask(learner: Any) -> list[Any]:
        return [learner.predict_one(x) for x in dicts]

    for name, (package, settings, make) in learners.items():
        for verb, work, prepare in (
            ("learn_one", learn, lambda repeat, make=make: make()),
            ("predict_one", ask, lambda repeat, make=make: learn(make())),
        ):
            sides.append(
                Side(
                    f"{name}.{verb}, {classes} classes",
                    f"{settings}.{verb}",
                    work,
                    package=package,
                    prepare=prepare,
                )
            )
    for verb in ("learn_one", "predict_one"):
        for ours, peer in (("Perceptron", "Perceptron"), ("PassiveAggressive", "PAClassifier")):
            after = f"{verb}, {classes} classes"
            targets.append(faster(f"{ours}.{after}", f"River's {peer}.{after}", 1.0))


def _add_changing_names(sides: list[Side], targets: list[Target], n: int) -> None:
    """Dicts with different names each time: drawn by Zipf's law, or never seen before."""
    X, y = _examples(n, 2)
    ranks = np.exp(np.random.default_rng(1).random((n, _WIDTH)) * np.log(_VOCABULARY)).astype(int)
    kinds = {
        "words by Zipf's law": [[f"word {rank}" for rank in row] for row in ranks.tolist()],
        "new names": [[f"name {k} {j}" for j in range(_WIDTH)] for k in range(n)],
    }
    for kind, names in kinds.items():
        dicts = [dict(zip(each, row, strict=True)) for each, row in zip(names, X, strict=True)]
        dicts = [{name: float(value) for name, value in x.items()} for x in dicts]

        def learn(learner: Any, dicts: list[dict[str, float]] = dicts) -> Any:
            for x, label in zip(dicts, y.astype(bool).tolist(), strict=True):
                learner.learn_one(x, label)
            return learner

        def ask(learner: Any, dicts: list[dict[str, float]] = dicts) -> list[Any]:
            return [learner.predict_one(x) for x in dicts]

        makers = {
            "": (OURS, Perceptron),
            "River's ": ("river", lambda: _river("Perceptron", 2)),
        }
        for verb, work in (("learn_one", learn), ("predict_one", ask)):
            for whose, (package, make) in makers.items():

                def prepare(
                    repeat: int, make: Any = make, verb: str = verb, fit: Any = learn
                ) -> Any:
                    return make() if verb == "learn_one" else fit(make())

                sides.append(
                    Side(
                        f"{whose}Perceptron.{verb}, {kind}",
                        f"Perceptron().{verb}",
                        work,
                        package=package,
                        prepare=prepare,
                    )
                )
            ours, peer = (f"{whose}Perceptron.{verb}, {kind}" for whose in makers)
            targets.append(faster(ours, peer, 1.0))


# Rows


def _add_rows(
    sides: list[Side], targets: list[Target], X: np.ndarray, y: np.ndarray, classes: int
) -> None:
    """Learn from rows, one or a hundred per call, and predict single rows."""
    learners: dict[str, tuple[str, str, Callable[[], Any]]] = {
        "Perceptron": (OURS, "Perceptron()", Perceptron),
        "scikit-learn's Perceptron": ("scikit-learn", "Perceptron()", ScikitPerceptron),
        "scikit-learn's SGD": (
            "scikit-learn",
            "SGDClassifier(loss='perceptron', average=True)",
            lambda: SGDClassifier(loss="perceptron", average=True),
        ),
    }

    def begun(make: Callable[[], Any]) -> Any:
        return make().partial_fit(X[:_BATCH], y[:_BATCH], classes=np.arange(classes))

    def learn(learner: Any, size: int) -> None:
        for start in range(0, len(X), size):
            learner.partial_fit(X[start : start + size], y[start : start + size])

    def ask(learner: Any) -> None:
        for i in range(len(X)):
            learner.predict(X[i : i + 1])

    work: dict[str, Callable[[Any], Any]] = {
        "partial_fit(1 row)": lambda learner: learn(learner, 1),
        f"partial_fit({_BATCH} rows), {_AGAIN} times": lambda learner: [
            learn(learner, _BATCH) for _ in range(_AGAIN)
        ],
        "predict(1 row)": ask,
    }
    for name, (package, settings, make) in learners.items():
        for verb, each in work.items():
            sides.append(
                Side(
                    f"{name}.{verb}, {classes} classes",
                    f"{settings}.{verb}",
                    each,
                    package=package,
                    prepare=lambda repeat, make=make: begun(make),
                )
            )
    for verb, times in zip(work, (2.0, 3.0, 2.0), strict=True):
        for peer in list(learners)[1:]:
            after = f"{verb}, {classes} classes"
            targets.append(faster(f"Perceptron.{after}", f"{peer}.{after}", times))


# Long streams


def _long_stream(toy: bool) -> Side:
    """Learn from many examples; compare the first and last thousand calls, and measure memory."""
    X, y = _examples(1_000, 10)
    dicts = [dict(zip(_NAMES, row, strict=True)) for row in X.tolist()]
    labels = y.tolist()
    rounds = 5 if toy else 1_000

    def learn(learner: Perceptron) -> tuple[list[float], float]:
        seconds, before = [], _megabytes()
        for _ in range(rounds):
            began = time.process_time()
            for x, label in zip(dicts, labels, strict=True):
                learner.learn_one(x, label)
            seconds.append(time.process_time() - began)
        return seconds, _megabytes() - before

    def figures(result: tuple[list[float], float]) -> dict[str, float]:
        seconds, grown = result
        # The best of twenty groups of a thousand, because other work also uses the machine.
        first, last = min(seconds[:20]), min(seconds[-20:])
        return {"last / first": last / first, "MB grown": grown}

    def warm(repeat: int) -> Perceptron:
        learner = Perceptron()
        for x, label in zip(dicts, labels, strict=True):
            learner.learn_one(x, label)
        return learner

    return Side(f"{rounds * 1_000:,} calls", "Perceptron().learn_one", learn, figures, prepare=warm)


def _megabytes() -> float:
    """The memory that this process uses."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _figure_at_most(side: str, figure: str, most: float) -> Target:
    """Require a figure of at most this much."""

    def found(mine: Outcome) -> tuple[str, bool]:
        value = mine.mean(figure)
        assert value is not None
        return f"{value:.3f}", value <= most

    return Target(f"{side}: {figure} <= {most:g}", (side,), found)


# Pipes


def _pipes(scratch: pathlib.Path, lines: int) -> Iterator[Side]:
    """Send short lines through a pipe into `predict` and `update`; startup is not counted."""
    for kind, (suffix, header, line) in _KINDS.items():
        rng = np.random.default_rng(0)
        text = b"".join(line(rng) for _ in range(min(lines, 10_000)))
        times = max(1, lines // 10_000)
        data, model = scratch / f"data.{suffix}", scratch / f"{suffix}.wm"
        data.write_bytes(header + text)
        online = ["--learner", "perceptron", "--quiet", "--force", "--model", str(model)]
        run_command(["train", str(data), *online])
        learned = ["--quiet", "--force", "--model", str(scratch / "learned.wm")]
        yield _pipe(kind, ["predict", str(model), "-"], header, text, times)
        yield _pipe(
            kind, ["update", str(model), "-", "--predictions", *learned], header, text, times
        )


def _pipe(kind: str, command: Sequence[str], header: bytes, text: bytes, times: int) -> Side:
    """Send lines repeatedly into a command."""

    def send(process: subprocess.Popen[bytes]) -> float:
        used = _processor_seconds(process.pid)
        for _ in range(times):
            process.stdin.write(text)
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_utime + usage.ru_stime - used

    first = header + text[: text.index(b"\n") + 1]
    return Side(
        f"{command[0]}, {kind}",
        f"widemargin {command[0]} MODEL -{' --predictions' * (command[0] == 'update')}",
        send,
        lambda seconds: {"lines per CPU second": times * text.count(b"\n") / seconds},
        threads=None,
        prepare=lambda repeat: _started(command, first),
    )


def _started(command: Sequence[str], first: bytes) -> subprocess.Popen[bytes]:
    """A process that has answered its first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "widemargin", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=1 << 16,
    )
    process.stdin.write(first)
    process.stdin.flush()
    process.stdout.readline()
    # Discard the other answers, because a full pipe would block the process.
    subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
    return process


def _processor_seconds(pid: int) -> float:
    """The processor time that a running process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _lines_per_second(side: str, least: float) -> Target:
    """Require this many lines per second."""

    def found(mine: Outcome) -> tuple[str, bool]:
        rates = [figures["lines per CPU second"] for figures in mine.figures]
        return f"{max(rates):,.0f}", max(rates) >= least

    return Target(f"{side}: >= {least:,.0f} lines per CPU second", (side,), found)


def _columns(rng: np.random.Generator) -> Sequence[int]:
    return sorted(rng.choice(200, 5, replace=False).tolist())


def _svmlight(rng: np.random.Generator) -> bytes:
    columns = _columns(rng)
    values = " ".join(f"{j + 1}:{x:.2f}" for j, x in zip(columns, rng.random(5), strict=True))
    return f"{1 if sum(columns) % 3 else -1} {values}\n".encode()


def _vw(rng: np.random.Generator) -> bytes:
    columns = _columns(rng)
    return f"{1 if sum(columns) % 3 else -1} |f {' '.join(f'w{j}' for j in columns)}\n".encode()


def _labelled_text(rng: np.random.Generator) -> bytes:
    columns = _columns(rng)
    label = "odd" if sum(columns) % 3 else "even"
    return f"{label}\t{' '.join(f'word{j}' for j in columns)}\n".encode()


def _csv(rng: np.random.Generator) -> bytes:
    size, colour, shape = rng.random(), rng.integers(0, 20), rng.integers(0, 20)
    label = "odd" if (colour + shape) % 3 else "even"
    return f"{label},{size:.2f},colour{colour},shape{shape}\n".encode()


def _json_lines(rng: np.random.Generator) -> bytes:
    label, size, colour, shape = _csv(rng).decode().strip().split(",")
    return (
        f'{{"label": "{label}", "size": {size}, "colour": "{colour}", "shape": "{shape}"}}\n'
    ).encode()


#: The kinds of lines: the file extension, its header, and a function that makes a random line.
_KINDS: dict[str, tuple[str, bytes, Callable[[np.random.Generator], bytes]]] = {
    "svmlight": ("svm", b"", _svmlight),
    "VW": ("vw", b"", _vw),
    "labelled text": ("txt", b"", _labelled_text),
    "CSV": ("csv", b"label,size,colour,shape\n", _csv),
    "JSON lines": ("jsonl", b"", _json_lines),
}
