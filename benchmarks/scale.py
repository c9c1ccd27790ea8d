"""The cost and benefit of a cluster: no cluster, one worker, two workers, and dask-ml.

The clusters are already running when the clock starts, as clusters do; the side without one also
has a process of its own. All sides read the same files, train for the same number of epochs, and
use one thread per worker.

Before each run, all files are read and memory is written to, so that every side finds the files in
the page cache and free memory that the machine really has: a virtual machine may have given both
back to its host, and then the first side to need them pays. Without this, the same run took 2.6 s
or 3.9 s.
"""

from __future__ import annotations

import logging
import pathlib
import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import widemargin
from benchmarks.harness import Comparison, LeftOut, Side, faster, no_worse
from benchmarks.zipf import write_svmlight, zipf_text

_EPOCHS, _WIDTH = 5, 262_144
#: More bytes than any side allocates.
_ROOM = 3 << 30
_PLAIN, _ONE, _TWO, _PEER = "no cluster", "Dask, 1 worker", "Dask, 2 workers", "dask-ml"


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Train on files of 100 million values, with eight partitions, about one per file."""
    try:
        clients = start_clusters(toy, (1, 2))
    except ImportError:
        raise LeftOut("Dask is not installed") from None
    X, y = zipf_text(400 if toy else 1_515_200, _WIDTH, 66, seed=0)
    paths = write_parts(scratch, X, y)

    alone = ProcessPoolExecutor(1, get_context("spawn"))

    def plain(_: int) -> Any:
        return alone.submit(_fit_plainly, paths).result(), None

    def distributed(workers: int) -> Any:
        made = widemargin.Distributed(_learner(), client=clients[workers], partitions=len(paths))
        return made.fit(paths, dtype=np.float32).to_local(), workers

    def figures(found: Any) -> dict[str, float]:
        model, workers = found
        weights = np.zeros(_WIDTH)
        weights[: model.coef_.shape[1]] = model.coef_[0][:_WIDTH]
        right = (X @ weights + model.intercept_.item() > 0.0) == (y > 0)
        told = {"accuracy": float(np.mean(right))}
        if workers is not None:
            told["MB of a worker"] = max(clients[workers].run(_peak).values())
        return told

    def incremental(_: int) -> Any:
        return _incremental(clients[2], paths), 2

    def settled(_: int) -> None:
        settle(paths, 1 << 20 if toy else _ROOM)

    how = f"Distributed(Perceptron(epochs={_EPOCHS})), partitions={len(paths)}"
    sides = [
        Side(
            _PLAIN,
            f"read(n_jobs=1), Perceptron(epochs={_EPOCHS}).fit",
            plain,
            figures,
            prepare=settled,
        ),
        Side(_ONE, how, lambda _: distributed(1), figures, threads=None, prepare=settled),
        Side(_TWO, how, lambda _: distributed(2), figures, threads=None, prepare=settled),
        Side(
            _PEER,
            f"Incremental(SGDClassifier()), {_EPOCHS} passes, the same files, 2 workers",
            incremental,
            figures,
            package="dask-ml",
            threads=None,
            prepare=settled,
        ),
    ]
    return Comparison(
        "on a cluster",
        told_of(X),
        sides,
        targets=(
            faster(_ONE, _PLAIN, 1 / 1.15),
            faster(_TWO, _ONE, 1.6),
            faster(_TWO, _PEER, 1.0),
            no_worse(_TWO, _PEER, "accuracy", 0.002),
        ),
        ratios=False,
    )


def _learner() -> widemargin.Perceptron:
    return widemargin.Perceptron(epochs=_EPOCHS, random_state=0)


def _fit_plainly(paths: list[str]) -> widemargin.Perceptron:
    """Read and learn in this process."""
    read, labels = widemargin.read(paths, n_jobs=1, dtype=np.float32)
    return _learner().fit(read, labels)


def settle(paths: list[str], room: int) -> None:
    """Bring files into the page cache, and write to this much memory, so that it is there."""
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 22):
                pass
    np.ones(room, np.uint8)


def told_of(X: Any) -> str:
    """A description of the files that `write_parts` writes."""
    return f"Zipf-like rows of 66 values, {X.nnz / 1e6:.0f} M values in 8 files"


def start_clusters(toy: bool, sizes: tuple[int, ...]) -> dict[int, Any]:
    """Clients of clusters with these numbers of one-thread workers, by size."""
    from distributed import Client, LocalCluster

    how: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0"}
    how |= {"silence_logs": logging.ERROR, "processes": not toy}
    return {size: Client(LocalCluster(n_workers=size, **how)) for size in sizes}


def write_parts(scratch: pathlib.Path, X: Any, y: np.ndarray) -> list[str]:
    """Write rows as eight files."""
    paths = []
    for i, which in enumerate(np.array_split(np.arange(len(y)), 8)):
        paths.append(str(scratch / f"{i}.svm"))
        part = slice(which[0], which[-1] + 1)
        write_svmlight(paths[-1], X[part], y[part], digits=5)
    return paths


def _peak() -> float:
    """The peak memory of this process, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read_blocks(client: Any, paths: list[str], width: int) -> tuple[Any, Any]:
    """Files as a Dask array of sparse blocks, in the memory of the workers, and their labels."""
    import dask
    import dask.array as da

    read = [dask.delayed(_read_part, pure=False)(path, width) for path in paths]
    lengths = client.gather(client.compute([dask.delayed(_length)(part) for part in read]))
    X = da.concatenate(
        [
            da.from_delayed(dask.delayed(_first)(part), (n, width), np.float32)
            for part, n in zip(read, lengths, strict=True)
        ]
    )
    y = da.concatenate(
        [
            da.from_delayed(dask.delayed(_second)(part), (n,), np.int64)
            for part, n in zip(read, lengths, strict=True)
        ]
    )
    return tuple(client.persist([X, y]))  # type: ignore[return-value]


def _incremental(client: Any, paths: list[str]) -> Any:
    """dask-ml's method: scikit-learn's SGDClassifier is passed from block to block."""
    from dask_ml.wrappers import Incremental
    from sklearn.linear_model import SGDClassifier

    X, y = read_blocks(client, paths, _WIDTH)
    learner = Incremental(SGDClassifier(average=True), shuffle_blocks=False)
    for _ in range(_EPOCHS):
        learner.partial_fit(X, y, classes=[-1, 1])
    return learner.estimator_


def _read_part(path: str, width: int) -> Any:
    return widemargin.read(path, n_jobs=1, dtype=np.float32, n_features=width)


def _length(part: Any) -> int:
    return len(part[1])


def _first(part: Any) -> Any:
    return part[0]


def _second(part: Any) -> Any:
    return part[1]
