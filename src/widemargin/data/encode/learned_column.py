"""What a table encoder learns about a column: scale, categories, missing cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin.data.readers.columns import KINDS
from widemargin.modelfile.checks import check_counts, check_kinds
from widemargin.parameters.values import check_choice

#: Block size for sums: large enough to be fast, small enough to buffer an incomplete block.
_BLOCK = 1 << 13
#: A whole number written as a float: 1.0, but not 01.0, which is a code.
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")


@dataclass
class Moments:
    """Statistics of the numbers of a column, gathered chunk by chunk.

    Two parts with counts a, b, means m, k and sums of squared differences S, T make (a + b, m + d b
    / (a + b), S + T + d^2 a b / (a + b)) with d = k - m. Numbers are added up in blocks of a fixed
    size, starting from the first number, so that the result does not depend on the chunks.

    References
    ----------
    Chan, Golub, LeVeque, "Algorithms for computing the sample variance" (1983), formula 2.1.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def __post_init__(self) -> None:
        self._blocks = (self.count, self.mean, self.squares)
        self._tail = np.empty(0)  # numbers that do not fill a block yet

    def add(self, numbers: np.ndarray) -> None:
        """Add more numbers."""
        if not len(numbers):
            return
        numbers = np.concatenate([self._tail, numbers])
        full = len(numbers) - len(numbers) % _BLOCK
        for start in range(0, full, _BLOCK):
            self._blocks = _together(self._blocks, numbers[start : start + _BLOCK])
        self._tail = numbers[full:].copy()
        self.count, self.mean, self.squares = _together(self._blocks, self._tail)
        self.low = min(self.low, float(numbers.min()))
        self.high = max(self.high, float(numbers.max()))

    def absorb(self, other: Moments) -> None:
        """Merge the statistics of more numbers."""
        joined = _joined(
            (self.count, self.mean, self.squares), (other.count, other.mean, other.squares)
        )
        self.count, self.mean, self.squares = self._blocks = joined
        self._tail = np.empty(0)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def scaling(self, scale: str) -> tuple[float, float]:
        """What to subtract, and what to divide by.

        The divisor is infinity for a constant column, and NaN or 0 if float64 overflows or
        underflows.
        """
        if self.count == 0:
            return 0.0, np.inf
        if scale == "none":
            return 0.0, 1.0
        if scale == "maxabs":
            return 0.0, max(abs(self.low), abs(self.high)) or np.inf
        if self.low == self.high:
            return self.low, np.inf
        spread = float(np.sqrt(self.squares / self.count))
        return self.mean, spread if np.isfinite(spread) else np.nan


def _together(part: tuple[int, float, float], numbers: np.ndarray) -> tuple[int, float, float]:
    """The count, mean and sum of squared differences of a part and more numbers."""
    if not len(numbers):
        return part
    with np.errstate(over="ignore", invalid="ignore"):
        own = float(np.mean(numbers))
        differences = numbers - own
        return _joined(part, (len(numbers), own, float(np.sum(differences * differences))))


def _joined(
    one: tuple[int, float, float], other: tuple[int, float, float]
) -> tuple[int, float, float]:
    """The count, mean and sum of squared differences of two parts."""
    count, mean, squares = one
    b, own, more = other
    if b == 0:
        return one
    with np.errstate(over="ignore", invalid="ignore"):
        d, n = own - mean, count + b
        squares += more + d * d * (count / n) * b
        return n, mean + d * (b / n), squares


def without_point(value: str) -> str:
    """A category without the point and zeros that make a whole number look like a float.

    The same column holds 1.0 in a CSV file, and 1 if pandas has read that file.

    >>> [without_point(value) for value in ("1.0", "-12.00", "007", "07.0", "3.10", "1.0b")]
    ['1', '-12', '007', '07.0', '3.10', '1.0b']
    """
    whole = _WHOLE.fullmatch(value)
    return value if whole is None else "0" if whole[1] == "-0" else whole[1]


@dataclass
class LearnedColumn:
    """What was learned about a column from training data."""

    name: str
    kind: str
    missing: int = 0
    moments: Moments = field(default_factory=Moments)
    values: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pointed: dict[str, int] = {}  # of values such as 1.0, by the whole number
        for value, number in self.values.items():
            self._index(value, number)

    def _index(self, value: str, number: int) -> None:
        plain = without_point(value)
        if plain != value:
            self._pointed.setdefault(plain, number)

    def find(self, value: str) -> int:
        """The number of a category, or -1: that of the same spelling, or else 1 for 1.0."""
        number = self.values.get(value)
        if number is not None:
            return number
        plain = without_point(value)
        return self.values.get(plain, self._pointed.get(plain, -1))

    def learn(self, value: str) -> int:
        """The number of a category, which is a new one if there is none yet."""
        number = self.find(value)
        if number < 0:
            number = self.values[value] = len(self.values)
            self._index(value, number)
        return number

    def absorb(self, other: LearnedColumn) -> np.ndarray:
        """Merge what was learned elsewhere; returns the code here for each code there.

        A code is 0 for a missing cell, 1 for a number, and counts categories from 1.
        """
        self.missing += other.missing
        if self.kind != "category":
            self.moments.absorb(other.moments)
            return np.arange(2, dtype=np.uint64)
        self.moments.count += other.moments.count
        numbers = [self.learn(value) for value in other.values]
        return np.array([0, *(1 + number for number in numbers)], np.uint64)

    @property
    def width(self) -> int:
        """The number of features of the column."""
        plain = len(self.values) if self.kind == "category" else 1
        return plain + (self.missing > 0)

    def name_of(self, code: int) -> str:
        """The name of a feature: of a missing cell (0), or of a number or category (from 1)."""
        if code == 0:
            return f"{self.name} is missing"
        if self.kind != "category":
            return self.name
        return f"{self.name}={list(self.values)[code - 1]}"


def restore_columns(
    described: Sequence[dict[str, Any]],
    counts: np.ndarray,
    moments: np.ndarray,
    categories: Sequence[str],
) -> list[LearnedColumn]:
    """The columns described in a file, whose categories are stored in one list."""
    columns, start = [], 0
    for column, count, numbers in zip(described, counts, moments, strict=True):
        check_kinds(column, name=str)
        check_counts(column, "missing", "values")
        check_choice("kind", column["kind"], KINDS)
        size = column["values"]
        values = {value: i for i, value in enumerate(categories[start : start + size])}
        if len(values) != size:
            raise ValueError(f"{column['name']!r:.40} has {len(values)} of {size!r:.20} categories")
        gathered = Moments(int(count), *(float(number) for number in numbers))
        columns.append(
            LearnedColumn(column["name"], column["kind"], column["missing"], gathered, values)
        )
        start += size
    if start != len(categories):
        raise ValueError(f"there are {len(categories)} categories, but the columns have {start}")
    return columns
