"""The parameters shared by the linear online learners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from widemargin.estimators.streams import StreamLearner
from widemargin.online.orders import Shuffle


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineLearner(StreamLearner):
    """Base of the online learners: their common parameters, documented in `Perceptron`.

    As a dataclass it has an explicit `__init__`, from which scikit-learn reads the parameters.
    """

    keep: str = "average"
    epochs: int = 10
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
    grow: bool = False
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    progress: bool | None = None
