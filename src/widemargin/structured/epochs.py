"""The epochs of a structured training: what happens in each, and when they end."""

from __future__ import annotations

import math
import time
from typing import Any

from widemargin.errors import DataError
from widemargin.online.learn import Moment
from widemargin.structured.weights import Weights
from widemargin.training.history import Epoch

#: Between two looks at the clock, and at Ctrl-C.
_LOOK_SECONDS = 0.1


class Run:
    """One call of `fit`: epoch after epoch, until there is a reason to stop."""

    def __init__(self, model: Any, X: list[Any], Y: list[Any], held_out: Any, watch: Any) -> None:
        self.model, self.X, self.Y, self.held_out, self.watch = model, X, Y, held_out, watch
        self.history, self.began = model.history_, time.monotonic()
        self.done = len(self.history)
        self.best: tuple[float, int, Weights] = (-math.inf, 0, model._weights)

    def finish(self, turns: Any, epochs: int) -> None:
        """Learn."""
        self.history.stopped = ""
        for epoch in range(self.done + 1, self.done + epochs + 1):
            updates = self._epoch(epoch, next(turns).tolist())
            if not self.history.stopped:
                self.history.stopped = self._reason_to_stop(epoch, epochs, updates)
            if self.history.stopped:
                break
        if self.held_out[0] is not None:
            self.history.best = self.best[1]
            self.model._weights = self.best[2]

    def _epoch(self, epoch: int, order: list[int]) -> int:
        """One pass; returns the number of corrections."""
        model, before, looked = self.model, dict(self.model._weights.last), time.monotonic()
        mistakes = updates = seen = 0
        loss = 0.0
        for i in order:
            wrong, corrected, lost = model._correct(i, self.X[i], self.Y[i])
            mistakes, updates, loss, seen = (
                mistakes + wrong,
                updates + corrected,
                loss + lost,
                seen + 1,
            )
            if time.monotonic() - looked > _LOOK_SECONDS:
                looked = time.monotonic()
                moment = Moment(
                    epoch, seen / len(order), mistakes, loss / seen, self.history, model._seen
                )
                if self.watch(moment):
                    self.history.stopped = "interrupted"
                elif looked - self.began > model.max_seconds:
                    self.history.stopped = "deadline"
                if self.history.stopped:
                    break
        last = model._weights.last
        change = math.sqrt(math.fsum((last[name] - before.get(name, 0.0)) ** 2 for name in last))
        if not math.isfinite(change):
            raise DataError("the weights grew beyond what a float can hold; scale the features")
        score = self._held_out_score(epoch)
        seconds = time.monotonic() - self.began
        self.history.add(Epoch(epoch, mistakes, updates, loss / seen, change, score, seconds, seen))
        return updates

    def _held_out_score(self, epoch: int) -> float | None:
        if self.held_out[0] is None:
            return None
        self.model._deployed = None
        score = self.model.score(*self.held_out)
        if score > self.best[0]:
            self.best = (score, epoch, self.model._weights.copy())
        return score

    def _reason_to_stop(self, epoch: int, epochs: int, updates: int) -> str:
        if updates == 0:
            return "no mistakes" if self.history.epochs[-1].mistakes == 0 else "small change"
        if self.held_out[0] is not None and epoch - self.best[1] >= self.model.patience:
            return "no improvement"
        return "epochs" if epoch == self.done + epochs else ""
