"""Memory for kernel values: how much there is, and the panels that are kept in it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from widemargin.kernel_machines.svm.problem import Machine, Problem
from widemargin.kernel_machines.svm.row_cache import Panel, Room
from widemargin.kernel_machines.svm.working_set import Side
from widemargin.parameters import parse_bytes

#: Members of a working set at the most: solving it takes time in the square of this.
_MOST = 4096
#: With less room than this many kernel rows a working set cannot grow as it must.
_LEAST = 256
#: A problem that shares its rows with no other computes few of them twice: so many are kept.
_KEPT = 512


class Allowance(NamedTuple):
    """What the memory allows.

    Attributes
    ----------
    kind : {"full", "cache", "low rank"}
        Whether all kernel values fit, or some rows of them, or too few.
    rows : int
        Rows that every panel may hold.
    most : int
        Members of a working set at the most.
    players : int
        Machines that are trained side by side.
    landmarks : int
        Examples that stand for all, if too few rows fit; else 0.
    """

    kind: str
    rows: int
    most: int
    players: int
    landmarks: int = 0


def allow(problem: Problem, max_memory: int | str, low_rank: int | None) -> Allowance:
    """Decide between all kernel values, a part of them and landmarks."""
    size, n = problem.points.dtype.itemsize, problem.points.n
    values = parse_bytes("max_memory", max_memory) // size
    pairs = len(problem.sizes) == 2 or problem.pairs
    # Pairs that share no class can be trained side by side.
    side_by_side = problem.pairs and len(problem.sizes) // 2 >= problem.threads
    players = problem.threads if side_by_side else 1
    largest = int(np.sum(np.sort(problem.sizes)[-2:])) if pairs else n
    most = min(_MOST, largest, max(2, math.isqrt(values // (4 * players))))
    left = values - players * most * most
    # A row takes the own class, kept for all pairs, and in each pair that is at work the other.
    rows = max(0, left) // (n + players * largest if pairs else n)
    longest = int(np.max(problem.sizes)) if pairs else n
    if low_rank is None and rows >= min(_LEAST, longest):
        kind = "full" if rows >= longest else "cache"
        rows = min(rows, longest)
        return Allowance(kind, rows, most if kind == "full" else min(most, rows), players)
    landmarks = low_rank
    if landmarks is None:  # features of all examples, and the landmarks' own matrices
        landmarks = max(16, min(values // (2 * max(1, n)), math.isqrt(values // 8)))
    return Allowance("low rank", 0, 0, 1, min(landmarks, n))


class Grounds:
    """The panels of all machines."""

    def __init__(self, problem: Problem, allowance: Allowance) -> None:
        self.problem, self.allowance = problem, allowance
        self.rooms = [Room(problem.points.dtype) for _ in range(allowance.players)]
        self.threads = problem.threads if allowance.players == 1 else 1
        self._shared: dict[int | None, Panel] = {}

    def sides(self, machine: Machine, player: int) -> list[Side]:
        """Where the kernel rows of a machine come from."""
        if machine.second is None:
            panel = self._own(None, slice(0, self.problem.points.n))
            return [Side(0, panel.A.n, [(panel, 0, panel.A.n)])]
        first = self._own(machine.first, self.problem.span(machine.first))
        second = self._own(machine.second, self.problem.span(machine.second))
        m, n = first.A.n, first.A.n + second.A.n
        return [
            Side(0, m, [(first, 0, m), (self._cross(first, second, player, 0), m, n)]),
            Side(m, n, [(self._cross(second, first, player, 1), 0, m), (second, m, n)]),
        ]

    def _own(self, c: int | None, span: slice) -> Panel:
        """Values between the examples of one class, or of all: shared by all its machines."""
        if c not in self._shared:
            points = self.problem.points.take(span)
            rows = min(self.allowance.rows, points.n)
            store = np.empty((rows, points.n), points.dtype)
            kept = rows if len(self.problem.sizes) > 2 else _KEPT
            self._shared[c] = Panel(self.problem.kernel, points, points, store, kept, self.threads)
        return self._shared[c]

    def _cross(self, one: Panel, other: Panel, player: int, name: int) -> Panel:
        """Values between two classes, needed in one pair only."""
        rows = min(self.allowance.rows, one.A.n)
        store = self.rooms[player].lend(name, rows, other.A.n)
        kept = rows if len(self.problem.sizes) > 2 else _KEPT
        return Panel(self.problem.kernel, one.A, other.A, store, kept, self.threads)
