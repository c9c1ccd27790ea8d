"""What is learned from: windows of examples that are in memory together, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from widemargin.data.rows import Rows
from widemargin.online.orders import Shuffle, Turns
from widemargin.online.passes import Window


@dataclass
class Place:
    """How far an epoch over windows has come.

    Attributes
    ----------
    window, rows, done : int
        Windows of this epoch that are behind, the examples in them, and those of this window.
    chance : dict
        How the generator stood when the run, the epoch and the window began.
    """

    window: int = 0
    rows: int = 0
    done: int = 0
    chance: dict[str, Any] = field(default_factory=dict)

    def begin_epoch(self) -> None:
        """Go back to the first window."""
        self.window = self.rows = self.done = 0

    def leave(self, rows: int) -> None:
        """Go on to the next window; this one had so many rows."""
        self.window, self.rows, self.done = self.window + 1, self.rows + rows, 0


class Examples(Protocol):
    """What is learned from, epoch by epoch, in windows that are in memory one after the other."""

    #: The window, if there is only one and it stays; its corrections are then logged at the end.
    whole: Window | None

    def epoch(self, place: Place, rng: np.random.Generator) -> Iterator[Window]:
        """Yield the windows of this epoch that are still to come.

        The generator is at the start of the run, the epoch or the window that the place says, or
        is brought there with `place.chance`.
        """


class InMemory:
    """Examples that are in memory all at once: one window, in the orders of `orders.py`."""

    def __init__(
        self,
        rows: Rows,
        y: np.ndarray,
        shuffle: Shuffle,
        which: np.ndarray | None = None,
        price: np.ndarray | None = None,
        first_row: int = 0,
    ) -> None:
        rows.check_scale()
        order = rows.everything if which is None else which
        window = Window(rows, y, price, order, first_row)
        self.whole: Window | None = window
        self._window = window
        self._turns = Turns(order, shuffle)

    def epoch(self, place: Place, rng: np.random.Generator) -> Iterator[Window]:
        """Yield the one window, in a new order."""
        yield self._window._replace(order=self._turns.next(place.chance, rng))
