"""One two-class problem of a kernel SVM, solved on a set of examples that grows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from widemargin.kernel_machines.svm.row_cache import Panel, Room
from widemargin.loops.svm.smo import (
    LANES,
    compact,
    copy_values,
    error_extremes,
    find_violators,
    smo_steps,
    update_errors,
)
from widemargin.threads import run_all

#: A round solves the block until its worst violation is this part of that of all examples ...
_INNER = 0.1
#: ... which need not be less than this part of the tolerance ...
_FINEST = 0.5
#: ... in at most so many steps, about a tenth of a second.
_STEPS = 50_000
#: After so many steps of two dual values, and so many an example, nothing more is hoped for: kernel
#: values are so large that rounding decides.
_MOST_STEPS, _STEPS_EACH = 1_000_000, 1000
#: After so many rounds in which the dual grew by rounding errors only, floats hold no better one.
_PATIENCE, _ROUNDING = 5, 1e-13
#: A working set of so many members makes those leave that are not expected to change again.
_ENOUGH = 1024
#: Threads share the errors in pieces of so many.
_PIECE = 8192
#: Without bounds on dual values: no margin below this part of the longest example is looked for ...
_SMALLEST_MARGIN = 1e-6
#: ... and below this one, and every tenth of it, a proof is looked for that there is none.
_DOUBTFUL_MARGIN = 1e-2


class Side(NamedTuple):
    """Examples from `start` to `end`, and the panels that hold their kernel rows piece by piece.

    Every panel has the columns from one place to another.
    """

    start: int
    end: int
    panels: Sequence[tuple[Panel, int, int]]


@dataclass
class Pair:
    """A two-class problem: see `widemargin.loops.svm.smo`.

    Attributes
    ----------
    y, cost, diagonal : arrays
        The signs +1 and -1, what an error on each example costs, K(x_i, x_i).
    sides : sequence of Side
        Where kernel rows come from.
    tol : float
        The largest violation that is left.
    least, most : int
        Violators that join the working set in a round, on each side; members that it may have.
    room : Room
        Memory for the working set.
    threads : int
        Threads for long sums.
    prove : callable, optional
        With no bounds: takes some examples and tells whether it is proved that none separates them.
    """

    y: np.ndarray
    cost: np.ndarray
    diagonal: np.ndarray
    sides: Sequence[Side]
    tol: float
    least: int
    most: int
    room: Room
    threads: int = 1
    prove: Callable[[np.ndarray], bool] | None = None
    proved: bool = field(init=False, default=False)
    beta: np.ndarray = field(init=False)
    E: np.ndarray = field(init=False)
    violation: float = field(init=False, default=math.inf)
    rounds: int = field(init=False, default=0)
    steps: int = field(init=False, default=0)
    stopped: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.n = len(self.y)
        self.low = np.where(self.y > 0, 0.0, -self.cost)
        self.high = np.where(self.y > 0, self.cost, 0.0)
        self.beta = np.zeros(self.n)
        self.E = self.y.astype(np.float64)
        self._members = np.empty(0, np.int64)
        self._held = np.zeros(self.n, np.bool_)
        self._doubt = _DOUBTFUL_MARGIN
        self._rows: list[Any] = []  # where the members' kernel rows are
        self._up, self._down = np.empty(self.n, np.uint64), np.empty(self.n, np.uint64)
        self._most = max(2, min(self.most, self.n))
        # Not a power of two: such distances between rows share few lines of a cache.
        self._width = -(-self._most // LANES) * LANES + LANES
        self._K = self.room.lend("block", self._most, self._width)
        self._work = np.empty(6 * self._width, np.float32)

    def begin(self, beta: np.ndarray) -> None:
        """Start from given dual values, within their bounds and of sum zero."""
        used = np.flatnonzero(beta)
        for first in range(0, len(used), self._most):
            some = used[first : first + self._most]
            tasks = []
            for side in self.sides:
                ours = some[(some >= side.start) & (some < side.end)]
                for panel, start, end in side.panels:
                    slots = panel.bring(ours - side.start)
                    tasks.append((panel.store, slots, beta[ours], start, end))
            self._lower(tasks)
        self.beta[:] = beta

    def solve(self, stop: Callable[[Pair], bool]) -> None:
        """Go on until no violation is larger than the tolerance, or `stop` says so.

        repeat:
            let the worst violators join the working set
            solve it alone (`smo_steps`), a tenth as exactly as the whole is far from solved
            take its changes into account for everybody
        """
        best, idle = -math.inf, 0
        while True:
            largest, smallest = error_extremes(self.E, self.beta, self.low, self.high)
            self.violation = max(0.0, largest - smallest)
            if self.violation <= self.tol:
                self.stopped = "converged"
                return
            dual = self.dual()
            idle = 0 if dual > best + _ROUNDING * abs(best) else idle + 1
            best = max(best, dual)
            if self._hopeless():
                self.stopped = "not separable"
                return
            tired = self.steps > max(_MOST_STEPS, _STEPS_EACH * self.n)
            if tired or idle > _PATIENCE or not math.isfinite(dual):
                self.stopped = "no progress"
                return
            if stop(self):
                self.stopped = "stopped"
                return
            self._join(largest, smallest)
            self._climb()
            self.rounds += 1

    def dual(self) -> float:
        """The objective that is being made large."""
        return 0.5 * (float(self.beta @ self.y) + float(self.beta @ self.E))

    def bias(self) -> float:
        """The b of least cost as far as is known: where free examples put it, else the middle."""
        free = (self.beta > self.low) & (self.beta < self.high)
        if np.any(free):
            return float(np.mean(self.E[free]))
        largest, smallest = error_extremes(self.E, self.beta, self.low, self.high)
        if math.isfinite(largest) and math.isfinite(smallest):
            return 0.5 * (largest + smallest)
        return largest if math.isfinite(largest) else smallest if math.isfinite(smallest) else 0.0

    def _hopeless(self) -> bool:
        """With no bounds: whether no separator can have a margin worth looking for.

        Any unit separator u has gamma sum alpha <= u . w <= |w|.
        """
        if np.isfinite(self.cost[0]):
            return False
        total = float(np.abs(self.beta).sum())
        length = math.sqrt(max(0.0, float(self.beta @ (self.y - self.E))))
        bound = length / (math.sqrt(float(np.max(self.diagonal))) * max(total, 1e-300))
        if total > 0.0 and bound < self._doubt and self.prove is not None:
            self._doubt = bound / 10.0
            self.proved = self.prove(np.argsort(-np.abs(self.beta), kind="stable"))
        return self.proved or (total > 0.0 and bound < _SMALLEST_MARGIN)

    def _join(self, largest: float, smallest: float) -> None:
        """Let the worst violators join the working set."""
        if self.rounds == 0 and not len(self._members):
            new = self._first()
        else:
            ups, downs = find_violators(
                self.E,
                self.beta,
                self.low,
                self.high,
                self._held,
                largest,
                smallest,
                self._up,
                self._down,
            )
            up, down = self._up[:ups].astype(np.int64), self._down[:downs].astype(np.int64)
            few = min(self.least, self._most // 4)
            new = np.union1d(_most_of(up, self.E[up], few), _most_of(down, -self.E[down], few))
        if len(self._members) + len(new) > min(_ENOUGH, self._most):
            self._leave(len(new), largest, smallest)
        self._add(new)

    def _first(self) -> np.ndarray:
        """Who begins: examples of both signs, evenly spread."""
        few = min(self.least, self._most // 2)
        chosen = []
        for sign in (1, -1):
            ours = np.flatnonzero((self.y == sign) & (self.cost > 0.0))
            chosen.append(ours[np.linspace(0, len(ours) - 1, min(few, len(ours))).astype(np.int64)])
        free = (self.beta > self.low) & (self.beta < self.high)
        used = np.flatnonzero(free)[: self._most - 2 * few]
        return np.unique(np.concatenate([*chosen, used]))

    def _leave(self, coming: int, largest: float, smallest: float) -> None:
        """Make room: of the members at a bound those that are farthest from leaving it go.

        The others stay even if they are more than enough, as long as there can be so many.
        """
        who = self._members
        E, beta = self.E[who], self.beta[who]
        depth = np.maximum(
            np.where(beta < self.high[who], -np.inf, E - largest),
            np.where(beta > self.low[who], -np.inf, smallest - E),
        )
        stay = max(_ENOUGH - coming, int(np.count_nonzero(depth <= 0.0)))
        stay = max(0, min(stay, self._most - coming, len(who)))
        kept = np.sort(np.argsort(depth, kind="stable")[:stay])
        self._held[who] = False
        self._members = who[kept]
        self._held[self._members] = True
        compact(self._K, kept.astype(np.uint64))

    def _add(self, new: np.ndarray) -> None:
        """Make examples members, with their kernel rows."""
        first = len(self._members)
        self._members = np.concatenate([self._members, new])
        self._held[new] = True
        who = self._members
        self._rows.clear()
        for side in self.sides:
            ours = np.flatnonzero((who >= side.start) & (who < side.end))
            if not len(ours):
                continue
            fresh = ours >= first
            for panel, start, end in side.panels:
                slots = panel.bring(who[ours] - side.start)
                self._rows.append((ours, panel.store, slots, start, end))
                at = np.flatnonzero((who >= start) & (who < end))
                copy_values(
                    self._K,
                    np.uint64(first),
                    panel.store,
                    slots[fresh],
                    ours[fresh].astype(np.uint64),
                    (who - start).astype(np.uint64),
                    at.astype(np.uint64),
                )

    def _climb(self) -> None:
        """Solve the working set and let everybody know."""
        who = self._members
        count = len(who)
        width = -(-count // LANES) * LANES
        self._K[:count, count:width] = 0.0
        parts = [np.zeros(width) for _ in range(5)]
        for part, whole in zip(
            parts, (self.diagonal, self.E, self.beta, self.low, self.high), strict=True
        ):
            part[:count] = whole[who]
        beta = parts[2]
        tol = max(_INNER * self.violation, _FINEST * self.tol)
        longest = 1e14 / max(float(np.max(self.diagonal[who])), 1e-300)
        # Arrays whose rows follow each other without gaps: others are slow in compiled loops.
        work = self._work[: 6 * width].reshape(6, width)
        solve: Any = smo_steps
        steps, _ = solve(self._K, *parts, tol, _STEPS, longest, work)
        self.steps += int(steps)
        delta = beta[:count] - self.beta[who]
        tasks = []
        for ours, rows, slots, start, end in self._rows:
            changed = delta[ours] != 0.0
            tasks.append((rows, slots[changed], delta[ours[changed]], start, end))
        self._lower(tasks)
        self.beta[who] = beta[:count]

    def _lower(self, tasks: list[Any]) -> None:
        """Take changes of dual values into account in all errors.

        A task is rows of a panel, those that count, the changes, and the columns that they have.
        """

        def work(piece: tuple[int, int, list[Any]]) -> None:
            begin, end, ours = piece
            for rows, slots, delta, start, _ in ours:
                update_errors(self.E[begin:end], rows, slots, delta, np.uint64(begin - start))

        pieces = []
        for start, end in sorted({(task[3], task[4]) for task in tasks}):
            ours = [task for task in tasks if task[3] == start]
            edges = range(start, end, _PIECE)
            pieces += [(begin, min(begin + _PIECE, end), ours) for begin in edges]
        run_all(work, pieces, self.threads)


def _most_of(places: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """The places with the largest values."""
    if len(places) <= count:
        return places
    return places[np.argpartition(-values, count)[:count]]
