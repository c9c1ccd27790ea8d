"""Estimate the duality gap at no cost, between measurements that cost a pass each."""

from __future__ import annotations

import math

import numpy as np

from widemargin.certificates.gap import relative

#: The number of passes from which the speed of convergence is estimated. Chosen by hand: with
#: fewer, one slow pass dominates. Every fit ends with a measured gap, so it affects only the time.
LOOK_BACK = 5
#: With a hard margin the primal is infinite until all examples are separated, so there is no
#: estimate. The gap is then measured after this many passes, and again each time the number of
#: passes has grown by a third. Chosen by hand; it affects only the time.
_FIRST_MEASUREMENT = 5
#: The largest factor by which estimates are raised after a measurement that was larger.
_MOST_DISTRUST = 3.0
#: Keeps a ratio of gaps finite.
_TINY = 1e-300


class GapEstimate:
    """The relative duality gap as estimated during passes.

    A pass adds up each example's part of the gap before that example's step, so the gap at the end
    of the pass is smaller: at most what the next pass will report.

    Parameters
    ----------
    tol : float
        The relative gap to reach.
    hard : bool
        Whether the margin is hard, so that there is no estimate.
    """

    def __init__(self, tol: float, hard: bool = False) -> None:
        self.tol, self.hard = tol, hard
        self.gap, self.likely, self.history = 1.0, 1.0, [1.0]
        self.distrust = 1.0
        self.next_measurement = _FIRST_MEASUREMENT

    def update(self, primal: float, dual: float) -> None:
        """Update the estimate with the objectives that a pass saw."""
        before = self.gap
        self.gap = relative(primal, dual)
        # If the gap continues to shrink at this rate, the next pass will see this value.
        self.likely = self.gap * min(1.0, self.gap / max(before, _TINY))
        self.history.append(self.gap)

    def replace(self, gap: float) -> None:
        """Replace the estimate with a gap known to hold for the current dual values."""
        self.gap = self.likely = gap
        self.history.append(gap)

    def correct(self, measured: float) -> None:
        """Raise later estimates by the factor by which this measurement exceeded its estimate."""
        ratio = measured / max(self.likely, _TINY)
        self.distrust = max(self.distrust, min(_MOST_DISTRUST, ratio))

    @property
    def looks_reached(self) -> bool:
        """Whether the gap is probably small enough."""
        return self.likely * self.distrust <= self.tol

    def calls_for_measurement(self, epochs: int) -> bool:
        """Whether the gap should be measured now: it looks small, or cannot be estimated."""
        if not self.hard:
            return self.looks_reached
        if epochs < self.next_measurement:
            return False
        self.next_measurement = epochs + max(_FIRST_MEASUREMENT, epochs // 3)
        return True

    def passes_ahead(self, epochs: int, patience: int) -> float:
        """The number of passes still needed at the current rate, at most `patience` times `epochs`.

        With the rate r = (gap / gap k passes ago)^(1/k) it takes log(tol / gap) / log(r) passes.
        """
        if self.gap <= self.tol:
            return 0.0
        back = min(LOOK_BACK, len(self.history))
        before = max(self.history[-back], np.finfo(np.float64).tiny)
        rate = (self.gap / before) ** (1.0 / (back - 1))
        most = float(patience * epochs)
        if rate >= 1.0:
            return most
        return min(most, math.log(self.tol / self.gap) / math.log(rate))
