"""Which options have an effect, given the others."""

from __future__ import annotations

from typing import Any

from widemargin.parameters import Use, used_with

_PA = ("pa1", "pa2")
_ETA = ("perceptron", "margin", "logistic")


def uses_of_rule(rule: str, *lacks: str) -> dict[str, Use]:
    """What a step rule uses, of a learner that lacks some of the rules."""
    eta = (name for name in _ETA if name not in lacks)
    return {"C": used_with("rule", rule, *_PA), "eta": used_with("rule", rule, *eta)}


def uses_of_kernel(kernel: str) -> dict[str, Use]:
    """What a kernel uses."""
    scaled = used_with("kernel", kernel, "poly", "rbf", "laplace", "laplacian")
    poly = used_with("kernel", kernel, "poly")
    distance = used_with("kernel", kernel, "rbf", "laplace", "laplacian")
    return {"degree": poly, "coef0": poly, "gamma": scaled, "sigma": distance}


def uses_of_held_out(here: bool) -> dict[str, Use]:
    """What early stopping uses."""
    return {"patience": Use(here, "without held-out examples", "with --valid")}


def uses_of_budget(budget: Any) -> dict[str, Use]:
    """What a budget uses."""
    return {"forget": Use(budget is not None, "without a budget", "with --budget")}
