"""A reservoir: a random sample of a pipe's rows that is learned from last.

A pipe whose rows are sorted by class ends with thousands of rows of one class, which would unlearn
the others. The reservoir always holds a uniform sample of all rows so far; the rows that it turns
away or replaces are learned from at once, mixed, and the sample itself at the end. So every row is
learned from exactly once, and what is learned last is like the whole pipe.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.data.datasets import size_of
from widemargin.data.encode.labels import codes_of
from widemargin.data.rows import Rows, stacked


class Batch(NamedTuple):
    """Rows to learn from together, the codes of their labels, and what errors on them cost."""

    rows: Rows
    codes: np.ndarray
    weights: np.ndarray | None

    def take(self, which: np.ndarray) -> Batch:
        """Some of the rows, in the order given."""
        weights = None if self.weights is None else self.weights[which]
        return Batch(self.rows.take(which), self.codes[which], weights)


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
        self._held: list[Batch] = []
        self._capacity: int | None = None  # rows; None while all of them fit
        self._classes = np.empty(0)
        self._rng: np.random.Generator

    def add(self, batch: Batch, classes: np.ndarray, rng: np.random.Generator) -> Batch | None:
        """Add rows; returns those to learn from now, if there are any.

        Parameters
        ----------
        batch : Batch
            The rows; codes are places in `classes`.
        classes : array
            The labels known so far.
        rng : numpy Generator
            Seeds the reservoir's own random choices as soon as not all rows fit.
        """
        if len(self._classes) and len(self._classes) < len(classes):
            renamed = codes_of(self._classes, classes)
            self._held = [held._replace(codes=renamed[held.codes]) for held in self._held]
        self._classes = classes
        self._held.append(batch)
        before, self.seen = self.seen, self.seen + batch.rows.n
        if self._capacity is None:
            size = sum(size_of(held.rows) for held in self._held)
            if size <= self.budget:
                return None
            self._capacity = max(1, int(self.seen * (self.budget / size)))
            self._rng = np.random.default_rng(rng.integers(1 << 62))
            keep = self._rng.permutation(self.seen)[: self._capacity]
        else:
            keep = self._replace(before, batch.rows.n)
        whole = joined(self._held)
        out = np.ones(whole.rows.n, bool)
        out[keep] = False
        self._held = [whole.take(np.sort(keep))]
        return whole.take(np.flatnonzero(out)) if out.any() else None

    def _replace(self, before: int, count: int) -> np.ndarray:
        """The rows to hold of those that are held, and of `count` new ones after `before` others.

        The row after t others takes a random place among t + 1; those beyond the capacity do not
        exist.
        """
        assert self._capacity is not None
        place = self._rng.integers(0, before + 1 + np.arange(count))
        taken = np.flatnonzero(place < self._capacity)
        keep = np.arange(self._capacity)
        keep[place[taken]] = self._capacity + taken  # of several the last one stays
        return keep

    def rest(self) -> Batch | None:
        """What is held at the end of the pipe."""
        held, self._held = self._held, []
        return joined(held) if held else None


def joined(batches: list[Batch]) -> Batch:
    """Several batches as one."""
    if len(batches) == 1:
        return batches[0]
    width = max(batch.rows.width for batch in batches)
    weights = None
    if any(batch.weights is not None for batch in batches):
        weights = np.concatenate(
            [np.ones(one.rows.n) if one.weights is None else one.weights for one in batches]
        )
    rows = stacked([batch.rows.widened(width) for batch in batches])
    return Batch(rows, np.concatenate([batch.codes for batch in batches]), weights)
