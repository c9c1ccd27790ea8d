"""From files to what is learned from them: all in memory, or window by window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from widemargin.encode.encoder import Encoder
from widemargin.encode.labels import codes_of
from widemargin.encode.numbers import NumbersEncoder
from widemargin.errors import DataError
from widemargin.fit import Settings, begin, make_room, prices
from widemargin.learn import Course
from widemargin.order import mixed
from widemargin.problems import Window
from widemargin.readers.chunk import Chunk, Labels
from widemargin.readers.files import Files
from widemargin.readers.formats import TABLES
from widemargin.rows import Rows, Stack, frozen, stacked
from widemargin.state import State

#: Parsed rows take about this many times the bytes of their text, at the most.
_SPREAD = 3


@dataclass(frozen=True)
class EncodeOptions:
    """How raw examples become rows.

    Attributes
    ----------
    first : {0, 1, None}
        The first index of vectors; None: as the file says.
    scale : "standard", "maxabs" or "none"
        How the numbers of a table are scaled.
    text : dict
        Options of `TextEncoder`.
    """

    first: int | None = None
    scale: str = "standard"
    text: dict[str, Any] = field(default_factory=dict)


def make_encoder(files: Files, options: EncodeOptions) -> Encoder:
    """The encoder for what these files hold."""
    if files.format == "svmlight":
        return NumbersEncoder(options.first)
    if files.format == "vw":
        from widemargin.encode.hashed import HashedEncoder

        return HashedEncoder(options.text.get("bits", 20))
    from widemargin.encode.text import TextEncoder

    if files.format not in TABLES:
        return TextEncoder(**options.text)
    from widemargin.encode.table import TableEncoder

    columns = [str(name) for name in files.options.table.text]
    text = TextEncoder(**options.text) if columns else None
    return TableEncoder(options.scale, text, columns)


class Classes:
    """The labels met so far, and the codes of new ones.

    Attributes
    ----------
    values : array
        The distinct labels, sorted.
    """

    def __init__(self, values: Any = ()) -> None:
        self.values = np.asarray(values)

    def add(self, labels: Labels, source: str) -> None:
        """Take in labels that may be new."""
        met = labels.values[np.unique(labels.codes[labels.codes >= 0])]
        if len(self.values) and (met.dtype.kind in "OUS") != (self.values.dtype.kind in "OUS"):
            raise DataError(
                f"{source}: labels such as {met.tolist()[0]!r} do not mix with"
                f" {self.values.tolist()[0]!r}"
            )
        new = np.setdiff1d(met, self.values) if len(self.values) else np.unique(met)
        if len(new):
            self.values = np.union1d(self.values, new) if len(self.values) else new

    def codes(self, labels: Labels) -> np.ndarray:
        """The codes of labels; -1 for one that is no class, or where there is none."""
        of_value = np.append(codes_of(labels.values, self.values), -1)
        return of_value[labels.codes]


@dataclass
class Encoded:
    """Examples in memory: rows, the codes of their labels, what errors cost, and their lines."""

    rows: Rows
    codes: np.ndarray
    weights: np.ndarray | None
    lines: np.ndarray
    sources: list[tuple[str, int]]  # each file and how many rows came from it


def read_all(
    files: Files,
    encoder: Any,
    classes: Classes,
    *,
    learn: bool,
    observe: bool = True,
    budget: int | None = None,
) -> Encoded | None:
    """Read files into memory.

    Parameters
    ----------
    files, encoder
        What to read, and how to encode it.
    classes : Classes
        What labels mean; with `learn` it takes in new ones.
    learn : bool
        Whether these are examples to learn from.
    observe : bool
        Whether the encoder learns what it must know from them, too.
    budget : int, optional
        Give up when the rows take more bytes than this.

    Returns
    -------
    Encoded or None
        None if there was not enough room.
    """
    rows, chunks = Stack(files.expected_chunks), []
    waiting: list[Any] = []
    size, threads, finish = 0, files.options.threads, None
    for chunk in files.chunks():
        if learn:
            if chunk.labels is None:
                raise DataError(f"{chunk.source}: has no labels to learn from")
            classes.add(chunk.labels, chunk.source)
        if not learn or not observe:
            rows.add(encoder.encode(chunk.raw, 0.0, threads, note=learn))
        elif _only_texts(encoder, chunk.raw):
            encoder.encode_first(chunk.raw, rows, threads, note=True)
            finish = encoder.finish
        else:
            encoder.observe(chunk.raw)
            if _must_observe(encoder):
                waiting.append(chunk.raw)
                size += _size(chunk.raw)
            else:
                rows.add(encoder.encode(chunk.raw, 0.0, threads, note=True))
        size = max(size, rows.nbytes)
        chunks.append(chunk._replace(raw=None))
        if budget is not None and size > budget:
            return None
    if not chunks:
        raise DataError(f"{', '.join(files.paths)}: there are no examples")
    while waiting:
        rows.add(encoder.encode(waiting.pop(0), 0.0, threads, note=True))
    whole = rows.rows(encoder.width)
    if finish is not None:
        finish(whole, threads)
    return Encoded(
        whole,
        np.concatenate([_codes(chunk, classes) for chunk in chunks]),
        _join_weights(chunks),
        np.concatenate([chunk.lines for chunk in chunks]),
        [(chunk.source, chunk.n) for chunk in chunks],
    )


def _codes(chunk: Chunk, classes: Classes) -> np.ndarray:
    return np.full(chunk.n, -1) if chunk.labels is None else classes.codes(chunk.labels)


def _must_observe(encoder: Encoder) -> bool:
    """Whether an encoder has to see all examples before it can encode any."""
    texts: Any = encoder if encoder.kind == "text" else getattr(encoder, "text", None)
    if texts is not None and texts.options["idf"]:
        return True
    return encoder.kind in ("numbers", "table")


def _only_texts(encoder: Any, raw: Any) -> bool:
    """Whether all there is are texts, whose encoder need not see them twice."""
    if encoder.kind == "table":
        return encoder.has_only_texts(raw)
    return encoder.kind == "text"


def _size(raw: Any) -> int:
    """Bytes that raw or encoded examples take."""
    if hasattr(raw, "nbytes"):
        return int(raw.nbytes)
    rows = raw.rows if hasattr(raw, "rows") else raw
    if isinstance(rows, Rows):
        return sum(part.nbytes for part in rows.stored if isinstance(part, np.ndarray))
    return sum(part.nbytes for part in raw)


class FromFiles:
    """Examples that are read anew in every epoch, in windows that fit the memory.

    Files that can be entered anywhere are cut into blocks, which are taken in a new random order
    in every epoch; others are read from the front. The rows of a window are then shuffled. In the
    given order a window is a chunk.

    Parameters
    ----------
    files, encoder, classes
        What to read, how to encode it, and the labels known so far; both learn as they go.
    settings : Settings
        How to learn.
    budget : int
        About how many bytes the rows of a window may take.
    """

    whole: Window | None = None

    def __init__(
        self, files: Files, encoder: Encoder, classes: Classes, settings: Settings, budget: int
    ) -> None:
        self.files, self.encoder, self.classes = files, encoder, classes
        self.settings, self.budget = settings, budget
        self.bias: float | None = None
        self.state: State
        self._known = classes.values
        self._first: list[Chunk] = []
        self._rest: Iterator[Chunk] | None = None

    def start(self, rng: np.random.Generator) -> State:
        """Look at the first examples (where the encoder needs it, at all): the state to begin with.

        What can be read only once is judged by its first chunk.
        """
        chunks = self.files.chunks()
        first = next(chunks, None)
        if first is None:
            raise DataError(f"{', '.join(self.files.paths)}: there are no examples")
        self.encoder.observe(first.raw)
        if not self.files.readable_again:
            self._first, self._rest = [first], chunks
        elif _must_observe(self.encoder) and not isinstance(self.encoder, NumbersEncoder):
            for chunk in chunks:
                self.encoder.observe(chunk.raw)
        rows, _ = self._encode([first])
        self._known = self.classes.values
        self.state = begin(rows, len(self._known), self.settings, rng)
        return self.state

    def go_on(self, state: State, bias: float) -> None:
        """Go on with a state that was begun before, perhaps with fewer classes and features."""
        self.state, self.bias, self._known = state, bias, self.classes.values

    def epoch(self, course: Course, rng: np.random.Generator) -> Iterator[Window]:
        """Yield the windows of this epoch that are still to come."""
        resumed = course.window > 0 or course.done > 0
        for number, chunks in enumerate(self._groups(rng)):
            if number < course.window:
                continue
            if resumed:
                rng.bit_generator.state, resumed = course.chance["window"], False
            course.chance["window"] = rng.bit_generator.state
            rows, chunk = self._encode(chunks)
            n = rows.n
            make_room(self.state, self._known, self.classes.values, rows, self.settings, rng)
            self._known = self.classes.values
            if len(self._known) < 2:
                self.state.pass_over(n)
                course.window += 1
                course.rows += n
                continue
            assert chunk.labels is not None
            codes = self.classes.codes(chunk.labels)
            price = prices(self._known, codes, self.settings.class_weight, chunk.weights)
            order = rows.everything
            if price is not None and not np.all(price > 0.0):
                order = frozen(order[price > 0.0])  # no weight: as if it were not there
            if self.settings.shuffle is not False:
                order = frozen(mixed(order, rng))
            yield Window(rows.widened(self.state.width), codes, price, order, course.rows)

    def _groups(self, rng: np.random.Generator) -> Iterator[list[Chunk]]:
        """The chunks of one epoch, those of one window together."""
        shuffled = self.settings.shuffle is not False
        ranges = self.files.ranges() if shuffled else None
        if ranges is not None:
            together = max(1, self.budget // (_SPREAD * self.files.options.block))
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
            size += _size(chunk.raw)
            if not shuffled or size * _SPREAD > self.budget:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _from_the_front(self) -> Iterator[Chunk]:
        if self._rest is None:
            return self.files.chunks()
        first, rest = self._first, self._rest
        self._first, self._rest = [], iter(())
        return chain(first, rest)

    def _encode(self, chunks: list[Chunk]) -> tuple[Rows, Chunk]:
        """Some chunks as one: their rows, and the rest of it."""
        threads, parts, labels, weights = self.files.options.threads, [], [], []
        for chunk in chunks:
            if chunk.labels is None:
                raise DataError(f"{chunk.source}: has no labels to learn from")
            self.classes.add(chunk.labels, chunk.source)
            labels.append(chunk.labels)
            weights.append(chunk.weights)
            parts.append(self.encoder.encode(chunk.raw, self.bias or 0.0, threads, note=True))
        rows = stacked([part.widened(self.encoder.width) for part in parts])
        if self.bias is None:
            rows = self.settings.extend(rows)
            self.bias = rows.bias
        if len(chunks) == 1:
            return rows, chunks[0]
        return rows, chunks[0]._replace(labels=_join(labels), weights=_join_weights(chunks))


def _join(labels: list[Labels]) -> Labels:
    values = np.concatenate([some.values for some in labels])
    firsts = np.cumsum([0] + [len(some.values) for some in labels[:-1]])
    codes = [
        np.where(some.codes < 0, -1, some.codes + first)
        for some, first in zip(labels, firsts, strict=True)
    ]
    return Labels(values, np.concatenate(codes))


def _join_weights(chunks: list[Chunk]) -> np.ndarray | None:
    if all(chunk.weights is None for chunk in chunks):
        return None
    return np.concatenate(
        [np.ones(chunk.n) if chunk.weights is None else chunk.weights for chunk in chunks]
    )
