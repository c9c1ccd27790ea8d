"""Predictions with named weights: the last ones, their average, or a vote of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from widemargin.errors import DataError
from widemargin.structured.beam import search
from widemargin.structured.task import Score, Task
from widemargin.structured.weights import Weights


class Answers:
    """Predicts answers to a task with learned weights.

    Parameters
    ----------
    task : Task
        What to predict.
    weights : Weights
        The learned weights; they must not change while this is used.
    keep : {"last", "average", "vote"}
        Which weights to predict with.
    beam : int
        Width of the beam search; 0 uses the task's argmax.
    """

    def __init__(self, task: Task, weights: Weights, keep: str, beam: int) -> None:
        self.task, self.keep, self.beam = task, keep, beam
        self._weights = weights

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weights used to predict, by name; with keep="vote", the average."""
        untrained = self._weights.count == 1
        if self.keep == "last" or untrained:
            return dict(self._weights.last)
        return self._weights.average()

    def best(self, x: Any) -> Any:
        """The best answer for one x."""
        if self.keep == "vote" and self._weights.log:
            return self._vote(x)
        return self._argmax(x, Score(self.weights))

    def quality(self, X: Sequence[Any], Y: Sequence[Any]) -> float:
        """The mean quality of the answers: accuracy, unless the task defines another quality."""
        if len(X) != len(Y) or not len(X):
            raise DataError(f"{len(X)} examples and {len(Y)} answers cannot be compared")
        found = [self.best(x) for x in X]
        return math.fsum(map(self.task.quality, Y, found)) / len(found)

    def _argmax(self, x: Any, score: Score) -> Any:
        return search(self.task, x, score, self.beam) if self.beam else self.task.argmax(x, score)

    def _vote(self, x: Any) -> Any:
        """The answer with the most votes of all hypotheses; on a tie, the first."""
        votes: list[list[Any]] = []
        left = self._weights.count
        for weights, lasted in self._weights.hypotheses():
            left -= lasted
            if lasted:
                found = self._argmax(x, Score(weights))
                mine = next((one for one in votes if one[0] == found), None)
                if mine is None:
                    votes.append(mine := [found, 0])
                mine[1] += lasted
            ranked = sorted((count for _, count in votes), reverse=True)
            if ranked and ranked[0] > sum(ranked[1:2]) + left:
                break  # no other answer can catch up
        return max(votes, key=lambda one: one[1])[0]
