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
    "boolean_network": "widemargin.networks",
    "certify": "widemargin.separation.decide",
    "load": "widemargin.estimators",
    "load_model": "widemargin.model",
    "losses": "widemargin",
    "read": "widemargin.reading",
    "shattered": "widemargin.separation.decide",
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
