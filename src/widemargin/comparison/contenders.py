"""The learners to compare, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import widemargin
from widemargin.parameters import check_choice

#: Row limit of the kernel SVM, whose time and memory grow with the square of the rows.
KERNEL_ROWS = 10_000


@dataclass(frozen=True)
class Contender:
    """One learner to compare.

    Attributes
    ----------
    name : str
        Its name.
    make : callable or None
        Returns a new, unfitted estimator.
    left_out : str
        Why it is left out; empty if it takes part.
    note : str
        A remark on its figures.
    """

    name: str
    make: Callable[[], Any] | None
    left_out: str = ""
    note: str = ""


def contenders(rows: int, C: float, epochs: int, seed: int | None) -> dict[str, Contender]:
    """All learners by name, for this number of rows.

    Nothing is tuned: an error costs C for all, and all online learners run the same epochs.
    """
    from sklearn.linear_model import LogisticRegression

    from widemargin.estimators import LinearSVM, PassiveAggressive, Perceptron

    seeded: dict[str, Any] = {"random_state": seed, "progress": False}
    online = {"epochs": epochs, "fit_intercept": "auto", **seeded}
    makers: dict[str, Callable[[], Any]] = {
        "last perceptron": lambda: Perceptron(keep="last", **online),
        "averaged perceptron": lambda: Perceptron(keep="average", **online),
        # Its predictions evaluate thousands of hypotheses, so it alone uses all cores.
        "voted perceptron": lambda: Perceptron(keep="vote", n_jobs=-1, **online),
        "passive-aggressive": lambda: PassiveAggressive(C=C, **online),
        "linear SVM": lambda: LinearSVM(C=C, **seeded),
        "logistic regression": lambda: LogisticRegression(C=C, max_iter=1000),
    }
    notes = {"voted perceptron": "predicts on all cores"}
    found = {name: Contender(name, make, note=notes.get(name, "")) for name, make in makers.items()}
    found["kernel SVM"] = _kernel_svm(rows, C)
    return found


def _kernel_svm(rows: int, C: float) -> Contender:
    """The kernel SVM, if there are not too many rows."""
    name = "kernel SVM"
    if rows > KERNEL_ROWS:
        return Contender(name, None, f"left out: more than {KERNEL_ROWS:,} rows")
    return Contender(name, lambda: widemargin.KernelSVM(C=C))


def choose(
    learners: Mapping[str, Any] | Sequence[str] | None,
    rows: int,
    C: float,
    epochs: int,
    seed: int | None,
) -> list[Contender]:
    """Select the learners: all, some by name, or estimators given by the user."""
    if isinstance(learners, Mapping):
        from sklearn.base import clone

        return [
            Contender(str(name), lambda model=model: clone(model))  # type: ignore[misc]
            for name, model in learners.items()
        ]
    known = contenders(rows, C, epochs, seed)
    if learners is None:
        return list(known.values())
    for name in learners:
        check_choice("learner", name, known)
    return [known[name] for name in dict.fromkeys(learners)]
