"""Examples as dicts: named features, whose columns are numbered as the names come."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from widemargin.errors import DataError

#: What packing raises if an example is not as simple as most: a name that is new, a string, an
#: object that is no number. `NamedFeatures.convert` then looks at each feature.
UNUSUAL = (KeyError, TypeError, OverflowError, struct.error)


class Layout(NamedTuple):
    """Where the values of examples with the same names, in the same order, belong."""

    names: tuple[str, ...]
    columns: np.ndarray  # one per name
    pack: Callable[..., bytes]  # the bytes of as many values


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
    >>> features.layout(("colour=red",)).columns.tolist()
    [1]
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        self.columns = {name: column for column, name in enumerate(self.names)}

    def layout(self, names: tuple[str, ...]) -> Layout:
        """The layout of examples with these names; raises KeyError if one of them is new."""
        # Packing takes half the time of making arrays from lists or iterators.
        pack_columns, pack_values = _packers(len(names))
        packed = pack_columns(*map(self.columns.__getitem__, names))
        return Layout(names, np.frombuffer(bytearray(packed), np.uint32), pack_values)

    def convert(self, x: Mapping[str, Any], learn: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The values and columns of any example.

        Parameters
        ----------
        x : dict
            A string stands for the feature "name=value" with value 1.
        learn : bool
            Whether new names get a column; otherwise they are left out.
        """
        try:
            # Neither strings nor numbers that are not finite pass: they are for the loop below.
            if math.isfinite(sum(x.values())):
                return self._convert_numbers(x, learn)
        except (TypeError, ValueError, OverflowError):
            pass
        columns, values = [], []
        for name, value in x.items():
            if isinstance(value, str):
                name, value = f"{name}={value}", 1.0
            value = float(value)
            if not math.isfinite(value):
                raise DataError(
                    f"feature {name!r} is {value}: only finite numbers can be learned from"
                )
            column = self.columns.get(name)
            if column is None and learn:
                column = self._add(name)
            if column is not None:
                columns.append(column)
                values.append(value)
        return np.array(values, np.float64), np.array(columns, np.uint32)

    def _convert_numbers(self, x: Mapping[str, Any], learn: bool) -> tuple[np.ndarray, np.ndarray]:
        """The values and columns of an example whose values are finite numbers."""
        if not learn:
            x = {name: value for name, value in x.items() if name in self.columns}
        values = np.fromiter(x.values(), np.float64, len(x))
        if learn:
            for name in x:
                if name not in self.columns:
                    self._add(name)
        return values, np.fromiter(map(self.columns.__getitem__, x), np.uint32, len(x))

    def _add(self, name: str) -> int:
        """Give a new name a column."""
        column = self.columns[name] = len(self.names)
        self.names.append(name)
        return column


@cache
def _packers(n: int) -> tuple[Callable[..., bytes], Callable[..., bytes]]:
    """The functions that make bytes of n columns, and of n values."""
    return struct.Struct(f"{n}I").pack, struct.Struct(f"{n}d").pack
