"""Interactions: which columns or namespaces are multiplied, and the products of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from widemargin.errors import DataError
from widemargin.parameters.values import nearest

#: Stands for any column or namespace.
ANY = ":"
Pair = tuple[str, str]
_SHIFT = np.uint64(32)


def pairs_of(given: Any) -> tuple[Pair, ...]:
    """Interactions as pairs of names, from pairs or from strings such as "age*hours".

    Examples
    --------
    >>> pairs_of(["age*hours", ("kind", ":")])
    (('age', 'hours'), ('kind', ':'))
    >>> pairs_of("a*b,c*d")
    (('a', 'b'), ('c', 'd'))
    """
    listed = given.split(",") if isinstance(given, str) else list(given)
    found = []
    for one in listed:
        pair = tuple(one.split("*")) if isinstance(one, str) else tuple(one)
        if len(pair) != 2 or not all(isinstance(name, str) and name for name in pair):
            raise ValueError(
                f"interactions={one!r} is not a pair of names such as 'age*hours'; ':' means any"
            )
        found.append((pair[0].strip(), pair[1].strip()))
    twice = [pair for i, pair in enumerate(found) if pair in found[:i] or pair[::-1] in found[:i]]
    if twice:
        raise ValueError(f"interactions={'*'.join(twice[0])!r} is given twice")
    return tuple(found)


class Products:
    """Products of pairs of columns.

    In each row, a column has one nonzero feature: its number, its category, or the marker of a
    missing value. A pair has the product of the two: one feature for each combination that occurred
    in a training row. A combination is a pair of 32-bit numbers: 0 for a missing cell, otherwise 1
    + the index of the category, or 1 for a number.

    Parameters
    ----------
    given : sequence of pairs
        As the user gave them.

    Attributes
    ----------
    pairs : list of pairs
        The pairs of actual columns; empty before `resolve`.
    seen : list of arrays of uint64
        For each pair, the combinations that occurred in training, ascending.
    """

    def __init__(self, given: Sequence[Pair]) -> None:
        self.given = tuple(given)
        self.pairs: list[Pair] = []
        self.seen: list[np.ndarray] = []

    @property
    def width(self) -> int:
        """How many features there are."""
        return sum(map(len, self.seen))

    @property
    def columns(self) -> set[str]:
        """The columns that take part."""
        return {name for pair in self.pairs for name in pair}

    def resolve(self, kinds: Mapping[str, str]) -> None:
        """Find the pairs among the columns, given their kinds."""
        for one, other in self.given:
            for name in (one, other):
                if name != ANY and name not in kinds:
                    raise _unknown(f"{one}*{other}", name, list(kinds))
            lefts, rights = ([*kinds] if name == ANY else [name] for name in (one, other))
            for left in lefts:
                for right in rights:
                    self._add(left, right, kinds, ANY in (one, other))
        self.seen = [np.empty(0, np.uint64) for _ in self.pairs]

    def _add(self, left: str, right: str, kinds: Mapping[str, str], any_of_them: bool) -> None:
        """Add a pair unless it is present; of those that ':' stands for, add only useful ones."""
        if left == right and (any_of_them or kinds[left] != "number"):
            if any_of_them:
                return
            pair = f"{left}*{right}"
            raise DataError(
                f"interactions={pair!r}: a column times itself adds nothing unless it holds numbers"
            )
        if (left, right) not in self.pairs and (right, left) not in self.pairs:
            self.pairs.append((left, right))

    def observe(self, codes: Mapping[str, np.ndarray]) -> None:
        """Record the combinations in some rows, given the codes of the columns."""
        for k, (left, right) in enumerate(self.pairs):
            self.seen[k] = np.union1d(self.seen[k], _combined(codes[left], codes[right]))

    def absorb(self, other: Products, codes: Mapping[str, np.ndarray]) -> None:
        """Merge the combinations of another; `codes` maps its codes to the codes here."""
        for k, (left, right) in enumerate(self.pairs):
            lefts, rights = codes[left], codes[right]
            there = other.seen[k]
            here = _combined(lefts[there >> _SHIFT], rights[there & np.uint64(0xFFFFFFFF)])
            self.seen[k] = np.union1d(self.seen[k], here)

    def encode(
        self, codes: Mapping[str, np.ndarray], values: Mapping[str, np.ndarray], first: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The nonzero feature of each pair and row, counted from `first`, and its value."""
        n = len(next(iter(values.values())))
        features, products = (
            np.zeros((len(self.pairs), n), np.uint32),
            np.zeros((len(self.pairs), n)),
        )
        for k, (left, right) in enumerate(self.pairs):
            found = _combined(codes[left], codes[right])
            at = np.minimum(np.searchsorted(self.seen[k], found), max(0, len(self.seen[k]) - 1))
            known = self.seen[k][at] == found
            features[k] = first + at
            products[k] = np.where(known, values[left] * values[right], 0.0)
            first += len(self.seen[k])
        return features, products

    def feature_name(self, number: int, name: Callable[[str, int], str]) -> str:
        """The name of a feature, given a function that names a code of a column."""
        for (left, right), seen in zip(self.pairs, self.seen, strict=True):
            if number < len(seen):
                both = int(seen[number])
                return f"{name(left, both >> 32)}*{name(right, both & 0xFFFFFFFF)}"
            number -= len(seen)
        raise IndexError(number)


def _combined(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (left.astype(np.uint64) << _SHIFT) | right.astype(np.uint64)


def _unknown(pair: str, name: str, known: list[str]) -> DataError:
    likely = nearest(name, tuple(known))
    meant = "" if likely is None else f"; did you mean {likely!r}?"
    shown = ", ".join(map(repr, known[:20]))
    return DataError(
        f"interactions={pair!r}: no numeric or categorical column {name!r} is used{meant} (columns:"
        f" {shown})"
    )
