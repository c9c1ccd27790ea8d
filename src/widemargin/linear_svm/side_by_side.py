"""Solve the SVMs of many classes on sparse rows: passes for all of them side by side.

Texts have many columns and, often, many classes. A pass of coordinate descent then spends most of
its time waiting for the weights of its columns, class by class. With the weights of all classes
stored side by side (`loops.svm.lanes`), a column is looked up once for all of them. Rows with few
columns are also solved this way where C is so small that passes alone suffice.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.linear_svm.binary import Solution
from widemargin.linear_svm.classes import OneVsRest, Solutions, easy, finish_classes, measure_all
from widemargin.linear_svm.dual_ascent import run_pass
from widemargin.linear_svm.interior_point import affordable
from widemargin.linear_svm.problem import BinarySVM, SolverReport, StopSignal
from widemargin.linear_svm.shrinking import Shrinking
from widemargin.loops.lowlevel.lanes import LANES
from widemargin.loops.lowlevel.vectors import aligned
from widemargin.loops.svm.dual import Sweep
from widemargin.loops.svm.lanes import LaneRows, LaneRule, Seen, lanes_pass
from widemargin.online.passes import Pace

#: The most classes solved side by side: their weights for a column are two cache lines.
TOGETHER = 32
#: With fewer classes than this there is little to share.
_FEWEST = 3
#: The smallest gap for which passes in float32 are used. (They stall near 1e-6.)
_FINEST = 1e-4
#: C times the squared length of the longest row is at most this, so that float32 is precise enough.
_HARDEST = 1e4
#: Columns that only one row has are left out if they hold at least one in this many values, because
#: leaving them out takes as long as a pass over all values.
_MANY_LONE = 16
#: Number of values processed at once while the rows are prepared: 8 MB as float64.
_VALUES_AT_ONCE = 1 << 20
#: Passes after which each class continues by itself.
_MOST_PASSES = 60


class Shared(NamedTuple):
    """Rows without the columns that only one row has; squared lengths with, and of, those."""

    rows: Rows
    q: np.ndarray
    d: np.ndarray


def shared_rows(problem: BinarySVM, classes: int) -> Shared | None:
    """The rows of problems to be solved side by side; None if they should not be."""
    rows = problem.rows
    if classes < _FEWEST or not rows.is_sparse or problem.free_bias:
        return None
    if not np.isfinite(problem.C) or (affordable(rows, problem.width) and not easy(problem)):
        return None
    shared = without_lone_columns(rows)
    largest = float(np.max(problem.costs, initial=0.0)) * float(np.max(shared.q, initial=0.0))
    return shared if largest <= _HARDEST else None  # None also if it is NaN


def in_groups(all_classes: OneVsRest) -> list[OneVsRest]:
    """Split problems into groups of about the same size, of at most `TOGETHER`."""
    problems, codes = all_classes.problems, all_classes.codes
    groups = -(-len(problems) // TOGETHER)
    edges = [len(problems) * g // groups for g in range(groups + 1)]
    return [
        OneVsRest(problems[a:b], np.where((codes >= a) & (codes < b), codes - a, b - a))
        for a, b in pairwise(edges)
    ]


def without_lone_columns(rows: Rows) -> Shared:
    """Leave out the columns that only one row has, if there are many, and renumber the others."""
    starts = rows.stored.starts.astype(np.int64)
    values = rows.stored.values[: starts[-1]]
    columns = rows.stored.indices[: starts[-1]]
    counts, squared = _counts_and_lengths(rows, starts)
    lengths = frozen((squared + rows.bias**2).astype(np.float32))
    few = _MANY_LONE * np.count_nonzero(counts == 1) < len(values)
    chosen = counts > (0 if few else 1)
    width = int(np.count_nonzero(chosen))
    if few and 2 * width > rows.width:  # too few columns are saved to renumber the rest
        stored = rows.stored._replace(values=frozen(values.astype(np.float32, copy=False)))
        whole = Rows(stored, rows.n, rows.width, rows.distinct)
        return Shared(whole, lengths, frozen(np.zeros(rows.n, np.float32)))
    kept = chosen[columns]
    squares = np.where(kept, 0.0, np.square(values, dtype=np.float64))
    lone = _sums(squares, starts).astype(np.float32)
    numbers = (np.cumsum(chosen) - 1).astype(np.uint32)
    stored = rows.stored._replace(
        values=frozen(values[kept].astype(np.float32)),
        indices=frozen(numbers[columns[kept]]),
        starts=frozen(_running(kept)[starts].astype(np.uint64)),
    )
    return Shared(Rows(stored, rows.n, width, rows.distinct), lengths, frozen(lone))


def _counts_and_lengths(rows: Rows, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of rows that have each column, and the squared length of each row.

    Works on some rows at a time, because copying all values would take longer than using them.
    """
    counts, squared = np.zeros(rows.width, np.int64), np.empty(rows.n)
    edges = np.searchsorted(starts, np.arange(_VALUES_AT_ONCE, starts[-1], _VALUES_AT_ONCE))
    for first, last in pairwise([0, *np.unique(edges).tolist(), rows.n]):
        part = slice(starts[first], starts[last])
        # numpy 2.0 does not count unsigned numbers.
        columns = rows.stored.indices[part].astype(np.intp, copy=False)
        counts += np.bincount(columns, minlength=rows.width)
        squares = np.square(rows.stored.values[part], dtype=np.float64)
        squared[first:last] = _sums(squares, starts[first : last + 1] - starts[first])
    return counts, squared


