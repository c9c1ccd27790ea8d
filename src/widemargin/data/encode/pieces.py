"""Encode documents in pieces on several threads, and join the results in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from widemargin.data.readers.chunk import Texts
from widemargin.data.rows import Rows, Stack, frozen
from widemargin.errors import DataError
from widemargin.loops.storage import Sparse
from widemargin.loops.text.documents import WORDS, Found, TextOptions, count_documents
from widemargin.loops.text.gather import DocumentBuffers
from widemargin.loops.text.names import LONGEST_NAME, Fresh

#: Documents are encoded in pieces of about this many bytes: large enough that scheduling is cheap,
#: and small enough that threads finish at about the same time.
PIECE = 1 << 20
#: Positions within a piece are 32-bit numbers, and a document is never cut.
_LONGEST = 1 << 28
#: Work arrays larger than this many bytes are not kept for reuse.
_LARGE = 1 << 26


def cut(texts: Texts) -> list[int]:
    """Where pieces of documents start, followed by the end of the last piece."""
    n = len(texts.starts)
    lengths = texts.ends - texts.starts
    if n and lengths.max() > _LONGEST:
        raise DataError(
            f"document {int(np.argmax(lengths))} has {int(lengths.max())} bytes;"
            f" at most {_LONGEST} can be encoded: split it"
        )
    # Empty documents also count, so that a million of them are not one piece.
    number = (np.cumsum(lengths + np.uint64(16)) - np.uint64(1)) // np.uint64(PIECE)
    edges = np.flatnonzero(number[1:] != number[:-1]) + 1
    return [0, *edges.tolist(), n] if n else [0]


def most_features(how: TextOptions, size: int, documents: int = 1) -> int:
    """The most n-grams that documents of `size` bytes can have."""
    pieces = (size + documents) // (how.least + 1) if how.analyzer == WORDS else 2 * size
    return (pieces + 4 * documents) * (how.high - how.low + 1)


class WorkArrays:
    """Reusable work arrays for one piece; they only grow, so that fresh memory is touched once."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}
        self.work: DocumentBuffers
        self.found: Found
        self.fresh: Fresh

    def fit(self, how: TextOptions, texts: Texts, first: int, last: int) -> None:
        """Make room for documents first ... last - 1."""
        lengths = texts.ends[first:last] - texts.starts[first:last]
        longest = int(lengths.max(initial=0))
        features = most_features(how, int(lengths.sum()), last - first)
        most = most_features(how, longest)
        names = features if how.named else 0
        slots = max(4096, 1 << (2 * most).bit_length())
        self.work = DocumentBuffers(
            lowered=self._get("lowered", np.uint8, longest + 128),
            turns=self._get("turns", np.uint32, longest + 8),
            text=self._get("text", np.uint8, 3 * longest + 64),
            edges=self._get("edges", np.uint32, 2 * longest + 8),
            keys=self._get("keys", np.uint64, slots),
            places=self._get("places", np.uint32, slots),
            where=self._get("where", np.uint64, most),
            bad=self._get("bad", np.int64, 1),
        )
        self.found = Found(
            columns=self._get("columns", np.uint32, features),
            values=self._get("values", np.float32, features + 1),
            ends=self._get("row ends", np.uint64, last - first),
        )
        self.fresh = Fresh(
            hashes=self._get("hashes", np.uint32, names),
            names=self._get("names", np.uint8, names * int(LONGEST_NAME) + 16),
            ends=self._get("name ends", np.uint32, names + 1),
            count=self._get("count", np.int64, 1),
        )

    def _get(self, name: str, dtype: type, length: int) -> np.ndarray:
        have = self._arrays.get(name)
        if have is None or len(have) < length:
            have = self._arrays[name] = np.zeros(length, dtype)
        return have[:length]

    @property
    def size(self) -> int:
        """Size in bytes without the names, whose memory is only used as they are written."""
        return sum(a.nbytes for name, a in self._arrays.items() if name != "names")


_SPARE: list[WorkArrays] = []


@contextmanager
def spare_room() -> Iterator[WorkArrays]:
    """Work arrays for the exclusive use of the caller."""
    try:
        room = _SPARE.pop()
    except IndexError:
        room = WorkArrays()
    yield room
    if room.size < _LARGE:
        _SPARE.append(room)


class RowCollector:
    """Rows that arrive piece by piece, in order."""

    def __init__(self, texts: Texts) -> None:
        self.n, self.size = len(texts.starts), int(np.sum(texts.ends - texts.starts))
        self.columns = np.empty(0, np.uint32)
        self.values = np.empty(0, np.float32)
        self.starts = np.zeros(self.n + 1, np.uint64)
        self.filled = 0

    def take(self, first: int, last: int, found: Found, count: int) -> None:
        """Add the rows of documents first ... last - 1."""
        filled = self.filled + count
        if filled > len(self.columns):
            # Enough for all remaining documents; memory that is never written is not allocated.
            room = filled + filled * (self.n - last) * 11 // (10 * last) + 1024
            for name in ("columns", "values"):
                old = getattr(self, name)
                new = np.empty(room, old.dtype)
                new[: self.filled] = old[: self.filled]
                setattr(self, name, new)
        self.columns[self.filled : filled] = found.columns[:count]
        self.values[self.filled : filled] = found.values[:count]
        self.starts[first + 1 : last + 1] = found.ends[: last - first] + np.uint64(self.filled)
        self.filled = filled

    def rows(self, bias: float, width: int) -> Rows:
        """All rows."""
        values, columns = (frozen(part[: self.filled]) for part in (self.values, self.columns))
        stored = Sparse(values, columns, frozen(self.starts), float(bias))
        return Rows(stored, self.n, width, distinct=True)


class RowStacker:
    """Copies rows that arrive piece by piece to a stack, and counts document frequencies.

    Parameters
    ----------
    stack : Stack
        Where the rows are stored.
    having : array of uint32
        The number of documents with each column; empty if this is not counted.
    """

    def __init__(self, stack: Stack, having: np.ndarray) -> None:
        self.stack, self.having = stack, having

    def take(self, first: int, last: int, found: Found, count: int) -> None:
        """Add the rows of documents first ... last - 1."""
        columns = found.columns[:count]
        self.stack.extend(found.values[:count], columns, found.ends[: last - first])
        if len(self.having):
            count_documents(frozen(columns), self.having)


class Queue:
    """Lets parallel threads deliver their results in order."""

    def __init__(self) -> None:
        self._next, self._failed = 0, float("inf")
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, number: int) -> Iterator[bool]:
        """Wait until all earlier results are delivered; False if one of them failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == number or self._failed < number)
            mine = self._next == number
        try:
            yield mine
        except BaseException:
            self.fail(number)
            raise
        with self._changed:
            if mine:
                self._next = number + 1
            self._changed.notify_all()

    def fail(self, number: int) -> None:
        """Stop later results from waiting, because one has failed."""
        with self._changed:
            self._failed = min(self._failed, number)
            self._changed.notify_all()
