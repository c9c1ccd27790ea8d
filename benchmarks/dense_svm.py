"""P4b and P21: linear SVMs, each class against the rest, on rows with all their features."""

from __future__ import annotations

import pathlib
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.data import folder, read_idx
from benchmarks.harness import Comparison, LeftOut, Side, Target, faster
from widemargin import LinearSVM

#: How far from the best known objective LinearSVC may be.
CLOSE = 1e-3
#: LinearSVC's solvers and tolerances, of which the fastest that comes close counts; if none does,
#: the one that comes closest.
SETTINGS = {
    "hinge": [(True, tol) for tol in (1.0, 0.3, 0.1, 0.01)],
    "squared_hinge": [(dual, tol) for dual in (True, False) for tol in (1.0, 0.1, 0.01, 1e-3)],
}
#: Of MNIST's 60,000 rows: LinearSVC takes minutes for all of them.
IMAGES = 15_000


class Task(NamedTuple):
    """One data set with a C."""

    name: str
    X: np.ndarray
    y: np.ndarray
    C: float


def tasks(toy: bool) -> Iterator[Task]:
    """Yield the data sets, scaled and as they are."""
    X, y = load_digits(return_X_y=True)
    if toy:
        yield Task("digits / 16", X[:300] / 16.0, y[:300], 1.0)
        return
    yield Task("digits / 16", X / 16.0, y, 1.0)
    X, y = load_svmlight_file(str(folder("pendigits") / "pendigits.gz"))
    yield Task("pendigits", X.toarray(), y.astype(int), 1.0)
    yield Task("pendigits / 100", X.toarray() / 100.0, y.astype(int), 1.0)
    table = np.loadtxt(folder("usps") / "zip.train.gz")
    yield Task("usps", table[:, 1:].copy(), table[:, 0].astype(int), 1.0)
    images = read_idx(folder("mnist") / "train-images-idx3-ubyte.gz")[:IMAGES]
    labels = read_idx(folder("mnist") / "train-labels-idx1-ubyte.gz")[:IMAGES]
    for C in (0.01, 1.0):
        yield Task(f"MNIST, C = {C:g}", images.reshape(IMAGES, -1) / 255.0, labels.astype(int), C)


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Fit all classes with one thread."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    sides: list[Side] = []
    targets: list[Target] = []
    names = []
    try:
        for task in tasks(toy):
            names.append(f"{task.name} ({task.X.shape[0]} x {task.X.shape[1]})")
            for loss in SETTINGS:
                made = _sides(task, loss)
                sides += made
                targets.append(faster(made[0].name, made[1].name, 3.0))
    except LeftOut as reason:
        names.append(str(reason))
    title = "linear SVM, every class against the rest, gap 1e-3 (P4b, P21)"
    return Comparison(title, "; ".join(names), tuple(sides), tuple(targets), ratios=False)


def _sides(task: Task, loss: str) -> list[Side]:
    """Ours, and LinearSVC at its fastest setting that comes close."""
    _, X, y, C = task
    best = LinearSVM(C=C, loss=loss, tol=1e-4, random_state=0).fit(X, y)
    bound = best.certificate_.dual
    signs = np.where(y[:, None] == best.classes_, 1.0, -1.0)

    def figures(model: Any) -> dict[str, float]:
        short = np.maximum(0.0, 1.0 - signs * (X @ model.coef_.T + model.intercept_))
        primal = 0.5 * float(np.sum(model.coef_**2) + np.sum(model.intercept_**2))
        primal += C * float(np.sum(short if loss == "hinge" else short**2))
        return {"above the least, at most": primal / bound - 1.0}

    def theirs(dual: bool, tol: float, seed: int = 0) -> LinearSVC:
        return LinearSVC(C=C, loss=loss, dual=dual, tol=tol, random_state=seed)

    dual, tol = _fastest(theirs, figures, X, y, loss)
    return [
        Side(
            f"ours, {task.name}, {loss}",
            f"LinearSVM(C={C:g}, loss={loss!r}, random_state=repeat)",
            work=lambda seed: LinearSVM(C=C, loss=loss, random_state=seed).fit(X, y),
            figures=figures,
        ),
        Side(
            f"LinearSVC, {task.name}, {loss}",
            f"LinearSVC(C={C:g}, loss={loss!r}, dual={dual}, tol={tol:g}, random_state=repeat)",
            work=lambda seed: theirs(dual, tol, seed).fit(X, y),
            figures=figures,
            package="scikit-learn",
        ),
    ]


def _fastest(
    make: Callable[..., Any], figures: Callable, X: np.ndarray, y: np.ndarray, loss: str
) -> tuple[bool, float]:
    """Return the setting that comes close in the least time, or comes closest."""
    found = []
    for dual, tol in SETTINGS[loss]:
        clock = time.perf_counter()
        model = make(dual, tol).fit(X, y)
        took = time.perf_counter() - clock
        above = figures(model)["above the least, at most"]
        found.append((max(above, CLOSE), took, dual, tol))
    _, _, dual, tol = min(found)
    return dual, tol
