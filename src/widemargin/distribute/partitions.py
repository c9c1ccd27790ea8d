"""Partitions: recipes for parts of the data, which any worker can follow at any time.

A recipe names byte ranges of files, whole files (compressed ones, and tables whose records cannot
be found in the middle), row groups of Parquet files, or pieces of a Dask collection. The partitions
depend on the data and on the requested number, never on the workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.datasets import Classes, join_weights
from widemargin.data.readers.chunk import Chunk, Labels, Vectors
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.readers.formats import TABLES
from widemargin.data.readers.recoded import is_utf8
from widemargin.data.readers.sources import Range, compression_of, name_of
from widemargin.data.rows import Stack
from widemargin.errors import DataError

#: Bytes per partition unless a number of partitions is requested: at most a second of parsing, and
#: a few hundred megabytes as rows. Dask's own readers use the same block size.
_USUAL_BYTES = 1 << 26
#: Smaller data is cut into up to this many partitions, so that all cores of a usual machine have
#: work, but none has fewer bytes than this: 25,000 reviews (33 MB) in ten partitions are learned as
#: well as in one, and much smaller partitions learn less per epoch.
_FEW, _LEAST_BYTES = 8, 1 << 23


class RowGroups(NamedTuple):
    """Some row groups of a Parquet file."""

    path: str
    groups: tuple[int, ...]


#: Lines that begin within a range, a whole file, or some row groups of a file.
Part = Range | str | RowGroups


class ReadPartition(NamedTuple):
    """The contents of a partition: the examples, and which bad lines were skipped."""

    chunks: list[Chunk]
    skipped: set[tuple[str, int | str]]


@dataclass(frozen=True)
class Partition:
    """A part of the data.

    Attributes
    ----------
    number, of : int
        The number of this partition, from 0, and how many there are.
    """

    number: int
    of: int

    @property
    def name(self) -> str:
        """The name of the partition in messages."""
        return f"partition {self.number + 1} of {self.of}"

    def read(self, *data: Any) -> ReadPartition:
        """Follow the recipe; `data` are the values of `delayed`."""
        raise NotImplementedError

    @property
    def delayed(self) -> tuple[Any, ...]:
        """Pieces of Dask collections that `read` needs."""
        return ()


@dataclass(frozen=True)
class FilePartition(Partition):
    """Some parts of files, all of one format."""

    parts: tuple[Part, ...]
    options: ReadOptions = field(repr=False)

    def read(self, *data: Any) -> ReadPartition:
        """Read the parts in order."""
        files = Files(list(dict.fromkeys(map(_path_of, self.parts))), self.options)
        return ReadPartition(joined(self._chunks(files), self._expected), files.skipped.lines)

    def _chunks(self, files: Files) -> Iterator[Chunk]:
        for part in self.parts:
            if isinstance(part, Range):
                yield from files.read(_blocks(part, self.options.block))
            else:
                yield from files.read_file(*([part] if isinstance(part, str) else part))

    @property
    def _expected(self) -> int:
        """How many chunks there will be; 0 if unknown."""
        ranges = [part for part in self.parts if isinstance(part, Range)]
        if len(ranges) < len(self.parts):
            return 0
        return sum(len(_blocks(part, self.options.block)) for part in ranges)


def joined(chunks: Iterable[Chunk], expected: int = 0) -> list[Chunk]:
    """The same examples; vectors are copied to their final place as soon as they are read.

    Other raw examples stay as they are: an encoder will write their rows elsewhere.

    Parameters
    ----------
    chunks : iterable of Chunk
        Consecutive examples.
    expected : int
        How many chunks there will be, if known.
    """
    found: list[Chunk] = []
    stack, least, width, classes = Stack(expected), 1, 0, Classes()
    for chunk in chunks:
        if not isinstance(chunk.raw, Vectors):
            found.append(chunk)
            continue
        if chunk.labels is None:
            return [chunk]  # an error, which is reported when the labels are read
        stack.add(chunk.raw.rows)
        least, width = min(least, chunk.raw.least), max(width, chunk.raw.rows.width)
        classes.add(chunk.labels, chunk.source)
        found.append(chunk._replace(raw=None))
    if not found or found[0].raw is not None:
        return found
    codes = np.concatenate([classes.codes(chunk.labels) for chunk in found if chunk.labels])
    whole = Vectors(stack.rows(width), least)
    lines = np.concatenate([chunk.lines for chunk in found])
    labels = Labels(classes.values, codes)
    return [Chunk(whole, len(codes), labels, join_weights(found), found[0].source, lines)]


def read_partition(partition: Partition, *data: Any) -> ReadPartition:
    """Follow the recipe of a partition; errors name the partition."""
    try:
        return partition.read(*data)
    except DataError as error:
        raise DataError(f"{error} ({partition.name})") from None


def partitions_of_files(files: Files, wanted: int | None) -> list[Partition]:
    """Cut files into partitions of about the same number of bytes.

    Parameters
    ----------
    files : Files
        What to read. The columns of tables are those of the first file.
    wanted : int, optional
        About how many partitions to make; there may be fewer if the files cannot be cut that
        finely. By default, see `usual_number`.
    """
    if not files.readable_again:
        raise DataError("a pipe cannot be read by several workers: give files")
    options = replace(files.options, format=files.format, threads=1)
    if files.format in TABLES:
        next(files.chunks(), None)  # finds out what the columns hold, once for all partitions
        options = replace(options, table=replace(options.table, schema=files.schema))
    sizes = [files.bytes_of(path) for path in files.paths]
    total = max(1, sum(sizes))
    count = usual_number(total) if wanted is None else wanted
    parts: list[list[Part]] = [[] for _ in range(count)]
    offset = 0
    for path, size in zip(files.paths, sizes, strict=True):
        for number, part in _cut(files, path, offset, size, total, count):
            parts[number].append(part)
        offset += size
    made = [tuple(some) for some in parts if some]
    if not made:
        raise DataError(f"{', '.join(map(name_of, files.paths))}: there are no examples")
    return [FilePartition(number, len(made), some, options) for number, some in enumerate(made)]


def usual_number(total: int) -> int:
    """How many partitions to make of this many bytes: one per 64 MB, or up to eight of 8 MB.

    This depends on the data alone: on any cluster, the same files give the same model.

    Examples
    --------
    >>> [usual_number(megabytes << 20) for megabytes in (0, 15, 33, 500, 5_000)]
    [1, 1, 4, 8, 79]
    """
    return max(1, -(-total // _USUAL_BYTES), min(_FEW, total // _LEAST_BYTES))


def _cut(
    files: Files, path: str, offset: int, size: int, total: int, count: int
) -> list[tuple[int, Part]]:
    """The parts of a file, which begins at byte `offset` of the total, and their partitions."""
    if files.format == "parquet":
        return _row_groups(path, offset, size, total, count)
    whole = files.format in TABLES or not is_utf8(files.options.encoding) or compression_of(path)
    if whole:
        return [(_partition_at(offset + size // 2, total, count), path)] if size else []
    edges = [number * total // count - offset for number in range(count + 1)]
    return [
        (number, Range(path, max(0, edges[number]), min(size, edges[number + 1])))
        for number in range(count)
        if max(0, edges[number]) < min(size, edges[number + 1])
    ]


def _row_groups(
    path: str, offset: int, size: int, total: int, count: int
) -> list[tuple[int, Part]]:
    """The row groups of a Parquet file; those of the same partition are one part."""
    from widemargin.data.readers.parquet import row_group_sizes

    sizes = row_group_sizes(path)
    weight, done = max(1, sum(sizes)), 0
    groups: dict[int, list[int]] = {}
    for group, own in enumerate(sizes):
        middle = offset + (done + own // 2) * size // weight
        groups.setdefault(_partition_at(middle, total, count), []).append(group)
        done += own
    return [(number, RowGroups(path, tuple(some))) for number, some in groups.items()]


def _partition_at(place: int, total: int, count: int) -> int:
    return min(count - 1, place * count // total)


def _path_of(part: Part) -> str:
    return part if isinstance(part, str) else part.path


def _blocks(part: Range, size: int) -> list[Range]:
    """A range in blocks, so that only little of the text is in memory at a time."""
    starts = range(part.start, part.end, size)
    return [Range(part.path, at, min(at + size, part.end)) for at in starts]
