"""P18: what a cluster costs and brings: no cluster, one worker, two workers, and dask-ml.

The clusters are running before the clock starts, as clusters do. All sides read the same files,
learn for the same number of epochs, and use one thread per worker.
"""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import numpy as np

import widemargin
from benchmarks.harness import Comparison, LeftOut, Side, faster, no_worse
from benchmarks.zipf import write_svmlight, zipf_text

_EPOCHS = 5
_PLAIN, _ONE, _TWO, _PEER = "no cluster", "Dask, 1 worker", "Dask, 2 workers", "dask-ml"


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Learn from files of 100 million values; eight partitions, one per file."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise LeftOut("Dask is not installed") from None
    rows, times = (400, 1) if toy else (18_940, 10)
    X, y = zipf_text(rows, 262_144, 66, seed=0)
    paths = _write(scratch, X, y, times)
    how: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    clusters = [LocalCluster(**{**how, "n_workers": n, "processes": not toy}) for n in (1, 2)]
    clients = dict(zip((_ONE, _TWO), map(Client, clusters), strict=True))

    def learner() -> widemargin.Perceptron:
        return widemargin.Perceptron(epochs=_EPOCHS, random_state=0)

    def plain(_: int) -> Any:
        read, labels = widemargin.read(paths, n_jobs=1, dtype=np.float32)
        return learner().fit(read, labels)

    def distributed(client: Any) -> Any:
        made = widemargin.Distributed(learner(), client=client, partitions=len(paths))
        return made.fit(paths, dtype=np.float32).to_local()

    def incremental(client: Any) -> Any:
        return _incremental(client, paths)

    def accuracy(model: Any) -> dict[str, float]:
        wide = X.copy()
        wide.resize(X.shape[0], model.coef_.shape[1])
        return {"accuracy": float(np.mean(model.predict(wide) == y))}

    sides = [
        Side(_PLAIN, "read(n_jobs=1), Perceptron(epochs=5).fit", plain, accuracy),
        *(
            Side(
                name,
                f"Distributed(Perceptron(epochs=5), partitions={len(paths)})",
                lambda _, name=name: distributed(clients[name]),
                accuracy,
                threads=None,
            )
            for name in (_ONE, _TWO)
        ),
        Side(
            _PEER,
            "Incremental(SGDClassifier()), 5 passes, the same files as Dask arrays, 2 workers",
            lambda _: incremental(clients[_TWO]),
            accuracy,
            package="dask-ml",
            threads=None,
        ),
    ]
    return Comparison(
        title="on a cluster (P18)",
        data=f"Zipf-like rows of 66 values, {times * X.nnz * 8 / 1e6:.0f} M values in 8 files",
        sides=sides,
        targets=(
            faster(_ONE, _PLAIN, 1 / 1.15),
            faster(_TWO, _ONE, 1.6),
            faster(_TWO, _PEER, 1.0),
            no_worse(_TWO, _PEER, "accuracy", 0.002),
        ),
        ratios=False,
    )


def _write(scratch: pathlib.Path, X: Any, y: np.ndarray, times: int) -> list[str]:
    """Eight files, each of which repeats an eighth of the rows."""
    paths = []
    for i, which in enumerate(np.array_split(np.arange(len(y)), 8)):
        first, path = scratch / f"{i}.part", scratch / f"{i}.svm"
        write_svmlight(first, X[which], y[which], digits=5)
        with open(path, "wb") as out:
            for _ in range(8 * times):
                with open(first, "rb") as source:
                    shutil.copyfileobj(source, out, 1 << 20)
        paths.append(str(path))
    return paths


def _incremental(client: Any, paths: list[str]) -> Any:
    """dask-ml's way: scikit-learn's SGDClassifier passes from block to block."""
    import dask
    import dask.array as da
    from dask_ml.wrappers import Incremental
    from sklearn.linear_model import SGDClassifier

    width = 262_144
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
    X, y = client.persist([X, y])
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
