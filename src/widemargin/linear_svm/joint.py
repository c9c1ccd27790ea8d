"""The SVM of all classes together (Crammer and Singer): coordinate descent, then Newton steps."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from widemargin.certificates.gap import scores_of_classes
from widemargin.data.rows import Rows
from widemargin.linear_svm.binary import Solution
from widemargin.linear_svm.joint_ascent import JointAscent
from widemargin.linear_svm.newton_joint import (
    JointIterate,
    SmoothedJoint,
    iterate,
    leads,
    newton_cost,
)
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
#: whose dual values are nonzero; the second number is used after a solution for a sample.
_FAR, _FAR_FROM_SAMPLE = 1.25, 1.6
#: With at most this many weights, and this many times as many examples as weights, Newton steps
#: come first: on a sample of some examples for each weight, until the corners have this width, and
#: then on all examples, with corners of the last width.
_FEW_WEIGHTS, _MANY, _SAMPLE = 1000, 20, 6
_WIDTH_IN_SAMPLE, _WIDTH_FROM_SAMPLE = 1.1, 0.4


def solve_joint(
    problem: JointSVM,
    rng: np.random.Generator,
    signal: StopSignal,
    start: np.ndarray | None = None,
) -> Generator[SolverReport, None, Solution]:
    """Solve a problem slice by slice, as `widemargin.linear_svm.binary.solve` does for two classes.

    if there are few weights and many examples: take Newton steps, from the solution for a sample
    repeat until the measured gap is small enough:
        one pass of dual coordinate descent over the examples that are awake
        if the estimate of the gap is small enough: measure it
        when the passes have cost enough: take Newton steps, if there are few features
    """
    ascent = JointAscent(problem, rng, start)
    newton = newton_cost(problem.rows, problem.classes) if _dense(problem) else np.inf
    newton_at = _SHARE * newton
    seems_solved = False
    if start is None and _can_sample(problem):
        W = _solve_sample(problem, rng)
        seems_solved = yield from _newton(ascent, signal, W)
    while True:
        if not seems_solved:
            yield from ascent.run_epoch(signal)
        last = signal.stop or ascent.stuck or ascent.epochs >= problem.epochs
        seems_solved |= ascent.estimate.looks_reached
        if not (last or seems_solved) and ascent.work > newton_at:
            seems_solved = yield from _newton(ascent, signal)
            newton_at = ascent.work + _SHARE * newton
        if last or seems_solved:
            W, found = ascent.measure()
            reached = found.gap <= problem.tol
            if last or reached:
                return Solution(W, ascent.dual.alpha, found, reached)
            ascent.resume(found.gap)
        seems_solved = False


def _dense(problem: JointSVM) -> bool:
    """Whether Newton steps are possible: few weights, and rows that can be a dense matrix."""
    rows, k = problem.rows, problem.classes
    if k * (rows.width + 1) > _MOST_WEIGHTS or 8 * _NUMBERS * k * rows.n > _ROOM:
        return False
    return not rows.is_sparse or rows.stored_values >= _DENSE_FROM * rows.n * rows.width


def _can_sample(problem: JointSVM) -> bool:
    """Whether a sample of the examples tells roughly what the weights will be."""
    weights = problem.classes * (problem.rows.width + 1)
    few = weights <= _FEW_WEIGHTS and problem.rows.n >= _MANY * weights
    return few and _dense(problem)


def _solve_sample(problem: JointSVM, rng: np.random.Generator) -> np.ndarray:
    """Return weights for a sample of the examples, with rounded corners."""
    n, k = problem.rows.n, problem.classes
    size = _SAMPLE * k * (problem.rows.width + 1)
    which = np.sort(rng.choice(n, size, replace=False))
    with np.errstate(over="ignore", invalid="ignore"):
        point = JointIterate.at(_smoothed(problem, which, n / size), np.zeros((size, k)))
        for _ in iterate(point, problem.tol):
            if point.settled and point.width <= _WIDTH_IN_SAMPLE:
                break
    return point.W


def _newton(
    ascent: JointAscent, signal: StopSignal, W: np.ndarray | None = None
) -> Generator[SolverReport, Any, bool]:
    """Take Newton steps, each counted as an epoch; keep their dual values if they are better.

    They begin with the weights of a sample, if there are any. Only examples that are wrong, or
    right by a small margin, take part. Returns whether the gap seems to have been reached.
    """
    problem, gap = ascent.problem, np.inf
    with np.errstate(over="ignore", invalid="ignore"):  # a value that is not finite ends the steps
        which, point = _begin(ascent) if W is None else _begin_at(problem, W)
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
        if W is not None and point.settled:
            W = None
            which, point = _begin_again(problem, which, point)
            steps = iterate(point, problem.tol)
    if not point.primal - point.gap > ascent.value:
        return False
    alpha = np.zeros_like(ascent.dual.alpha)
    alpha[which] = point.alpha
    ascent.become(alpha, point.W if gap <= problem.tol else None)
    return gap <= problem.tol


def _begin(ascent: JointAscent) -> tuple[np.ndarray, JointIterate]:
    """Return the examples whose dual values may change, and the start of their Newton steps."""
    problem, alpha = ascent.problem, ascent.dual.alpha
    close = leads(scores_of_classes(problem.rows, ascent.dual.W), problem.y) < _FAR
    which = np.flatnonzero((close | (alpha != 0.0).any(axis=1)) & (problem.costs > 0.0))
    return which, JointIterate.at(_smoothed(problem, which), alpha[which])


def _begin_at(problem: JointSVM, W: np.ndarray) -> tuple[np.ndarray, JointIterate]:
    """The same, with weights whose dual values are unknown.

    Rounded corners may push all examples far away; so as many as the sample had take part at least.
    """
    lead = leads(scores_of_classes(problem.rows, W), problem.y)
    last = np.partition(lead, _SAMPLE * W.size)[_SAMPLE * W.size]
    which = np.flatnonzero((lead <= max(last, _FAR_FROM_SAMPLE)) & (problem.costs > 0.0))
    centre = np.zeros((problem.classes, len(which)))
    return which, JointIterate(_smoothed(problem, which), W, centre, _WIDTH_FROM_SAMPLE)


def _begin_again(
    problem: JointSVM, which: np.ndarray, point: JointIterate
) -> tuple[np.ndarray, JointIterate]:
    """The same, with the weights and shares to which steps with other examples came."""
    rows, y = problem.rows, problem.y
    centre = np.zeros((problem.classes, rows.n))
    centre[y, np.arange(rows.n)] = 1.0
    centre[:, which] = point.shares
    close = leads(scores_of_classes(rows, point.W), y) < _FAR
    pulls = centre[y, np.arange(rows.n)] != 1.0
    which = np.flatnonzero((close | pulls) & (problem.costs > 0.0))
    width = point.next_width(problem.tol)
    return which, JointIterate(
        _smoothed(problem, which), point.W, centre.take(which, axis=1), width
    )


def _smoothed(problem: JointSVM, which: np.ndarray, times: float = 1.0) -> SmoothedJoint:
    """Return the problem of some examples: rows become dense, and costs are multiplied."""
    rows, costs = problem.rows, times * problem.costs[which]
    some = rows.to_matrix()[which]
    dense = Rows.of(some.toarray() if rows.is_sparse else some, bias=rows.bias)
    return SmoothedJoint(dense, problem.y[which], problem.classes, costs)
