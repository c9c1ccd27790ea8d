"""The decision threshold of a model of two classes.

A model subtracts it from its scores, so that the sign of a score is always the prediction: s - t is
at least 0 exactly where s is at least t, because a difference of floats never rounds across 0.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.errors import DataError, DataWarning


def with_threshold(model: Any, threshold: float) -> Any:
    """The same model with another threshold."""
    if hasattr(model, "models"):
        raise DataError("each label has its own threshold: set it on the learner in estimators_")
    if len(model.classes) != 2:
        raise DataError(
            f"a threshold decides between two classes, and the model has {len(model.classes)}"
        )
    return replace(model, threshold=float(threshold))


def kept_threshold(model: Any, classes: np.ndarray) -> float:
    """The threshold of a model that continues to learn, perhaps with more classes."""
    if not model.threshold or len(classes) == len(model.classes):
        return float(model.threshold)
    warnings.warn(
        f"the threshold {model.threshold:.6g} is dropped: with {len(classes)} classes the largest"
        " score decides",
        DataWarning,
        stacklevel=3,
    )
    return 0.0


def describe_threshold(model: Any) -> str:
    """The rule by which a model predicts one of two classes."""
    return f"{model.classes[1]} if the score is at least {model.threshold:.6g}"
