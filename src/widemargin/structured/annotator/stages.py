"""One time limit and one watch for all stages of an annotator's training."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from widemargin.parameters import seconds_limit
from widemargin.training.run import Moment, Watch, seconds_left


class StageClock:
    """Gives every stage its share of the remaining time.

    Parameters
    ----------
    plan : sequence of (str, float)
        The names of the stages in order, and their rough relative durations.
    max_seconds : float or None
        The time limit for all stages together.
    watch : callable, optional
        Called with the progress so far; return True to stop this stage and all later ones.
    """

    def __init__(
        self,
        plan: Sequence[tuple[str, float]],
        max_seconds: float | None,
        watch: Watch | None,
    ) -> None:
        self._plan, self._watch = list(plan), watch
        self._limit = seconds_limit(max_seconds)
        self._began = time.monotonic()
        self._stopped = False

    def begin(self) -> tuple[float | None, Watch]:
        """The time limit of the next stage, and its watch."""
        rest = sum(share for _, share in self._plan)
        name, share = self._plan.pop(0)

        def tell(moment: Moment) -> bool:
            if not self._stopped and self._watch is not None:
                self._stopped = bool(self._watch(moment.within(name)))
            return self._stopped

        if math.isinf(self._limit):
            return None, tell
        return seconds_left(self._limit, self._began) * share / rest, tell
