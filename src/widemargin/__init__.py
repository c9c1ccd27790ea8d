"""Perceptrons and large-margin classifiers that learn from mistakes, fast and with certificates."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; at run time, names load on first use
    from widemargin import plots as show
    from widemargin import structured
    from widemargin.comparison import compare
    from widemargin.data.reading import read, stream
    from widemargin.errors import (
        ClusterError,
        DataError,
        DataWarning,
        ModelFileError,
        NotSeparableWarning,
    )
    from widemargin.estimators.distributed import Distributed
    from widemargin.estimators.files import load
    from widemargin.estimators.kernel_perceptron import KernelPerceptron
    from widemargin.estimators.kernel_svm import KernelSVM
    from widemargin.estimators.linear_svm import LinearSVM
    from widemargin.estimators.online_logistic import OnlineLogistic
    from widemargin.estimators.passive_aggressive import PassiveAggressive
    from widemargin.estimators.perceptron import Perceptron
    from widemargin.estimators.table import TableClassifier
    from widemargin.estimators.text import HashedText, TextClassifier
    from widemargin.estimators.tuned import tune
    from widemargin.evaluate.ranking import curves
    from widemargin.kernels.check import check_kernel
    from widemargin.kernels.gram import gram_matrix
    from widemargin.models.kernel import KernelModel
    from widemargin.models.kernel_svm import KernelSVMModel
    from widemargin.models.linear import LinearModel, load_model
    from widemargin.models.networks import boolean_network
    from widemargin.online import losses
    from widemargin.pages.reports import report
    from widemargin.plots import (
        animate,
        plot_bound,
        plot_boundary,
        plot_confusion,
        plot_history,
        plot_kernel,
        plot_losses,
        plot_orders,
        plot_path,
        plot_precision_recall,
        plot_roc,
        plot_tags,
        plot_votes,
        plot_weights,
    )
    from widemargin.separability.entry import certify
    from widemargin.separability.shattering import shattered
    from widemargin.structured import StructuredPerceptron
    from widemargin.structured.annotator.annotator import Annotator
    from widemargin.structured.lemmas.lemmatizer import Lemmatizer
    from widemargin.structured.morphology.morphologizer import Morphologizer
    from widemargin.structured.parser.parser import Parser
    from widemargin.structured.tagger.tagger import Tagger
    from widemargin.structured.tokenizer.tokenizer import Tokenizer
    from widemargin.training.history import History
    from widemargin.web.lab.start import lab

__version__ = "0.2.0"

#: Public names, and the modules that they are loaded from when first used.
_HOMES = {
    "Annotator": "widemargin.structured.annotator.annotator",
    "ClusterError": "widemargin.errors",
    "DataError": "widemargin.errors",
    "DataWarning": "widemargin.errors",
    "Distributed": "widemargin.estimators.distributed",
    "HashedText": "widemargin.estimators.text",
    "History": "widemargin.training.history",
    "KernelModel": "widemargin.models.kernel",
    "KernelPerceptron": "widemargin.estimators.kernel_perceptron",
    "KernelSVM": "widemargin.estimators.kernel_svm",
    "KernelSVMModel": "widemargin.models.kernel_svm",
    "Lemmatizer": "widemargin.structured.lemmas.lemmatizer",
    "LinearModel": "widemargin.models.linear",
    "LinearSVM": "widemargin.estimators.linear_svm",
    "ModelFileError": "widemargin.errors",
    "Morphologizer": "widemargin.structured.morphology.morphologizer",
    "NotSeparableWarning": "widemargin.errors",
    "OnlineLogistic": "widemargin.estimators.online_logistic",
    "Parser": "widemargin.structured.parser.parser",
    "PassiveAggressive": "widemargin.estimators.passive_aggressive",
    "Perceptron": "widemargin.estimators.perceptron",
    "StructuredPerceptron": "widemargin.structured",
    "Tagger": "widemargin.structured.tagger.tagger",
    "Tokenizer": "widemargin.structured.tokenizer.tokenizer",
    "TableClassifier": "widemargin.estimators.table",
    "TextClassifier": "widemargin.estimators.text",
    "animate": "widemargin.plots",
    "boolean_network": "widemargin.models.networks",
    "certify": "widemargin.separability.entry",
    "check_kernel": "widemargin.kernels.check",
    "compare": "widemargin.comparison",
    "curves": "widemargin.evaluate.ranking",
    "gram_matrix": "widemargin.kernels.gram",
    "lab": "widemargin.web.lab.start",
    "load": "widemargin.estimators.files",
    "load_model": "widemargin.models.linear",
    "plot_bound": "widemargin.plots",
    "plot_boundary": "widemargin.plots",
    "plot_confusion": "widemargin.plots",
    "plot_history": "widemargin.plots",
    "plot_kernel": "widemargin.plots",
    "plot_losses": "widemargin.plots",
    "plot_orders": "widemargin.plots",
    "plot_path": "widemargin.plots",
    "plot_precision_recall": "widemargin.plots",
    "plot_roc": "widemargin.plots",
    "plot_tags": "widemargin.plots",
    "plot_votes": "widemargin.plots",
    "plot_weights": "widemargin.plots",
    "read": "widemargin.data.reading",
    "report": "widemargin.pages.reports",
    "shattered": "widemargin.separability.shattering",
    "stream": "widemargin.data.reading",
    "tune": "widemargin.estimators.tuned",
}
#: Public modules, by their public names.
_MODULES = {
    "losses": "widemargin.online.losses",
    "show": "widemargin.plots",
    "structured": "widemargin.structured",
}
__all__ = [
    "Annotator",
    "ClusterError",
    "DataError",
    "DataWarning",
    "Distributed",
    "HashedText",
    "History",
    "KernelModel",
    "KernelPerceptron",
    "KernelSVM",
    "KernelSVMModel",
    "Lemmatizer",
    "LinearModel",
    "LinearSVM",
    "ModelFileError",
    "Morphologizer",
    "NotSeparableWarning",
    "OnlineLogistic",
    "Parser",
    "PassiveAggressive",
    "Perceptron",
    "StructuredPerceptron",
    "TableClassifier",
    "Tagger",
    "TextClassifier",
    "Tokenizer",
    "animate",
    "boolean_network",
    "certify",
    "check_kernel",
    "compare",
    "curves",
    "gram_matrix",
    "lab",
    "load",
    "load_model",
    "losses",
    "plot_bound",
    "plot_boundary",
    "plot_confusion",
    "plot_history",
    "plot_kernel",
    "plot_losses",
    "plot_orders",
    "plot_path",
    "plot_precision_recall",
    "plot_roc",
    "plot_tags",
    "plot_votes",
    "plot_weights",
    "read",
    "report",
    "shattered",
    "show",
    "stream",
    "structured",
    "tune",
]


if not TYPE_CHECKING:  # with this, type checkers would accept misspelt names

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(_MODULES[name])
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'widemargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
