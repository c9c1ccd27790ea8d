"""Training examples, as a sequence of windows that each fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from widemargin.data.rows import Rows
from widemargin.online.orders import ResumableOrders, Shuffle
from widemargin.online.passes import Window


@dataclass
class Place:
    """How far an epoch over windows has come.

    Attributes
    ----------
    window, rows, done : int
        Windows finished in this epoch, the examples in them, and those done in this window.
    generator_states : dict
        State of the random generator when the run, the epoch and the window began.
    """

    window: int = 0
    rows: int = 0
    done: int = 0
    generator_states: dict[str, Any] = field(default_factory=dict)

    def begin_epoch(self) -> None:
        """Go back to the first window."""
        self.window = self.rows = self.done = 0

    def leave(self, rows: int) -> None:
        """Move on to the next window; `rows` is the number of rows of this one."""
        self.window, self.rows, self.done = self.window + 1, self.rows + rows, 0


class Examples(Protocol):
    """Training examples, epoch by epoch, as a sequence of windows that each fit in memory."""

    #: The window, if it is the only one; its corrections are then logged at the end.
    whole: Window | None

    def epoch(self, place: Place, rng: np.random.Generator) -> Iterator[Window]:
        """Yield the remaining windows of this epoch.

        The random generator is in its state at the start of the run, epoch or window given by
        `place`, or is reset to it from `place.generator_states`.
        """


class InMemory:
    """Examples that all fit in memory: one window, in the orders of `orders.py`."""

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
        self._turns = ResumableOrders(order, shuffle)

    def epoch(self, place: Place, rng: np.random.Generator) -> Iterator[Window]:
        """Yield the one window, in a new order."""
        yield self._window._replace(order=self._turns.next(place.generator_states, rng))
