"""Solve small two-class SVMs by a few compiled calls, each of which takes many steps.

A fit of a few hundred examples takes microseconds of arithmetic. So passes of coordinate descent
and Newton steps in the primal, which `binary` takes one by one and chooses among other steps, are
here taken by `loops.svm.small`, a tenth of a second at a time. Where these do not reach the gap,
`binary` continues from their dual values.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from widemargin.certificates.gap import BinaryObjective, measure_binary
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.binary import Solution, report_each, solve
from widemargin.linear_svm.problem import BinarySVM, Reports, SolverReport, StopSignal
from widemargin.loops.storage import Dense
from widemargin.loops.svm.small import (
    MORE,
    SmallPoint,
    SmallSVM,
    run_small_passes,
    take_small_steps,
)
from widemargin.threads import one_blas_thread

# Chosen by hand; `python -m benchmarks large_c` and `dense_svm` measure the times with them. Every
# fit ends with a measured gap, so they affect only the time.

#: A problem is small if its matrix has at most this many values, and this many columns.
_VALUES, _COLUMNS = 1 << 19, 128
#: ... and if its largest number lies between these: beyond, rounding exceeds what a step changes
#: (above 1e9) or products of squares are lost (below 1e-60), for which `binary` is better prepared.
_LEAST, _LARGEST = 1e-60, 1e9
#: The most passes and Newton steps.
_PASSES, _STEPS = 30, 60
#: The number of multiplications that a call may take.
_SLICE = 5e8

SmallSolver = Generator[SolverReport | Reports, None, Solution]


def is_small(problem: BinarySVM) -> bool:
    """Whether a problem is solved by these calls."""
    width, stored = problem.width + 1, problem.rows.stored
    if problem.free_bias or not np.isfinite(problem.C):
        return False
    if width > _COLUMNS or problem.rows.n * width > _VALUES:
        return False
    largest = max(abs(stored.bias), float(np.max(np.abs(stored.values), initial=0.0)))
    return _LEAST < largest < _LARGEST


class SmallRows(NamedTuple):
    """Rows as one matrix of float64, the same feature by feature, and their squared lengths."""

    matrix: Dense
    columns: np.ndarray
    squared_lengths: np.ndarray


def dense_rows(rows: Rows) -> SmallRows:
    """Return rows as a matrix of float64 whose last column is the constant feature."""
    if rows.is_sparse:
        X = np.zeros((rows.n, rows.width + 1))
        values, columns, starts, _ = rows.stored
        starts = starts.astype(np.int64)
        places = np.repeat(np.arange(rows.n) * (rows.width + 1), np.diff(starts))
        places += columns[: starts[-1]].astype(np.int64)
        X.reshape(-1)[places] = values[: starts[-1]]
    else:
        X = np.empty((rows.n, rows.width + 1))
        X[:, :-1] = rows.stored.values
    X[:, -1] = rows.bias
    columns, lengths = np.ascontiguousarray(X.T), np.einsum("ij,ij->i", X, X)
    return SmallRows(Dense(frozen(X), 0.0), frozen(columns), frozen(lengths))


def solve_small(
    problem: BinarySVM,
    rows: SmallRows,
    rng: np.random.Generator,
    signal: StopSignal,
    start: np.ndarray | None = None,
) -> SmallSolver:
    """Solve a small problem, as `widemargin.linear_svm.binary.solve` does.

    Parameters
    ----------
    problem, rng, signal, start
        As there.
    rows : SmallRows
        The rows of the problem, see `dense_rows`.
    """
    costs = frozen(problem.costs)
    caps = frozen(np.full(len(costs), np.inf)) if problem.squared else costs
    svm = SmallSVM(*rows, frozen(problem.y.astype(np.float64)), costs, caps, problem.squared)
    point, epochs = _first_point(svm, start), 0
    if start is None:
        found, epochs = yield from _run_passes(svm, point, problem, rng)
    if start is not None or found == MORE:
        epochs = yield from _take_steps(svm, point, problem, signal, epochs)
    binary = BinaryObjective(problem.rows, problem.y, costs, problem.squared, False)
    w, _, certificate = measure_binary(binary, point.alpha.copy())
    reached = bool(certificate.gap <= problem.tol)
    if reached or signal.stop or epochs >= problem.epochs:
        return Solution(w, point.alpha, certificate, reached)
    left = replace(problem, epochs=problem.epochs - epochs)
    useful = certificate.primal < np.sum(costs)  # the objective of zero weights
    alpha = point.alpha if useful else None
    return (yield from _continued(left, rng, signal, alpha, point.w, epochs))


def solve_each(
    problems: list[BinarySVM],
    rng: np.random.Generator,
    signal: StopSignal,
    starts: list[np.ndarray] | None,
) -> list[SmallSolver]:
    """Return a solver for every problem with the same rows, each with its own random generator."""
    rows = dense_rows(problems[0].rows)
    rngs = [rng] if len(problems) == 1 else rng.spawn(len(problems))
    first = [None] * len(problems) if starts is None else starts
    return [
        solve_small(problem, rows, own, signal, start)
        for problem, own, start in zip(problems, rngs, first, strict=True)
    ]


def _first_point(svm: SmallSVM, start: np.ndarray | None) -> SmallPoint:
    """Return zero dual values or the given ones, and work arrays."""
    n, width = svm.rows.values.shape
    small, large = np.zeros((5, width)), np.empty((3, n))
    alpha = np.zeros(n) if start is None else np.array(start, np.float64)
    if start is not None:
        small[1] = (alpha * svm.y) @ svm.rows.values
    square = np.empty((2, width, width))
    return SmallPoint(
        small[0],
        small[1],
        alpha,
        large[0],
        large[1],
        large[2],
        np.empty(n, np.uint8),
        np.empty(n, np.uint64),
        square[0],
        square[1],
        small[2],
        small[3],
        small[4],
        np.zeros(4),
        np.zeros(4, np.int64),
    )


def _run_passes(
    svm: SmallSVM, point: SmallPoint, problem: BinarySVM, rng: np.random.Generator
) -> Generator[Reports, None, tuple[int, int]]:
    """Run a few passes; return what they found, and how many there were."""
    log = np.empty((_PASSES, 4))
    order = frozen(rng.permutation(len(svm.y)).astype(np.uint64))
    most = min(_PASSES, problem.epochs)
    done, found = run_small_passes(svm, point, order, problem.tol, most, log)
    yield _reports(log[:done], 0)
    return found, done


def _take_steps(
    svm: SmallSVM, point: SmallPoint, problem: BinarySVM, signal: StopSignal, epochs: int
) -> Generator[Reports, None, int]:
    """Take Newton steps; return the number of epochs so far."""
    n, width = svm.rows.values.shape
    each = max(1, int(_SLICE / (n * width * (8.0 + width) + width**3)))
    left, first = min(_STEPS, problem.epochs - epochs), True
    while left > 0 and not signal.stop:
        most = min(each, left)
        log = np.empty((most, 4))
        done, found = take_small_steps(svm, point, problem.tol, most, first, log)
        yield _reports(log[:done], epochs)
        epochs, left, first = epochs + done, left - done, False
        if found != MORE:
            break
    return epochs


def _reports(log: np.ndarray, epochs: int) -> Reports:
    """Report the steps of a call."""
    return Reports(
        [
            SolverReport(number, 1.0, int(mistakes), int(updates), primal, dual)
            for number, (mistakes, updates, primal, dual) in enumerate(log.tolist(), epochs + 1)
        ]
    )


def _continued(
    problem: BinarySVM,
    rng: np.random.Generator,
    signal: StopSignal,
    alpha: np.ndarray | None,
    w: np.ndarray,
    epochs: int,
) -> Generator[SolverReport, None, Solution]:
    """Let the other solver continue; its epochs are counted from the ones so far."""
    solver = report_each(solve(problem, rng, signal, alpha, w if alpha is not None else None))
    while True:
        try:
            with one_blas_thread():
                report = next(solver)
        except StopIteration as end:
            solution: Solution = end.value
            return solution
        yield report._replace(epoch=report.epoch + epochs)
