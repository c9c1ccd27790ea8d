"""Linear SVMs, each class against the rest, on dense rows with few features."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.data import folder
from benchmarks.harness import Comparison, LeftOut, Side, Target, faster, shortest
from widemargin import LinearSVM

LOSSES = ("hinge", "squared_hinge")
#: LinearSVC's tolerance; ours must reach the objective that it gives.
TOLERANCE = 0.1
#: Our tolerances, from loose to tight; the first whose objective is no higher is used.
GAPS = (0.5, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6)


class Task(NamedTuple):
    """One data set with a C."""

    name: str
    X: np.ndarray
    y: np.ndarray
    C: float


def tasks(toy: bool) -> Iterator[Task]:
    """Yield the data sets, scaled and unscaled."""
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


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Fit all classes with one thread."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    sides: list[Side] = []
    targets: list[Target] = []
    names = []
    try:
        for task in tasks(toy):
            names.append(f"{task.name} ({task.X.shape[0]} x {task.X.shape[1]})")
            for loss in LOSSES:
                made = _sides(task, loss)
                sides += made
                targets.append(faster(made[0].name, made[1].name, 3.0))
    except LeftOut as reason:
        names.append(str(reason))
    title = "linear SVM, every class against the rest, to LinearSVC's objective"
    return Comparison(title, "; ".join(names), tuple(sides), tuple(targets), ratios=False)


def _sides(task: Task, loss: str) -> list[Side]:
    """Ours, and LinearSVC with the better of its solvers."""
    _, X, y, C = task
    signs = np.where(y[:, None] == np.unique(y), 1.0, -1.0)

    def primal(model: Any) -> float:
        short = np.maximum(0.0, 1.0 - signs * (X @ model.coef_.T + model.intercept_))
        length = 0.5 * float(np.sum(model.coef_**2) + np.sum(model.intercept_**2))
        return length + C * float(np.sum(short if loss == "hinge" else short**2))

    def theirs(dual: bool, seed: int = 0) -> LinearSVC:
        how = {"dual": dual, "tol": TOLERANCE, "random_state": seed}
        return LinearSVC(C=C, loss=loss, **how).fit(X, y)

    dual = loss == "hinge" or shortest(lambda: theirs(True), 2) < shortest(lambda: theirs(False), 2)
    wanted = primal(theirs(dual))

    def ours(gap: float, seed: int = 0) -> LinearSVM:
        return LinearSVM(C=C, loss=loss, tol=gap, random_state=seed).fit(X, y)

    gap = next((gap for gap in GAPS if primal(ours(gap)) <= wanted), GAPS[-1])
    return [
        Side(
            f"ours, {task.name}, {loss}",
            f"LinearSVM(C={C:g}, loss={loss!r}, tol={gap:g}, random_state=repeat)",
            work=lambda seed: ours(gap, seed),
            figures=lambda model: {"objective": primal(model)},
        ),
        Side(
            f"LinearSVC, {task.name}, {loss}",
            f"LinearSVC(C={C:g}, loss={loss!r}, dual={dual}, tol={TOLERANCE:g},"
            " random_state=repeat)",
            work=lambda seed: theirs(dual, seed),
            figures=lambda model: {"objective": primal(model)},
            package="scikit-learn",
        ),
    ]
