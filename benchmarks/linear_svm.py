"""Linear SVMs to a relative gap of 1e-3, on sparse text-like rows and on a9a."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC

from benchmarks.data import folder
from benchmarks.harness import Comparison, LeftOut, Side, faster
from benchmarks.zipf import zipf_text
from widemargin import LinearSVM

#: How far a side may be from the best known objective.
CLOSE = 1e-3
#: Settings of the peers from loose to tight; the first that is close enough is the fastest.
THEIR_TOLERANCES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
SNAP_EPOCHS = (5, 10, 15, 20, 30, 40, 60, 80, 120, 200)


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Fit with C = 1 and no intercept, one thread (Snap ML: two as well)."""
    rows, width = (2_000, 4_096) if toy else (100_000, 262_144)
    X, y = zipf_text(rows, width, 66, seed=0)
    sides, targets = [], []
    for loss in ("hinge", "squared_hinge"):
        made = _sides(f"text, {loss}", X, y, loss, snap=loss == "hinge")
        sides += made
        targets.append(faster(made[0].name, made[1].name, 3.0))
        targets += [faster(made[0].name, other.name, 2.5) for other in made[2:]]
    data = f"{rows} x {width} Zipf-like CSR float32, {X.nnz} values"
    try:
        made = _sides("a9a, hinge", *_a9a(toy), "hinge", snap=False)
        sides += made
        targets.append(faster(made[0].name, made[1].name, 2.0))
        data += "; a9a, 32,561 x 123"
    except LeftOut as reason:
        data += f"; {reason}"
    return Comparison("linear SVM, C = 1, gap 1e-3", data, tuple(sides), tuple(targets))


def _a9a(toy: bool) -> tuple[Any, np.ndarray]:
    if toy:
        raise LeftOut("a9a is left out at toy size")
    X, y = load_svmlight_file(str(folder("a9a") / "a9a.gz"), dtype=np.float32)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # for LIBLINEAR
    return X, y.astype(np.int64)


def _sides(name: str, X: Any, y: np.ndarray, loss: str, snap: bool) -> list[Side]:
    """Ours, and LinearSVC and Snap ML at their fastest settings that are close enough."""
    squared = loss != "hinge"
    exact = X.astype(np.float64)
    best = LinearSVM(loss=loss, fit_intercept=False, tol=1e-5, random_state=0).fit(X, y)
    bound = best.certificate_.dual

    def figures(model: Any) -> dict[str, float]:
        w = np.ravel(model.coef_).astype(np.float64)
        short = np.maximum(0.0, 1.0 - y * (exact @ w))
        primal = 0.5 * (w @ w) + float(np.sum(short**2 if squared else short))
        return {"above the least, at most": primal / bound - 1.0}

    def side(who: str, package: str, settings: str, make: Callable, threads: int = 1) -> Side:
        return Side(
            f"{who}, {name}",
            settings,
            work=lambda seed: make(seed).fit(X, y),
            figures=figures,
            package=package,
            threads=threads,
        )

    def close(make: Callable[[Any], Any], choices: tuple) -> Any:
        for choice in choices:
            if figures(make(choice).fit(X, y))["above the least, at most"] <= CLOSE:
                return choice
        return choices[-1]

    def theirs(tol: float, seed: int = 0) -> LinearSVC:
        return LinearSVC(
            loss=loss, fit_intercept=False, dual=True, tol=tol, random_state=seed, max_iter=10_000
        )

    tol = close(theirs, THEIR_TOLERANCES)
    sides = [
        side(
            "ours",
            "widemargin",
            f"LinearSVM(loss={loss!r}, fit_intercept=False, random_state=repeat)",
            lambda seed: LinearSVM(loss=loss, fit_intercept=False, random_state=seed),
        ),
        side(
            "LinearSVC",
            "scikit-learn",
            f"LinearSVC(loss={loss!r}, fit_intercept=False, dual=True, tol={tol:g},"
            " random_state=repeat)",
            lambda seed: theirs(tol, seed),
        ),
    ]
    if snap:
        sides += _snap_sides(side, close)
    return sides


def _snap_sides(side: Callable[..., Side], close: Callable) -> list[Side]:
    """Snap ML with one thread and with two; marked as absent if it is not installed."""
    try:
        from snapml import SupportVectorMachine
    except ImportError:
        SupportVectorMachine = None

    sides = []
    for jobs in range(1, min(2, os.cpu_count() or 1) + 1):

        def make(epochs: int, seed: int = 0, jobs: int = jobs) -> Any:
            return SupportVectorMachine(
                max_iter=epochs,
                tol=1e-12,
                regularizer=1.0,
                fit_intercept=False,
                n_jobs=jobs,
                random_state=seed,
            )

        epochs = close(make, SNAP_EPOCHS) if SupportVectorMachine is not None else 0
        sides.append(
            side(
                f"Snap ML {jobs}",
                "snapml",
                f"SupportVectorMachine(max_iter={epochs}, regularizer=1.0, fit_intercept=False,"
                f" n_jobs={jobs}, random_state=repeat)",
                lambda seed, make=make, epochs=epochs: make(epochs, seed),
                jobs,
            )
        )
    return sides
