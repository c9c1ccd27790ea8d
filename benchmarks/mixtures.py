"""`python -m benchmarks.mixtures [imdb|zipf] [--toy]`: how the number of partitions affects models.

Iterative parameter mixing with 1, 10, 100 and 1,000 partitions, computed in this process, because
the model does not depend on the cluster. IMDB's 25,000 reviews are cut into ever smaller
partitions; the Zipf set grows with the number of partitions, each of which has 1,000 rows, and is
also learned as a single partition.
"""

from __future__ import annotations

import argparse
import json
import lzma
import pathlib
import tempfile
import time
from typing import Any

import numpy as np

import widemargin
from benchmarks.data import folder
from benchmarks.zipf import write_svmlight, zipf_text
from widemargin.distribute.engine import SerialEngine

_EPOCHS, _ROWS = 10, 1_000


def imdb(scratch: pathlib.Path, toy: bool) -> None:
    """Words and bigrams of film reviews, in random order."""
    paths = []
    for part in ("train", "test"):
        with lzma.open(folder("imdb") / f"{part}.jsonl.xz", "rt", encoding="utf-8") as file:
            reviews = [json.loads(line) for line in file]
        lines = [f"{one['label']}\t{' '.join(one['text'].split())}\n" for one in reviews]
        order = np.random.default_rng(0).permutation(len(lines))[: 500 if toy else None]
        path = scratch / f"{part}.tsv"
        path.write_text("".join(lines[i] for i in order), encoding="utf-8")
        paths.append(str(path))
    # One process holds the tables of all partitions at once, so 2^18 columns rather than 2^22.
    how = {"format": "labelled-text", "header": False, "ngrams": 2, "bits": 18}
    X, y = widemargin.read(paths[1], **how)
    for partitions in (1, 10, 100, 1_000):
        _learn(f"IMDB, {partitions} partitions", paths[0], partitions, X, y, **how)


def zipf(scratch: pathlib.Path, toy: bool) -> None:
    """Rows of a language whose vocabulary grows, 1,000 rows per partition."""
    counts = (1, 10) if toy else (1, 10, 100, 1_000)
    rows = 50 if toy else _ROWS
    X, y = zipf_text(rows * counts[-1] + 10_000, 1 << 18, 30, seed=0)
    test, labels = X[-10_000:], y[-10_000:]
    for partitions in counts:
        path = scratch / "rows.svm"
        n = rows * partitions
        write_svmlight(path, X[:n], y[:n], digits=5)
        for some in sorted({1, partitions}):
            _learn(f"Zipf, {n} rows, {some} partitions", str(path), some, test, labels)


def _learn(name: str, path: str, partitions: int, X: Any, y: Any, **how: Any) -> None:
    for mix in ("uniform", "touched") if partitions > 1 else ("uniform",):
        began = time.monotonic()
        learner = widemargin.Perceptron(epochs=_EPOCHS, random_state=0)
        made = widemargin.Distributed(
            learner, client=SerialEngine(), partitions=partitions, mix=mix
        ).fit(path, **how)
        model = made.model_
        if X.shape[1] > model.width:
            X = X[:, : model.width]
        elif X.shape[1] < model.width:
            X = X.copy()
            X.resize(X.shape[0], model.width)
        right = float(np.mean(_answers(model, X) == y))
        mistakes = ", ".join(str(epoch.mistakes) for epoch in made.history_)
        seconds = time.monotonic() - began
        print(f"{name}, {mix}: {right:.4f}; mistakes {mistakes}; {seconds:.0f} s", flush=True)


def _answers(model: Any, X: Any) -> np.ndarray:
    """Predictions for rows that are already encoded."""
    from widemargin.data.rows import Rows

    return model.predict(Rows.of(X, bias=model.bias, dtype=model.dtype))


def main() -> None:
    """Run the requested experiments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixtures", description=__doc__)
    parser.add_argument("names", nargs="*", default=["imdb", "zipf"])
    parser.add_argument("--toy", action="store_true")
    asked = parser.parse_args()
    for name in asked.names:
        with tempfile.TemporaryDirectory() as scratch:
            {"imdb": imdb, "zipf": zipf}[name](pathlib.Path(scratch), asked.toy)


if __name__ == "__main__":
    main()
