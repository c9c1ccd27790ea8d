"""The names of the learners to compare, and the parameters that they have.

Nothing here imports a learner, so that the shell program can check names first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.parameters.effects import Use
from widemargin.parameters.values import check_choice

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
