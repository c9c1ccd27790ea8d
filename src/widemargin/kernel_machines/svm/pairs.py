"""Train pairs of classes in parallel, with no class in two pairs at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from widemargin.threads import run_all


def order_pairs(classes: int) -> list[tuple[int, int]]:
    """Return all pairs a < b such that neighbours share no class (the circle method).

    >>> order_pairs(4)
    [(0, 3), (1, 2), (0, 2), (1, 3), (0, 1), (2, 3)]
    """
    places = list(range(classes + classes % 2))
    order = []
    for _ in range(len(places) - 1):
        for a, b in zip(places[: len(places) // 2], reversed(places), strict=False):
            if max(a, b) < classes:
                order.append((min(a, b), max(a, b)))
        places = [places[0], places[-1], *places[1:-1]]
    return order


def run_pairs(
    order: list[tuple[int, int]], threads: int, work: Callable[[int, int, int], Any]
) -> None:
    """Call work(a, b, worker) for every pair, on several threads.

    The pairs of a class run one after the other, in the given order, however many threads there
    are. The data that pairs share per class then always goes through the same states.
    """
    turn: dict[int, int] = {}
    turns = []  # for every pair: its position among the pairs of each of its classes
    for pair in order:
        turns.append([(c, turn.get(c, 0)) for c in pair])
        for c in pair:
            turn[c] = turn.get(c, 0) + 1
    done = dict.fromkeys(turn, 0)
    waiting = iter(range(len(order)))
    change = threading.Condition()
    failed: list[BaseException] = []

    def run(worker: int) -> None:
        while True:
            with change:
                number = next(waiting, None)
                if number is None or failed:
                    return
                mine = turns[number]
                change.wait_for(lambda: failed or all(done[c] == at for c, at in mine))  # noqa: B023
                if failed:
                    return
            try:
                work(*order[number], worker)
            except BaseException as error:
                with change:
                    failed.append(error)
                    change.notify_all()
                raise
            with change:
                for c in order[number]:
                    done[c] += 1
                change.notify_all()

    run_all(run, range(threads), threads)
