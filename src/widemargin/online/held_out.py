"""Held-out examples: how many, and the accuracy of the deployed hypothesis on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.data.rows import Rows
from widemargin.online.columns import Columns
from widemargin.online.mistake_log import Part
from widemargin.online.scores import best_class, deployed_scores, votes_on
from widemargin.online.state import State

#: The default fraction to hold out, ...
USUAL_PART = 0.1
#: ... limited to this many examples, as more would hardly narrow the interval, ...
_MOST = 10_000
#: ... (or to this many if all hypotheses vote on each of them), ...
_MOST_VOTES = 500
#: ... with nothing held out of fewer examples than this, because a tenth of them says little.
_FEWEST = 100


def usual_part(sizes: np.ndarray, part: float = USUAL_PART, keep: str = "average") -> float:
    """The fraction to hold out of classes of these sizes: a tenth, but at most 10,000 examples.

    It is 0 for fewer than 100 examples, and if no class is large enough. With keep="vote" it is at
    most 500 examples, because every hypothesis of the training votes on each of them.

    Examples
    --------
    >>> [usual_part(np.array(sizes)) for sizes in ([40, 40], [80, 40], [200_000, 200_000])]
    [0.0, 0.1, 0.025]
    """
    n = int(np.sum(sizes))
    if n < _FEWEST:
        return 0.0
    most = _MOST_VOTES if keep == "vote" else _MOST
    fraction = min(part, most / n)
    if np.sum(np.rint(fraction * sizes)) > most:  # rounding may add half an example per class
        fraction = max(0.0, (most - len(sizes) / 2) / n)
    return fraction if np.any(np.rint(fraction * sizes)) else 0.0


class HeldOut(NamedTuple):
    """Examples that are scored after every epoch and never learned from."""

    rows: Rows
    which: np.ndarray
    y: np.ndarray  # class codes, one per entry of `which`; -1 for a label that is not a class


class HeldOutScore:
    """Scores the hypothesis that would be deployed after each epoch.

    Parameters
    ----------
    held_out : HeldOut
        The held-out examples.
    state : State
        The state being trained.
    keep : {"last", "average", "vote"}
        Which hypothesis would be deployed.
    threads : int
        Threads to score with.
    """

    def __init__(self, held_out: HeldOut, state: State, keep: str, threads: int) -> None:
        self.held_out, self.state, self.keep, self.threads = held_out, state, keep, threads
        self._ready: tuple[Rows, Columns, int] | None = None
        if keep == "vote":
            self.votes = votes_on(state, self._rows, held_out.which, threads)

    @property
    def _rows(self) -> Rows:
        # In a stream, new features may appear after the held-out examples were read.
        return self.held_out.rows.widened(max(self.state.width, self.held_out.rows.width))

    def _to_score(self) -> tuple[Rows, np.ndarray]:
        """The rows in the form that the state's weights need, and which of them are held out."""
        state, which = self.state, self.held_out.which
        known = state.columns
        if known is None:
            return self._rows, which
        if self._ready is None or self._ready[1:] != (known, known.count):
            rows, _ = state.matching(self.held_out.rows.take(which), state.W, self.threads)
            self._ready = rows, known, known.count
        rows = self._ready[0]
        return rows, rows.everything

    def count_votes(self, part: Part) -> None:
        """Add the votes of the hypotheses of an epoch, if the vote would be deployed."""
        if self.keep == "vote":
            self.votes.update(part, self.threads)

    def accuracy(self) -> float:
        """Accuracy on the held-out examples of the hypothesis that would be deployed now."""
        if self.keep == "vote":
            found = self.votes.result(self.state.count)
        else:
            rows, which = self._to_score()
            deployed = self.state.deployed(self.keep)
            found = deployed_scores(*deployed, rows, which, self.threads)
        return float(np.mean(best_class(found) == self.held_out.y))
