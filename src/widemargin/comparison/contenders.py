"""The learners to compare, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from widemargin.comparison.names import full_names

#: The kernel SVM takes part by default if all its runs together take at most about this long.
_KERNEL_SECONDS = 60.0
#: Measured training time in seconds per pair of rows, and per product of two numbers.
_PER_PAIR, _PER_PRODUCT, _PER_SPARSE_PRODUCT = 1e-8, 5e-11, 1e-9
#: Learners that take part only if they are named.
_ON_REQUEST = ("online logistic", "kernel perceptron")


@dataclass(frozen=True)
class Contender:
    """One learner to compare.

    Attributes
    ----------
    name : str
        The name of the learner.
    make : callable or None
        Returns a new, unfitted estimator.
    left_out : str
        Why the learner is left out; empty if it takes part.
    note : str
        A remark on its results.
    weighs_every_column : bool
        Whether it takes time and memory for columns without values, too.
    """

    name: str
    make: Callable[[], Any] | None
    left_out: str = ""
    note: str = ""
    weighs_every_column: bool = False


def contenders(C: float, epochs: int, seed: int | None) -> dict[str, Contender]:
    """All learners by name.

    Nothing is tuned: all use the same C, and all online learners the same number of epochs.
    """
    from sklearn.linear_model import LogisticRegression

    from widemargin.estimators.kernel_perceptron import KernelPerceptron
    from widemargin.estimators.kernel_svm import KernelSVM
    from widemargin.estimators.linear_svm import LinearSVM
    from widemargin.estimators.online_logistic import OnlineLogistic
    from widemargin.estimators.passive_aggressive import PassiveAggressive
    from widemargin.estimators.perceptron import Perceptron

    seeded: dict[str, Any] = {"random_state": seed, "progress": False}
    online = {"epochs": epochs, "fit_intercept": "auto", **seeded}
    makers: dict[str, Callable[[], Any]] = {
        "last perceptron": lambda: Perceptron(keep="last", **online),
        "averaged perceptron": lambda: Perceptron(keep="average", **online),
        # Its predictions evaluate thousands of hypotheses, so it alone uses all cores.
        "voted perceptron": lambda: Perceptron(keep="vote", n_jobs=-1, **online),
        "passive-aggressive": lambda: PassiveAggressive(C=C, **online),
        "online logistic": lambda: OnlineLogistic(**online),
        "linear SVM": lambda: LinearSVM(C=C, **seeded),
        "logistic regression": lambda: LogisticRegression(C=C, max_iter=1000),
        "kernel perceptron": lambda: KernelPerceptron(epochs=epochs, **seeded),
        "kernel SVM": lambda: KernelSVM(C=C, progress=False),
    }
    notes = {"voted perceptron": "predicts on all cores"}
    return {
        name: Contender(
            name,
            make,
            note=notes.get(name, ""),
            weighs_every_column=name == "logistic regression",
        )
        for name, make in makers.items()
    }


def kernel_seconds(X: Any, trainings: int) -> float:
    """Estimate the time of a kernel SVM for that many training runs on these rows, in seconds.

    There is a kernel value for every pair of rows, so the time grows with their number squared.
    """
    n, width = X.shape
    each = _PER_PRODUCT * width
    if hasattr(X, "nnz"):
        each = min(each, _PER_SPARSE_PRODUCT * X.nnz / max(1, n))
    return trainings * n * n * (_PER_PAIR + each)


def choose(
    learners: Mapping[str, Any] | Sequence[str] | None,
    X: Any,
    trainings: int,
    C: float,
    epochs: int,
    seed: int | None,
) -> list[Contender]:
    """Select the learners: all, some by name, or estimators given by the user.

    Parameters
    ----------
    learners : dict, sequence of str or None
        As in `compare`; the names of `widemargin train` are also accepted.
    X : matrix
        The examples.
    trainings : int
        How often each learner will be trained.
    """
    if isinstance(learners, Mapping):
        from sklearn.base import clone

        return [
            Contender(str(name), lambda model=model: clone(model))  # type: ignore[misc]
            for name, model in learners.items()
        ]
    known = contenders(C, epochs, seed)
    if learners is None:
        seconds = kernel_seconds(X, trainings)
        if seconds > _KERNEL_SECONDS:
            why = f"left out: it would take about {seconds:,.0f} s; name it to include it"
            known["kernel SVM"] = Contender("kernel SVM", None, why)
        return [one for name, one in known.items() if name not in _ON_REQUEST]
    return [known[name] for name in full_names(learners)]
