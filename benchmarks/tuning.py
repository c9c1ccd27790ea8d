"""Search for C on five folds: `tune` compared with scikit-learn's GridSearchCV and with one fit.

Both search the same values of C on stratified folds, and train the best on all rows. `tune` also
holds out a tenth of the rows first, and measures the choice on it. A second search of ours is what
users get by default: it chooses the values of C itself.
"""

from __future__ import annotations

import functools
import json
import lzma
import pathlib
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from benchmarks.data import folder
from benchmarks.harness import Comparison, Side, faster
from widemargin import HashedText, LinearSVM, read, tune

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
FOLDS = 5


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """The same search on vectors of few features and on texts."""
    data = {"toy": _toy} if toy else {"a9a": _a9a, "IMDB": _imdb}
    sides, targets = [], []
    for name, load in data.items():
        sides += _sides(name, functools.cache(load))
        grid = f"GridSearchCV, {name}"
        targets += [faster(f"{side}, {name}", grid, 2.0) for side in ("tune, same C", "tune")]
    return Comparison(
        "a search for the C of a linear SVM with the squared hinge",
        ", ".join(data) + f"; C of {len(GRID)} values, {FOLDS} folds, one thread",
        sides,
        targets,
    )


def _sides(name: str, load: Any) -> list[Side]:
    ours = functools.partial(LinearSVM, loss="squared_hinge", progress=False)

    def prepare(seed: int) -> Any:
        return (*load(), seed)

    def fit_once(given: Any) -> Any:
        X, y, seed = given
        return ours(random_state=seed).fit(X, y)

    def search(given: Any, C: Any) -> Any:
        X, y, seed = given
        return tune(ours(random_state=seed), X, y, C=C, folds=FOLDS, random_state=seed)

    def search_grid(given: Any) -> Any:
        X, y, seed = given
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        peer = LinearSVC(random_state=seed, max_iter=10_000)
        return GridSearchCV(peer, {"C": GRID}, cv=folds).fit(X, y)

    def of_tuning(found: Any) -> dict[str, float]:
        return {"best mean": found.search.best.mean, "held out": found.estimate_.accuracy}

    return [
        Side(f"one fit, {name}", "LinearSVM(loss='squared_hinge')", fit_once, prepare=prepare),
        Side(
            f"tune, same C, {name}",
            "tune(LinearSVM(loss='squared_hinge'), C=[0.01 ... 10])",
            functools.partial(search, C=GRID),
            of_tuning,
            prepare=prepare,
        ),
        Side(
            f"tune, {name}",
            "tune(LinearSVM(loss='squared_hinge'))",
            functools.partial(search, C="auto"),
            of_tuning,
            prepare=prepare,
        ),
        Side(
            f"GridSearchCV, {name}",
            "GridSearchCV(LinearSVC(), {'C': [0.01 ... 10]})",
            search_grid,
            lambda found: {"best mean": float(found.best_score_)},
            package="scikit-learn",
            prepare=prepare,
        ),
    ]


def _toy() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(200, 50, 0.2, "csr", random_state=rng)
    return X, np.where(X @ rng.normal(size=50) + 0.3 * rng.normal(size=200) > 0.0, 1, -1)


def _a9a() -> tuple[Any, np.ndarray]:
    X, y = read(folder("a9a") / "a9a.gz")
    return X, y


def _imdb() -> tuple[Any, np.ndarray]:
    with lzma.open(folder("imdb") / "train.jsonl.xz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    X = HashedText(ngrams=2, idf="seen").fit_transform([row["text"] for row in rows])
    return X, np.array([row["label"] for row in rows])
