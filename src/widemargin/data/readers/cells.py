"""Cells that stay in the bytes of their file until their column is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np


class Cells(NamedTuple):
    """Where the cells of every token are.

    Attributes
    ----------
    text : array of uint8
        UTF-8.
    edges : array of int32 or int64, shape (tokens, columns + 1)
        Cell j of token i begins at edges[i, j]; the byte before edges[i, j + 1] ends it.
    """

    text: np.ndarray
    edges: np.ndarray

    def column(self, j: int) -> list[str]:
        """The cells of one column."""
        begins, ends = self.edges[:, j], self.edges[:, j + 1]
        if not len(begins):
            return []
        # Gather all bytes of the column at once, each cell with the byte that ends it.
        lengths = ends - begins
        before = np.cumsum(lengths) - lengths
        places = np.repeat(begins - before, lengths)
        places += np.arange(len(places), dtype=places.dtype)
        gathered = self.text[places]
        between = chr(gathered[-1])
        return gathered[:-1].tobytes().decode().split(between)

    @classmethod
    def joined(cls, parts: Sequence[Cells]) -> Cells:
        """Concatenate the tokens of several parts."""
        first = parts[0].text
        if all(part.text is first for part in parts):
            return cls(first, np.concatenate([part.edges for part in parts]))
        before = [0, *accumulate(len(part.text) for part in parts)]
        kind: Any = np.int32 if before[-1] < 1 << 31 else np.int64
        edges = [part.edges.astype(kind) + kind(b) for part, b in zip(parts, before, strict=False)]
        return cls(np.concatenate([part.text for part in parts]), np.concatenate(edges))


class Columns(Mapping[str, list[str]]):
    """Columns by name; a column of a file is extracted when it is first needed.

    Parameters
    ----------
    made : dict
        Columns that are not in the file, or differ from it.
    cells, places
        The cells of the file, and the position of each named column.
    """

    def __init__(
        self,
        made: Mapping[str, list[str]],
        cells: Cells | None = None,
        places: Mapping[str, int] | None = None,
    ) -> None:
        self._cells, self._places, self._made = cells, dict(places or {}), dict(made)
        self._cut: dict[str, list[str]] = {}
        self._names = [*self._places, *(name for name in made if name not in self._places)]

    @classmethod
    def of(cls, columns: Mapping[str, list[str]]) -> Columns:
        """Columns from any mapping."""
        return columns if isinstance(columns, Columns) else cls(columns)

    def __getitem__(self, name: str) -> list[str]:
        if name in self._made:
            return self._made[name]
        if name not in self._cut:
            if self._cells is None:
                raise KeyError(name)
            self._cut[name] = self._cells.column(self._places[name])
        return self._cut[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def stretch(self, first: int, last: int) -> Columns:
        """The tokens from `first` up to `last`."""
        cells = self._cells
        if cells is not None:
            cells = cells._replace(edges=cells.edges[first:last])
        made, cut = (
            {name: column[first:last] for name, column in columns.items()}
            for columns in (self._made, self._cut)
        )
        part = Columns(made, cells, self._places)
        part._cut = cut
        return part

    @property
    def in_file(self) -> Mapping[str, int]:
        """The names of the columns of the file, and their positions in it."""
        return self._places

    @property
    def changed(self) -> dict[str, list[str]]:
        """The columns that differ from those in the file, or are not in it."""
        return dict(self._made)

    def replaced(self, name: str, column: list[str]) -> Columns:
        """The same columns with one added or replaced."""
        return Columns({**self._made, name: column}, self._cells, self._places)

    def renamed(self, names: Mapping[str, str]) -> Columns:
        """The same columns with other names for those of the file."""
        places = {names[name]: place for name, place in self._places.items()}
        return Columns(self._made, self._cells, places)

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Concatenate the tokens of several parts with the same columns."""
        places, cells = parts[0]._places, [part._cells for part in parts]
        if None in cells or any(part._places != places for part in parts):
            places, found = {}, None
        else:
            found = Cells.joined([one for one in cells if one is not None])
        wanted = [
            name
            for name in parts[0]
            if name not in places or any(name in part._made for part in parts)
        ]
        made = {name: list(chain.from_iterable(p[name] for p in parts)) for name in wanted}
        return cls(made, found, places)


class LazyLines:
    """The lines of files, split when they are first needed."""

    def __init__(self, make: Callable[..., list[str]], *arguments: object) -> None:
        self._make, self._arguments = make, arguments

    @cached_property
    def lines(self) -> list[str]:
        """All lines, without their line ends."""
        return self._make(*self._arguments)

    def stretch(self, first: int, last: int) -> LazyLines:
        """The lines from `first` up to `last`."""
        return LazyLines(_some_lines, self, first, last)

    @classmethod
    def joined(cls, parts: Sequence[LazyLines]) -> LazyLines:
        """Concatenate the lines of several parts."""
        return cls(_all_lines, parts)


def _some_lines(source: LazyLines, first: int, last: int) -> list[str]:
    return source.lines[first:last]


def _all_lines(sources: Sequence[LazyLines]) -> list[str]:
    return list(chain.from_iterable(source.lines for source in sources))


def split_lines(text: str) -> list[str]:
    """The lines of a text, without line ends; nothing follows the last line end."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines
