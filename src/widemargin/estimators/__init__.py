"""The scikit-learn estimators of widemargin."""

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

__all__ = [
    "Distributed",
    "HashedText",
    "KernelPerceptron",
    "KernelSVM",
    "LinearSVM",
    "OnlineLogistic",
    "PassiveAggressive",
    "Perceptron",
    "TableClassifier",
    "TextClassifier",
    "load",
    "tune",
]
