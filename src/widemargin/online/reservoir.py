"""A reservoir: a random sample of a pipe's rows that is learned from last.

A pipe whose rows are sorted by class ends with thousands of rows of one class, which would unlearn
the others. The reservoir always holds a uniform sample of all rows so far; the rows that it rejects
or replaces are learned from immediately, mixed, and the sample itself at the end. So every row is
learned from exactly once, and what is learned last is representative of the whole pipe.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.data.datasets import size_of
from widemargin.data.encode.labels import codes_of
from widemargin.data.rows import Rows, Stack

#: A batch of which less than this fraction is kept is copied to free memory, ...
_FULL = 0.75
#: ... and if there are more batches than this, neighbours are joined, up to this fraction of all
#: rows: while batches are joined or copied, their rows take memory twice. (In one piece, 10 GB took
#: 510 MB.)
_MANY, _LARGEST = 32, 0.25


class RowBatch(NamedTuple):
    """Rows to learn from together, the codes of their labels, and their weights."""

    rows: Rows
    codes: np.ndarray
    weights: np.ndarray | None

    def take(self, which: np.ndarray) -> RowBatch:
        """Some of the rows, in the order given."""
        weights = None if self.weights is None else self.weights[which]
        return RowBatch(self.rows.take(which), self.codes[which], weights)


class _Kept:
    """Rows of one batch that are kept; removed rows take memory until there are many."""

    def __init__(self, batch: RowBatch) -> None:
        self.batch = batch
        self.which = np.arange(batch.rows.n)

    def give(self, gone: np.ndarray) -> RowBatch:
        """Remove some of the rows, and return them."""
        out = self.batch.take(self.which[gone])
        self.which = np.delete(self.which, gone)
        if len(self.which) < _FULL * self.batch.rows.n:
            self.batch = self.rest()
            self.which = np.arange(self.batch.rows.n)
        return out

    @property
    def values(self) -> int:
        """The number of values in the rows that are kept."""
        rows = self.batch.rows
        if not rows.is_sparse:
            return len(self.which) * rows.width
        starts = rows.stored.starts
        return int((starts[self.which + 1] - starts[self.which]).sum())

    def rest(self) -> RowBatch:
        """The rows that are kept."""
        whole = len(self.which) == self.batch.rows.n
        return self.batch if whole else self.batch.take(self.which)


class Reservoir:
    """A uniform sample of all rows so far, within a budget.

    While all rows fit, it holds all of them in their order, and draws no random numbers.

    Parameters
    ----------
    budget : int
        Approximate limit on the bytes of the rows.

    References
    ----------
    J. S. Vitter (1985), Random sampling with a reservoir, ACM Transactions on Mathematical Software
    11 (algorithm R).
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.seen = 0
        self._kept: list[_Kept] = []
        self._capacity: int | None = None  # rows; None while all of them fit
        self._classes = np.empty(0)
        self._rng: np.random.Generator

    def add(
        self, batch: RowBatch, classes: np.ndarray, rng: np.random.Generator
    ) -> RowBatch | None:
        """Add rows; returns those to learn from now, if there are any.

        Parameters
        ----------
        batch : RowBatch
            The rows; codes are indices into `classes`.
        classes : array
            The labels known so far.
        rng : numpy Generator
            Seeds the reservoir's own random choices as soon as not all rows fit.
        """
        self._rename(classes)
        self._kept.append(_Kept(batch))
        before, self.seen = self.seen, self.seen + batch.rows.n
        if self._capacity is not None:
            return self._give(self._choose_leaving(before, batch.rows.n))
        size = sum(size_of(kept.batch.rows) for kept in self._kept)
        if size <= self.budget:
            return None
        self._capacity = max(1, int(self.seen * (self.budget / size)))
        self._rng = np.random.default_rng(rng.integers(1 << 62))
        return self._give(np.sort(self._rng.permutation(self.seen)[self._capacity :]))

    def _rename(self, classes: np.ndarray) -> None:
        """Recode the labels after new ones have changed the codes."""
        if len(self._classes) and len(self._classes) < len(classes):
            renamed = codes_of(self._classes, classes)
            for kept in self._kept:
                kept.batch = kept.batch._replace(codes=renamed[kept.batch.codes])
        self._classes = classes

    def _choose_leaving(self, before: int, count: int) -> np.ndarray:
        """Which rows leave: of those held, and of `count` new ones that come after `before` others.

        The row after t others takes a random place among t + 1; a place beyond the capacity means
        that the row leaves.
        """
        assert self._capacity is not None
        place = self._rng.integers(0, before + 1 + np.arange(count))
        taken = np.flatnonzero(place < self._capacity)
        stays = np.arange(self._capacity)
        stays[place[taken]] = (
            self._capacity + taken
        )  # where several take the same place, the last one stays
        gone = np.ones(self._capacity + count, bool)
        gone[stays] = False
        return np.flatnonzero(gone)

    def _give(self, gone: np.ndarray) -> RowBatch | None:
        """Remove rows by their places among all that are held, given in ascending order."""
        ends = np.cumsum([len(kept.which) for kept in self._kept])
        cuts = np.searchsorted(gone, ends[:-1])
        out = []
        for kept, places, end in zip(self._kept, np.split(gone, cuts), ends, strict=True):
            if len(places):
                out.append(kept.give(places - (end - len(kept.which))))
        self._kept = [kept for kept in self._kept if len(kept.which)]
        if len(self._kept) > _MANY:
            self._join_neighbours()
        return joined(out) if out else None

    def _join_neighbours(self) -> None:
        """Join batches into fewer, none of them much larger than a fraction of all rows."""
        most = _LARGEST * sum(len(kept.which) for kept in self._kept)
        groups: list[list[_Kept]] = []
        held = 0
        for kept in self._kept:
            if not groups or held + len(kept.which) > most:
                groups.append([])
                held = 0
            groups[-1].append(kept)
            held += len(kept.which)
        del kept
        self._kept = []  # so that batches are freed as soon as they are joined
        self._kept = [_Kept(_drained(group)) if len(group) > 1 else group[0] for group in groups]

    def rest(self) -> RowBatch | None:
        """What is held at the end of the pipe."""
        return _drained(self._kept) if self._kept else None


def joined(batches: list[RowBatch]) -> RowBatch:
    """Several batches as one."""
    return _drained([_Kept(batch) for batch in batches])


def _drained(kept: list[_Kept]) -> RowBatch:
    """All rows that are kept, as one batch.

    The list is emptied along the way, so that only the rows of one batch take memory twice.
    """
    if len(kept) == 1:
        return kept.pop().rest()
    width = max(one.batch.rows.width for one in kept)
    weighted = any(one.batch.weights is not None for one in kept)
    stack, codes, weights = Stack(), [], []
    stack.reserve(sum(one.values for one in kept), sum(len(one.which) for one in kept))
    kept.reverse()
    while kept:
        part = kept.pop().rest()
        stack.add(part.rows.widened(width))
        codes.append(part.codes)
        if weighted:
            weights.append(np.ones(part.rows.n) if part.weights is None else part.weights)
    return RowBatch(
        stack.rows(width), np.concatenate(codes), np.concatenate(weights) if weighted else None
    )
