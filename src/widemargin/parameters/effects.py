"""Effects of parameters: one that was given but changes nothing is rejected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from widemargin.parameters.values import as_written


class Use(NamedTuple):
    """Whether a parameter has an effect, and the condition for it, in words for the error."""

    here: bool
    #: The current condition, such as "with rule='pa'".
    now: str
    #: The condition under which it has an effect, such as "with rule='pa1' or 'pa2'".
    needs: str


def used_with(name: str, value: Any, *values: Any) -> Use:
    """The use of a parameter that has an effect only with some values of another one.

    Examples
    --------
    >>> used_with("rule", "pa", "pa1", "pa2")
    Use(here=False, now="with rule='pa'", needs="with rule='pa1' or 'pa2'")
    """
    *most, last = map(repr, values)
    listed = f"{', '.join(most)} or {last}" if most else last
    return Use(value in values, f"with {name}={value!r}", f"with {name}={listed}")


def uses_of_held_out(validation: Any, given: bool) -> dict[str, Use]:
    """The uses of `validation` and `patience`; `given` if `fit` got held-out examples."""
    return {
        "validation": Use(not given, "if X_val is given", "without it"),
        "patience": Use(
            given or bool(validation), "if nothing is held out", "with held-out examples"
        ),
    }


def changed(learner: Any) -> dict[str, Any]:
    """The parameters of a learner that differ from the defaults of its class.

    Parameters are attributes of the same names, as in scikit-learn and dataclasses.
    """
    kind: type = type(learner)
    return {
        name: getattr(learner, name)
        for name, default in _defaults_of(kind).items()
        if not _equal(getattr(learner, name), default)
    }


def are_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether parameters have the same values as before, of those that were known then.

    Examples
    --------
    >>> are_same({"C": 1.0}, {"C": 1, "l2": 0.0}), are_same({"C": 1.0}, {"C": 2.0})
    (True, False)
    """
    return before is now or all(_equal(before.get(name, now[name]), now[name]) for name in now)


@cache
def _defaults_of(kind: type) -> dict[str, Any]:
    """The defaults of the parameters of a class by name; looking them up is slow."""
    from inspect import signature

    return {name: one.default for name, one in signature(kind).parameters.items()}


def refuse_unused(given: Mapping[str, Any], uses: Mapping[str, Use]) -> None:
    """Reject parameters that were given but have no effect.

    Parameters that affect only speed or display, never what is learned (`n_jobs`, `progress`), are
    always allowed, and so is an unused seed.

    Parameters
    ----------
    given : dict
        The parameters given by the user: `changed(learner)`, or the options of the command line.
    uses : dict
        The use of every parameter that does not always have an effect.

    Examples
    --------
    >>> refuse_unused({"rule": "pa1", "C": 3}, {"C": used_with("rule", "pa1", "pa1", "pa2")})
    >>> refuse_unused({"C": 3}, {"C": used_with("rule", "perceptron", "pa1", "pa2")})
    Traceback (most recent call last):
    ValueError: C=3 has no effect with rule='perceptron', only with rule='pa1' or 'pa2'
    """
    for name, use in uses.items():
        if name in given and not use.here:
            said = as_written(name, given[name])
            raise ValueError(f"{said} has no effect {use.now}, only {use.needs}")


def _equal(value: Any, default: Any) -> bool:
    same = value == default
    return value is default or (isinstance(same, (bool, np.bool_)) and bool(same))
