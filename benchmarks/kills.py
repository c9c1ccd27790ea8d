"""`python -m benchmarks.kills [N [ROWS]]`: N kills at random moments, and the cost of checkpoints.

Trainings of every kind are killed and resumed until N kills are spent: in memory, from files, with
the mistake log, with a kernel, of a tagger and of a parser. The result must be the model of an
undisturbed training. In between, commands that write files are killed: training with a cache,
converting, updating a model. The file must then be complete: either the old one or the new one.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

from benchmarks.zipf import write_svmlight, zipf_text

PROGRAM = [sys.executable, "-m", "widemargin"]
_TESTS = pathlib.Path(__file__).parent.parent / "tests"
#: The fraction of wrong labels, which keep any training from ending early.
_WRONG = 0.1
WAYS = {
    "in memory": ("--epochs", "120"),
    "from files": ("--stream", "--memory", "1MB", "--epochs", "20"),
    "vote": ("--keep", "vote", "--epochs", "50"),
    "logistic": ("--learner", "logistic", "--epochs", "60"),
    "kernel": ("--learner", "kernel-perceptron", "--epochs", "4"),
    "tagger": ("--learner", "tagger", "--column", "upos", "--epochs", "40"),
    "parser": ("--learner", "parser", "--epochs", "4"),
}
#: Kinds of training that read sentences.
_SENTENCES = ("tagger", "parser")


def start(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a command by forking a warm process, which is faster than starting Python."""
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    from forked import Forked

    return Forked(*command[1:])


def run(command: list[str]) -> None:
    """Run a command to completion."""
    if start(command).wait():
        raise RuntimeError(f"{' '.join(command)} failed")


class Outcome(NamedTuple):
    """How often a training was killed and resumed, and whether the result was the same."""

    kills: int
    resumed: int
    same: bool


def write_examples(path: pathlib.Path, rows: int, seed: int = 0) -> None:
    """Write rows that no hyperplane separates, as svmlight text."""
    X, y = zipf_text(rows, 4096, 30, seed)
    wrong = np.random.default_rng(seed).random(rows) < _WRONG
    write_svmlight(path, X, np.where(wrong, -y, y))


def write_sentences(path: pathlib.Path, sentences: int, seed: int = 0) -> None:
    """Write CoNLL-U whose tags, heads and labels are random, so that mistakes never end."""
    chance, lines = random.Random(seed), []
    for _ in range(sentences):
        for i in range(1, chance.randint(3, 10)):
            cells = [i, f"w{chance.randrange(300)}", "_", chance.choice("ABC"), "_", "_", i - 1]
            cells += ["root" if i == 1 else chance.choice("pq"), "_", "_"]
            lines.append("\t".join(map(str, cells)))
        lines.append("")
    path.write_text("\n".join(lines) + "\n")


def content(model: pathlib.Path) -> tuple[dict[str, bytes], str]:
    """Everything in a model file except for times."""
    from widemargin.modelfile.files import read_model_file
    from widemargin.training.history import Epoch

    arrays, about = read_model_file(model)
    for described in (about, *about.get("taggers", ())):
        for epoch in described["history"]["epochs"]:
            epoch[Epoch._fields.index("seconds")] = None
    exact = {name: f"{a.dtype}{a.shape}".encode() + a.tobytes() for name, a in arrays.items()}
    return exact, json.dumps(about, sort_keys=True)


def train(text: pathlib.Path, model: pathlib.Path, *options: str) -> list[str]:
    """The training command."""
    return [*PROGRAM, "train", str(text), "--quiet", "--model", str(model), *options]


