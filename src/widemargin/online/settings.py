"""The settings of a linear learner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from widemargin.data.rows import Rows
from widemargin.loops.steps import Rule
from widemargin.online.orders import SHUFFLES, Shuffle
from widemargin.online.rules import Eta, make_rule, uses_of_rule
from widemargin.online.state import KEEPS, State
from widemargin.parameters.effects import Use, uses_of_held_out
from widemargin.parameters.values import (
    check_choice,
    check_constant,
    check_fraction,
    check_not_negative,
    check_patience,
    check_seconds,
    check_whole,
    seconds_limit,
)
from widemargin.threads import thread_count
from widemargin.training.run import Stops


@dataclass(frozen=True)
class Settings:
    """The settings of a linear learner, with the names and defaults of the estimators."""

    rule: str = "perceptron"
    keep: str = "average"
    epochs: int = 10
    eta: Eta = 1.0
    C: float = 1.0
    target: float = 1.0
    l2: float = 0.0
    batch: int | str = 1
    shuffle: Shuffle = True
    ties: str = "mistake"
    start: Any = "zero"
    tol: float = 0.0
    validation: float = 0.0
    patience: int | None = 5
    max_seconds: float | None = None
    class_weight: Mapping[Any, float] | str | None = None
    fit_intercept: bool | float | str = "auto"
    multiclass: str = "joint"
    n_jobs: int | None = None

    def check(self) -> None:
        """Raise an error that names the first invalid setting, if there is one."""
        check_choice("keep", self.keep, KEEPS)
        check_choice("multiclass", self.multiclass, ("joint", "ovr"))
        check_choice("shuffle", self.shuffle, SHUFFLES)
        check_whole("epochs", self.epochs, least=1)
        check_patience(self.patience)
        check_fraction("validation", self.validation)
        check_not_negative("tol", self.tol, infinite=True)
        check_seconds("max_seconds", self.max_seconds)
        if self.batch != "full":
            check_whole("batch", self.batch, least=1, other="'full'")
        check_constant("fit_intercept", self.fit_intercept, "auto")
        if self.keep == "vote" and self.l2 > 0.0:
            raise ValueError(
                "keep='vote' needs l2=0: a penalty changes the weights without a mistake"
            )
        _ = self.step, self.threads

    @cached_property
    def step(self) -> Rule:
        """The update rule, as numbers for the loops."""
        return make_rule(
            self.rule, eta=self.eta, C=self.C, target=self.target, l2=self.l2, ties=self.ties
        )

    @property
    def measures_eta(self) -> bool:
        """Whether the step size follows from the first examples (`eta="auto"`)."""
        return math.isnan(self.step.eta)

    def resolved(self, state: State) -> Settings:
        """These settings with a number for the step size: that of the state, if it is "auto"."""
        if not self.measures_eta:
            return self
        power = self.step.power
        return replace(self, eta=(state.eta, power) if power else state.eta)

    @property
    def stops(self) -> Stops:
        """When to stop."""
        return Stops(
            epochs=int(self.epochs),
            patience=self.patience,
            tol=float(self.tol),
            max_seconds=seconds_limit(self.max_seconds),
        )

    @property
    def batch_size(self) -> int:
        """Number of examples per update; 1 is the online perceptron, 0 means all."""
        return 0 if self.batch == "full" else int(self.batch)

    @property
    def threads(self) -> int:
        """Number of threads for independent problems."""
        return thread_count(self.n_jobs)

    def uses(self, held_out: bool) -> dict[str, Use]:
        """Which settings have an effect, given whether held-out examples were passed."""
        return self.uses_of_rule() | uses_of_held_out(self.validation, held_out)

    def uses_of_rule(self) -> dict[str, Use]:
        """Which settings have an effect with this rule."""
        return uses_of_rule(self.rule, class_weight=self.class_weight)

    def extend(self, rows: Rows, before: float | None = None) -> Rows:
        """Add the constant feature whose weight is the bias to the rows.

        "auto" gives it the typical size of the values in the rows; continued training keeps the
        value from `before`.
        """
        if self.fit_intercept == "auto":
            return rows.with_bias(rows.typical_value() if before is None else before)
        if before is not None and before != float(self.fit_intercept):
            raise ValueError(
                f"fit_intercept={self.fit_intercept!r} cannot continue a training in which the"
                f" constant feature was {before:g}"
            )
        return rows.with_bias(float(self.fit_intercept))

    @property
    def joint(self) -> bool:
        """Whether all classes are learned together."""
        return self.multiclass == "joint"
