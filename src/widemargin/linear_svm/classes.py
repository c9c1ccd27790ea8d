"""Solve the SVMs of all classes against the rest: Newton steps together, then each to its end."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np

from widemargin.certificates.gap import BinaryObjective, GapCertificate, measure_classes
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.binary import Solution, Solver, solve
from widemargin.linear_svm.newton_classes import ClassesIterate, ClassesSVM, iterate
from widemargin.linear_svm.problem import BinarySVM, SolverReport, StopSignal

#: Newton steps for all classes together are for at most this many features, for at least this many
#: examples per feature, and while the matrices of all classes take at most this many bytes.
#: Chosen by hand; every fit ends with a measured gap, so only the time depends on them.
_MOST_FEATURES, _ROWS_PER_FEATURE, _ROOM = 1500, 2, 1 << 30
#: Coordinate descent needs few passes where C times the mean squared length of a row is below
#: this: it then changes weights by little more than one step of each example. (MNIST's images, with
#: values up to 1, have a squared length of about 100.)
_EASY = 3.0
#: Sparse rows are taken as a matrix if at least this fraction of it is not zero.
_DENSE_FROM = 0.25

Solutions = Generator[SolverReport, None, list[Solution]]


@dataclass(frozen=True)
class OneVsRest:
    """The problems of all classes, each against the rest, with the same examples.

    Attributes
    ----------
    problems : tuple of BinarySVM
        One for every class, alike but for the signs.
    codes : array of int64
        The class of every example.
    """

    problems: tuple[BinarySVM, ...]
    codes: np.ndarray


def shareable(problem: BinarySVM, classes: int) -> bool:
    """Whether Newton steps for all classes together are possible, and likely to pay."""
    rows, width = problem.rows, problem.rows.width + 1
    if not np.isfinite(problem.C) or problem.free_bias or width > _MOST_FEATURES:
        return False
    if rows.n < _ROWS_PER_FEATURE * width or 8 * classes * (width**2 + 6 * rows.n) > _ROOM:
        return False
    if rows.is_sparse and rows.stored_values < _DENSE_FROM * rows.n * rows.width:
        return False
    return problem.C * _mean_squared_length(rows) > _EASY


def _mean_squared_length(rows: Rows) -> float:
    values = rows.stored.values.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.vdot(values, values)) / rows.n + rows.bias**2


def solve_classes(
    all_classes: OneVsRest,
    rng: np.random.Generator,
    signal: StopSignal,
    start: list[np.ndarray] | None,
    threads: int,
) -> Solutions:
    """Solve all problems slice by slice; a deadline leaves what was found, with its true gap.

    Parameters
    ----------
    all_classes : OneVsRest
        What to solve.
    rng : numpy Generator
        The source of all random choices, if coordinate descent has to go on.
    signal : StopSignal
        Looked at after every slice.
    start : list of arrays, optional
        Dual values of every class to begin with, within their bounds.
    threads : int
        How many threads share the work. The result does not depend on it.
    """
    first = all_classes.problems[0]
    point = ClassesIterate(_shared(all_classes), _signed(all_classes, start), threads)
    epochs = 0
    for whole in iterate(point, first.tol):
        epochs += whole
        yield _report(point, epochs, whole)
        if signal.stop or epochs >= first.epochs:
            break
    alphas = np.abs(point.pulls)
    measured = _measure(all_classes, alphas)
    solutions = [
        Solution(w, alphas[c], found, found.gap <= first.tol)
        for c, (w, found) in enumerate(measured)
    ]
    rest = {c for c, solution in enumerate(solutions) if not solution.reached}
    if rest and not signal.stop and epochs < first.epochs:
        yield from _go_on(all_classes, solutions, sorted(rest), rng, signal, epochs)
    return solutions


def _shared(all_classes: OneVsRest) -> ClassesSVM:
    """Return the problems as the Newton steps take them."""
    problem = all_classes.problems[0]
    rows, costs = problem.rows, frozen(problem.costs)
    if rows.is_sparse:
        rows = Rows.of(rows.to_matrix().toarray(), bias=rows.bias)
    caps = frozen(np.full(rows.n, np.inf)) if problem.squared else costs
    return ClassesSVM(
        rows, all_classes.codes, len(all_classes.problems), costs, caps, problem.squared
    )


def _signed(all_classes: OneVsRest, start: list[np.ndarray] | None) -> np.ndarray | None:
    """Return the dual values to begin with, times the signs."""
    if start is None:
        return None
    return np.stack(
        [alpha * each.y for alpha, each in zip(start, all_classes.problems, strict=True)]
    )


def _report(point: ClassesIterate, epochs: int, whole: bool) -> SolverReport:
    """Tell how far the classes have come, all together."""
    if not whole:
        return SolverReport(epochs + 1, 0.5, 0, 0)
    every = range(len(point.W))
    primal = sum(point.primal(c) for c in every)
    gap = sum(point.gap(c) for c in every)
    mistakes = sum(int(pull.mistakes) for pull in point.pull)
    updates = sum(int(pull.updates) for pull in point.pull)
    return SolverReport(epochs, 1.0, mistakes, updates, primal, primal - gap)


def _measure(all_classes: OneVsRest, alphas: np.ndarray) -> list[tuple[np.ndarray, GapCertificate]]:
    """Return the weights of every class and their true gaps, computed from scratch."""
    costs = all_classes.problems[0].costs
    objectives = [
        BinaryObjective(each.rows, each.y, costs, each.squared, False)
        for each in all_classes.problems
    ]
    return measure_classes(objectives, alphas)


def _go_on(
    all_classes: OneVsRest,
    solutions: list[Solution],
    rest: list[int],
    rng: np.random.Generator,
    signal: StopSignal,
    epochs: int,
) -> Iterator[SolverReport]:
    """Let the two-class solver finish the classes that are not solved, epoch by epoch."""
    left = all_classes.problems[0].epochs - epochs
    solvers: dict[int, Solver] = {}
    for c, own in zip(rest, rng.spawn(len(rest)), strict=True):
        problem = replace(all_classes.problems[c], epochs=left)
        solvers[c] = solve(problem, own, signal, solutions[c].alpha)
    latest = [(each.certificate.primal, each.certificate.dual) for each in solutions]
    while solvers:
        epochs, mistakes, updates = epochs + 1, 0, 0
        for c in list(solvers):
            try:
                while (report := next(solvers[c])).done < 1.0:
                    yield SolverReport(epochs, report.done, 0, 0)
            except StopIteration as end:
                solutions[c] = end.value
                del solvers[c]
                continue
            latest[c] = report.primal, report.dual
            mistakes, updates = mistakes + report.mistakes, updates + report.updates
        primal, dual = (sum(figures) for figures in zip(*latest, strict=True))
        yield SolverReport(epochs, 1.0, mistakes, updates, primal, dual)
