"""An epoch on a cluster: one round of all partitions, which counts only when it is whole."""

from __future__ import annotations

from collections.abc import Generator

from widemargin.training.run import Counts, Training


class Rounds(Training):
    """What is trained by rounds of all partitions.

    Attributes
    ----------
    epoch, finished : int
        The present round, and the last one that was done whole.
    """

    epoch = finished = 0

    def begin_epoch(self, epoch: int, resumed: bool) -> None:
        """Note which round it is; one that was interrupted begins again, unless it was done."""
        self.epoch = epoch

    def learn(self, counts: Counts) -> Generator[float, None, None]:
        """Do a round, unless it was done before an interruption."""
        if self.finished == self.epoch:
            return
        self.settled = False
        counts.reset()
        yield from self.do_round(counts)
        self.finished, self.settled = self.epoch, True
        yield 1.0

    def do_round(self, counts: Counts) -> Generator[float, None, None]:
        """Let all partitions work, and take over what came of it; yields how much is done."""
        raise NotImplementedError
