"""Training of a structured perceptron: one example at a time, in Python."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.errors import DataError
from widemargin.loops.steps import Rule, eta_at, step
from widemargin.modelfile.checks import check_counts, check_kinds
from widemargin.online.orders import EpochOrders
from widemargin.structured.answers import Answers
from widemargin.structured.beam import find_violation
from widemargin.structured.task import Score, Task, count_features, same_answer
from widemargin.structured.weights import Weights, difference_of, dot
from widemargin.training.checkpoints import prefixed, without_prefix
from widemargin.training.run import Counts, Training

#: Seconds between two checks of the clock and of Ctrl-C.
_LOOK_SECONDS = 0.1
# The Python original of the compiled function, because it is called with one example at a time.
_step: Any = getattr(step, "py_func", step)
_eta_at: Any = getattr(eta_at, "py_func", eta_at)


@dataclass(frozen=True)
class StructuredSettings:
    """Settings for training and for the search; see `StructuredPerceptron`."""

    rule: Rule
    keep: str
    log: bool
    cost_augmented: bool
    beam: int
    update: str


class StructuredTraining(Training):
    """Learns to score answers so that the right one scores best.

    Parameters
    ----------
    task : Task
        What to predict.
    weights : Weights
        The weights to start from; changed in place.
    settings : StructuredSettings
        How to learn.
    examples : (list, list)
        The inputs and the right answers.
    orders : EpochOrders
        The order of the examples, epoch by epoch.
    held_out : (list, list), optional
        Examples to score after each epoch.

    Attributes
    ----------
    longest : float
        The norm of the longest feature difference used in an update.
    """

    def __init__(
        self,
        task: Task,
        weights: Weights,
        settings: StructuredSettings,
        examples: tuple[Sequence[Any], Sequence[Any]],
        orders: EpochOrders,
        held_out: tuple[Sequence[Any], Sequence[Any]] | None = None,
    ) -> None:
        self.task, self.weights, self.settings = task, weights, settings
        self.examples, self.orders, self.held_out = examples, orders, held_out
        self.longest = 0.0
        self._order: list[int] = []
        self._done = 0
        self._before: dict[str, float] = {}

    # An epoch

    def begin_epoch(self, epoch: int, resumed: bool) -> None:
        """Choose the order of the examples."""
        self._order = self.orders.begin(resumed).tolist()
        if not resumed:
            self._done, self._before = 0, dict(self.weights.last)

    def learn(self, counts: Counts) -> Generator[float, None, None]:
        """Learn from one example after another; yields every tenth of a second."""
        X, Y = self.examples
        looked = time.monotonic()
        for i in self._order[self._done :]:
            wrong, corrected, loss = self._learn_from(i, X[i], Y[i])
            counts.add(1, wrong, corrected, loss)
            self._done += 1
            if time.monotonic() - looked > _LOOK_SECONDS:
                looked = time.monotonic()
                yield self._done / len(self._order)

    def _learn_from(self, i: int, x: Any, y: Any) -> tuple[bool, bool, float]:
        """Learn from one example; returns whether it was a mistake, was corrected, and its loss."""
        weights, settings = self.weights, self.settings
        wrong, difference, tau, loss = self._find_correction(i, x, y)
        if difference and tau:
            weights.correct(i, difference, tau, settings.log or settings.keep == "vote")
            self.longest = max(self.longest, math.sqrt(dot(difference, difference)))
        weights.count += 1
        return wrong, bool(difference and tau), loss

    def _find_correction(
        self, i: int, x: Any, y: Any
    ) -> tuple[bool, dict[str, float], float, float]:
        """Whether an example is a mistake, what to add to the weights, how often, and its loss."""
        weights, settings = self.weights, self.settings
        found = self._find_rival(x, y, Score(weights.last))
        difference, lead, cost = found if found is not None else ({}, 0.0, 0.0)
        _refuse_bad_features(i, difference)
        wrong = found is not None and (lead <= 0.0 or not settings.cost_augmented)
        tau = 0.0
        if found is not None:
            eta = _eta_at(settings.rule, weights.count)
            squared = dot(difference, difference)
            rule = settings.rule._replace(target=cost)
            tau = float(_step(rule, lead, wrong, squared, 0.0, eta, 1.0))
        return wrong, difference, tau, max(0.0, cost - lead)

    def _find_rival(
        self, x: Any, y: Any, score: Score
    ) -> tuple[dict[str, float], float, float] | None:
        """f(x, y) - f(x, y*), its score, and the cost of y*; None if y* is y."""
        settings = self.settings
        if settings.beam:
            seen = find_violation(self.task, x, y, score, settings.beam, settings.update)
            if seen is None:
                return None
            lead = seen.right_score - seen.wrong_score
            return difference_of(seen.right, seen.wrong), lead, 1.0
        if settings.cost_augmented:
            found = self.task.argmax_with_cost(x, score, y)
        else:
            found = self.task.argmax(x, score)
        if same_answer(y, found):
            return None
        features = self.task.features
        difference = difference_of(
            count_features(features(x, y)), count_features(features(x, found))
        )
        return difference, score(difference), self.task.cost(y, found)

    def end_epoch(self) -> float:
        """How far the weights moved; an error if they are not finite."""
        last, before = self.weights.last, self._before
        change = math.sqrt(math.fsum((last[name] - before.get(name, 0.0)) ** 2 for name in last))
        if not math.isfinite(change):
            raise DataError("the weights became too large for a float; scale the features")
        return change

    def missed_mistakes(self) -> bool:
        """Check all examples, without learning, for mistakes that random draws missed."""
        X, Y = self.examples
        for i in self.orders.missed.tolist():
            _, difference, tau, _ = self._find_correction(i, X[i], Y[i])
            if difference and tau:
                return True
        return False

    # Held-out examples

    def score(self) -> float:
        """The mean quality of the model that would be deployed now."""
        assert self.held_out is not None
        settings = self.settings
        answers = Answers(self.task, self.weights, settings.keep, settings.beam)
        return answers.quality(*self.held_out)

    def snapshot(self) -> Weights:
        """The weights."""
        return self.weights.copy()

    def restore(self, snapshot: Weights) -> None:
        """Restore the weights."""
        self.weights = snapshot

    # Checkpoints

    def contents(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The weights now and at the start of the epoch, and the position in the epoch."""
        arrays, about = self.pack_snapshot(self.weights)
        arrays |= prefixed("before", Weights(self._before).pack())
        about |= {
            "done": self._done,
            "longest": self.longest,
            **self.orders.about(),
        }
        return arrays, about

    def resume(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Undo `contents`."""
        check_kinds(about, longest=float)
        check_counts(about, "done")
        self.weights = self.unpack_snapshot(arrays, about)
        self._before = Weights.unpack(without_prefix("before", arrays), 1).last
        self._done, self.longest = about["done"], about["longest"]
        self.orders.resume(about)

    def pack_snapshot(self, snapshot: Weights) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Weights as arrays."""
        return snapshot.pack(), {"count": snapshot.count}

    def unpack_snapshot(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Weights:
        """Undo `pack_snapshot`."""
        return Weights.unpack(arrays, about["count"])


def _refuse_bad_features(example: int, difference: Mapping[Any, float]) -> None:
    """Raise an error if a feature's name is not a string or its value is not finite."""
    for name, value in difference.items():
        if not isinstance(name, str):
            raise DataError(
                f"example {example}: the feature name {name!r} has type {type(name).__name__};"
                " the names from features(x, y) must be strings"
            )
        if not math.isfinite(value):
            raise DataError(
                f"example {example}: the feature {name!r} is not a finite number in features(x, y)"
            )
