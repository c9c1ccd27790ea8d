"""Compare the hinge and the squared hinge by cross-validation: `python -m benchmarks.svm_losses`.

Accuracies of LinearSVM with otherwise default settings, on held-out training data. Test files are
not read. The standard error of a difference is that of Nadeau and Bengio (2003, Inference for the
generalization error), as training parts overlap.
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

#: Larger sets than the first are split once, and two parts are held out; of image sets, the second
#: number of rows is used.
LARGE, ROWS = 20_000, 8_000
#: The number of parts, and how often other sets are split.
PARTS, REPEATS = 5, 4
#: Smaller differences, in points, are ignored.
NOISE = 0.05


def several_classes() -> Iterator[tuple[str, Callable[[], tuple[Any, np.ndarray]]]]:
    """Yield the names and loaders of the sets with more than two classes."""
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


def accuracies(X: Any, y: np.ndarray) -> np.ndarray:
    """The accuracies of both losses on held-out parts, in percent."""
    large, found = len(y) > LARGE, []
    for repeat in range(1 if large else REPEATS):
        cut = StratifiedKFold(PARTS, shuffle=True, random_state=repeat)
        for train, test in list(cut.split(np.zeros(len(y)), y))[: 2 if large else PARTS]:
            fits = (LinearSVM(loss=loss, random_state=0) for loss in ("hinge", "squared_hinge"))
            right = (svm.fit(X[train], y[train]).predict(X[test]) == y[test] for svm in fits)
            found.append([100.0 * float(np.mean(each)) for each in right])
    return np.array(found)


def standard_error(gains: np.ndarray) -> float:
    """The standard error of a mean difference over held-out parts."""
    return float(np.std(gains, ddof=1) * np.sqrt(1.0 / len(gains) + 1.0 / (PARTS - 1)))


def main() -> None:
    """Compare the losses on every set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.svm_losses")
    parser.add_argument("--sets", default="", help="Only sets whose names match this.")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    gains, errors = [], []
    print("set, rows x columns: hinge, squared hinge, difference and its standard error")
    for name, load in (*sets(), *several_classes()):
        if not re.search(asked.sets, name):
            continue
        X, y = load()
        X = X.tocsr() if hasattr(X, "tocsr") else X
        found = accuracies(X, y)
        (hinge, squared), each = found.mean(axis=0), found[:, 1] - found[:, 0]
        gains.append(squared - hinge)
        errors.append(standard_error(each))
        told = f"{hinge:.2f}, {squared:.2f}, {gains[-1]:+.2f} ({errors[-1]:.2f})"
        print(f"{name}, {X.shape[0]} x {X.shape[1]}: {told}", flush=True)
    better = sum(gain > NOISE for gain in gains)
    worse = sum(gain < -NOISE for gain in gains)
    by_sets = np.std(gains, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
    print(
        f"mean {np.mean(gains):+.3f}, its standard error {by_sets:.3f} over the sets;"
        f" squared better on {better}, worse on {worse}"
    )


if __name__ == "__main__":
    main()
