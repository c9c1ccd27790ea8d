"""`python -m benchmarks.cluster_kills [N]`: kill N workers at random moments during training.

Workers of a cluster on this machine are killed with SIGKILL while it trains, one training after
another, until N kills are spent. The results must be bit for bit those of a single process.
"""

from __future__ import annotations

import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.kills import write_examples
from widemargin import Distributed, LinearSVM, PassiveAggressive, Perceptron, Tagger
from widemargin.distribute.clusters import patient_with_workers
from widemargin.distribute.engine import SerialEngine

_PARTITIONS = 6
#: Seconds between kills: long enough for a new worker to start, short enough to hit its first task.
_BETWEEN = (0.5, 6.0)


def trainings(path: str) -> list[tuple[Any, tuple[Any, ...]]]:
    """The kinds of training to disturb, and their data."""
    return [
        (Perceptron(epochs=40, random_state=0, validation=0.1, patience=None), (path,)),
        (PassiveAggressive(epochs=40, random_state=1, keep="last"), (path,)),
        (LinearSVM(C=1.0, tol=1e-9, epochs=40, random_state=2), (path,)),
        (Tagger(epochs=15, random_state=3), _sentences(2_000)),
    ]


def _sentences(count: int) -> tuple[list[list[str]], list[list[str]]]:
    """Random words whose tags depend on them and on the previous word."""
    rng = np.random.default_rng(0)
    words = [rng.integers(500, size=rng.integers(3, 30)) for _ in range(count)]
    tags = [(one + np.r_[0, one[:-1]] // 7) % 9 for one in words]
    return [[f"w{k}" for k in one] for one in words], [[f"T{k}" for k in one] for one in tags]


def _arrays(made: Any) -> list[np.ndarray]:
    """What was learned."""
    if isinstance(made.estimator, Tagger):
        return [made.model_.W]
    return [made.model_.state.W, made.model_.state.U]


class Killer(threading.Thread):
    """Kills a random worker now and then, while kills are left."""

    def __init__(self, client: Any, kills: int, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.client, self.left, self.chance = client, kills, chance
        self.kills, self.over = 0, threading.Event()

    def run(self) -> None:
        """Kill workers until stopped."""
        while self.left and not self.over.wait(self.chance.uniform(*_BETWEEN)):
            workers = self.client.run(os.getpid, on_error="ignore")
            if workers and not self.over.is_set():
                os.kill(self.chance.choice(sorted(workers.values())), signal.SIGKILL)
                self.kills, self.left = self.kills + 1, self.left - 1


def main() -> None:
    """Train and kill until all kills are spent."""
    warnings.simplefilter("ignore")  # the SVM stops after 40 rounds without converging
    from distributed import Client, LocalCluster

    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    chance, done, different, count = random.Random(0), 0, 0, 0
    folder = pathlib.Path(tempfile.mkdtemp())
    write_examples(folder / "rows.svm", 20_000)
    path = str(folder / "rows.svm")
    alone = [
        Distributed(one, client=SerialEngine(), partitions=_PARTITIONS).fit(*given)
        for one, given in trainings(path)
    ]
    with (
        patient_with_workers(),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        began = time.monotonic()
        while done < wanted:
            for (learner, given), same in zip(trainings(path), alone, strict=True):
                killer = Killer(client, wanted - done, chance)
                killer.start()
                made = Distributed(learner, client=client, partitions=_PARTITIONS).fit(*given)
                killer.over.set()
                killer.join()
                done, count = done + killer.kills, count + 1
                pairs = zip(_arrays(made), _arrays(same), strict=True)
                equal = all(np.array_equal(mine, theirs) for mine, theirs in pairs)
                different += not equal
                print(
                    f"{type(learner).__name__}: {killer.kills} kills,"
                    f" {'same bits' if equal else 'DIFFERENT'}; {done} of {wanted}",
                    flush=True,
                )
        seconds = time.monotonic() - began
    print(f"{done} kills in {count} trainings, {different} different, {seconds:.0f} s")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
