"""Look for a separator by Newton steps: for many examples of some hundred features.

An SVM with the squared hinge has a separator for its solution if there is one and C is large. Its
Newton steps (`widemargin.linear_svm.newton_classes`) take tenths of a second where an active set
adds one example of the support after the other.
"""

from __future__ import annotations

import numpy as np

from widemargin.certificates.certificate import Certificate
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.newton_classes import ClassesIterate, ClassesSVM, iterate
from widemargin.separability.nearest_point import HullPoints
from widemargin.separability.problem import SeparationProblem
from widemargin.threads import one_blas_thread

# Chosen by hand; benchmarks/mnist_pairs.py measures the times. A verdict is proved, and if there is
# none the next step looks for one, so only the time depends on these constants.

#: For matrices of at least this many values, with this many examples per feature, and with at most
#: this many features.
_VALUES, _ROWS_PER_FEATURE, _FEATURES = 1_000_000, 2, 1500
#: C times the mean squared length of an example at first, by how much it grows, and how often. With
#: the first, pixels between 0 and 1 have about C = 1.
_FIRST, _GROWTH, _STAGES = 100.0, 30.0, 6
#: The relative gap at which C grows.
_ROUGH = 0.1
#: There is no use in a larger C if more than this part of the examples is on the wrong side (of all
#: pairs of MNIST's classes, those that overlap have 1 % or more, the others less than 0.5 %), ...
_OVERLAP = 0.005
#: ... or if more than this part of the mistakes before are left.
_LEFT = 0.8


def run_newton(problem: SeparationProblem) -> Certificate | None:
    """Solve SVMs with larger and larger C until one separates, or none is likely to."""
    rows = problem.scaled
    if rows.is_sparse or rows.n * rows.width < _VALUES or rows.width > _FEATURES:
        return None
    if rows.n < _ROWS_PER_FEATURE * rows.width:
        return None
    length = float(np.mean(HullPoints(rows, problem.signs).squares()))
    if not 0.0 < length < np.inf:
        return None
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return _raise_cost(problem, rows, _FIRST / length)


def _raise_cost(problem: SeparationProblem, rows: Rows, cost: float) -> Certificate | None:
    """Do so from a first C on."""
    codes = frozen((problem.signs < 0.0).astype(np.int64))
    pulls, before = np.zeros((1, rows.n)), 1.0 + _OVERLAP * rows.n
    for _ in range(_STAGES):
        costs, caps = (frozen(np.full(rows.n, value)) for value in (cost, np.inf))
        point = ClassesIterate(ClassesSVM(rows, codes, 1, costs, caps, True), pulls, 1)
        for whole in iterate(point, _ROUGH):
            if whole and point.pull[0].mistakes == 0:
                found = problem.prove_separable(point.W[0].copy(), "Newton steps")
                if found is not None:
                    return found
            if problem.out_of_time:
                return None
        mistakes = point.pull[0].mistakes
        if mistakes > before:
            return None
        pulls, before, cost = point.best, _LEFT * mistakes, _GROWTH * cost
    return None
