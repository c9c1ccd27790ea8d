"""One online epoch in feature space, compared with its kernel products alone; and budgets."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.data import folder
from benchmarks.harness import Comparison, LeftOut, Outcome, Side, Target, faster
from benchmarks.mnist import read_mnist
from widemargin import KernelPerceptron

#: The number of examples that may be stored, and the kernels' gamma: usual values, shared by all
#: sides.
BUDGET = 200
GAMMA = {"ijcnn1": 2.0, "a9a": 0.05}


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """An epoch of degree 4, one class against the rest, and the products it needs as one GEMM."""
    digits = read_mnist(toy)

    def learn(seed: int) -> KernelPerceptron:
        return KernelPerceptron(
            kernel="poly",
            degree=4,
            multiclass="ovr",
            keep="vote",
            shuffle="once",
            epochs=1,
            random_state=seed,
        ).fit(digits.X, digits.y)

    # Every example needs its kernel values with those stored before it.
    model = learn(0).model_
    first = np.full(model.support.n, np.inf)
    np.minimum.at(first, model.log.example.astype(np.int64), model.log.count)
    needed = float(np.sum(len(digits.y) - first))
    columns = max(1, round(needed / len(digits.y)))
    out = np.empty((len(digits.y), columns), np.float32)

    def multiply(seed: int) -> np.ndarray:
        return np.matmul(digits.X, digits.X[:columns].T, out=out)

    sides = [
        Side(
            "an epoch",
            "KernelPerceptron(kernel='poly', degree=4, multiclass='ovr', keep='vote',"
            " shuffle='once', epochs=1, random_state=repeat)",
            work=learn,
            figures=lambda learner: {
                "mistakes": learner.mistakes_,
                "support": len(learner.support_),
            },
        ),
        Side("one GEMM", f"np.matmul(X, X[:{columns}].T, out=out)", multiply, package="numpy"),
    ]
    targets = [faster("an epoch", "one GEMM", 1.0 / 3.0)]
    data = f"{digits.name}, {len(digits.y)} images, of which {columns} stand for the stored ones"
    for name in ("ijcnn1", "a9a"):
        try:
            X, y, test_X, test_y = _binary(name, toy)
        except LeftOut as reason:
            data += f"; {reason}"
            continue
        made = [_within(name, forget, X, y, test_X, test_y) for forget in WAYS]
        sides += made
        targets += [_better(made[0].name, other.name) for other in made[1:]]
        data += f"; {name}, {len(y)} x {X.shape[1]}"
    return Comparison(
        "one epoch of a kernel perceptron, and budgets",
        data,
        tuple(sides),
        () if toy else tuple(targets),
    )


WAYS = ("projectron", "forgetron", "random")


def _binary(name: str, toy: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Dense data of two classes; at toy size, a part of it."""
    files = {"ijcnn1": ("ijcnn1.trn.bz2", "ijcnn1.tst.bz2"), "a9a": ("a9a.gz", "a9a.t.gz")}[name]
    width = {"ijcnn1": 22, "a9a": 123}[name]
    parts: list[np.ndarray] = []
    for file in files:
        X, y = load_svmlight_file(str(folder(name) / file), n_features=width, dtype=np.float32)
        few = slice(2000) if toy else slice(None)
        parts += [X.toarray()[few], y[few].astype(np.int64)]
    return parts[0], parts[1], parts[2], parts[3]


def _within(
    name: str,
    forget: str,
    X: np.ndarray,
    y: np.ndarray,
    test_X: np.ndarray,
    test_y: np.ndarray,
) -> Side:
    """A perceptron with a budget, one epoch."""

    def learn(seed: int) -> KernelPerceptron:
        return KernelPerceptron(
            kernel="rbf",
            gamma=GAMMA[name],
            budget=BUDGET,
            forget=forget,
            keep="last",
            epochs=1,
            random_state=seed,
        ).fit(X, y)

    figures: Callable[[Any], dict[str, float]] = lambda learner: {  # noqa: E731
        "mistakes": learner.mistakes_,
        "support": len(learner.support_),
        "accuracy": learner.score(test_X, test_y),
    }
    settings = (
        f"KernelPerceptron(kernel='rbf', gamma={GAMMA[name]:g}, budget={BUDGET},"
        f" forget={forget!r}, keep='last', epochs=1, random_state=repeat)"
    )
    return Side(f"{forget}, {name}", settings, work=learn, figures=figures)


def _better(one: str, other: str) -> Target:
    """Require fewer mistakes during training and a better accuracy afterwards."""

    def found(mine: Outcome, theirs: Outcome) -> tuple[str, bool]:
        gain = mine.mean("accuracy") - theirs.mean("accuracy")
        fewer = theirs.mean("mistakes") - mine.mean("mistakes")
        return f"{gain:+.4f}, {fewer:,.0f} mistakes fewer", gain > 0.0 and fewer > 0.0

    return Target(f"{one}: more accurate than {other}", (one, other), found)
