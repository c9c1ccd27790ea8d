"""The update rules by name, with their parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from widemargin.loops.steps import ERROR, MARGIN, REACH, SIGMOID, Rule
from widemargin.parameters import Use, check_choice, check_not_negative, check_positive, used_with

#: The step size: a number, or (eta0, power) for eta0 / t ** power.
Eta = float | tuple[float, float]

#: Maps names to functions from the aggressiveness C and the target margin to the rule.
_RULES: dict[str, Callable[[float, float], Rule]] = {
    "perceptron": lambda C, target: Rule(ERROR),
    "margin": lambda C, target: Rule(MARGIN, target=target),
    "pa": lambda C, target: Rule(REACH, target=1.0),
    "pa1": lambda C, target: Rule(REACH, target=1.0, cap=C),
    "pa2": lambda C, target: Rule(REACH, target=1.0, soft=1.0 / (2.0 * C)),
    "logistic": lambda C, target: Rule(SIGMOID),
}
RULES = tuple(_RULES)

#: The rules with which these parameters have an effect.
_USED_BY = {
    "C": ("pa1", "pa2"),
    "target": ("margin",),
    "eta": ("perceptron", "margin", "logistic"),
}


def uses_of_rule(rule: str, rules: Sequence[str] = RULES) -> dict[str, Use]:
    """Which parameters have an effect with a rule, for a learner that offers these rules."""
    return {
        name: used_with("rule", rule, *(one for one in known if one in rules))
        for name, known in _USED_BY.items()
        if any(one in rules for one in known)
    }


def make_rule(
    name: str,
    *,
    eta: Eta = 1.0,
    C: float = 1.0,
    target: float = 1.0,
    l2: float = 0.0,
    ties: str = "mistake",
) -> Rule:
    """Make an update rule from its name and parameters.

    Parameters
    ----------
    name : str
        "perceptron" steps eta when y w.x <= 0; "margin" steps eta when y w.x <= target;
        "pa", "pa1" and "pa2" step just far enough to reach y w.x = 1 (uncapped, capped at C,
        softened by 1/2C); "logistic" steps eta / (1 + exp(y w.x)).
    eta : float or (float, float)
        Step size, or (eta0, power): eta0 / t ** power at step t. The pa rules do not use it.
    C : float
        How much an error may cost, for pa1 and pa2.
    target : float
        The margin that "margin" aims for.
    l2 : float
        L2 penalty: adds l2 |w|^2 to the loss of every example.
    ties : {"mistake", "predict"}
        Whether a score of exactly 0 is always a mistake, or only if the predicted label is wrong.

    Examples
    --------
    >>> make_rule("pa1", C=0.5).cap
    0.5
    """
    check_choice("rule", name, RULES)
    eta0, power = eta if isinstance(eta, tuple) else (eta, 0.0)
    check_positive("eta", eta0)
    check_positive("C", C)
    check_not_negative("the power of eta", power)
    check_not_negative("target", target)
    check_not_negative("l2", l2)
    check_choice("ties", ties, ("mistake", "predict"))
    if l2 > 0.0 and 2.0 * eta0 * l2 >= 1.0:
        raise ValueError(
            f"eta={eta0:g} times l2={l2:g} must be less than 1/2, or weights change sign"
        )
    return _RULES[name](C, target)._replace(
        eta=float(eta0), power=float(power), l2=float(l2), ties=ties == "mistake"
    )
