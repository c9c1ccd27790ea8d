"""The Python program that reproduces what the lab shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from widemargin.errors import DataError
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings
from widemargin.linear_svm.fit import SVMSettings
from widemargin.online.settings import Settings
from widemargin.web.lab.learners import LearnerChoice
from widemargin.web.lab.points import Placed

#: The tolerance for linear SVMs, so that all digits shown are correct.
SVM_TOL = 1e-6
_NAMES = ("learner", "second")
#: The classes with the defaults of the estimators.
_SETTINGS: dict[str, Any] = {
    "online": Settings,
    "kernel": KernelSettings,
    "svm": SVMSettings,
    "kernel svm": KernelSVMSettings,
}


def program(choices: Sequence[LearnerChoice], placed: Placed) -> str:
    """A program that trains these learners on these points, and prints what the lab shows."""
    if len(placed.present) < 2:
        raise DataError("there is nothing to learn yet: place points of two classes")
    estimators = sorted({choice.learner.estimator for choice in choices})
    parts = [
        '"""Made in the lab of widemargin."""',
        "",
        "import numpy as np",
        "",
        f"from widemargin import {', '.join([*estimators, 'certify'])}",
        "",
        *_array("X", [[_number(x) for x in point] for point in placed.X.tolist()]),
        *_array("y", placed.y.tolist()),
    ]
    asked: list[str] = []
    for name, choice in zip(_NAMES, choices, strict=False):
        parts += ["", *_fitted(name, choice)]
        question = _certified(choice)
        if question not in asked:
            asked.append(question)
    return "\n".join([*parts, "", *(f"print({question})" for question in asked), ""])


def _fitted(name: str, choice: LearnerChoice) -> list[str]:
    """The lines that train one learner and print the result."""
    params = choice.params
    keep = params.pop("keep", None)
    steps = keep is not None
    if steps:
        params = {"keep": "vote", **params}  # to store all hypotheses
    if choice.learner.kind == "svm":
        params |= {"tol": SVM_TOL, "random_state": 0}
    usual = {field.name: field.default for field in fields(_SETTINGS[choice.learner.kind])}
    if choice.learner.estimator == "OnlineLogistic":
        usual["eta"] = "auto"  # the only default that differs from that of the settings
    given = ", ".join(
        f"{key}={_value(value)}"
        for key, value in params.items()
        if key not in usual or value != usual[key]
    )
    lines = [*_wrapped(f"{name} = {choice.learner.estimator}(", given), f"{name}.fit(X, y)"]
    if steps:
        lines += [
            f"for row, label, amount, clock in {name}.log_:",
            '    print(f"example {clock:g}: row {row}, class {label}, {amount:+g} times the row")',
            f'print({name}.mistakes_, "mistakes in", {name}.n_iter_, "epochs")',
            f'{name} = {name}.using("{keep}")',
        ]
    if choice.learner.kind in ("online", "svm"):
        lines.append(f'print("w =", {name}.coef_, "b =", {name}.intercept_)')
    else:
        lines.append(f'print("support vectors:", {name}.support_)')
    lines.append(f'print("right:", {name}.score(X, y))')
    if choice.learner.kind in ("svm", "kernel svm"):
        lines.append(f"print({name}.certificate_)")
    return lines


def _certified(choice: LearnerChoice) -> str:
    """The call of `certify` whose result the lab shows next to this learner."""
    params = choice.params
    if choice.learner.kind in ("online", "svm"):
        return f"certify(X, y, bias={params.get('fit_intercept', True)!r})"
    names = ("kernel", "degree", "gamma", "coef0")
    arguments = ", ".join(f"{name}={_value(params[name])}" for name in names if name in params)
    if choice.learner.kind == "kernel svm":
        arguments += ", bias=True"
    return f"certify(X, y, {arguments})"


def _array(name: str, values: list[Any]) -> list[str]:
    """An assignment of an array, in lines of moderate length."""
    return _wrapped(f"{name} = np.array([", ", ".join(map(repr, values)), "])")


def _wrapped(head: str, words: str, tail: str = ")") -> list[str]:
    """Wrap a long line."""
    if len(head) + len(words) + len(tail) <= 90:
        return [head + words + tail]
    lines, line = [head], "   "
    for word in words.replace("], [", "],\0[").replace(", ", ",\0").split("\0"):
        if len(line) + len(word) > 90:
            lines.append(line)
            line = "   "
        line += " " + word
    return [*lines, line, tail]


def _value(value: Any) -> str:
    """A parameter as Python code."""
    if isinstance(value, float) and math.isinf(value):
        return "np.inf"
    return repr(value)


def _number(value: float) -> float | int:
    """A coordinate, without a decimal point if it needs none."""
    return int(value) if value == int(value) else value
