"""Examples that are read again in every epoch: files and pipes that do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from widemargin.data.datasets import Classes, join_weights, must_observe, size_of
from widemargin.data.encode.encoder import Encoder
from widemargin.data.encode.labels import codes_of
from widemargin.data.encode.numbers import NumbersEncoder
from widemargin.data.readers.chunk import Chunk
from widemargin.data.readers.files import Files
from widemargin.data.rows import Rows, frozen, stacked
from widemargin.errors import DataError
from widemargin.online.examples import Place
from widemargin.online.fit import begin, make_room, prices
from widemargin.online.label_runs import LabelRuns
from widemargin.online.orders import mixed
from widemargin.online.passes import Window
from widemargin.online.reservoir import Reservoir, RowBatch, joined
from widemargin.online.settings import Settings
from widemargin.online.state import State

#: Parsed rows take at most about this many times as many bytes as their text.
_SPREAD = 3
#: A window is made from at least this many places of the files, so that files sorted by class are
#: mixed, ...
_PLACES = 64
#: ... unless they would be shorter than this many bytes: opening a place costs as much as reading
#: tens of kilobytes.
_SHORTEST_RANGE = 1 << 12


class FromFiles:
    """Examples that are read again in every epoch, in windows that fit in memory.

    Seekable files are cut into ranges, which are read in a new random order in every epoch, many of
    them per window; pipes are read from the start, and mixed by a reservoir. The rows of a window
    are then shuffled. Without shuffling, a window is a chunk; mini-batches continue from one to the
    next, so that the result is that of learning in memory.

    Parameters
    ----------
    files, encoder, classes
        What to read, how to encode it, and the labels known so far; encoder and labels are
        extended while reading.
    settings : Settings
        How to learn.
    budget : int
        Approximate limit on the bytes of the rows of a window.
    reservoir : int
        Approximate limit on the bytes of the rows of a pipe that are held back to be learned from
        last.
    """

    whole: Window | None = None

    def __init__(
        self,
        files: Files,
        encoder: Encoder,
        classes: Classes,
        settings: Settings,
        budget: int,
        reservoir: int = 0,
    ) -> None:
        self.files, self.encoder, self.classes = files, encoder, classes
        self.settings, self.budget, self.reservoir = settings, budget, reservoir
        self.bias: float | None = None
        self.runs = LabelRuns()
        self.state: State
        self._known = classes.values
        self._first: list[Chunk] = []
        self._rest: Iterator[Chunk] | None = None

    def start(self, rng: np.random.Generator) -> State:
        """Make the initial state from the first examples, or from all if the encoder needs them.

        Of input that can be read only once, only the first chunk is used.
        """
        chunks = self.files.chunks()
        first = next(chunks, None)
        if first is None:
            raise DataError(f"{', '.join(self.files.paths)}: there are no examples")
        self.encoder.observe(first.raw)
        observes = must_observe(self.encoder) and not isinstance(self.encoder, NumbersEncoder)
        if not self.files.readable_again:
            self._first, self._rest = [first], chunks
        elif observes:
            for chunk in chunks:
                self.encoder.observe(chunk.raw)
        elif self.settings.shuffle is False:  # if unshuffled, the first epoch continues from it
            self._first, self._rest = [first], chunks
        rows = self._encode([first]).rows
        self._known = self.classes.values
        self.state = begin(rows, len(self._known), self.settings, rng)
        return self.state

    def continue_from(self, state: State, bias: float) -> None:
        """Continue from an earlier state, which may have fewer classes and features."""
        self.state, self.bias, self._known = state, bias, self.classes.values

    def epoch(self, place: Place, rng: np.random.Generator) -> Iterator[Window]:
        """Yield the remaining windows of this epoch."""
        resumed = place.window > 0 or place.done > 0
        mixes = not self.files.readable_again and self.settings.shuffle is not False
        groups: Iterator[Any] = self._mixed(rng) if mixes else self._groups(rng)
        if self.settings.shuffle is False and self.settings.batch_size > 1:
            groups = self._in_whole_batches(groups)
        for number, group in enumerate(groups):
            if number < place.window:
                continue
            if resumed:
                rng.bit_generator.state, resumed = place.generator_states["window"], False
            place.generator_states["window"] = rng.bit_generator.state
            rows, codes, weights = group if isinstance(group, RowBatch) else self._encode(group)
            n = rows.n
            make_room(self.state, self._known, self.classes.values, rows, self.settings, rng)
            if len(self._known) < len(self.classes.values):
                self.runs.rename(codes_of(self._known, self.classes.values))
            self._known = self.classes.values
            if len(self._known) < 2:
                self.runs.add(np.zeros(n, np.int64))
                self.state.pass_over(n)
                place.leave(n)
                continue
            price = prices(self._known, codes, self.settings.class_weight, weights)
            order = _rows_with_weight(rows, price)
            if self.settings.shuffle is not False:
                order = frozen(mixed(order, rng))
            self.runs.add(codes[order])
            yield Window(rows.widened(self.state.width), codes, price, order, place.rows)

    def _mixed(self, rng: np.random.Generator) -> Iterator[RowBatch]:
        """Yield the rows of a pipe, mixed by a reservoir as well as memory allows."""
        reservoir = Reservoir(self.reservoir)
        for chunks in self._groups(rng):
            batch = reservoir.add(self._encode(chunks), self.classes.values, rng)
            if batch is not None:
                yield batch
        rest = reservoir.rest()
        if rest is not None:
            yield rest

    def _in_whole_batches(self, groups: Iterator[list[Chunk]]) -> Iterator[RowBatch]:
        """Yield the rows in order, such that all mini-batches but the last are full.

        Rows whose mini-batch is not full yet wait for those of the next chunks.
        """
        waiting: RowBatch | None = None
        before = self.classes.values
        for chunks in groups:
            batch = self._encode(chunks)
            if waiting is not None:
                codes = waiting.codes
                if len(before) < len(self.classes.values):
                    codes = codes_of(before, self.classes.values)[codes]
                batch = joined([waiting._replace(codes=codes), batch])
            before, waiting = self.classes.values, None
            end = self._end_of_batches(batch)
            if end < batch.rows.n:
                waiting = batch.take(np.arange(end, batch.rows.n))
                batch = batch.take(np.arange(end))
            if end:
                yield batch
        if waiting is not None:
            yield waiting

    def _end_of_batches(self, batch: RowBatch) -> int:
        """The number of rows up to the end of the last full mini-batch."""
        settings, size = self.settings, self.settings.batch_size
        price = prices(self.classes.values, batch.codes, settings.class_weight, batch.weights)
        which = _rows_with_weight(batch.rows, price)
        full = len(which) - len(which) % size
        return int(which[full - 1]) + 1 if full else 0

    def _groups(self, rng: np.random.Generator) -> Iterator[list[Chunk]]:
        """Yield the chunks of one epoch, grouped by window."""
        shuffled = self.settings.shuffle is not False
        text = self.budget // _SPREAD
        size = max(_SHORTEST_RANGE, min(self.files.options.block, text // _PLACES))
        ranges = self.files.ranges(size) if shuffled else None
        if ranges is not None:
            together = max(1, text // size)
            taken = [ranges[i] for i in rng.permutation(len(ranges))]
            for start in range(0, len(taken), together):
                found = list(self.files.read(taken[start : start + together]))
                if found:
                    yield found
            return
        group: list[Chunk] = []
        size = 0
        for chunk in self._from_the_front():
            group.append(chunk)
            size += size_of(chunk.raw)
            if not shuffled or size * _SPREAD > self.budget:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _from_the_front(self) -> Iterator[Chunk]:
        if self._rest is None:
            return self.files.chunks()
        first, rest = self._first, self._rest
        self._first, self._rest = [], None if self.files.readable_again else iter(())
        return chain(first, rest)

    def _encode(self, chunks: list[Chunk]) -> RowBatch:
        """Encode chunks, and join them into one batch."""
        threads, parts = self.files.options.threads, []
        for chunk in chunks:
            if chunk.labels is None:
                raise DataError(f"{chunk.source}: has no labels to learn from")
            self.classes.add(chunk.labels, chunk.source)
            parts.append(self.encoder.encode(chunk.raw, self.bias or 0.0, threads, note=True))
        rows = stacked([part.widened(self.encoder.width) for part in parts])
        if self.bias is None:
            rows = self.settings.extend(rows)
            self.bias = rows.bias
        # The codes are known only now that all classes are.
        codes = [self.classes.codes(chunk.labels) for chunk in chunks if chunk.labels is not None]
        return RowBatch(rows, np.concatenate(codes), join_weights(chunks))


def _rows_with_weight(rows: Rows, price: np.ndarray | None) -> np.ndarray:
    """The rows to learn from: those with weight 0 are skipped."""
    if price is None or np.all(price > 0.0):
        return rows.everything
    return frozen(rows.everything[price > 0.0])
