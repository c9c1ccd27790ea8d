"""Beam search for any task, and how to update when it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from widemargin.errors import DataError
from widemargin.structured.task import Features, Score, Task, count_features

#: Where to compare the right path with the best one found: where the right path fell off the beam,
#: where it is furthest behind, or at the end in any case.
UPDATES = ("early", "max-violation", "whole")


@dataclass(frozen=True)
class _Item:
    """A path from the start: its last state, its score, and the steps that led there."""

    state: Any
    score: float
    features: Features
    before: _Item | None

    def all_features(self) -> dict[str, float]:
        """The features of the whole path."""
        total: dict[str, float] = {}
        item: _Item | None = self
        while item is not None:
            for name, value in count_features(item.features).items():
                total[name] = total.get(name, 0.0) + value
            item = item.before
        return total


class Violation(NamedTuple):
    """Two paths of the same length; the second should score less than the first."""

    right: dict[str, float]
    wrong: dict[str, float]
    right_score: float
    wrong_score: float


def search(task: Task, x: Any, score: Score, width: int) -> Any:
    """The best answer that a beam of this width finds; on a tie, the first."""
    beam = [_Item(task.start(x), 0.0, (), None)]
    while not all(task.is_done(x, item.state) for item in beam):
        beam = _best(_expand(task, x, beam, score), width)
        _check_alive(x, beam)
    return task.answer(x, beam[0].state)


def find_violation(
    task: Task, x: Any, y: Any, score: Score, width: int, update: str
) -> Violation | None:
    """Search while tracking the right answer; None if there is nothing to learn.

    A tie in which the right path is not the first counts as a violation; otherwise max-violation
    would never get started from zero weights.
    """
    first = _Item(task.start(x), 0.0, (), None)
    beam, right = [first], first
    worst: Violation | None = None
    while not all(task.is_done(x, item.state) for item in [*beam, right]):
        beam = _best(_expand(task, x, beam, score), width)
        _check_alive(x, beam)
        right = _right_way(task, x, y, right, score)
        best = beam[0]
        fell = all(item.state != right.state for item in beam)
        if update == "early":
            if fell:
                return _violation(right, best)
        elif update == "max-violation" and not task.is_right(x, y, best.state):
            behind = best.score - right.score
            # If the right path is still in the beam, only the order of the paths is wrong.
            if behind >= 0.0 and (worst is None or behind > worst.wrong_score - worst.right_score):
                worst = _violation(right, best)
    if worst is not None or update == "max-violation":
        return worst
    if task.is_right(x, y, beam[0].state):
        return None
    return _violation(right, beam[0])


def _expand(task: Task, x: Any, beam: list[_Item], score: Score) -> list[_Item]:
    """All paths that are one step longer; a complete path stays as it is."""
    longer = []
    for item in beam:
        if task.is_done(x, item.state):
            longer.append(item)
            continue
        for features, state in task.steps(x, item.state):
            longer.append(_Item(state, item.score + score(features), features, item))
    return longer


def _best(items: list[_Item], width: int) -> list[_Item]:
    """The best paths, best first; ties in the order in which they were made."""
    return sorted(items, key=lambda item: -item.score)[:width]


def _right_way(task: Task, x: Any, y: Any, item: _Item, score: Score) -> _Item:
    """The best step on the path to y."""
    if task.is_done(x, item.state):
        return item
    ways = [way for way in _expand(task, x, [item], score) if task.is_right(x, y, way.state)]
    if not ways:
        raise DataError(f"no step from {item.state!r} leads to {y!r}")
    return _best(ways, 1)[0]


def _violation(right: _Item, wrong: _Item) -> Violation:
    return Violation(right.all_features(), wrong.all_features(), right.score, wrong.score)


def _check_alive(x: Any, beam: list[_Item]) -> None:
    if not beam:
        raise DataError(f"the beam search of {x!r} reached a state with no steps that is not done")
