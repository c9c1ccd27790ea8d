"""The learners to compare, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from widemargin.parameters import Use, check_choice

#: The kernel SVM takes part by default if all its runs together take at most about this long.
_KERNEL_SECONDS = 60.0
#: Measured training time in seconds per pair of rows, and per product of two numbers.
_PER_PAIR, _PER_PRODUCT, _PER_SPARSE_PRODUCT = 1e-8, 5e-11, 1e-9
#: The names of the same learners in `widemargin train`.
_SHORT_NAMES = {
    "perceptron": "averaged perceptron",
    "pa": "passive-aggressive",
    "logistic": "online logistic",
    "svm": "linear SVM",
    "kernel-perceptron": "kernel perceptron",
    "kernel-svm": "kernel SVM",
}
#: The learners, and which parameters of a comparison they have.
_PARAMETERS = {
    "last perceptron": ("epochs",),
    "averaged perceptron": ("epochs",),
    "voted perceptron": ("epochs",),
    "passive-aggressive": ("C", "epochs"),
    "online logistic": ("epochs",),
    "linear SVM": ("C",),
    "logistic regression": ("C",),
    "kernel perceptron": ("epochs",),
    "kernel SVM": ("C",),
}
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


def full_names(learners: Sequence[str]) -> list[str]:
    """The names of learners that were given by these or shorter names."""
    found: list[str] = []
    for name in learners:
        check_choice("learner", name, (*_PARAMETERS, *_SHORT_NAMES))
        full = _SHORT_NAMES.get(name, name)
        if full in found:
            raise ValueError(f"learner={name!r} is given twice")
        found.append(full)
    return found


def uses_of(learners: Mapping[str, Any] | Sequence[str] | None) -> dict[str, Use]:
    """Which parameters of a comparison have an effect on these learners.

    Examples
    --------
    >>> uses_of(["svm"])["epochs"].here, uses_of(["svm"])["C"].here, uses_of(None)["C"].here
    (False, True, True)
    """
    names = ("C", "epochs")
    if isinstance(learners, Mapping):
        return dict.fromkeys(names, Use(False, "on estimators", "on learners given by name"))
    chosen = _PARAMETERS if learners is None else full_names(learners)
    uses = {}
    for name in names:
        users = [one for one, its in _PARAMETERS.items() if name in its]
        here = any(one in users for one in chosen)
        uses[name] = Use(here, "on these learners", f"on {', '.join(users[:-1])} or {users[-1]}")
    return uses
