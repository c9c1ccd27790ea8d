"""One two-class problem of a kernel SVM, and the state of its solution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin.kernel_machines.svm.row_cache import GivenRows, RowCache
from widemargin.loops.svm.smo import error_extremes, update_errors
from widemargin.threads import run_all

#: Threads update errors in pieces of this many: 64 kB, which fits a cache. Chosen by hand; every
#: error is summed in the same order, so this affects only the time.
_PIECE = 8192


class RowSource(NamedTuple):
    """The examples from `start` to `end`, and the caches that hold parts of their kernel rows.

    Each cache is given with the first and last column that it holds.
    """

    start: int
    end: int
    caches: Sequence[tuple[RowCache | GivenRows, int, int]]


@dataclass(frozen=True)
class PairProblem:
    """Two classes to separate: see `widemargin.loops.svm.smo`.

        max  sum_i y_i beta_i - 1/2 sum_ij beta_i beta_j K_ij
        sum_i beta_i = 0,    low_i <= beta_i <= high_i

    Attributes
    ----------
    y, cost, diagonal : arrays
        The signs +1 and -1, the cost of an error on each example, and K(x_i, x_i).
    sources : sequence of RowSource
        The sources of the kernel rows.
    tol : float
        The largest violation of the optimality conditions that may remain.
    threads : int
        The number of threads for long sums.
    prove : callable, optional
        For a hard margin: takes some examples and returns whether it can prove that nothing
        separates them.
    """

    y: np.ndarray
    cost: np.ndarray
    diagonal: np.ndarray
    sources: Sequence[RowSource]
    tol: float
    threads: int = 1
    prove: Callable[[np.ndarray], bool] | None = None

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.y)

    @cached_property
    def low(self) -> np.ndarray:
        """The lower bounds of the signed dual values."""
        return np.where(self.y > 0, 0.0, -self.cost)

    @cached_property
    def high(self) -> np.ndarray:
        """The upper bounds of the signed dual values."""
        return np.where(self.y > 0, self.cost, 0.0)


class KernelUpdate(NamedTuple):
    """Changes to dual values, and the kernel rows needed to update the errors."""

    rows: np.ndarray  # the rows of a cache
    slots: np.ndarray  # the rows in use
    delta: np.ndarray  # the change for each of them
    start: int  # the first column that the rows hold
    end: int


class PairState:
    """The signed dual values beta, and the errors E_i = y_i - sum_j beta_j K_ij."""

    def __init__(self, problem: PairProblem) -> None:
        self.problem = problem
        self.beta = np.zeros(problem.n)
        self.errors = problem.y.astype(np.float64)

    def extremes(self) -> tuple[float, float]:
        """Return the largest error that can still shrink, and the smallest that can still grow.

        Their difference is the violation of the optimality conditions.
        """
        return error_extremes(self.errors, self.beta, self.problem.low, self.problem.high)

    def dual(self) -> float:
        """Return the dual objective."""
        return 0.5 * (float(self.beta @ self.problem.y) + float(self.beta @ self.errors))

    def between_bounds(self) -> np.ndarray:
        """Return a mask of the dual values at neither bound."""
        return (self.beta > self.problem.low) & (self.beta < self.problem.high)

    def bias(self) -> float:
        """Return the bias: the mean error of examples between bounds, or else the midpoint."""
        free = self.between_bounds()
        if np.any(free):
            return float(np.mean(self.errors[free]))
        largest, smallest = self.extremes()
        if math.isfinite(largest) and math.isfinite(smallest):
            return 0.5 * (largest + smallest)
        return largest if math.isfinite(largest) else smallest if math.isfinite(smallest) else 0.0

    def start_from(self, beta: np.ndarray, at_once: int) -> None:
        """Start from dual values within their bounds and with sum zero, a few rows at a time."""
        used = np.flatnonzero(beta)
        for first in range(0, len(used), at_once):
            some = used[first : first + at_once]
            updates = []
            for source in self.problem.sources:
                ours = some[(some >= source.start) & (some < source.end)]
                for cache, start, end in source.caches:
                    slots = cache.fetch(ours - source.start)
                    updates.append(KernelUpdate(cache.store, slots, beta[ours], start, end))
            self.update_errors(updates)
        self.beta[:] = beta

    def update_errors(self, updates: list[KernelUpdate]) -> None:
        """Subtract delta_j K_ij from all errors, on several threads."""

        def work(piece: tuple[int, int, list[Any]]) -> None:
            begin, end, ours = piece
            for rows, slots, delta, start, _ in ours:
                update_errors(self.errors[begin:end], rows, slots, delta, np.uint64(begin - start))

        pieces = []
        for start, end in sorted({(update.start, update.end) for update in updates}):
            ours = [update for update in updates if update.start == start]
            edges = range(start, end, _PIECE)
            pieces += [(begin, min(begin + _PIECE, end), ours) for begin in edges]
        run_all(work, pieces, self.problem.threads)
