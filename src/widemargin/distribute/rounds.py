"""An epoch on a cluster: one round of all partitions, which counts only when it is complete."""

from __future__ import annotations

from collections.abc import Generator

from widemargin.training.run import Counts, Training


class Rounds(Training):
    """A training in rounds of all partitions.

    Attributes
    ----------
    epoch, finished : int
        The current round, and the last complete one.
    """

    epoch = finished = 0

    def begin_epoch(self, epoch: int, resumed: bool) -> None:
        """Record the current round; an interrupted round starts over, unless it was complete."""
        self.epoch = epoch

    def learn(self, counts: Counts) -> Generator[float, None, None]:
        """Run a round, unless it was completed before an interruption."""
        if self.finished == self.epoch:
            return
        self.settled = False
        counts.reset()
        yield from self.do_round(counts)
        self.finished, self.settled = self.epoch, True
        yield 1.0

    def do_round(self, counts: Counts) -> Generator[float, None, None]:
        """Run all partitions, and take over their results; yields the share that is done."""
        raise NotImplementedError
