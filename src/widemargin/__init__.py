"""Learning from mistakes: perceptrons and large-margin classifiers, fast, with figures to check."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

#: Public names, and the modules that they are loaded from when first used.
_HOMES = {
    "DataError": "widemargin.errors",
    "HashedText": "widemargin.estimators",
    "History": "widemargin.training.history",
    "KernelModel": "widemargin.models.kernel",
    "KernelPerceptron": "widemargin.estimators",
    "KernelSVM": "widemargin.estimators",
    "KernelSVMModel": "widemargin.models.kernel_svm",
    "LinearModel": "widemargin.models.linear",
    "LinearSVM": "widemargin.estimators",
    "ModelFileError": "widemargin.errors",
    "NotSeparableWarning": "widemargin.errors",
    "OnlineLogistic": "widemargin.estimators",
    "Parser": "widemargin.structured.parser.parser",
    "PassiveAggressive": "widemargin.estimators",
    "Perceptron": "widemargin.estimators",
    "StructuredPerceptron": "widemargin.structured",
    "Tagger": "widemargin.structured.tagger.tagger",
    "TextClassifier": "widemargin.estimators",
    "animate": "widemargin.plots",
    "boolean_network": "widemargin.models.networks",
    "certify": "widemargin.separability.entry",
    "check_kernel": "widemargin.kernels.check",
    "compare": "widemargin.comparison",
    "gram_matrix": "widemargin.kernels.gram",
    "load": "widemargin.estimators",
    "load_model": "widemargin.models.linear",
    "plot_bound": "widemargin.plots",
    "plot_boundary": "widemargin.plots",
    "plot_confusion": "widemargin.plots",
    "plot_history": "widemargin.plots",
    "plot_kernel": "widemargin.plots",
    "plot_losses": "widemargin.plots",
    "plot_orders": "widemargin.plots",
    "plot_path": "widemargin.plots",
    "plot_tags": "widemargin.plots",
    "plot_votes": "widemargin.plots",
    "plot_weights": "widemargin.plots",
    "read": "widemargin.data.reading",
    "report": "widemargin.pages.reports",
    "shattered": "widemargin.separability.shattering",
    "stream": "widemargin.data.reading",
}
#: Public modules by the names that users know them by.
_MODULES = {
    "losses": "widemargin.online.losses",
    "show": "widemargin.plots",
    "structured": "widemargin.structured",
}
__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'widemargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
