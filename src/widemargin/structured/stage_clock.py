"""One time limit and one watch for all stages of a training."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from widemargin.parameters.values import seconds_limit
from widemargin.training.run import Moment, Watch, seconds_left


class StageClock:
    """Tells every stage how much time is left, and whether to stop.

    Parameters
    ----------
    max_seconds : float or None
        The time limit for all stages together.
    watch : callable, optional
        Called with the progress so far; return True to stop this stage and all later ones.

    Attributes
    ----------
    stopped : bool
        Whether the watch has stopped the training.
    """

    def __init__(self, max_seconds: float | None, watch: Watch | None) -> None:
        self._watch, self._limit = watch, seconds_limit(max_seconds)
        self._began = time.monotonic()
        self.stopped = False

    @property
    def left(self) -> float:
        """Seconds left; infinite without a limit."""
        return seconds_left(self._limit, self._began)

    def tell(self, moment: Moment) -> bool:
        """Tell the watch about a moment; returns whether to stop."""
        if not self.stopped and self._watch is not None:
            self.stopped = bool(self._watch(moment))
        return self.stopped

    def watch(self, stage: str) -> Watch:
        """The watch of a stage, which adds its name to every moment."""
        return lambda moment: self.tell(moment.within(stage))


class StagePlan:
    """Gives every stage its share of the remaining time.

    Parameters
    ----------
    stages : sequence of (str, float)
        The names of the stages in order, and their rough relative durations.
    clock : StageClock
        The time limit and the watch of all stages.
    """

    def __init__(self, stages: Sequence[tuple[str, float]], clock: StageClock) -> None:
        self._stages, self._clock = list(stages), clock

    def begin(self, name: str) -> tuple[float | None, Watch]:
        """The time limit of a stage, and its watch; the stages planned before it are over."""
        while self._stages[0][0] != name:
            self._stages.pop(0)
        rest = sum(share for _, share in self._stages)
        _, share = self._stages.pop(0)
        left = self._clock.left
        return (None if math.isinf(left) else left * share / rest), self._clock.watch(name)