def _sums(numbers: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The sum of the numbers of every row."""
    begins, full = starts[:-1], starts[:-1] < starts[1:]
    found = np.zeros(len(begins))
    if len(numbers):
        found[full] = np.add.reduceat(numbers, begins[full])
    return found


def _running(numbers: np.ndarray) -> np.ndarray:
    """The sums of the first 0, 1, 2, ... numbers."""
    return np.concatenate([[0], np.cumsum(numbers)])


class SideBySide:
    """The dual values and weights of some classes, and the progress of each.

    Classes that look solved leave, and the others move together once half as many lanes suffice.

    Attributes
    ----------
    left : array of int64
        The classes in the lanes.
    alpha : array (classes, n) of float64
        The dual values of the classes that have left.
    primal, dual, likely : arrays
        The objectives that the passes saw for each class, and its likely current gap.
    """

    def __init__(self, all_classes: OneVsRest, shared: Shared, rng: np.random.Generator) -> None:
        first = all_classes.problems[0]
        self.problem, self.codes, self.shared, self.rng = first, all_classes.codes, shared, rng
        k, n = len(all_classes.problems), shared.rows.n
        counted = shared.rows.everything
        if len(first.price):
            counted = frozen(np.flatnonzero(first.price > 0.0).astype(np.uint64))
        self.shrinking, self.slices = Shrinking(counted, n), Pace()
        self.rule = LaneRule(first.rule.cap, first.rule.soft)
        self.alpha, self.epochs, self.finite = np.zeros((k, n)), 0, True
        self.primal, self.dual, self.gap, self.likely = np.ones((4, k))
        self.dual[:] = 0.0
        self.V = aligned((shared.rows.width + 1, _lanes(k)), np.float32)
        self.a = aligned((n, _lanes(k)), np.float32)
        self._seat(np.arange(k))

    def _seat(self, left: np.ndarray) -> None:
        """Assign lanes to classes."""
        self.left, width = left, self.V.shape[1]
        lane = np.full(len(self.alpha) + 1, TOGETHER)
        lane[left] = np.arange(len(left))
        stored, (_, q, d) = self.shared.rows.stored, self.shared
        places = frozen(lane[self.codes].astype(np.uint64))
        self.rows = LaneRows(
            stored.values,
            stored.indices,
            stored.starts,
            stored.bias,
            q,
            d,
            places,
            self.problem.price,
        )
        self.on = frozen((np.arange(width) < len(left)).astype(np.float32))
        self.limits = np.full((2, width), np.inf, np.float32)

    def run_pass(self, signal: StopSignal) -> Generator[SolverReport, None, None]:
        """Run one pass for the remaining classes, and record their progress."""
        width = self.V.shape[1]
        sums, slopes = np.zeros((2, width)), np.zeros((4, width), np.float32)
        seen = Seen(sums[0], sums[1], slopes[0], slopes[1], slopes[2:], self.on)

        def pass_over(order: np.ndarray) -> Sweep:
            limits, shrunk = frozen(self.limits), self.shrinking.shrunk
            wrong, updates, finite = lanes_pass(
                self.rows, order, self.rule, limits, self.V, self.a, shrunk, seen
            )
            self.finite = self.finite and bool(finite)
            return Sweep(int(wrong), int(updates), 0.0, 0.0, 0.0, 0.0, -1)

        self.epochs += 1
        order = self.shrinking.order(self.rng)
        rows, share = self.shared.rows, width // LANES
        total = yield from run_pass(pass_over, order, self.slices, rows, share, self.epochs, signal)
        mine = slice(len(self.left))
        before = self.gap[self.left]
        self.dual[self.left] += seen.gain[mine]
        self.primal[self.left] = self.dual[self.left] + seen.gap[mine]
        self.gap[self.left] = now = seen.gap[mine] / np.maximum(self.primal[self.left], _TINY)
        # As in `GapEstimate`, assume that the gap shrinks in the next pass as it did in this one.
        self.likely[self.left] = now * np.minimum(1.0, now / np.maximum(before, _TINY))
        fraction = np.float32(self.shrinking.fraction)
        for limits, slopes in zip(self.limits, (seen.up, seen.down), strict=True):
            limits[:] = np.where(slopes > 0.0, fraction * slopes, np.inf)
        primal, dual = float(self.primal.sum()), float(self.dual.sum())
        yield SolverReport(self.epochs, 1.0, total.mistakes, total.updates, primal, dual)

    def move_together(self, tol: float) -> None:
        """Let the classes that look solved leave, if the others then need half as many lanes."""
        self.shrinking.advance(self.epochs)
        stay = np.flatnonzero(self.likely[self.left] > tol)
        if 2 * _lanes(len(stay)) > self.V.shape[1]:
            return
        self._note()
        self.V, self.a = (_narrowed(array, stay) for array in (self.V, self.a))
        limits = self.limits[:, stay]
        self._seat(self.left[stay])
        self.limits[:, : len(stay)] = limits

    def _note(self) -> None:
        self.alpha[self.left] = self.a[:, : len(self.left)].T

    def dual_values(self) -> np.ndarray:
        """The dual values of all classes, within their bounds."""
        self._note()
        if self.rule.soft == 0.0:
            np.minimum(self.alpha, self.problem.costs, out=self.alpha)
        return self.alpha


#: Keeps a ratio of gaps finite.
_TINY = 1e-300


def _lanes(classes: int) -> int:
    """The number of lanes for this many classes."""
    return max(1, -(-classes // LANES)) * LANES


def _narrowed(array: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Some columns of an array, side by side."""
    found = aligned((len(array), _lanes(len(which))), array.dtype)
    found[:, : len(which)] = array[:, which]
    return found


def solve_beside(
    all_classes: OneVsRest, shared: Shared, rng: np.random.Generator, signal: StopSignal
) -> Solutions:
    """Solve all problems slice by slice; at a deadline, return the best so far with its true gap.

        repeat: one pass of dual coordinate descent for all classes
        until they look solved
        measure the gap of each; the two-class solver continues where it is too large

    Parameters
    ----------
    all_classes : OneVsRest
        The problems, at most `TOGETHER`.
    shared : Shared
        Their rows.
    rng : numpy Generator
        Draws the random orders of the passes.
    signal : StopSignal
        Checked after every slice.
    """
    first = all_classes.problems[0]
    tol, beside = max(first.tol, _FINEST), SideBySide(all_classes, shared, rng)
    most = min(_MOST_PASSES, first.epochs)
    while beside.epochs < most and not signal.stop and beside.finite:
        yield from beside.run_pass(signal)
        if not np.any(beside.likely[beside.left] > tol):
            break
        beside.move_together(tol)
    alphas = beside.dual_values()
    if not beside.finite:
        alphas = np.zeros_like(alphas)
    solutions = [
        Solution(w, alphas[c], found, found.gap <= first.tol)
        for c, (w, found) in enumerate(measure_all(all_classes, alphas))
    ]
    yield from finish_classes(all_classes, solutions, rng, signal, beside.epochs)
    return solutions
