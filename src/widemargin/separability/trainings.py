"""Certify the training of a model on given examples."""

from __future__ import annotations

from typing import Any

from widemargin.certificates.certificate import Certificate, RunCertificate
from widemargin.errors import DataError
from widemargin.models.kernel import KernelModel
from widemargin.models.linear import LinearModel
from widemargin.separability.examples import certify_examples
from widemargin.separability.kernel_trainings import inspect_kernel_run
from widemargin.separability.linear_trainings import inspect_run


def certify_training(model: Any, X: Any, y: Any, max_seconds: float | None) -> RunCertificate:
    """Compare a training with the mistake bounds that hold for its examples.

    Parameters
    ----------
    model : LinearModel, KernelModel, or an estimator that holds one
        A trained perceptron.
    X, y
        The examples that it was trained on, in the same order.
    max_seconds : float or None
        The time limit for deciding whether two classes are separable.
    """
    model = getattr(model, "model_", model)
    if getattr(getattr(model, "encoder", None), "kind", "") == "table":
        raise DataError(
            "certify(model, X, y) takes a model of numbers; for a TableClassifier, use"
            " certify(model.learner_, model.encode(X), y)"
        )
    if isinstance(model, KernelModel):
        found = _certify_two(model, X, y, kernel=model.kernel, max_seconds=max_seconds)
        return inspect_kernel_run(model, X, y, found)
    if isinstance(model, LinearModel):
        found = _certify_two(model, X, y, bias=model.bias, max_seconds=max_seconds)
        return inspect_run(model, X, y, found)
    raise TypeError(
        f"certify(model, X, y) takes a linear model or a kernel perceptron, not {type(model)}"
    )


def _certify_two(
    model: KernelModel | LinearModel, X: Any, y: Any, **how: Any
) -> Certificate | None:
    """Certify the examples of a model with two classes; None for several."""
    if len(model.classes) != 2:
        return None
    found = certify_examples(X, y, **how)
    return found if isinstance(found, Certificate) else None
