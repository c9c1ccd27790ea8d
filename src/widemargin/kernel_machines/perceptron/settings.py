"""All settings of a kernel perceptron."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from widemargin.kernels.kernel import uses_of_kernel
from widemargin.loops.steps import Rule
from widemargin.online.orders import SHUFFLES, Shuffle
from widemargin.online.rules import Eta, make_rule, uses_of_rule
from widemargin.online.state import KEEPS
from widemargin.parameters.effects import Use, uses_of_held_out
from widemargin.parameters.values import (
    check_choice,
    check_fraction,
    check_patience,
    check_positive,
    check_seconds,
    check_whole,
    parse_bytes,
    seconds_limit,
)
from widemargin.training.run import Stops

#: The step rules; each corrects only some examples, which keeps the support small.
RULES = ("perceptron", "margin", "pa", "pa1", "pa2")
#: What to do when the budget is used up.
FORGETS = ("random", "forgetron", "projectron")


@dataclass(frozen=True)
class KernelSettings:
    """All settings of a kernel perceptron, with the names and defaults of the estimator."""

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
    patience: int | None = 5
    max_seconds: float | None = None
    class_weight: Mapping[Any, float] | str | None = None
    multiclass: str = "joint"
    budget: int | None = None
    forget: str = "projectron"
    max_memory: int | str = "2GB"
    n_jobs: int | None = None

    def check(self) -> None:
        """Raise an error that names the first invalid setting, if there is one."""
        check_choice("rule", self.rule, RULES)
        check_choice("keep", self.keep, KEEPS)
        check_choice("multiclass", self.multiclass, ("joint", "ovr"))
        check_choice("shuffle", self.shuffle, SHUFFLES)
        check_choice("forget", self.forget, FORGETS)
        self.make_rule()
        parse_bytes("max_memory", self.max_memory)
        check_positive("epochs", self.epochs)
        check_fraction("validation", self.validation)
        check_patience(self.patience)
        check_seconds("max_seconds", self.max_seconds)
        if self.budget is not None:
            self._check_budget()

    def _check_budget(self) -> None:
        check_whole("budget", self.budget, least=1, other="None")
        if self.keep == "vote":
            raise ValueError(
                "keep='vote' needs every example that was learned from, but a budget forgets some;"
                " keep 'last'" + (" or 'average'" if self.forget == "projectron" else "")
            )
        if self.keep == "average" and self.forget != "projectron":
            raise ValueError(
                f"keep='average' needs examples that forget={self.forget!r} forgets; keep 'last'"
                " or use forget='projectron'"
            )
        if self.rule != "perceptron":
            raise ValueError(
                f"a budget needs rule='perceptron', found {self.rule!r}"
                " ('projectron' also steps inside the margin)"
            )

    def uses(self, held_out: bool) -> dict[str, Use]:
        """Which settings have an effect, given whether there are held-out examples."""
        return {
            **uses_of_kernel(self.kernel),
            **uses_of_rule(self.rule, RULES, self.class_weight),
            **uses_of_held_out(self.validation, held_out),
            "forget": Use(self.budget is not None, "without a budget", "with one"),
        }

    def make_rule(self) -> Rule:
        """The step rule as numbers."""
        return make_rule(self.rule, eta=self.eta, C=self.C, target=self.target, ties=self.ties)

    @property
    def stops(self) -> Stops:
        """When to stop."""
        limit = seconds_limit(self.max_seconds)
        return Stops(float(self.epochs), self.patience, max_seconds=limit)

    @property
    def memory(self) -> int:
        """The number of bytes that kernel values may take."""
        return parse_bytes("max_memory", self.max_memory)

    @property
    def joint(self) -> bool:
        """Whether all classes are learned together."""
        return self.multiclass == "joint"

    @property
    def kernel_params(self) -> dict[str, Any]:
        """What `make_kernel` takes."""
        names = ("kernel", "degree", "gamma", "coef0", "sigma")
        return {name: getattr(self, name) for name in names}
