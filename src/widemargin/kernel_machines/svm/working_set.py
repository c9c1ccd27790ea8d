"""The working set of a two-class problem: examples whose dual values are optimised together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from widemargin.kernel_machines.svm.pair_problem import KernelUpdate, PairState
from widemargin.kernel_machines.svm.row_cache import Buffers, GivenRows
from widemargin.loops.svm.smo import (
    LANES,
    copy_rows,
    find_violators,
    mirror_rows,
    move_members,
    smo_steps,
)
from widemargin.threads import run_all, split

# Chosen by hand; benchmarks/RESULTS.md (section "kernel_svm": MNIST, a9a, w8a, ijcnn1) gives times
# measured with these values. The solver stops at the requested violation, so they affect only the
# time.

#: A round optimises the working set until its violation is the first fraction of that of all
#: examples, but not below the second fraction of the tolerance.
_INNER_TOL, _FINEST_TOL = 0.1, 0.5
#: If all kernel values are in memory, up to this many examples are all members from the first round
#: and are optimised to the final tolerance at once: rounds would only take time.
_SMALL = 512
#: The largest number of SMO steps per round: about a tenth of a second, so that deadlines are met.
_STEPS = 50_000
#: A working set of more members than this drops those that are not expected to change again. Its
#: kernel values are 4 MB in float32.
_ENOUGH = 1024
#: Threads share the copying of at least this many rows; this affects only the time.
_SHARED = 64
#: The longest step of two dual values, times the largest diagonal: beyond it rounding dominates.
_LONGEST_STEP = 1e14


class _MemberRows(NamedTuple):
    """Where the kernel rows of some members are."""

    members: np.ndarray  # their places in the working set
    rows: np.ndarray
    slots: np.ndarray
    start: int
    end: int


class WorkingSet:
    """Some of the examples, their kernel values as a dense block, and SMO on that block.

    Parameters
    ----------
    state : PairState
        The problem, its dual values and errors.
    joining : int
        The number of violators of each sign that join in a round.
    most : int
        The largest number of members.
    buffers : Buffers
        Memory for the block.
    """

    def __init__(self, state: PairState, joining: int, most: int, buffers: Buffers) -> None:
        n = state.problem.n
        self.state, self.joining, self.most = state, joining, max(2, min(most, n))
        self.members, self._begun = np.empty(0, np.int64), False
        self._held = np.zeros(n, np.bool_)
        rows = [cache for source in state.problem.sources for cache, *_ in source.caches]
        given = all(isinstance(one, GivenRows) for one in rows)
        self._at_once = given and n <= min(_SMALL, self.most)
        self._rows: list[_MemberRows] = []
        self._up, self._down = np.empty(n, np.uint64), np.empty(n, np.uint64)
        # Never a power of two: such strides make rows compete for a few cache lines.
        width = -(-self.most // LANES) * LANES + LANES
        self._K = buffers.get("block", self.most, width)
        self._work, self._known = np.empty(6 * width, np.float32), np.ones(width, np.uint8)

    def join(self, largest: float, smallest: float) -> None:
        """Add the worst violators, given the extremes of the errors."""
        new = self._violators(largest, smallest) if self._begun else self._first()
        self._begun = True
        free = np.empty(0, np.int64)
        if len(self.members) + len(new) > min(_ENOUGH, self.most):
            free = self._drop(len(new), largest, smallest)
        self._add(new, free)

    def _violators(self, largest: float, smallest: float) -> np.ndarray:
        """Return the worst violators of each sign that are not members."""
        state, problem = self.state, self.state.problem
        ups, downs = find_violators(
            state.errors,
            state.beta,
            problem.low,
            problem.high,
            self._held,
            largest,
            smallest,
            self._up,
            self._down,
        )
        up, down = self._up[:ups].astype(np.int64), self._down[:downs].astype(np.int64)
        few = max(1, min(self.joining, self.most // 4))
        return np.union1d(
            _largest(up, state.errors[up], few), _largest(down, -state.errors[down], few)
        )

    def _first(self) -> np.ndarray:
        """Return the first members: all if few, else some of both signs, evenly spread."""
        problem = self.state.problem
        if self._at_once:
            return np.flatnonzero(problem.cost > 0.0)
        few = min(self.joining, self.most // 2)
        chosen = []
        for sign in (1, -1):
            ours = np.flatnonzero((problem.y == sign) & (problem.cost > 0.0))
            chosen.append(ours[np.linspace(0, len(ours) - 1, min(few, len(ours))).astype(np.int64)])
        used = np.flatnonzero(self.state.between_bounds())[: self.most - 2 * few]
        return np.unique(np.concatenate([*chosen, used]))

    def _drop(self, coming: int, largest: float, smallest: float) -> np.ndarray:
        """Make room by dropping members at a bound, those least likely to leave it first.

        The others stay as long as they fit, even if there are more than `_ENOUGH`. Returns the
        places that are free for new members. Members that stay keep their places, except that the
        last ones move if fewer members join than leave.
        """
        state, problem, who = self.state, self.state.problem, self.members
        errors, beta = state.errors[who], state.beta[who]
        depth = np.maximum(
            np.where(beta < problem.high[who], -np.inf, errors - largest),
            np.where(beta > problem.low[who], -np.inf, smallest - errors),
        )
        stay = max(_ENOUGH - coming, int(np.count_nonzero(depth <= 0.0)))
        stay = max(0, min(stay, self.most - coming, len(who)))
        free = np.sort(np.argsort(depth, kind="stable")[stay:])
        self._held[who[free]] = False
        end = stay + coming
        if end >= len(who):
            return free
        beyond = np.setdiff1d(np.arange(end, len(who)), free)
        target = free[: len(beyond)]
        move_members(
            self._K, np.uint64(len(who)), beyond.astype(np.uint64), target.astype(np.uint64)
        )
        who[target] = who[beyond]
        self.members = who[:end]
        return free[len(beyond) : len(beyond) + coming]

    def _add(self, new: np.ndarray, free: np.ndarray) -> None:
        """Make examples members, in free places first, and copy their kernel values."""
        first = len(self.members)
        places = np.concatenate([free, np.arange(first, first + len(new) - len(free))])
        self.members = np.concatenate([self.members, new[len(free) :]])
        self.members[places] = new
        self._held[new] = True
        who, fresh = self.members, np.zeros(len(self.members), np.bool_)
        fresh[places] = True
        self._rows.clear()
        for source in self.state.problem.sources:
            ours = np.flatnonzero((who >= source.start) & (who < source.end))
            if not len(ours):
                continue
            coming = fresh[ours]
            for cache, start, end in source.caches:
                slots = cache.fetch(who[ours] - source.start)
                self._rows.append(_MemberRows(ours, cache.store, slots, start, end))
                at = np.flatnonzero((who >= start) & (who < end)).astype(np.uint64)
                to, columns = ours[coming].astype(np.uint64), (who - start).astype(np.uint64)
                self._share(
                    to,
                    slots[coming],
                    lambda some, its, cache=cache, columns=columns, at=at: copy_rows(
                        self._K, cache.store, its, some, columns, at
                    ),
                )
        old = np.flatnonzero(~fresh).astype(np.uint64)
        to = places.astype(np.uint64)
        self._share(old, old, lambda some, _: mirror_rows(self._K, to, some))

    def _share(self, one: np.ndarray, other: np.ndarray, work: Any) -> None:
        """Call work on parts of two arrays, on several threads if they are long."""
        threads = self.state.problem.threads
        parts = split(len(one), threads, least=_SHARED)
        run_all(lambda part: work(one[part], other[part]), parts, threads)

    def optimise(self, violation: float) -> int:
        """Run SMO on the block and update the errors of all examples; return the steps."""
        state, problem, who = self.state, self.state.problem, self.members
        count = len(who)
        width = -(-count // LANES) * LANES
        self._K[:count, count:width] = 0.0
        parts = [np.zeros(width) for _ in range(5)]
        wholes = (problem.diagonal, state.errors, state.beta, problem.low, problem.high)
        for part, whole in zip(parts, wholes, strict=True):
            part[:count] = whole[who]
        beta = parts[2]
        rough = 0.0 if self._at_once else _INNER_TOL * violation
        tol = max(rough, _FINEST_TOL * problem.tol)
        longest = _LONGEST_STEP / max(float(np.max(problem.diagonal[who])), 1e-300)
        # Contiguous arrays, because compiled loops are slow on others.
        work = self._work[: 6 * width].reshape(6, width)
        solve: Any = smo_steps
        steps, *_ = solve(self._K, self._known, *parts, tol, _STEPS, longest, work)
        delta = beta[:count] - state.beta[who]
        updates = []
        for ours, rows, slots, start, end in self._rows:
            changed = delta[ours] != 0.0
            updates.append(KernelUpdate(rows, slots[changed], delta[ours[changed]], start, end))
        state.update_errors(updates)
        state.beta[who] = beta[:count]
        return int(steps)


def _largest(places: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return the places with the largest values."""
    if len(places) <= count:
        return places
    return places[np.argpartition(-values, count)[:count]]
