"""Compare LinearSVM's objectives with LIBLINEAR's: `python -m benchmarks.svm_objectives`.

Both sides solve the same problem (regularised bias, feature 1) on real data. Ours reports how far
it can be from the optimum; LIBLINEAR's objective is computed from its weights in plain numpy.
"""

from __future__ import annotations

import argparse
import gzip
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from benchmarks.data import folder, read_idx
from widemargin import LinearSVM

TOL = 1e-6
#: Objectives whose relative difference is below this count as equal.
CLOSE = 1e-6


def sets() -> Iterator[tuple[str, Callable[[], tuple[Any, np.ndarray]]]]:
    """Yield the name and loader of every set with two classes, or reduced to two."""
    for name in (
        "australian",
        "breast-cancer_scale",
        "diabetes_scale",
        "german.numer_scale",
        "heart_scale",
        "splice_scale",
    ):
        yield name, lambda name=name: _svmlight(f"libsvm-small/{name}")
    yield "sonar", lambda: _table("sonar.all-data", -1)
    yield "ionosphere", lambda: _table("ionosphere.data", -1)
    yield "banknote", lambda: _table("banknote.csv", -1)
    yield "iris, versicolor", lambda: _table("iris.data", -1, "Iris-versicolor")
    yield "wine, 1", lambda: _table("wine.csv", 0, "1")
    yield "svmguide1", lambda: _svmlight("svmguide1/svmguide1.gz")
    yield "mushrooms", lambda: _svmlight("mushrooms/agaricus.txt.train.gz")
    yield "rcv1-sample", lambda: _svmlight("rcv1-sample/rcv1-sample.train.gz")
    yield "reuters-money-fx", lambda: _svmlight("reuters-money-fx/reuters.trn.bz2")
    yield "sms-spam", spam
    yield "rotten-tomatoes", tomatoes
    yield "pendigits, 8", lambda: _svmlight("pendigits/pendigits.gz", 8)
    yield "usps, 3", _usps
    yield "a9a", lambda: _svmlight("a9a/a9a.gz")
    yield "w8a", lambda: _svmlight("w8a/w8a.gz")
    yield "ijcnn1", lambda: _svmlight("ijcnn1/ijcnn1.trn.bz2")
    yield "mnist, 4 and 9", _mnist


def _svmlight(path: str, positive: float | None = None) -> tuple[Any, np.ndarray]:
    name, file = path.split("/")
    X, y = load_svmlight_file(str(folder(name) / file))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # for LIBLINEAR
    return X, y == (y.max() if positive is None else positive)


def _table(file: str, label: int, positive: str | None = None) -> tuple[Any, np.ndarray]:
    lines = (folder("uci-small") / file).read_text().split()
    cells = [line.split(",") for line in lines]
    labels = np.array([row.pop(label) for row in cells])
    return np.array(cells, float), labels == (max(labels) if positive is None else positive)


def spam() -> tuple[Any, np.ndarray]:
    with gzip.open(folder("sms-spam") / "SMSSpamCollection.gz", "rt", encoding="utf-8") as file:
        labels, texts = zip(*(line.split("\t", 1) for line in file), strict=True)
    return TfidfVectorizer(sublinear_tf=True).fit_transform(texts), np.array(labels) == "spam"


def tomatoes() -> tuple[Any, np.ndarray]:
    texts, labels = [], []
    for side in ("neg", "pos"):
        path = folder("rotten-tomatoes") / f"rt-polarity.{side}.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            new = list(file)
        texts += new
        labels += [side == "pos"] * len(new)
    return TfidfVectorizer(sublinear_tf=True).fit_transform(texts), np.array(labels)


def _usps() -> tuple[Any, np.ndarray]:
    table = np.loadtxt(folder("usps") / "zip.train.gz")
    return table[:, 1:], table[:, 0] == 3


def _mnist() -> tuple[Any, np.ndarray]:
    labels = read_idx(folder("mnist") / "train-labels-idx1-ubyte.gz")
    chosen = (labels == 4) | (labels == 9)
    images = read_idx(folder("mnist") / "train-images-idx3-ubyte.gz")[chosen]
    return images.reshape(len(images), -1) / 255.0, labels[chosen] == 9


def objective(model: Any, X: Any, y: np.ndarray, C: float, squared: bool) -> float:
    """The primal objective of a model's weights."""
    w, b = model.coef_[0], float(model.intercept_[0])
    short = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * (X @ w + b))
    return 0.5 * (w @ w + b * b) + C * float(np.sum(short**2 if squared else short))


def main() -> None:
    """Compare the objectives, and print which sets agree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.svm_objectives")
    parser.add_argument("--sets", default="", help="Only sets whose names match this.")
    parser.add_argument("--seconds", type=float, default=60.0, help="Time limit per fit of ours.")
    parser.add_argument("--theirs", type=int, default=20_000, help="LIBLINEAR's max_iter.")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("set, loss, C: ours, its gap, epochs, s | LIBLINEAR (theirs - ours) / ours, s")
    fits = equal = short = worse = 0
    for name, load in sets():
        if not re.search(asked.sets, name):
            continue
        X, y = load()
        for loss in ("hinge", "squared_hinge"):
            for C in (1e-3, 1e-1, 1.0, 1e1, 1e3):
                how = {"C": C, "loss": loss, "tol": TOL, "random_state": 0}
                clock = time.perf_counter()
                ours = LinearSVM(**how, epochs=100_000, max_seconds=asked.seconds).fit(X, y)
                took = time.perf_counter() - clock
                clock = time.perf_counter()
                # The squared hinge in the primal, which converges where the dual is slow.
                how |= {"tol": 1e-9, "dual": loss == "hinge", "max_iter": asked.theirs}
                theirs = LinearSVC(**how).fit(X, y) if asked.theirs else ours
                their_time = time.perf_counter() - clock
                mine = ours.certificate_.primal
                other = objective(theirs, X, y, C, loss != "hinge")
                apart = (other - mine) / mine
                stopped = asked.theirs and np.max(theirs.n_iter_) >= asked.theirs
                fits, worse = fits + 1, worse + (apart < -CLOSE)
                equal, short = equal + (abs(apart) <= CLOSE), short + bool(stopped)
                print(
                    f"{name}, {loss}, {C:g}: {mine:.8g}, {ours.certificate_.gap:.1e},"
                    f" {len(ours.history_)}, {took:.2f} | {apart:+.1e}, {their_time:.2f}"
                    + (", stopped short" if stopped else ""),
                    flush=True,
                )
    print(
        f"{fits} fits: equal within {CLOSE:g} in {equal}; LIBLINEAR's stopped short in {short};"
        f" ours higher in {worse}"
    )


if __name__ == "__main__":
    main()
