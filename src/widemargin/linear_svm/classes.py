"""Solve the SVMs of all classes against the rest: shared Newton steps, then each class alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np

from widemargin.certificates.gap import BinaryObjective, GapCertificate, measure_classes
from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.binary import Solution, report_each, solve
from widemargin.linear_svm.dual_ascent import DualAscent
from widemargin.linear_svm.newton_classes import ClassesIterate, ClassesSVM, iterate
from widemargin.linear_svm.problem import BinarySVM, SolverReport, StopSignal
from widemargin.linear_svm.steps import CoordinatePass
from widemargin.loops.storage import Sparse
from widemargin.loops.svm.classes import count_values, gather_values
from widemargin.threads import run_all

#: Newton steps for all classes together are used with at most this many features, at least this
#: many examples per feature, and at most this many bytes of stored data for all classes. Chosen by
#: hand; every fit ends with a measured gap, so they affect only the time.
_MOST_FEATURES, _ROWS_PER_FEATURE, _ROOM = 1500, 2, 1 << 30
#: A single problem has nothing to share, but with at least this many features its matrices are
#: better multiplied in one piece.
_WIDE_FOR_ONE = 200
#: About how many 8-byte numbers they store per example and class.
_NUMBERS = 6
#: Coordinate descent needs few passes where C times the mean squared length of a row is below
#: this, because no example changes much. (MNIST's images, with values up to 1, have a squared
#: length of about 100.)
_EASY = 3.0
#: Where C times the mean squared length is above this, the problem is first solved roughly (to this
#: relative gap) for a smaller C, then for one that is this many times larger, and so on.
_HARD, _ROUGH, _STRIDE = 1e4, 0.1, 30.0
#: There are at most this many such stages, because C is not to blame for features of a huge scale.
#: With this many rows per feature there are none: the weights are well determined from the start.
_MOST_STAGES, _DETERMINED = 6, 200
#: Number of values whose squares are summed at once, in float64: 8 MB.
_VALUES_AT_ONCE = 1 << 20
#: Sparse rows are converted to a dense matrix if at least this fraction of it is nonzero. Passes
#: over a matrix with fewer nonzero values, and at least this many features, read only those.
_DENSE_FROM, _WIDE = 0.3, 64
#: Passes of coordinate descent before the Newton steps: they identify most of the examples that
#: will not be on a corner, and cost less than one Newton step.
_PASSES = 2

Solutions = Generator[SolverReport, None, list[Solution]]


@dataclass(frozen=True)
class OneVsRest:
    """The problems of all classes, each against the rest, with the same examples.

    Attributes
    ----------
    problems : tuple of BinarySVM
        One for every class, identical except for the signs.
    codes : array of int64
        The index of the problem in which an example is positive, or a larger number if there is
        none.
    """

    problems: tuple[BinarySVM, ...]
    codes: np.ndarray


def shareable(problem: BinarySVM, classes: int) -> bool:
    """Whether Newton steps for all classes together are possible and likely to pay off."""
    rows, width = problem.rows, problem.rows.width + 1
    if not np.isfinite(problem.C) or problem.free_bias or width > _MOST_FEATURES:
        return False
    if rows.n < _ROWS_PER_FEATURE * width or (classes == 1 and width < _WIDE_FOR_ONE):
        return False
    if 8 * classes * (width**2 + _NUMBERS * rows.n) > _ROOM:
        return False
    if rows.is_sparse and rows.stored_values < _DENSE_FROM * rows.n * rows.width:
        return False
    return bool(np.isfinite(problem.C * _squared_length(rows)))


def _path(problem: BinarySVM) -> list[float]:
    """Return the fractions of C for which to solve the problem in turn; the last is 1."""
    rows, factors = problem.rows, [1.0]
    if rows.n > _DETERMINED * (rows.width + 1):
        return factors
    hardness = problem.C * _squared_length(rows)
    while hardness * factors[0] > _HARD and len(factors) < _MOST_STAGES:
        factors.insert(0, factors[0] / _STRIDE)
    return factors


def easy(problem: BinarySVM) -> bool:
    """Whether coordinate descent alone is likely to need few passes."""
    return problem.C * _squared_length(problem.rows) <= _EASY


def _squared_length(rows: Rows) -> float:
    """The mean squared length of a row, including the constant feature."""
    values, total = rows.stored.values.ravel(), 0.0
    for begin in range(0, len(values), _VALUES_AT_ONCE):
        some = values[begin : begin + _VALUES_AT_ONCE].astype(np.float64, copy=False)
        total += float(np.dot(some, some))
    return total / rows.n + rows.bias**2


def thinned(rows: Rows) -> Rows:
    """Return a matrix that is mostly zeros as sparse rows, and other rows unchanged."""
    if rows.is_sparse or rows.width < _WIDE:
        return rows
    matrix, starts = rows.stored.values, np.empty(rows.n + 1, np.uint64)
    count_values(matrix, starts)
    stored = int(starts[-1])
    if stored >= _DENSE_FROM * matrix.size:
        return rows
    values, indices = np.empty(stored + 1, rows.dtype), np.empty(stored + 1, np.uint32)
    gather_values(matrix, frozen(starts), values, indices)
    sparse = Sparse(frozen(values[:-1]), frozen(indices[:-1]), frozen(starts), rows.bias)
    return Rows(sparse, rows.n, rows.width, distinct=True)


def solve_classes(
    all_classes: OneVsRest,
    rng: np.random.Generator,
    signal: StopSignal,
    start: list[np.ndarray] | None,
    threads: int,
) -> Solutions:
    """Solve all problems slice by slice; at a deadline, return the best so far with its true gap.

    Parameters
    ----------
    all_classes : OneVsRest
        The problems.
    rng : numpy Generator
        The source of all random choices, if coordinate descent has to continue.
    signal : StopSignal
        Checked after every slice.
    start : list of arrays, optional
        Dual values of every class to start from, within their bounds.
    threads : int
        The number of threads. The result does not depend on it.
    """
    first, epochs = all_classes.problems[0], 0
    if start is None:
        epochs = min(_PASSES, first.epochs)
        start = yield from _run_passes(all_classes, epochs, rng, signal, threads)
    pulls = np.stack([each.y for each in all_classes.problems]) * np.stack(start)
    weights = np.zeros((len(pulls), first.rows.width + 1))
    shared = _shared(all_classes)
    for factor in _path(first):
        costs, tol = frozen(factor * shared.costs), first.tol if factor == 1.0 else _ROUGH
        caps = shared.caps if first.squared else costs
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite ends the steps
            point = ClassesIterate(shared._replace(costs=costs, caps=caps), pulls, threads)
        steps = _quietly(iterate(point, tol))
        while (
            not signal.stop and epochs < first.epochs and (whole := next(steps, None)) is not None
        ):
            epochs += whole
            yield _report(point, epochs, whole, factor)
        pulls, weights = point.best, point.lowest
    alphas = np.abs(pulls)
    solutions = [
        Solution(w, alphas[c], found, found.gap <= first.tol)
        for c, (w, found) in enumerate(measure_all(all_classes, alphas, weights))
    ]
    yield from finish_classes(all_classes, solutions, rng, signal, epochs)
    return solutions


def _shared(all_classes: OneVsRest) -> ClassesSVM:
    """Return the problems in the form that the Newton steps use."""
    problem = all_classes.problems[0]
    rows, costs = problem.rows, frozen(problem.costs)
    if rows.is_sparse:
        rows = Rows.of(rows.to_matrix().toarray(), bias=rows.bias)
    caps = frozen(np.full(rows.n, np.inf)) if problem.squared else costs
    return ClassesSVM(
        rows, all_classes.codes, len(all_classes.problems), costs, caps, problem.squared
    )


def _run_passes(
    all_classes: OneVsRest,
    passes: int,
    rng: np.random.Generator,
    signal: StopSignal,
    threads: int,
) -> Generator[SolverReport, None, list[np.ndarray]]:
    """Run passes of coordinate descent for every class; returns the dual values."""
    rows = thinned(all_classes.problems[0].rows)
    problems = [replace(each, rows=rows) for each in all_classes.problems]
    ascents = [DualAscent(*each) for each in zip(problems, rng.spawn(len(problems)), strict=True)]

    def run_one(ascent: DualAscent) -> SolverReport:
        return deque(CoordinatePass().run_one(ascent, signal), maxlen=1)[0]

    for number in range(passes):
        reports: list[SolverReport] = []
        for begin in range(0, len(ascents), threads):
            reports += run_all(run_one, ascents[begin : begin + threads], threads)
            if begin + threads < len(ascents):
                yield SolverReport(number + 1, (begin + threads) / len(ascents), 0, 0)
        sums = (sum(figures) for figures in zip(*(each[2:] for each in reports), strict=True))
        yield SolverReport(number + 1, 1.0, *sums)
        if signal.stop:
            break
    return [ascent.state.alpha for ascent in ascents]


def _quietly(steps: Iterator[bool]) -> Iterator[bool]:
    """Take steps without warnings: a step that is not finite is the last for its class."""
    while True:
        with np.errstate(over="ignore", invalid="ignore"):
            whole = next(steps, None)
        if whole is None:
            return
        yield whole


def _report(point: ClassesIterate, epochs: int, whole: bool, factor: float) -> SolverReport:
    """Report the progress of all classes together, while the costs are a fraction of C.

    The dual values for a smaller C are within the bounds for the larger one, where their dual is no
    smaller.
    """
    if not whole:
        return SolverReport(epochs + 1, 0.5, 0, 0)
    every = range(len(point.W))
    primal = sum(point.primal(c) + (1.0 / factor - 1.0) * point.pull[c].loss for c in every)
    dual = float(point.best_dual.sum())
    mistakes = sum(int(pull.mistakes) for pull in point.pull)
    updates = sum(int(pull.updates) for pull in point.pull)
    return SolverReport(epochs, 1.0, mistakes, updates, primal, dual)


def measure_all(
    all_classes: OneVsRest, alphas: np.ndarray, weights: np.ndarray | None = None
) -> list[tuple[np.ndarray, GapCertificate]]:
    """Return the weights of every class and their true gaps, computed from scratch."""
    costs = all_classes.problems[0].costs
    objectives = [
        BinaryObjective(each.rows, each.y, costs, each.squared, False)
        for each in all_classes.problems
    ]
    return measure_classes(objectives, alphas, weights)


def finish_classes(
    all_classes: OneVsRest,
    solutions: list[Solution],
    rng: np.random.Generator,
    signal: StopSignal,
    epochs: int,
) -> Iterator[SolverReport]:
    """Let the two-class solver finish the unsolved classes, epoch by epoch.

    Changes `solutions`, which have taken `epochs` so far; at a deadline they are left as they are.
    """
    rest = [c for c, solution in enumerate(solutions) if not solution.reached]
    left = all_classes.problems[0].epochs - epochs
    if not rest or signal.stop or left <= 0:
        return
    solvers: dict[int, Generator[SolverReport, None, Solution]] = {}
    rows = thinned(all_classes.problems[0].rows)
    for c, own in zip(rest, rng.spawn(len(rest)), strict=True):
        problem = replace(all_classes.problems[c], rows=rows, epochs=left)
        solver = solve(problem, own, signal, solutions[c].alpha, solutions[c].w)
        solvers[c] = report_each(solver)
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
        if solvers:
            primal, dual = (sum(figures) for figures in zip(*latest, strict=True))
            yield SolverReport(epochs, 1.0, mistakes, updates, primal, dual)
