"""Shrinking: leave examples whose dual values stay at a bound out of the passes.

See T. Joachims (1999), Making large-scale SVM learning practical, and algorithm 3 of Hsieh, Chang,
Lin, Keerthi and Sundararajan (2008), A dual coordinate descent method for large-scale linear SVM.
"""

from __future__ import annotations

import math

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.linear.orders import RUN, interleave_runs, keep_active

#: An example is shrunk when the slope of the dual that holds it at its bound is larger than this
#: fraction of the largest slope of the last pass. LIBLINEAR uses 1. Chosen by hand: shrinking too
#: many is detected when the gap is measured, and then the fraction doubles. It affects only the
#: time.
_FIRST_FRACTION = 0.25
#: Passes after which all examples become active again, so that any shrunk by mistake come back.
#: Chosen by hand; it affects only the time.
_RESTORE_AFTER = 30
#: `stirred` cuts rows into runs of _RUN neighbours and shuffles _TOGETHER runs together.
_RUN, _TOGETHER = int(RUN), 16


class Shrinking:
    """The active examples, and the limits beyond which a pass marks others as shrunk.

    Parameters
    ----------
    counted : array of uint64
        The examples with nonzero weight.
    n : int
        The number of rows.
    """

    def __init__(self, counted: np.ndarray, n: int) -> None:
        self.counted = counted
        self.shrunk = np.zeros(n, np.uint8)  # set by the passes
        self.fraction = _FIRST_FRACTION
        self.restore(0)

    def restore(self, epochs: int) -> None:
        """Make all examples active, and shrink none in the next pass."""
        self.active, self.restored_at = self.counted, epochs
        self.shrunk[:] = 0
        self.limits = (math.inf, math.inf)

    def order(self, rng: np.random.Generator) -> np.ndarray:
        """Return the active examples in a random order."""
        return frozen(stirred(self.active, rng)) if len(self.active) else self.active

    def set_limits(self, up: float, down: float) -> None:
        """Set the limits for the next pass from the largest slopes in this one."""
        self.limits = (self.fraction * up or math.inf, self.fraction * down or math.inf)

    def passes_left(self, epochs: int) -> int:
        """The number of passes until all examples become active again."""
        return self.restored_at + _RESTORE_AFTER - epochs

    def drop_shrunk(self) -> None:
        """Leave out the examples that the last pass marked."""
        self.active = without_shrunk(self.active, self.shrunk)

    def advance(self, epochs: int) -> None:
        """Leave out the examples that the last pass marked; after many passes restore all."""
        if epochs - self.restored_at >= _RESTORE_AFTER:
            limits = self.limits  # examples still beyond these limits may be shrunk at once
            self.restore(epochs)
            self.limits = limits
        else:
            self.drop_shrunk()

    def be_more_careful(self) -> None:
        """Shrink fewer examples from now on, because some were shrunk too early."""
        self.fraction = min(1.0, 2.0 * self.fraction)

    @property
    def all_active(self) -> bool:
        """Whether no example is left out."""
        return len(self.active) == len(self.counted)


def stirred(which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Permute rows in an order that reads memory efficiently and separates neighbours.

    With `widemargin.online.orders.mixed`, a row always follows its neighbour at the same distance.
    A solver that revisits the same rows until convergence (dual coordinate descent) can then settle
    into a cycle of repeated errors. So here runs of 64 rows are permuted in the same way, but 16
    runs at a time are shuffled together. Few rows are simply permuted.

    Examples
    --------
    >>> import numpy as np
    >>> order = stirred(np.arange(10_000, dtype=np.uint64), np.random.default_rng(0))
    >>> np.array_equal(np.sort(order), np.arange(10_000))
    True
    """
    n, window = len(which), _RUN * _TOGETHER
    if n <= 2 * window:
        return rng.permutation(which)
    cut = int(rng.integers(_RUN))
    runs = rng.permutation(np.arange((n - cut) // _RUN, dtype=np.uint64))
    # One shuffle for all windows: their rows differ every time, and separate shuffles cost more.
    together, rest = (
        rng.permutation(np.arange(length, dtype=np.uint64)) for length in (window, n % window)
    )
    out = np.empty(n, np.uint64)
    interleave_runs(frozen(which), runs, np.uint64(cut), together, rest, out)
    return out


def without_shrunk(which: np.ndarray, shrunk: np.ndarray) -> np.ndarray:
    """Return the rows of `which` that are not shrunk.

    >>> without_shrunk(np.array([0, 2, 3], np.uint64), np.array([0, 0, 1, 0], np.uint8)).tolist()
    [0, 3]
    """
    out = np.empty(len(which), np.uint64)
    return frozen(out[: keep_active(frozen(which), shrunk, out)])
