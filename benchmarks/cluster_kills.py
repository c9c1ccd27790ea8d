"""`python -m benchmarks.cluster_kills [N]`: N workers killed at random moments, and what it costs.

Workers of a cluster on this machine are killed with SIGKILL while it trains, one training after
another, until N kills are spent. What comes out must be, to the bit, what one process computes.
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
from typing import Any

import numpy as np

from benchmarks.kills import write_examples
from widemargin import Distributed, LinearSVM, PassiveAggressive, Perceptron
from widemargin.distribute.engine import SerialEngine

_PARTITIONS = 6
#: Seconds between kills: long enough for a new worker to begin, short enough to hit its first task.
_BETWEEN = (0.5, 6.0)


def learners() -> list[Any]:
    """The kinds of training that are disturbed."""
    return [
        Perceptron(epochs=60, random_state=0, validation=0.1, patience=None),
        PassiveAggressive(epochs=40, random_state=1, keep="last"),
        LinearSVM(C=1.0, tol=1e-5, random_state=2),
    ]


class Killer(threading.Thread):
    """Kills a random worker now and then, while it may."""

    def __init__(self, client: Any, kills: int, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.client, self.left, self.chance = client, kills, chance
        self.kills, self.over = 0, threading.Event()

    def run(self) -> None:
        """Kill until told to stop."""
        while self.left and not self.over.wait(self.chance.uniform(*_BETWEEN)):
            workers = self.client.run(os.getpid, on_error="ignore")
            if workers and not self.over.is_set():
                os.kill(self.chance.choice(sorted(workers.values())), signal.SIGKILL)
                self.kills, self.left = self.kills + 1, self.left - 1


def main() -> None:
    """Kill until nothing is left to kill for."""
    from distributed import Client, LocalCluster

    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    chance, done, different, trainings = random.Random(0), 0, 0, 0
    folder = pathlib.Path(tempfile.mkdtemp())
    write_examples(folder / "rows.svm", 20_000)
    path = str(folder / "rows.svm")
    alone = [
        Distributed(one, client=SerialEngine(), partitions=_PARTITIONS).fit(path)
        for one in learners()
    ]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        began = time.monotonic()
        while done < wanted:
            for learner, same in zip(learners(), alone, strict=True):
                killer = Killer(client, wanted - done, chance)
                killer.start()
                made = Distributed(learner, client=client, partitions=_PARTITIONS).fit(path)
                killer.over.set()
                killer.join()
                done, trainings = done + killer.kills, trainings + 1
                state, wished = made.model_.state, same.model_.state
                equal = np.array_equal(state.W, wished.W) and np.array_equal(state.U, wished.U)
                different += not equal
                print(
                    f"{type(learner).__name__}: {killer.kills} kills,"
                    f" {'same bits' if equal else 'DIFFERENT'}; {done} of {wanted}",
                    flush=True,
                )
        seconds = time.monotonic() - began
    print(f"{done} kills in {trainings} trainings, {different} different, {seconds:.0f} s")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
