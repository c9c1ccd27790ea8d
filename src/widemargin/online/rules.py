"""The update rules by name, with their parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from widemargin.loops.steps import ERROR, MARGIN, REACH, SIGMOID, Rule
from widemargin.parameters.effects import Use, used_with
from widemargin.parameters.values import check_choice, check_not_negative, check_positive

#: The step size: a number, (eta0, power) for eta0 / t ** power, or "auto".
Eta = float | tuple[float, float] | str
#: `eta="auto"` lets a step on a typical example change its score by about this much at most. On 15
#: sets, held out, steps of 2 to 4 gave the best likelihood, and the accuracy of longer ones.
_LONGEST = 3.0

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


def uses_of_rule(
    rule: str, rules: Sequence[str] = RULES, class_weight: Any = None
) -> dict[str, Use]:
    """Which parameters have an effect with a rule, for a learner that offers these rules."""
    uses = {
        name: used_with("rule", rule, *(one for one in known if one in rules))
        for name, known in _USED_BY.items()
        if any(one in rules for one in known)
    }
    limited = rule != "pa"  # the length of its steps does not depend on what an error costs
    now, needs = f"with rule={rule!r}", "with another rule"
    return {**uses, "class_weight": use_of_class_weight(class_weight, limited, now, needs)}


def use_of_class_weight(class_weight: Any, counts: bool, now: str, needs: str) -> Use:
    """The use of class weights, given whether the cost of an error counts.

    If it does not, a weight of 0 still leaves examples out.

    Examples
    --------
    >>> use_of_class_weight({"a": 2.0, "b": 0}, False, "with C=inf", "with a finite C").here
    True
    >>> use_of_class_weight("balanced", False, "with C=inf", "with a finite C").here
    False
    """
    is_dict = isinstance(class_weight, Mapping)
    leaves_out = is_dict and any(bool(np.any(weight == 0)) for weight in class_weight.values())
    return Use(counts or leaves_out, now, f"{needs}, or a weight of 0")


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
    eta : float, (float, float) or "auto"
        Step size, or (eta0, power): eta0 / t ** power at step t. The pa rules do not use it.
        "auto", for the logistic rule, is not a number yet (`step_size` chooses it): the rule then
        has a step size of NaN.
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
    automatic = isinstance(eta0, str) and eta0 == "auto"
    if automatic and name != "logistic":
        raise ValueError("eta='auto' is for the logistic rule: give a number")
    if not automatic:
        check_positive("eta", eta0)
    check_positive("C", C)
    check_not_negative("the power of eta", power)
    check_not_negative("target", target)
    check_not_negative("l2", l2)
    check_choice("ties", ties, ("mistake", "predict"))
    eta0 = math.nan if automatic else float(eta0)
    if l2 > 0.0 and 2.0 * eta0 * l2 >= 1.0:
        raise ValueError(
            f"eta={eta0:g} times l2={l2:g} must be less than 1/2, or weights change sign"
        )
    return _RULES[name](float(C), float(target))._replace(
        eta=eta0, power=float(power), l2=float(l2), ties=ties == "mistake"
    )


def step_size(log2_squared_length: float) -> float:
    """The step size for examples whose mean squared length is this power of two.

    A step changes the score of an example by at most eta |x|^2. The result is the power of two for
    which this is nearest to 3, so that the learner does not depend on the scale of the features.

    Examples
    --------
    >>> step_size(0.0), step_size(4.0)
    (4.0, 0.25)
    """
    exponent = round(math.log2(_LONGEST) - log2_squared_length)
    return math.ldexp(1.0, max(-1000, min(1000, exponent)))
