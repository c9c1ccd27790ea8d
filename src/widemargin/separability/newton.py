"""Search for a separator by Newton steps, for many examples with some hundred features.

If a separator exists and C is large, the solution of an SVM with the squared hinge is one. Its
Newton steps (`widemargin.linear_svm.newton_classes`) take tenths of a second where an active set
adds support vectors one by one.
"""

from __future__ import annotations

import numpy as np

from widemargin.certificates.certificate import Certificate
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.newton_classes import ClassesIterate, ClassesSVM, iterate
from widemargin.separability.nearest_point import HullPoints
from widemargin.separability.problem import SeparationProblem
from widemargin.threads import one_blas_thread

# Chosen by hand; benchmarks/mnist_pairs.py measures the times. A verdict is proved, and without one
# the next step takes over, so these constants affect only the time.

#: Used for matrices with at least this many values, at least this many examples per feature, and
#: at most this many features.
_VALUES, _ROWS_PER_FEATURE, _FEATURES = 1_000_000, 2, 1500
#: The initial C times the mean squared length of an example, the factor by which it grows, and how
#: often it grows. Initially, pixels between 0 and 1 have about C = 1.
_FIRST, _GROWTH, _STAGES = 100.0, 30.0, 6
#: The relative gap at which C grows.
_ROUGH = 0.1
#: A larger C is useless if more than this fraction of the examples is on the wrong side (among the
#: pairs of MNIST's classes, those that overlap have 1 % or more, the others less than 0.5 %), ...
_OVERLAP = 0.005
#: ... or if more than this fraction of the previous mistakes remain.
_LEFT = 0.8


def run_newton(problem: SeparationProblem) -> Certificate | None:
    """Solve SVMs with increasing C until one separates or none is likely to."""
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
    """Solve SVMs with increasing C, starting from the given cost."""
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
