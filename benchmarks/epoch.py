"""One averaged epoch over sparse rows in memory."""

from __future__ import annotations

import math
import pathlib

from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.linear_model import SGDClassifier

from benchmarks.harness import Comparison, Side, faster, no_worse
from benchmarks.zipf import zipf_text
from widemargin import Perceptron


def averaged_sgd(seed: int) -> SGDClassifier:
    """scikit-learn's averaged perceptron, for one epoch."""
    return SGDClassifier(
        loss="perceptron",
        penalty=None,
        learning_rate="constant",
        eta0=1.0,
        average=True,
        max_iter=1,
        tol=None,
        random_state=seed,
    )


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Fit one epoch, from CSR float32 to a model; the held-out rows only measure accuracy."""
    rows, held, width = (2_000, 500, 4_096) if toy else (200_000, 50_000, 262_144)
    X, y = zipf_text(rows + held, width, 66, seed=0)
    learned, labels = X[:rows], y[:rows]
    unseen, answers = X[rows:], y[rows:]
    noise = math.sqrt(0.88 * 0.12 / held)  # of an accuracy of about 0.88

    def side(name: str, package: str, settings: str, make) -> Side:
        return Side(
            name,
            settings,
            work=lambda seed: make(seed).fit(learned, labels),
            figures=lambda model: {"held-out accuracy": model.score(unseen, answers)},
            package=package,
        )

    return Comparison(
        title="one averaged epoch in memory",
        data=f"{rows} x {width} Zipf-like CSR float32, {learned.nnz} values; {held} rows held out",
        sides=(
            side(
                "ours, rows",
                "widemargin",
                "Perceptron(epochs=1, keep='average', shuffle='rows', fit_intercept='auto',"
                " random_state=repeat)",
                lambda seed: Perceptron(
                    epochs=1,
                    keep="average",
                    shuffle="rows",
                    fit_intercept="auto",
                    random_state=seed,
                ),
            ),
            side(
                "ours, as shipped",
                "widemargin",
                "Perceptron(epochs=1, keep='average', shuffle=True, fit_intercept='auto',"
                " random_state=repeat)",
                lambda seed: Perceptron(
                    epochs=1,
                    keep="average",
                    shuffle=True,
                    fit_intercept="auto",
                    random_state=seed,
                ),
            ),
            side(
                "scikit-learn averaged SGD",
                "scikit-learn",
                "SGDClassifier(loss='perceptron', penalty=None, learning_rate='constant', eta0=1.0,"
                " average=True, max_iter=1, tol=None, random_state=repeat)",
                averaged_sgd,
            ),
            side(
                "scikit-learn Perceptron",
                "scikit-learn",
                "Perceptron(max_iter=1, tol=None, random_state=repeat)",
                lambda seed: ScikitPerceptron(max_iter=1, tol=None, random_state=seed),
            ),
        ),
        targets=(
            faster("ours, rows", "scikit-learn averaged SGD", 2.3),
            faster("ours, as shipped", "scikit-learn averaged SGD", 3.5),
            no_worse("ours, rows", "scikit-learn averaged SGD", "held-out accuracy", noise),
            no_worse("ours, as shipped", "scikit-learn averaged SGD", "held-out accuracy", noise),
        ),
    )
