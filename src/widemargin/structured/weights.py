"""Weights by feature name: the last ones, their average, and the log of corrections."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from widemargin.markup.reprs import brief_repr
from widemargin.modelfile.checks import check_shape
from widemargin.modelfile.packing import pack_strings, unpack_strings
from widemargin.parameters.values import check_whole


class StructuredCorrection(NamedTuple):
    """One entry of the log: the weights gained `amount` times `difference`."""

    example: int
    difference: dict[str, float]
    amount: float
    clock: int  # before the correction: examples seen so far, plus one


def norm(features: Mapping[str, float]) -> float:
    """The norm of a vector."""
    return math.sqrt(sum(value * value for value in features.values()))


def dot(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """The inner product of two vectors."""
    if len(a) > len(b):
        a, b = b, a
    return sum(value * b.get(name, 0.0) for name, value in a.items())


def difference_of(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
    """The difference a - b, without zeros."""
    made = dict(a)
    for name, value in b.items():
        made[name] = made.get(name, 0.0) - value
    return {name: value for name, value in made.items() if value}


@dataclass
class Weights:
    """The learned weights.

    Attributes
    ----------
    last : dict of str to float
        The current weights.
    sums : dict of str to float
        The sum of every correction times its clock: the average is last - sums / count.
    count : int
        Examples seen, plus one.
    start : dict of str to float
        The weights before the first correction of the log.
    log : list of StructuredCorrection
        Every correction, if corrections are recorded.
    """

    last: dict[str, float] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)
    count: int = 1
    start: dict[str, float] = field(default_factory=dict)
    log: list[StructuredCorrection] = field(default_factory=list)

    __repr__ = brief_repr

    def copy(self) -> Weights:
        """An independent copy."""
        return Weights(
            dict(self.last), dict(self.sums), self.count, dict(self.start), list(self.log)
        )

    def correct(self, example: int, difference: dict[str, float], amount: float, log: bool) -> None:
        """Add to the weights."""
        last, sums, clock = self.last, self.sums, self.count
        for name, value in difference.items():
            gained = amount * value
            last[name] = last.get(name, 0.0) + gained
            sums[name] = sums.get(name, 0.0) + clock * gained
        if log:
            self.log.append(StructuredCorrection(example, difference, amount, clock))

    def average(self) -> dict[str, float]:
        """The mean of all weights, weighted by how long each was current."""
        count, sums = self.count, self.sums
        return {name: w - sums.get(name, 0.0) / count for name, w in self.last.items()}

    def put(self, name: str, value: float) -> None:
        """Set one weight by hand, as if it had always had this value."""
        self.last[name], self.start[name] = float(value), float(value)
        self.sums.pop(name, None)

    def hypotheses(self) -> Iterator[tuple[dict[str, float], int]]:
        """All weights that were ever current, and for how many examples. Do not modify them."""
        clocks = [correction.clock for correction in self.log]
        lasted = [b - a for a, b in pairwise([0, *clocks, self.count])]
        weights = dict(self.start)
        yield weights, lasted[0]
        for correction, votes in zip(self.log, lasted[1:], strict=True):
            for name, value in correction.difference.items():
                weights[name] = weights.get(name, 0.0) + correction.amount * value
            yield weights, votes

    # Files

    def pack(self) -> dict[str, np.ndarray]:
        """The weights as arrays for a file."""
        logged = {name for correction in self.log for name in correction.difference}
        names = sorted({*self.last, *self.start, *logged})
        place = {name: i for i, name in enumerate(names)}
        cells = [pair for one in self.log for pair in one.difference.items()]
        return {
            **pack_strings("names", names),
            "last": _values(self.last, names),
            "sums": _values(self.sums, names),
            "start": _values(self.start, names),
            "log.example": np.array([one.example for one in self.log], np.int64),
            "log.amount": np.array([one.amount for one in self.log], np.float64),
            "log.clock": np.array([one.clock for one in self.log], np.int64),
            "log.size": np.array([len(one.difference) for one in self.log], np.int64),
            "log.name": np.array([place[name] for name, _ in cells], np.int64),
            "log.value": np.array([value for _, value in cells], np.float64),
        }

    @classmethod
    def unpack(cls, arrays: dict[str, np.ndarray], count: int) -> Weights:
        """Undo `pack`; a ValueError if the arrays do not fit each other."""
        check_whole("count", count, least=1, most=1 << 53)
        for name, mine in cls().pack().items():
            check_shape(name, arrays[name], (arrays[name].size,), kinds=mine.dtype.kind)
        names = unpack_strings("names", arrays)
        cells = iter(zip(arrays["log.name"].tolist(), arrays["log.value"].tolist(), strict=True))
        columns: list[Any] = [arrays[f"log.{key}"].tolist() for key in ("example", "amount")]
        columns += [arrays["log.clock"].tolist(), arrays["log.size"].tolist()]
        log = []
        for example, amount, clock, size in zip(*columns, strict=True):
            difference = {names[j]: value for j, value in (next(cells) for _ in range(size))}
            log.append(StructuredCorrection(example, difference, amount, clock))
        last, sums, start = (
            dict(zip(names, arrays[key].tolist(), strict=True)) for key in ("last", "sums", "start")
        )
        return cls(last, sums, count, start, log)


def _values(weights: Mapping[str, float], names: list[str]) -> np.ndarray:
    return np.array([weights.get(name, 0.0) for name in names], np.float64)
