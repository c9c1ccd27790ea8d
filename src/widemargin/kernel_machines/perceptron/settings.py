"""All that a kernel perceptron can be told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.kernel_machines.memory import bytes_of
from widemargin.loops.steps import Rule
from widemargin.online.orders import SHUFFLES, Shuffle
from widemargin.online.rules import Eta, make_rule
from widemargin.online.state import KEEPS
from widemargin.training.run import Stops

#: The step rules that correct only some examples, as a model of few examples needs it.
RULES = ("perceptron", "margin", "pa", "pa1", "pa2")
#: What to do when there is no room for another example.
FORGETS = ("random", "forgetron", "projectron")


@dataclass(frozen=True)
class KernelSettings:
    """All that a kernel perceptron can be told, with the names and defaults of the estimator."""

    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str | None = None
    coef0: float = 1.0
    sigma: float | None = None
    rule: str = "perceptron"
    keep: str = "average"
    epochs: float = 10
    eta: Eta = 1.0
    C: float = 1.0
    target: float = 1.0
    shuffle: Shuffle = True
    ties: str = "mistake"
    validation: float = 0.0
    patience: int = 5
    max_seconds: float | None = None
    class_weight: Mapping[Any, float] | str | None = None
    multiclass: str = "joint"
    budget: int | None = None
    forget: str = "projectron"
    max_memory: int | str = "2GB"
    n_jobs: int | None = None

    def check(self) -> None:
        """Raise an error that names the setting that is wrong, if one is."""
        _choice("rule", self.rule, RULES)
        _choice("keep", self.keep, KEEPS)
        _choice("multiclass", self.multiclass, ("joint", "ovr"))
        _choice("shuffle", self.shuffle, SHUFFLES)
        _choice("forget", self.forget, FORGETS)
        self.make_rule()
        bytes_of(self.max_memory)
        if not _is_real(self.epochs) or not 0.0 < self.epochs < math.inf:
            raise ValueError(f"epochs={self.epochs!r} must be a positive number; fractions count")
        if not 0.0 <= self.validation < 1.0:
            raise ValueError(f"validation={self.validation!r} must be a fraction from 0 up to 1")
        if not isinstance(self.patience, (int, np.integer)) or self.patience < 1:
            raise ValueError(f"patience={self.patience!r} must be a whole number of at least 1")
        if self.max_seconds is not None and not self.max_seconds > 0.0:
            raise ValueError(f"max_seconds={self.max_seconds!r} must be positive, or None")
        if self.budget is not None:
            self._check_budget()

    def _check_budget(self) -> None:
        whole = isinstance(self.budget, (int, np.integer)) and not isinstance(self.budget, bool)
        assert self.budget is not None
        if not whole or self.budget < 1:
            raise ValueError(f"budget={self.budget!r} must be a whole number of at least 1")
        if self.keep == "vote":
            raise ValueError(
                "keep='vote' needs every example that was learned from, which a budget forgets;"
                " keep 'last'" + (" or 'average'" if self.forget == "projectron" else "")
            )
        if self.keep == "average" and self.forget != "projectron":
            raise ValueError(
                f"keep='average' needs examples that forget={self.forget!r} forgets: keep 'last',"
                " or forget by 'projectron'"
            )
        if self.rule != "perceptron":
            raise ValueError(
                f"budgets are for rule='perceptron', found {self.rule!r}"
                " ('projectron' also steps inside the margin)"
            )

    def make_rule(self) -> Rule:
        """The step rule as numbers."""
        return make_rule(self.rule, eta=self.eta, C=self.C, target=self.target, ties=self.ties)

    @property
    def stops(self) -> Stops:
        """When to stop."""
        limit = math.inf if self.max_seconds is None else float(self.max_seconds)
        return Stops(float(self.epochs), int(self.patience), max_seconds=limit)

    @property
    def memory(self) -> int:
        """Bytes that kernel values may take."""
        return bytes_of(self.max_memory)

    @property
    def joint(self) -> bool:
        """Whether all classes are learned together."""
        return self.multiclass == "joint"

    @property
    def kernel_params(self) -> dict[str, Any]:
        """What `make_kernel` takes."""
        names = ("kernel", "degree", "gamma", "coef0", "sigma")
        return {name: getattr(self, name) for name in names}


def _choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if not any(
        value is choice or (isinstance(value, str) and value == choice) for choice in choices
    ):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r} is unknown; choose one of {listed}")


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
