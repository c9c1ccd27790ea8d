"""The SVM of all classes together (Crammer and Singer): coordinate descent, then Newton steps."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from widemargin.data.rows import Rows
from widemargin.linear_svm.binary import Solution
from widemargin.linear_svm.joint_ascent import JointAscent
from widemargin.linear_svm.newton_joint import JointIterate, SmoothedJoint, iterate, newton_cost
from widemargin.linear_svm.problem import JointSVM, SolverReport, StopSignal

# Chosen by hand; benchmarks/joint_svm.py measures the times with them. Every fit ends with a
# measured gap, so they affect only the time.

#: Newton steps are used with at most this many weights (classes times features), and at most this
#: many bytes of stored data.
_MOST_WEIGHTS, _ROOM = 10_000, 1 << 30
#: About how many 8-byte numbers they store per example and class.
_NUMBERS = 6
#: Sparse rows are converted to a dense matrix if at least this fraction of it is nonzero.
_DENSE_FROM = 0.1
#: Newton steps begin when the passes have cost this fraction of the steps' estimated cost.
_SHARE = 0.2
#: Newton steps use only the examples whose right class does not lead all others by this much, or
#: whose dual values are nonzero.
_FAR = 1.25


def solve_joint(
    problem: JointSVM,
    rng: np.random.Generator,
    signal: StopSignal,
    start: np.ndarray | None = None,
) -> Generator[SolverReport, None, Solution]:
    """Solve a problem slice by slice, as `widemargin.linear_svm.binary.solve` does for two classes.

    repeat:
        one pass of dual coordinate descent over the examples that are awake
        if the estimate of the gap is small enough: measure it, and stop if it is
        when the passes have cost enough: take Newton steps, if there are few features
    """
    ascent = JointAscent(problem, rng, start)
    newton = newton_cost(problem.rows, problem.classes) if _dense(problem) else np.inf
    newton_at = _SHARE * newton
    while True:
        yield from ascent.run_epoch(signal)
        last = signal.stop or ascent.stuck or ascent.epochs >= problem.epochs
        seems_solved = ascent.estimate.looks_reached
        if not (last or seems_solved) and ascent.work > newton_at:
            seems_solved = yield from _newton(ascent, signal)
            newton_at = ascent.work + _SHARE * newton
        if last or seems_solved:
            W, found = ascent.measure()
            reached = found.gap <= problem.tol
            if last or reached:
                return Solution(W, ascent.dual.alpha, found, reached)
            ascent.estimate.correct(found.gap)
            ascent.wake_all()


def _dense(problem: JointSVM) -> bool:
    """Whether Newton steps are possible: few weights, and rows that can be a dense matrix."""
    rows, k = problem.rows, problem.classes
    if k * (rows.width + 1) > _MOST_WEIGHTS or 8 * _NUMBERS * k * rows.n > _ROOM:
        return False
    return not rows.is_sparse or rows.stored_values >= _DENSE_FROM * rows.n * rows.width


def _newton(ascent: JointAscent, signal: StopSignal) -> Generator[SolverReport, Any, bool]:
    """Take Newton steps, each counted as an epoch; keep their dual values if they are better.

    Only examples that are wrong, or right by a small margin, take part. Returns whether the gap
    seems to have been reached.
    """
    problem, gap = ascent.problem, np.inf
    part, which = _near(ascent)
    with np.errstate(over="ignore", invalid="ignore"):  # a value that is not finite ends the steps
        point = JointIterate(part, ascent.dual.alpha[which])
        steps = iterate(point, problem.tol)
    while True:
        with np.errstate(over="ignore", invalid="ignore"):
            found = next(steps, None)
        if found is None:
            break
        gap = found
        ascent.epochs += 1
        best = max(ascent.value, point.primal - point.gap)
        seen = point.pull
        yield SolverReport(
            ascent.epochs, 1.0, int(seen.mistakes), int(seen.updates), point.primal, best
        )
        if signal.stop or ascent.epochs >= problem.epochs:
            break
    if not point.primal - point.gap > ascent.value:
        return False
    alpha = np.zeros_like(ascent.dual.alpha)
    alpha[which] = point.alpha
    ascent.become(alpha)
    return gap <= problem.tol


def _near(ascent: JointAscent) -> tuple[SmoothedJoint, np.ndarray]:
    """Return the problem of those examples whose dual values may change, and their numbers."""
    problem, W = ascent.problem, ascent.dual.W
    rows = problem.rows
    X = rows.to_matrix()
    slopes = np.asarray(X @ W[:, :-1].T) + rows.bias * W[:, -1]
    own = slopes[np.arange(rows.n), problem.y]
    slopes[np.arange(rows.n), problem.y] = -np.inf
    near = (own < slopes.max(axis=1) + _FAR) | (ascent.dual.alpha != 0.0).any(axis=1)
    which = np.flatnonzero(near & (problem.costs > 0.0))
    matrix = X[which].toarray() if rows.is_sparse else X[which]
    part = Rows.of(matrix, bias=rows.bias)
    return SmoothedJoint(part, problem.y[which], problem.classes, problem.costs[which]), which
