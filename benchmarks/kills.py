"""`python -m benchmarks.kills [N]`: N kills at random moments, and what checkpoints cost.

Three ways of training are killed and resumed until N kills are spent: in memory, from files, and
with the log of mistakes kept. What comes out must be the model of a training that nobody disturbed.
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
from typing import Any, NamedTuple

import numpy as np

from benchmarks.zipf import write_svmlight, zipf_text

PROGRAM = [sys.executable, "-m", "widemargin"]
#: So large a part of the labels is wrong, so that no training ends early.
_WRONG = 0.1
WAYS = {
    "in memory": ("--epochs", "120"),
    "from files": ("--stream", "--memory", "1MB", "--epochs", "20"),
    "vote": ("--keep", "vote", "--epochs", "50"),
}


class Outcome(NamedTuple):
    """How often a training was killed and went on from a checkpoint, and whether that mattered."""

    kills: int
    resumed: int
    same: bool


def write_examples(path: pathlib.Path, rows: int, seed: int = 0) -> None:
    """Rows that no hyperplane separates, as svmlight text."""
    X, y = zipf_text(rows, 4096, 30, seed)
    wrong = np.random.default_rng(seed).random(rows) < _WRONG
    write_svmlight(path, X, np.where(wrong, -y, y))


def content(model: pathlib.Path) -> tuple[dict[str, bytes], str]:
    """All that a model file says, except for seconds."""
    from widemargin.modelfile import read_model_file
    from widemargin.training.history import Epoch

    arrays, about = read_model_file(model)
    for epoch in about["history"]["epochs"]:
        epoch[Epoch._fields.index("seconds")] = None
    exact = {name: f"{a.dtype}{a.shape}".encode() + a.tobytes() for name, a in arrays.items()}
    return exact, json.dumps(about, sort_keys=True)


def train(text: pathlib.Path, model: pathlib.Path, *options: str) -> list[str]:
    """The command."""
    return [*PROGRAM, "train", str(text), "--quiet", "--model", str(model), *options]


def disturb(text: pathlib.Path, way: tuple[str, ...], kills: int, chance: random.Random) -> Outcome:
    """Kill and resume a training so many times, let it finish, and compare it."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=text.parent))
    alone, disturbed = folder / "alone.wm", folder / "disturbed.wm"
    began = time.monotonic()
    subprocess.run(train(text, alone, *way), check=True)
    whole = time.monotonic() - began
    points = ["--checkpoint", str(folder / "points"), "--checkpoint-every", "0.01", "--resume"]
    command = train(text, disturbed, *way, *points)
    done = resumed = 0
    while done < kills and not disturbed.exists():
        resumed += (folder / "points" / "checkpoint.wm").exists()
        process = subprocess.Popen(command)
        try:
            process.wait(chance.uniform(0.0, whole))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            done += 1
    if not disturbed.exists():
        resumed += (folder / "points" / "checkpoint.wm").exists()
        subprocess.run(command, check=True)
    same = content(alone) == content(disturbed)
    shutil.rmtree(folder)
    return Outcome(done, resumed, same)


def cost(text: pathlib.Path, way: tuple[str, ...], repeats: int = 3) -> float:
    """How many times as long a training takes with a checkpoint every half second."""
    points = ("--checkpoint", str(text.parent / "cost"), "--checkpoint-every", "0.5")
    model, best = text.parent / "cost.wm", {(): np.inf, points: np.inf}
    for _ in range(repeats):
        for options in best:
            began = time.monotonic()
            subprocess.run(train(text, model, *way, *options), check=True)
            best[options] = min(best[options], time.monotonic() - began)
    return best[points] / best[()]


def main(kills: int, rows: int = 40_000, seed: int = 0) -> None:
    """Spend the kills on one way after the other, and print one line."""
    chance = random.Random(seed)
    outcomes: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder, "rows.svm")
        write_examples(text, rows, seed)
        ways = list(WAYS.values())
        while sum(outcome.kills for outcome in outcomes) < kills:
            left = kills - sum(outcome.kills for outcome in outcomes)
            way = ways[len(outcomes) % len(ways)]
            outcomes.append(disturb(text, way, min(left, chance.randint(1, 5)), chance))
        longer = ("--epochs", "300")
        print(
            f"{os.stat(text).st_size / 1e6:.0f} MB of text:"
            f" {sum(outcome.kills for outcome in outcomes)} kills,"
            f" {sum(outcome.resumed for outcome in outcomes)} runs resumed,"
            f" {len(outcomes)} models compared, "
            + ("all the same" if all(outcome.same for outcome in outcomes) else "NOT all the same")
            + f"; a checkpoint every 0.5 s costs {100 * (cost(text, longer) - 1):+.1f} %"
        )
    if not all(outcome.same for outcome in outcomes):
        sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
