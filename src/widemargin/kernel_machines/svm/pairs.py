"""Pairs of classes side by side, so that no class is in two of them at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from widemargin.threads import run_all


def rounds_of(classes: int) -> list[tuple[int, int]]:
    """All pairs a < b, such that pairs near each other share no class (the circle method).

    >>> rounds_of(4)
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


def play(order: list[tuple[int, int]], threads: int, work: Callable[[int, int, int], Any]) -> None:
    """Call work(a, b, thread) for every pair, on some threads.

    A class plays its pairs in the order given, one after the other, however many threads there
    are: what the pairs share by class is then always in the same state.
    """
    turn: dict[int, int] = {}
    tickets = []
    for pair in order:
        tickets.append([(c, turn.get(c, 0)) for c in pair])
        for c in pair:
            turn[c] = turn.get(c, 0) + 1
    played = dict.fromkeys(turn, 0)
    waiting = iter(range(len(order)))
    change = threading.Condition()
    failed: list[BaseException] = []

    def player(thread: int) -> None:
        while True:
            with change:
                game = next(waiting, None)
                if game is None or failed:
                    return
                ticket = tickets[game]
                change.wait_for(lambda: failed or all(played[c] == at for c, at in ticket))  # noqa: B023
                if failed:
                    return
            try:
                work(*order[game], thread)
            except BaseException as error:
                with change:
                    failed.append(error)
                    change.notify_all()
                raise
            with change:
                for c in order[game]:
                    played[c] += 1
                change.notify_all()

    run_all(player, range(threads), threads)
