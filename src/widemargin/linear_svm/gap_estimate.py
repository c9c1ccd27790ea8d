"""Estimates of the duality gap, which cost nothing, between measurements, which cost a pass."""

from __future__ import annotations

import math

import numpy as np

from widemargin.certificates.gap import relative

#: The number of passes from which the speed of convergence is estimated. Chosen by hand: with
#: fewer, one slow pass decides. Every fit ends with a measured gap, so only the time depends on it.
LOOK_BACK = 5
#: With a hard margin the primal is infinite until all examples are separated, so there is no
#: estimate. The gap is then measured after this many passes, and from then on when the number of
#: passes has grown by a third. Chosen by hand; only the time depends on it.
_FIRST_MEASUREMENT = 5
#: The largest factor by which estimates are distrusted after a measurement that was larger.
_MOST_DISTRUST = 10.0
#: Keeps a ratio of gaps finite.
_TINY = 1e-300


class GapEstimate:
    """The relative duality gap as the passes see it.

    A pass adds up every example's part of the gap before that example's step, so the gap at the
    end of the pass is smaller: it is what the next pass will see, or less.

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
        """Take in the objectives that a pass saw."""
        before = self.gap
        self.gap = relative(primal, dual)
        # If the gap goes on shrinking at this rate, the next pass will see this one.
        self.likely = self.gap * min(1.0, self.gap / max(before, _TINY))
        self.history.append(self.gap)

    def replace(self, gap: float) -> None:
        """Take in a gap that holds for the present dual values."""
        self.gap = self.likely = gap
        self.history.append(gap)

    def correct(self, measured: float) -> None:
        """Distrust later estimates as far as this measurement was larger than its estimate."""
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
        """How many more passes are needed at the present rate; at most `patience` times `epochs`.

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
