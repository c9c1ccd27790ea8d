"""The learners of the shell: from options to settings, and to a model that the library can load."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import click
import numpy as np

from widemargin.data.encode.encoder import Encoder
from widemargin.models.linear import LinearModel
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.parameters import refuse_unused
from widemargin.training.history import History

#: The learner's class, and its rule unless another is asked for.
_LEARNERS = {
    "perceptron": ("Perceptron", "perceptron"),
    "pa": ("PassiveAggressive", "pa1"),
    "logistic": ("OnlineLogistic", "logistic"),
}
_SHUFFLES = {"blocks": True, "no": False}


class Learner:
    """What learns: its name, its settings, and the parameters that its estimator would have."""

    def __init__(self, name: str, settings: Settings, params: dict[str, Any]) -> None:
        settings.check()
        self.name, self.settings, self.params = name, settings, params

    @classmethod
    def of(
        cls, learner: str, options: dict[str, Any], held_out: bool = False, **defaults: Any
    ) -> Learner:
        """From the options of the command line, and whether there is a file to score besides."""
        name, rule = _LEARNERS[learner]
        given = {option: value for option, value in options.items() if value is not None}
        if learner == "pa" and not given.get("rule", rule).startswith("pa"):
            raise click.UsageError("--rule of the learner pa must be pa, pa1 or pa2")
        seed = given.pop("seed")
        power = given.pop("power", 0.0)
        batch = str(given.pop("batch", 1))
        shuffle = given.pop("shuffle", "blocks")
        params = {
            **defaults,
            **given,
            "batch": int(batch) if batch.lstrip("-").isdigit() else batch,
            "shuffle": _SHUFFLES.get(shuffle, shuffle),
        }
        if power:
            params["eta"] = (given.get("eta", 1.0), power)
        settings = Settings(**{"rule": rule, **params})
        found = cls(name, settings, {**params, "random_state": seed})
        refuse_unused(params, settings.uses(held_out))
        return found

    @classmethod
    def again(cls, model: LinearModel, **changed: Any) -> Learner:
        """The learner of a model, to go on with."""
        known = {field.name for field in fields(Settings)}
        params = {**model.params, **changed}
        given = {name: value for name, value in params.items() if name in known}
        return cls(model.learner, Settings(**{**given, "rule": model.rule}), params)

    def generator(self) -> np.random.Generator:
        """Where chance comes from."""
        return np.random.default_rng(self.params.get("random_state"))

    def model(
        self,
        classes: np.ndarray,
        state: State,
        bias: float,
        history: History,
        rng: np.random.Generator,
        encoder: Encoder | None = None,
    ) -> LinearModel:
        """What was learned, as a model."""
        return LinearModel(
            classes=classes,
            state=state,
            keep=self.settings.keep,
            rule=self.settings.rule,
            bias=bias,
            learner=self.name,
            params=self.params,
            history=history,
            chance=rng.bit_generator.state,
            encoder=encoder,
        )