def disturb(text: pathlib.Path, way: tuple[str, ...], kills: int, chance: random.Random) -> Outcome:
    """Kill and resume a training this many times, let it finish, and compare the result."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=text.parent))
    alone, disturbed = folder / "alone.wm", folder / "disturbed.wm"
    began = time.monotonic()
    run(train(text, alone, *way))
    whole = time.monotonic() - began
    points = ["--checkpoint", str(folder / "points"), "--checkpoint-every", "0.01", "--resume"]
    command = train(text, disturbed, *way, *points)
    done = resumed = 0
    while done < kills and not disturbed.exists():
        resumed += any((folder / "points").glob("*.wm"))
        process = start(command)
        try:
            process.wait(chance.uniform(0.2, 1.0) * whole)  # includes its startup
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            done += 1
    if not disturbed.exists():
        resumed += any((folder / "points").glob("*.wm"))
        run(command)
    same = content(alone) == content(disturbed)
    shutil.rmtree(folder)
    return Outcome(done, resumed, same)


def interrupt(folder: pathlib.Path, kills: int, chance: random.Random) -> Outcome:
    """Kill commands that write files; each must leave a complete file, and finally the new one."""
    rows, whole = folder / "rows.svm", folder / "whole"
    model = folder / "updated.wm"
    commands: dict[str, tuple[list[str], pathlib.Path]] = {
        "cache": (
            train(rows, folder / "m.wm", "--cache", "--epochs", "1"),
            folder / "rows.svm.wmc",
        ),
        "convert": ([*PROGRAM, "convert", str(rows), str(folder / "c.wmc")], folder / "c.wmc"),
        "update": ([*PROGRAM, "update", str(model), str(rows), "--quiet"], model),
    }
    same, done = True, 0
    for name, (command, target) in commands.items():
        if name == "update":
            run(train(rows, model, "--epochs", "1"))
        old = target.read_bytes() if target.exists() else b""
        began = time.monotonic()
        run(command)
        seconds = time.monotonic() - began
        shutil.copy(target, whole)
        for _ in range(kills // len(commands)):
            target.write_bytes(old) if old else target.unlink(missing_ok=True)
            process = start(command)
            try:
                process.wait(chance.uniform(0.5, 1.0) * seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                done += 1
            left = target.read_bytes() if target.exists() else b""
            same &= left == old or _alike(target, whole)
        for path in folder.glob("*.tmp"):
            path.unlink()
    return Outcome(done, 0, same)


def _alike(one: pathlib.Path, other: pathlib.Path) -> bool:
    """Whether two files written by commands are the same, except for times."""
    if one.suffix == ".wm":
        return content(one) == content(other)
    return one.read_bytes() == other.read_bytes()


def cost(text: pathlib.Path, way: tuple[str, ...], repeats: int = 3) -> float:
    """The factor by which a checkpoint every half second slows training down."""
    points = ("--checkpoint", str(text.parent / "cost"), "--checkpoint-every", "0.5")
    model, best = text.parent / "cost.wm", {(): np.inf, points: np.inf}
    for _ in range(repeats):
        for options in best:
            began = time.monotonic()
            subprocess.run(train(text, model, *way, *options), check=True)
            best[options] = min(best[options], time.monotonic() - began)
    return best[points] / best[()]


def main(kills: int, rows: int = 40_000, seed: int = 0) -> None:
    """Spend the kills on one kind of training after the other, and print the results."""
    chance = random.Random(seed)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in (*WAYS, "writing")}

    def spent() -> int:
        return sum(outcome.kills for each in outcomes.values() for outcome in each)

    with tempfile.TemporaryDirectory() as named:
        folder = pathlib.Path(named)
        text, sentences = folder / "rows.svm", folder / "trees.conllu"
        write_examples(text, rows, seed)
        write_sentences(sentences, max(20, rows // 100), seed)
        small = folder / "few.svm"
        write_examples(small, max(200, rows // 40), seed)
        order = list(outcomes)
        while spent() < kills:
            way = order[sum(map(len, outcomes.values())) % len(order)]
            left = kills - spent()
            if way == "writing":
                outcomes[way].append(interrupt(folder, min(max(left, 3), 30), chance))
            else:
                source = sentences if way in _SENTENCES else small if way == "kernel" else text
                some = min(left, chance.randint(2, 8))
                outcomes[way].append(disturb(source, WAYS[way], some, chance))
            print(way, spent(), outcomes[way][-1], flush=True)
        for name, each in outcomes.items():
            print(
                f"{name}: {sum(outcome.kills for outcome in each)} kills,"
                f" {sum(outcome.resumed for outcome in each)} runs resumed, {len(each)} compared, "
                + ("all the same" if all(outcome.same for outcome in each) else "NOT the same")
            )
        fine = all(outcome.same for each in outcomes.values() for outcome in each)
        longer = ("--epochs", "300")
        print(
            f"{os.stat(text).st_size / 1e6:.0f} MB of text: {spent()} kills, "
            + ("all the same" if fine else "NOT all the same")
            + f"; a checkpoint every 0.5 s costs {100 * (cost(text, longer) - 1):+.1f} %"
        )
    if not fine:
        sys.exit(1)


if __name__ == "__main__":
    main(*(map(int, sys.argv[1:]) if len(sys.argv) > 1 else (50,)))
