"""Decide how to use the memory for kernel values: store all, cache some rows, or use landmarks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from widemargin.kernel_machines.svm.pair_problem import RowSource
from widemargin.kernel_machines.svm.problem import (
    KernelSVMProblem,
    TwoClassMachine,
)
from widemargin.kernel_machines.svm.row_cache import (
    Buffers,
    GivenRows,
    RowCache,
    refuse_not_finite,
)
from widemargin.kernels.blocks import block
from widemargin.parameters.values import parse_bytes

# Chosen by hand; benchmarks/RESULTS.md (section "kernel_svm") gives times measured with these
# values. They affect only the time, except that `_FEWEST_ROWS` decides between an exact solution
# and landmarks.

#: The largest working set: the time of a round grows with the square of its members.
_LARGEST_WORKING_SET = 4096
#: With memory for fewer kernel rows than this, a working set cannot grow enough.
_FEWEST_ROWS = 256
#: A problem that shares its rows with no other rarely needs a row again. It caches this many before
#: replacing old ones, because fresh memory costs more than recomputing those few.
_KEPT_ROWS = 512
#: With at most this many examples in all classes, pairs take their kernel values from one full
#: matrix, up to 32 MB in float64, because many small products take longer.
_AT_ONCE = 2048
#: The smallest number of landmarks.
_FEWEST_LANDMARKS = 16


class MemoryPlan(NamedTuple):
    """How the memory is used.

    Attributes
    ----------
    kind : {"full", "cache", "low rank"}
        Whether all kernel values fit, or some rows of them, or too few.
    rows : int
        The number of rows that each cache may hold.
    most : int
        The largest size of a working set.
    workers : int
        The number of machines that are trained in parallel.
    landmarks : int
        The number of landmarks if too few rows fit; else 0.
    """

    kind: str
    rows: int
    most: int
    workers: int
    landmarks: int = 0


def plan_memory(
    problem: KernelSVMProblem, max_memory: int | str, low_rank: int | None
) -> MemoryPlan:
    """Decide between all kernel values, a cache of rows, and landmarks."""
    size, n = problem.points.dtype.itemsize, problem.points.n
    values = parse_bytes("max_memory", max_memory) // size
    pairs = len(problem.sizes) == 2 or problem.pairs
    # Pairs that share no class can be trained in parallel.
    side_by_side = problem.pairs and len(problem.sizes) // 2 >= problem.threads
    workers = problem.threads if side_by_side else 1
    largest = int(np.sum(np.sort(problem.sizes)[-2:])) if pairs else n
    most = min(_LARGEST_WORKING_SET, largest, max(2, math.isqrt(values // (4 * workers))))
    left = values - workers * most * most
    # A row holds values for its own class, shared by all pairs, and for the other class of each
    # pair being trained.
    rows = max(0, left) // (n + workers * largest if pairs else n)
    longest = int(np.max(problem.sizes)) if pairs else n
    if low_rank is None and rows >= min(_FEWEST_ROWS, longest):
        kind = "full" if rows >= longest else "cache"
        rows = min(rows, longest)
        return MemoryPlan(kind, rows, most if kind == "full" else min(most, rows), workers)
    landmarks = low_rank
    if landmarks is None:  # the features of all examples, and the landmarks' own matrices
        fitting = min(values // (2 * max(1, n)), math.isqrt(values // 8))
        landmarks = max(_FEWEST_LANDMARKS, fitting)
    return MemoryPlan("low rank", 0, 0, 1, min(landmarks, n))


class RowCaches:
    """The kernel row caches of all machines, and the buffers of every worker.

    Without `matrix`, no kernel values are computed before a machine requests them.
    """

    def __init__(self, problem: KernelSVMProblem, plan: MemoryPlan, matrix: bool = True) -> None:
        self.problem, self.plan = problem, plan
        self.buffers = [Buffers(problem.points.dtype) for _ in range(plan.workers)]
        self.threads = problem.threads if plan.workers == 1 else 1
        self._shared: dict[int | None, RowCache] = {}
        points, few = problem.points, matrix and problem.points.n <= _AT_ONCE
        self._gram: np.ndarray | None = None
        if few and problem.pairs and plan.kind == "full" and problem.kernel.by_products:
            self._gram = block(problem.kernel, points, points)
            refuse_not_finite(problem.kernel, self._gram, points, points)

    def sources(self, machine: TwoClassMachine, worker: int) -> list[RowSource]:
        """Return the sources of a machine's kernel rows."""
        if machine.second is None:
            cache = self._within(None, slice(0, self.problem.points.n))
            return [RowSource(0, cache.A.n, [(cache, 0, cache.A.n)])]
        if self._gram is not None:
            return self._given(self._gram, machine, worker)
        first = self._within(machine.first, self.problem.span(machine.first))
        second = self._within(machine.second, self.problem.span(machine.second))
        m, n = first.A.n, first.A.n + second.A.n
        return [
            RowSource(0, m, [(first, 0, m), (self._between(first, second, worker, 0), m, n)]),
            RowSource(m, n, [(self._between(second, first, worker, 1), 0, m), (second, m, n)]),
        ]

    def _given(self, K: np.ndarray, machine: TwoClassMachine, worker: int) -> list[RowSource]:
        """Return the rows of a machine from the matrix of all kernel values."""
        assert machine.second is not None
        spans = [self.problem.span(machine.first), self.problem.span(machine.second)]
        m, n = int(self.problem.sizes[machine.first]), sum(s.stop - s.start for s in spans)
        rows = self.buffers[worker].get("given", n, n)
        for one, to in zip(spans, (slice(0, m), slice(m, n)), strict=True):
            rows[to, :m], rows[to, m:] = K[one, spans[0]], K[one, spans[1]]
        return [RowSource(0, n, [(GivenRows(rows), 0, n)])]

    def _within(self, c: int | None, span: slice) -> RowCache:
        """Return values between the examples of one class, or of all, shared by all machines."""
        if c not in self._shared:
            points = self.problem.points.take(span)
            rows = min(self.plan.rows, points.n)
            store = np.empty((rows, points.n), points.dtype)
            self._shared[c] = RowCache(
                self.problem.kernel, points, points, store, self._kept(rows), self.threads
            )
        return self._shared[c]

    def _between(self, one: RowCache, other: RowCache, worker: int, name: int) -> RowCache:
        """Return values between two classes, needed by one pair only."""
        rows = min(self.plan.rows, one.A.n)
        store = self.buffers[worker].get(name, rows, other.A.n)
        return RowCache(self.problem.kernel, one.A, other.A, store, self._kept(rows), self.threads)

    def _kept(self, rows: int) -> int:
        """Return how many rows a cache fills before it replaces old ones."""
        return rows if len(self.problem.sizes) > 2 else _KEPT_ROWS
