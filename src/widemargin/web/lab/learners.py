"""The learners of the lab and their settings, for the page and for the library."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from widemargin.errors import DataError


class Field(NamedTuple):
    """One setting on the page: a choice, or a number in a range."""

    name: str
    title: str
    default: Any
    choices: tuple[tuple[Any, str], ...] = ()
    low: float = 0.0
    high: float = 0.0
    scale: str = ""  # of a number: "whole", "plain", or "log" for a slider of powers
    needs: tuple[str, Any] | None = None  # shown only if another field has this value

    def check(self, value: Any) -> Any:
        """Convert a value for the library; raises an error that lists the allowed values."""
        if self.choices:
            for known, _ in self.choices:
                if value == known and isinstance(value, bool) == isinstance(known, bool):
                    return known
            choices = ", ".join(repr(known) for known, _ in self.choices)
            raise DataError(f"{self.name}={value!r} must be one of {choices}")
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not self.low <= value <= self.high:
            raise DataError(
                f"{self.name}={value!r} must be a number from {self.low:g} to {self.high:g}"
            )
        if self.scale == "whole":
            if value != int(value):
                raise DataError(f"{self.name}={value!r} must be a whole number")
            return int(value)
        return float(value)


class Learner(NamedTuple):
    """A learner: its name, title, kind of training, estimator, settings and description."""

    name: str
    title: str
    kind: str  # "online", "kernel" (both are followed step by step), "svm" or "kernel svm"
    estimator: str
    fields: tuple[Field, ...]
    about: str


_KEEP = Field(
    "keep",
    "Predict with",
    "last",
    (("last", "the last weights"), ("average", "their average"), ("vote", "a vote of all")),
)
_SHUFFLE = Field(
    "shuffle",
    "Order",
    False,
    (
        (False, "as placed"),
        ("once", "shuffled once"),
        ("rows", "reshuffled every epoch"),
        ("draw", "drawn at random"),
    ),
)
_BATCH = Field(
    "batch",
    "Update after",
    1,
    (
        (1, "each example (online)"),
        (2, "mini-batches of 2"),
        (4, "mini-batches of 4"),
        (8, "mini-batches of 8"),
        (16, "mini-batches of 16"),
        ("full", "all examples (batch)"),
    ),
)
_BIAS = Field("fit_intercept", "Bias", True, ((True, "learned"), (False, "none")))
_ETA = Field("eta", "Step size η", 1.0, low=0.01, high=10.0, scale="log")
_C = Field("C", "Cost of an error C", 1.0, low=1e-3, high=1e3, scale="log")
_EPOCHS = Field("epochs", "Epochs at most", 20, low=1, high=5000, scale="whole")
_SEED = Field("random_state", "Random seed", 0, low=0, high=9999, scale="whole")
_START = (
    Field(
        "start",
        "Start",
        "zero",
        (("zero", "at zero"), ("random", "at random"), ("given", "at given weights")),
    ),
    *(
        Field(name, title, 0.0, low=-1e3, high=1e3, scale="plain", needs=("start", "given"))
        for name, title in (("start_w1", "w₁"), ("start_w2", "w₂"), ("start_b", "b"))
    ),
)
_TIES = Field(
    "ties",
    "A score of 0",
    "mistake",
    (("mistake", "is a mistake"), ("predict", "predicts the second class")),
)
_KERNEL = (
    Field("kernel", "Kernel", "rbf", (("rbf", "Gaussian (RBF)"), ("poly", "polynomial"))),
    Field("degree", "Degree", 2, low=1, high=8, scale="whole", needs=("kernel", "poly")),
    Field("gamma", "γ of the kernel", 1.0, low=0.01, high=100.0, scale="log"),
    Field(
        "coef0", "Constant term", 1.0, low=0.0, high=10.0, scale="plain", needs=("kernel", "poly")
    ),
)
_FREE = Field(
    "bias", "Bias", "free", (("free", "free"), ("regularised", "penalised like the weights"))
)

LEARNERS = (
    Learner(
        "perceptron",
        "Perceptron",
        "online",
        "Perceptron",
        (_SHUFFLE, _BATCH, _KEEP, _BIAS, _ETA, *_START, _TIES, _EPOCHS, _SEED),
        "After each mistake, and only then, the example is added to the weights.",
    ),
    Learner(
        "pa",
        "Passive-aggressive",
        "online",
        "PassiveAggressive",
        (
            Field(
                "rule",
                "Step",
                "pa1",
                (
                    ("pa", "unbounded (PA)"),
                    ("pa1", "at most C (PA-I)"),
                    ("pa2", "softened (PA-II)"),
                ),
            ),
            _C._replace(title="Aggressiveness C"),
            _SHUFFLE,
            _BATCH,
            _KEEP,
            _BIAS,
            *_START,
            _EPOCHS,
            _SEED,
        ),
        "The smallest step that gives each example a margin of 1.",
    ),
    Learner(
        "logistic",
        "Logistic regression",
        "online",
        "OnlineLogistic",
        (_SHUFFLE, _BATCH, _KEEP, _BIAS, _ETA, *_START, _EPOCHS, _SEED),
        "Every example moves the weights, the more so the less probable its class is.",
    ),
    Learner(
        "hard-svm",
        "SVM, hard margin",
        "svm",
        "LinearSVM",
        (_FREE,),
        "The separator with the widest margin; there is none if the classes overlap.",
    ),
    Learner(
        "soft-svm",
        "SVM, soft margin",
        "svm",
        "LinearSVM",
        (
            _C,
            Field(
                "loss", "Loss", "hinge", (("hinge", "hinge"), ("squared_hinge", "squared hinge"))
            ),
            _FREE,
        ),
        "A wide margin, but each example inside it costs C times how far it falls short.",
    ),
    Learner(
        "kernel-perceptron",
        "Kernel perceptron",
        "kernel",
        "KernelPerceptron",
        (*_KERNEL, _SHUFFLE, _KEEP, _ETA, _TIES, _EPOCHS, _SEED),
        "The perceptron in the feature space of a kernel: it stores its mistakes.",
    ),
    Learner(
        "kernel-svm",
        "Kernel SVM",
        "kernel svm",
        "KernelSVM",
        (*_KERNEL, _C._replace(default=10.0)),
        "The SVM in the feature space of a kernel.",
    ),
)
_BY_NAME = {learner.name: learner for learner in LEARNERS}


class LearnerChoice(NamedTuple):
    """A learner with the value of each of its settings."""

    learner: Learner
    values: Mapping[str, Any]

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the estimator that have an effect."""
        values = dict(self.values)
        start = [values.pop(name, 0.0) for name in ("start_w1", "start_w2", "start_b")]
        if values.get("start") == "given":
            values["start"] = ([start[:2]], start[2])
        if values.get("rule") == "pa":
            del values["C"]
        if values.get("kernel") == "rbf":
            del values["degree"], values["coef0"]
        if self.learner.name == "hard-svm":
            values["C"] = math.inf
        return values


def choose(given: Any) -> LearnerChoice:
    """Validate a choice of the page: `{"learner": name, "settings": {name: value}}`."""
    if not isinstance(given, dict) or set(given) - {"learner", "settings"}:
        raise DataError("a learner is given as {'learner': name, 'settings': {...}}")
    name, settings = given.get("learner"), given.get("settings", {})
    if not isinstance(name, str) or name not in _BY_NAME:
        raise DataError(f"learner={name!r} must be one of {', '.join(_BY_NAME)}")
    learner = _BY_NAME[name]
    known = {field.name: field for field in learner.fields}
    if not isinstance(settings, dict) or set(settings) - set(known):
        raise DataError(f"the settings of {name} are {', '.join(known)}, found {settings!r:.200}")
    values = {
        field.name: field.check(settings.get(field.name, field.default)) for field in learner.fields
    }
    return LearnerChoice(learner, values)


def described() -> list[dict[str, Any]]:
    """All learners with their settings, for the page."""
    return [
        {**learner._asdict(), "fields": [field._asdict() for field in learner.fields]}
        for learner in LEARNERS
    ]
