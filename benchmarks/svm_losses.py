"""Hinge beside squared hinge on training data held out in turn: `python -m benchmarks.svm_losses`.

Accuracies of LinearSVM with its other settings as they are by default. Test files are not read.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import folder, read_idx
from benchmarks.svm_objectives import sets
from widemargin import LinearSVM

#: Larger sets are held out twice only, and no more of their rows are used.
LARGE, ROWS = 20_000, 8_000
#: Differences in points that count.
NOISE = 0.05


def several_classes() -> Iterator[tuple[str, Callable[[], tuple[Any, np.ndarray]]]]:
    """Name the sets with more than two classes, and how to load them."""
    yield "iris", lambda: _table("iris.data", -1)
    yield "wine", lambda: _table("wine.csv", 0)
    yield "digits", lambda: load_digits(return_X_y=True)
    yield "digits / 16", lambda: (load_digits().data / 16.0, load_digits().target)
    yield "pendigits", lambda: _pendigits(1.0)
    yield "pendigits / 100", lambda: _pendigits(100.0)
    yield "usps", _usps
    yield "mnist", _mnist
    yield "ocr-letters", _letters
    yield "20newsgroups", lambda: _texts("20newsgroups")
    yield "imdb", lambda: _texts("imdb")


def _table(file: str, label: int) -> tuple[Any, np.ndarray]:
    cells = [line.split(",") for line in (folder("uci-small") / file).read_text().split()]
    labels = np.array([row.pop(label) for row in cells])
    return np.array(cells, float), labels


def _pendigits(scale: float) -> tuple[Any, np.ndarray]:
    X, y = load_svmlight_file(str(folder("pendigits") / "pendigits.gz"))
    return X.toarray() / scale, y.astype(int)


def _usps() -> tuple[Any, np.ndarray]:
    table = np.loadtxt(folder("usps") / "zip.train.gz")
    return table[:, 1:].copy(), table[:, 0].astype(int)


def _mnist() -> tuple[Any, np.ndarray]:
    images = read_idx(folder("mnist") / "train-images-idx3-ubyte.gz")[:ROWS]
    labels = read_idx(folder("mnist") / "train-labels-idx1-ubyte.gz")[:ROWS]
    return images.reshape(ROWS, -1) / 255.0, labels.astype(int)


def _letters() -> tuple[Any, np.ndarray]:
    with gzip.open(folder("ocr-letters") / "letters.tsv.gz", "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    chosen = np.random.default_rng(0).permutation(len(rows))[:ROWS]
    bits = [np.frombuffer(bytes.fromhex(rows[i][4]), np.uint8) for i in chosen]
    return np.unpackbits(np.array(bits), axis=1).astype(float), np.array(
        [rows[i][3] for i in chosen]
    )


def _texts(name: str) -> tuple[Any, np.ndarray]:
    with lzma.open(folder(name) / "train.jsonl.xz") as lines:
        posts = [json.loads(line) for line in lines]
    words = TfidfVectorizer(sublinear_tf=True)
    X = words.fit_transform(post["text"] for post in posts)
    return X, np.array([post["label"] for post in posts])


def accuracy(loss: str, X: Any, y: np.ndarray) -> float:
    """The mean accuracy on parts that were held out in turn, in percent."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    found = []
    for train, test in list(folds)[: 2 if len(y) > LARGE else 5]:
        svm = LinearSVM(loss=loss, random_state=0).fit(X[train], y[train])
        found.append(100.0 * float(np.mean(svm.predict(X[test]) == y[test])))
    return float(np.mean(found))


def main() -> None:
    """Compare the losses on every set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.svm_losses")
    parser.add_argument("--sets", default="", help="only sets whose names match this")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    gains = []
    print("set, rows x columns: hinge, squared hinge, difference")
    for name, load in (*sets(), *several_classes()):
        if not re.search(asked.sets, name):
            continue
        X, y = load()
        X = X.tocsr() if hasattr(X, "tocsr") else X
        hinge, squared = (accuracy(loss, X, y) for loss in ("hinge", "squared_hinge"))
        gains.append(squared - hinge)
        size = f"{X.shape[0]} x {X.shape[1]}"
        print(f"{name}, {size}: {hinge:.2f}, {squared:.2f}, {gains[-1]:+.2f}", flush=True)
    better = sum(gain > NOISE for gain in gains)
    worse = sum(gain < -NOISE for gain in gains)
    print(f"mean {np.mean(gains):+.3f}; squared better on {better}, worse on {worse} sets")


if __name__ == "__main__":
    main()
