"""The step rules by name, with the parameters a user gives them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from widemargin.loops.steps import ERROR, MARGIN, REACH, SIGMOID, Rule

#: What a user may say of the step size: a number, or (eta0, power) for eta0 / t ** power.
Eta = float | tuple[float, float]

#: Name, and the rule's numbers given the aggressiveness C and the target margin.
_RULES: dict[str, Callable[[float, float], Rule]] = {
    "perceptron": lambda C, target: Rule(ERROR),
    "margin": lambda C, target: Rule(MARGIN, target=target),
    "pa": lambda C, target: Rule(REACH, target=1.0),
    "pa1": lambda C, target: Rule(REACH, target=1.0, cap=C),
    "pa2": lambda C, target: Rule(REACH, target=1.0, soft=1.0 / (2.0 * C)),
    "logistic": lambda C, target: Rule(SIGMOID),
}
RULES = tuple(_RULES)


def make_rule(
    name: str,
    *,
    eta: Eta = 1.0,
    C: float = 1.0,
    target: float = 1.0,
    l2: float = 0.0,
    ties: str = "mistake",
) -> Rule:
    """The numbers of a step rule.

    Parameters
    ----------
    name : str
        "perceptron" steps eta when y w.x <= 0; "margin" steps eta when y w.x <= target;
        "pa", "pa1" and "pa2" step just far enough to reach y w.x = 1 (uncapped, capped at C,
        softened by 1/2C); "logistic" steps eta / (1 + exp(y w.x)).
    eta : float or (float, float)
        Step size, or (eta0, power): eta0 / t ** power at turn t. The pa rules do not use it.
    C : float
        What an error may cost, for pa1 and pa2.
    target : float
        The margin that "margin" asks for.
    l2 : float
        Adds l2 |w|^2 to the loss of every example.
    ties : {"mistake", "predict"}
        Whether a score of exactly 0 is a mistake, or only if the prediction made there is wrong.

    Examples
    --------
    >>> make_rule("pa1", C=0.5).cap
    0.5
    """
    if name not in _RULES:
        raise ValueError(f"rule={name!r} is unknown; choose one of {', '.join(RULES)}")
    eta0, power = eta if isinstance(eta, tuple) else (eta, 0.0)
    _positive("eta", eta0)
    _positive("C", C)
    _not_negative("the power of eta", power)
    _not_negative("target", target)
    _not_negative("l2", l2)
    if ties not in ("mistake", "predict"):
        raise ValueError(f"ties={ties!r} is unknown; choose 'mistake' or 'predict'")
    if l2 > 0.0 and 2.0 * eta0 * l2 >= 1.0:
        raise ValueError(
            f"eta={eta0:g} times l2={l2:g} must be less than 1/2, or weights change sign"
        )
    return _RULES[name](C, target)._replace(
        eta=float(eta0), power=float(power), l2=float(l2), ties=ties == "mistake"
    )


def _positive(name: str, value: Any) -> None:
    if not (_is_number(value) and 0 < value < math.inf):
        raise ValueError(f"{name}={value!r} must be a positive number")


def _not_negative(name: str, value: Any) -> None:
    if not (_is_number(value) and 0 <= value < math.inf):
        raise ValueError(f"{name}={value!r} must be a number that is not negative")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or hasattr(value, "__float__")
