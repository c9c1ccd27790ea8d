"""Examples as dicts: named features, whose columns are numbered in order of appearance."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, cast

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.loops.storage import Sparse

#: What packing raises if a value of an example is a string or another object that is not a number.
#: `NamedFeatures.convert` then handles each feature separately.
UNUSUAL = (TypeError, OverflowError, struct.error)
#: The column of a name that is not known.
NOWHERE = 2**32 - 1

#: The values and columns of an example without features.
_NOTHING = np.zeros(0), np.zeros(0, np.uint32)

#: Shared by examples with the same names in the same order: the names, their columns as bytes, and
#: the function that packs their values into bytes.
Layout = tuple[tuple[str, ...], bytes, Callable[..., bytes]]


class _Columns(dict[str, int]):
    """The column of each name; NOWHERE for an unknown one."""

    def __missing__(self, name: str) -> int:
        return NOWHERE


class NamedFeatures:
    """The names of features and their columns.

    Attributes
    ----------
    names : list of str
        The names in the order of the columns.
    columns : dict
        The column of each name.

    Examples
    --------
    >>> features = NamedFeatures()
    >>> values, columns = features.convert({"size": 2, "colour": "red"}, learn=True)
    >>> features.names, values.tolist(), columns.tolist()
    (['size', 'colour=red'], [2.0, 1.0], [0, 1])
    >>> names, columns, pack = features.layout(("colour=red", "shape=round"))
    >>> np.frombuffer(columns, np.uint32).tolist() == [1, NOWHERE]
    True
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        self.columns = _Columns({name: column for column, name in enumerate(self.names)})

    def layout(self, names: tuple[str, ...]) -> Layout:
        """The layout of examples with these names, some of which may be unknown."""
        # Packing takes half the time of making arrays; an itemgetter, three quarters of a loop's.
        pack_columns, pack_values = _packers(len(names))
        columns = self.columns
        found = itemgetter(*names)(columns) if len(names) > 1 else map(columns.__getitem__, names)
        return names, pack_columns(*found), pack_values

    def layout_of(self, x: Mapping[str, Any], names: tuple[str, ...]) -> tuple[bytes, Layout]:
        """The values of an example as bytes, and the layout of its names; new names are added.

        Nothing is added if a value is not a finite number, which raises an error; see `UNUSUAL`.
        """
        pack_columns, pack_values = _packers(len(names))
        values = pack_values(*x.values())
        found: Any = [*map(self.columns.get, names)]
        if None in found:
            if not math.isfinite(sum(x.values())):
                self.convert(x)  # an error if a value is not finite
            found = self._number_new(names, found)
        return values, (names, pack_columns(*found), pack_values)

    def _number_new(self, names: tuple[str, ...], found: list[int | None]) -> Iterable[int]:
        """Give names without a column a new one; returns the columns of all."""
        count, columns = found.count(None), range(len(self.names), len(self.names) + len(found))
        if count == len(found):
            self.columns.update(zip(names, columns, strict=True))
            self.names += names
            return columns
        place = -1
        for column in columns[:count]:
            place = found.index(None, place + 1)
            found[place] = self.columns[names[place]] = column
            self.names.append(names[place])
        return cast("list[int]", found)

    def add_all(self, names: Iterable[str]) -> None:
        """Give every name without a column a new one."""
        columns = self.columns
        new = [name for name in names if name not in columns]
        columns.update(zip(new, range(len(columns), len(columns) + len(new)), strict=True))
        self.names += new

    def convert(self, x: Mapping[str, Any], learn: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The values and columns of an example.

        Parameters
        ----------
        x : dict
            A string stands for the feature "name=value" with value 1.
        learn : bool
            Whether new names get a column; otherwise they are left out.
        """
        try:
            # Strings and non-finite numbers fail here: the loop below handles them.
            if math.isfinite(sum(x.values())):
                return self._convert_numbers(x, learn)
        except (TypeError, ValueError, OverflowError):
            pass
        names, values = [], []
        for name, value in x.items():
            if isinstance(value, str):
                name, value = f"{name}={value}", 1.0
            try:
                value = float(value)
            except OverflowError:
                raise DataError(f"feature {name!r} is too large for a float") from None
            except (TypeError, ValueError):
                raise DataError(
                    f"feature {name!r} is {value!r}: expected a number or a string"
                ) from None
            if not math.isfinite(value):
                raise DataError(
                    f"feature {name!r} is {value}: only finite numbers can be learned from"
                )
            if learn or name in self.columns:
                names.append(name)
                values.append(value)
        if learn:
            self.add_all(dict.fromkeys(names))
        columns = np.fromiter(map(self.columns.__getitem__, names), np.uint32, len(names))
        return np.array(values, np.float64), columns

    def _convert_numbers(self, x: Mapping[str, Any], learn: bool) -> tuple[np.ndarray, np.ndarray]:
        """The values and columns of an example whose values are finite numbers."""
        if not learn:
            x = {name: value for name, value in x.items() if name in self.columns}
        values = np.fromiter(x.values(), np.float64, len(x))
        if learn:
            self.add_all(x)
        return values, np.fromiter(map(self.columns.__getitem__, x), np.uint32, len(x))

    def forget_from(self, column: int) -> None:
        """Forget the names of this column and of all later ones."""
        for name in self.names[column:]:
            del self.columns[name]
        del self.names[column:]


@cache
def _packers(n: int) -> tuple[Callable[..., bytes], Callable[..., bytes]]:
    """The functions that pack n columns and n values into bytes."""
    return struct.Struct(f"{n}I").pack, struct.Struct(f"{n}d").pack


def named_rows(examples: Sequence[tuple[np.ndarray, np.ndarray]], bias: float, width: int) -> Rows:
    """Sparse rows of examples that `NamedFeatures.convert` turned into values and columns."""
    starts = np.cumsum([0, *(len(values) for values, _ in examples)]).astype(np.uint64)
    values, columns = (np.concatenate(parts) for parts in zip(_NOTHING, *examples, strict=True))
    return Rows(Sparse(frozen(values), frozen(columns), frozen(starts), bias), len(examples), width)
