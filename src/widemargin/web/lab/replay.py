"""A training run as the page replays it: the examples seen, the corrections, the hypotheses.

Nothing is learned here. The orders come from the driver, the corrections from the mistake log, and
the hypotheses are the running sums of the corrections.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from widemargin.loops.linear.passes import Log
from widemargin.online.examples import InMemory, Place
from widemargin.online.passes import Window


class RecordedOrders:
    """Examples in memory that record the orders in which they were learned from."""

    def __init__(self, examples: InMemory) -> None:
        self._examples = examples
        self.whole = examples.whole
        self.orders: list[np.ndarray] = []

    def epoch(self, place: Place, rng: np.random.Generator) -> Iterator[Window]:
        """Yield the windows of this epoch, and record their order."""
        for window in self._examples.epoch(place, rng):
            self.orders.append(window.order)
            yield window


class Corrections(NamedTuple):
    """The mistake log, in groups of corrections that were made at the same time.

    Attributes
    ----------
    row, label, amount : arrays
        As in the log: the weights of `label` gained `amount` times row `row`.
    ends : array
        Where each group ends.
    born : array
        The clock of each hypothesis: 0 for the start, then that of each group. The group with clock
        c was made at example c, counted from 1.
    """

    row: np.ndarray
    label: np.ndarray
    amount: np.ndarray
    ends: np.ndarray
    born: np.ndarray


def corrections_of(log: Log, origin: np.ndarray) -> Corrections:
    """Group a log whose examples are indices into `origin`, the rows of the training data."""
    clocks, first = np.unique(log.count, return_index=True)
    ends = np.append(first[1:], len(log.count)) if len(clocks) else first
    return Corrections(
        np.asarray(origin)[log.example.astype(np.int64)],
        log.label,
        log.amount,
        ends.astype(np.int64),
        np.concatenate([[0.0], clocks]),
    )


def weights_along(made: Corrections, start: np.ndarray, extended: np.ndarray) -> np.ndarray:
    """All hypotheses: an array (hypotheses, vectors, features), the start first."""
    changes = np.zeros((1 + len(made.row), *start.shape))
    changes[0] = start
    each = np.arange(1, 1 + len(made.row))
    changes[each, made.label] = made.amount[:, None] * extended[made.row]
    return np.cumsum(changes, axis=0)[np.concatenate([[0], made.ends])]


def sums_along(made: Corrections, hypotheses: np.ndarray) -> np.ndarray:
    """For each hypothesis, the sum of the earlier ones, weighted by how long they lasted.

    The average after p examples is (sums[k] + (p + 1 - born[k]) hypotheses[k]) / (p + 1).
    """
    lasted = np.diff(made.born)
    weighted = hypotheses[:-1] * lasted.reshape(-1, *[1] * (hypotheses.ndim - 1))
    sums = np.zeros_like(hypotheses)
    np.cumsum(weighted, axis=0, out=sums[1:])
    return sums


def mistakes_along(
    made: Corrections,
    order: np.ndarray,
    codes: np.ndarray,
    scores: np.ndarray,
    ties: bool,
) -> np.ndarray:
    """The steps, counted from 0, whose example was scored wrongly before it was learned from.

    Parameters
    ----------
    made, order
        The corrections, and the example of every step.
    codes : array
        The class of every example.
    scores : array (steps, 1 or classes)
        The scores of the example of each step, by the hypothesis of that time.
    ties : bool
        Whether a tie is always a mistake, or only if the prediction is wrong.
    """
    right = codes[order]
    if scores.shape[1] == 1:
        margins = np.where(right == 1, scores[:, 0], -scores[:, 0])
        lost = ties | (right == 0)
    else:
        each = np.arange(len(order))
        own, others = scores[each, right], scores.copy()
        others[each, right] = -np.inf
        rival = np.argmax(others, axis=1)
        margins = own - others[each, rival]
        lost = ties | (rival < right)
    return np.flatnonzero((margins < 0.0) | ((margins == 0.0) & lost))


def before_each_step(made: Corrections, steps: int) -> np.ndarray:
    """The hypothesis that was current before each step."""
    return np.searchsorted(made.born[1:], np.arange(steps), side="right")


def packed(values: np.ndarray, kind: Any = np.float64) -> dict[str, Any]:
    """Encode an array for JSON without losing a bit."""
    array = np.ascontiguousarray(values, dtype=kind)
    return {
        "shape": list(array.shape),
        "type": array.dtype.name,
        "base64": base64.b64encode(array.tobytes()).decode("ascii"),
    }


def joined_orders(orders: Iterable[np.ndarray], seen: int) -> np.ndarray:
    """The example of every step; the last epoch may be incomplete."""
    return np.concatenate([np.empty(0, np.int64), *orders]).astype(np.int64)[:seen]
