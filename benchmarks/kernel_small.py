"""Kernel machines on small sets: fits and probabilities compared with LIBSVM's, and joint votes."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from benchmarks.data import folder
from benchmarks.harness import Comparison, LeftOut, Side, Target, faster, no_worse, within
from widemargin import KernelPerceptron, KernelSVM

#: Chosen by hand: smaller differences of a mean log-likelihood come from the choice of folds.
_SEEDS = 1e-3
#: Number of rows for which the voted perceptron predicts.
ASKED = 5_000


class _Parts(NamedTuple):
    """Training and test rows, in float64."""

    X: np.ndarray
    y: np.ndarray
    test: np.ndarray
    test_y: np.ndarray


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Fit with float64 rows on one thread, C = 10 and 100; probabilities with C = 10."""
    sides: list[Side] = []
    targets: list[Target] = []
    data = []
    for name, read in {"digits": _digits, "pendigits": _pendigits, "usps": _usps}.items():
        if toy and name != "digits":
            continue
        try:
            parts = read()
        except LeftOut as reason:
            data.append(str(reason))
            continue
        data.append(f"{name}, {parts.X.shape[0]} x {parts.X.shape[1]}")
        for C in (10.0, 100.0):
            made = [_fit(who, name, C, parts) for who in (KernelSVM, SVC)]
            sides += made
            targets.append(faster(made[0].name, made[1].name, 2.0))
        made = [_probabilities(who, name, parts) for who in (KernelSVM, SVC)]
        sides += made
        targets.append(no_worse(made[0].name, made[1].name, "log-likelihood", _SEEDS))
        vote = _vote(name, parts, 100 if toy else ASKED)
        sides.append(vote)
        targets.append(within(vote.name, 1.0))
    told = "; ".join(data)
    return Comparison("Kernel machines on small sets", told, tuple(sides), tuple(targets))


def _digits() -> _Parts:
    X, y = load_digits(return_X_y=True)
    learned = np.arange(len(y)) % 3 != 0
    return _Parts(X[learned] / 16.0, y[learned], X[~learned] / 16.0, y[~learned])


def _pendigits() -> _Parts:
    read = [
        load_svmlight_file(str(folder("pendigits") / f"pendigits{end}.gz")) for end in ("", ".t")
    ]
    (X, y), (test, test_y) = read
    return _Parts(X.toarray() / 100.0, y, test.toarray() / 100.0, test_y)


def _usps() -> _Parts:
    learned, test = (np.loadtxt(folder("usps") / f"zip.{end}.gz") for end in ("train", "test"))
    return _Parts(learned[:, 1:], learned[:, 0], test[:, 1:], test[:, 0])


def _about(who: Callable[..., Any]) -> dict[str, Any]:
    return {"package": "widemargin" if who is KernelSVM else "scikit-learn", "threads": 1}


def _fit(who: Callable[..., Any], name: str, C: float, parts: _Parts) -> Side:
    """A fit of one machine per pair of classes."""
    called = who.__name__
    return Side(
        f"{called}, {name}, C = {C:g}",
        f"{called}(C={C:g})",
        work=lambda _: who(C=C).fit(parts.X, parts.y),
        figures=lambda svm: {
            "support vectors": float(len(svm.support_)),
            "accuracy": float(np.mean(svm.predict(parts.test) == parts.test_y)),
        },
        **_about(who),
    )


def _probabilities(who: Callable[..., Any], name: str, parts: _Parts) -> Side:
    """A fit with probabilities, and their log-likelihood."""
    called = f"{who.__name__}(C=10, probability=True, random_state=repeat)"

    def likelihood(svm: Any) -> dict[str, float]:
        return {"log-likelihood": -float(log_loss(parts.test_y, svm.predict_proba(parts.test)))}

    return Side(
        f"{who.__name__}, {name}, probabilities",
        called,
        work=lambda seed: who(C=10.0, probability=True, random_state=seed).fit(parts.X, parts.y),
        figures=likelihood,
        **_about(who),
    )


def _vote(name: str, parts: _Parts, asked: int) -> Side:
    """Voted predictions of a perceptron whose classes were learned together."""
    rows = np.resize(parts.test, (asked, parts.test.shape[1]))
    learner = KernelPerceptron(keep="vote", epochs=5, random_state=0)
    return Side(
        f"KernelPerceptron, {name}, a vote on {asked} rows",
        "KernelPerceptron(keep='vote', epochs=5, random_state=0).predict(X)",
        work=lambda fitted: fitted.predict(rows),
        prepare=lambda _: learner.fit(parts.X, parts.y),
        threads=1,
    )
