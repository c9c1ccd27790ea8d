"""Learning from mistakes: perceptrons and large-margin classifiers, fast, with figures to check."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

#: Public names, and the modules that they are loaded from when first used.
_HOMES = {
    "DataError": "widemargin.errors",
    "HashedText": "widemargin.estimators",
    "History": "widemargin.history",
    "KernelModel": "widemargin.kernelmodel",
    "KernelPerceptron": "widemargin.estimators",
    "KernelSVM": "widemargin.estimators",
    "KernelSVMModel": "widemargin.svmmodel",
    "LinearModel": "widemargin.model",
    "LinearSVM": "widemargin.estimators",
    "ModelFileError": "widemargin.errors",
    "NotSeparableWarning": "widemargin.errors",
    "OnlineLogistic": "widemargin.estimators",
    "Parser": "widemargin.structured.parser",
    "PassiveAggressive": "widemargin.estimators",
    "Perceptron": "widemargin.estimators",
    "StructuredPerceptron": "widemargin.structured",
    "Tagger": "widemargin.structured.tagger",
    "TextClassifier": "widemargin.estimators",
    "animate": "widemargin.show",
    "boolean_network": "widemargin.networks",
    "certify": "widemargin.separation.decide",
    "check_kernel": "widemargin.kernels.check",
    "compare": "widemargin.comparison",
    "gram_matrix": "widemargin.kernels.gram",
    "load": "widemargin.estimators",
    "load_model": "widemargin.model",
    "losses": "widemargin",
    "plot_bound": "widemargin.show",
    "plot_boundary": "widemargin.show",
    "plot_confusion": "widemargin.show",
    "plot_history": "widemargin.show",
    "plot_kernel": "widemargin.show",
    "plot_losses": "widemargin.show",
    "plot_orders": "widemargin.show",
    "plot_path": "widemargin.show",
    "plot_tags": "widemargin.show",
    "plot_votes": "widemargin.show",
    "plot_weights": "widemargin.show",
    "read": "widemargin.reading",
    "report": "widemargin.show",
    "shattered": "widemargin.separation.decide",
    "show": "widemargin",
    "stream": "widemargin.reading",
    "structured": "widemargin",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'widemargin' has no attribute {name!r}")
    if _HOMES[name] == __name__:
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
