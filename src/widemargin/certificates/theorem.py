"""When bounds apply to a training: on its mistakes (L20), and on the risk after one pass (L25)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Why no theorem bounds the mistakes of a training ...
#: ... that continued after early stopping,
BRANCHED = "training went on from the weights of an earlier epoch, after mistakes that were undone"
#: ... whose examples had weights,
WEIGHTED = "the examples were weighted"
#: ... that began with weights,
STARTED = "the weights did not start at zero"
#: ... or changed its step size, within a call or between two.
STEPS = "the step size changed"
#: ... or learned from more than the given examples.
OTHERS = "there were more mistakes than these examples allow, so others were learned from, too"


def departure(rule: str, params: Mapping[str, Any]) -> str:
    """Return which condition of the theorem such a training does not meet; empty if it meets all.

    Parameters
    ----------
    rule : str
        The rule of a linear or kernel perceptron.
    params : dict
        Its parameters; one that is missing has its default.
    """
    start = params.get("start", "zero")
    conditions = (
        (rule == "perceptron", f"the rule is {rule!r}, not 'perceptron'"),
        (isinstance(start, str) and start == "zero", STARTED),
        (isinstance(params.get("eta", 1.0), (int, float)), STEPS),
        (params.get("batch", 1) == 1, "several examples corrected the weights at once"),
        (not params.get("l2", 0.0), "the weights were penalised"),
        (params.get("class_weight") is None, "the classes were weighted"),
        (params.get("budget") is None, "examples were forgotten to keep within a budget"),
    )
    return next((reason for held, reason in conditions if not held), "")


def foresees(params: Mapping[str, Any], no_bound: str) -> bool:
    """Return whether hypotheses may depend on examples that later count as new ones (L25).

    The start may come from the same examples. Weights may depend on all labels, and leave out the
    examples of one of them. An example that is drawn a second time is not a new one.

    Parameters
    ----------
    params : dict
        The parameters of a linear or kernel perceptron; one that is missing has its default.
    no_bound : str
        Why its history says that the mistake bound does not apply.
    """
    return (
        no_bound in (WEIGHTED, STARTED)
        or not isinstance(params.get("start", "zero"), str)
        or params.get("class_weight") is not None
        or params.get("shuffle") == "draw"
    )


def departure_between(rule: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the same for a training that continues another one with other parameters.

    Parameters
    ----------
    rule : str
        The earlier rule. That the later call meets the conditions is seen from its own parameters.
    before, now : dict
        The earlier and the later parameters.
    """
    drawn = [params.get("shuffle") == "draw" for params in (before, now)]
    if reason := departure(rule, before):
        return f"{reason}, in an earlier call"
    if before.get("eta", 1.0) != now.get("eta", 1.0):
        return STEPS
    return "" if drawn[0] == drawn[1] else "examples were drawn with replacement in some calls only"
