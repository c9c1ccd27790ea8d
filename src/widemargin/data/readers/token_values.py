"""Named numeric values of tokens, stored sparsely, as most tokens have few of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np


@dataclass(frozen=True, eq=False)
class TokenValues:
    """Named numbers of tokens.

    Attributes
    ----------
    names : tuple of str
        The names of the values.
    starts : array of int64, one longer than there are tokens
        Token i has the numbers from starts[i] up to starts[i + 1].
    codes : array of uint32
        The index of each number's name in `names`.
    amounts : array of float64
        The numbers.

    Examples
    --------
    >>> values = TokenValues.of([{"length": 3.0}, {}, {"length": 2.0, "rank": 0.5}])
    >>> values.names, values.starts.tolist(), values.amounts.tolist()
    (('length', 'rank'), [0, 1, 1, 3], [3.0, 2.0, 0.5])
    >>> values.stretch(1, 3).amounts.tolist()
    [2.0, 0.5]
    >>> values.recoded({"rank": 0}).amounts.tolist()
    [0.5]
    """

    names: tuple[str, ...]
    starts: np.ndarray
    codes: np.ndarray
    amounts: np.ndarray

    @classmethod
    def of(cls, tokens: Sequence[Mapping[str, float]]) -> TokenValues:
        """Values from a mapping of names to numbers for each token."""
        places: dict[str, int] = {}
        codes = [places.setdefault(name, len(places)) for token in tokens for name in token]
        return cls(
            tuple(places),
            np.array([0, *accumulate(map(len, tokens))], np.int64),
            np.array(codes, np.uint32),
            np.array([amount for token in tokens for amount in token.values()], np.float64),
        )

    def stretch(self, first: int, last: int) -> TokenValues:
        """The values of the tokens from `first` up to `last`."""
        a, b = int(self.starts[first]), int(self.starts[last])
        return replace(
            self,
            starts=self.starts[first : last + 1] - a,
            codes=self.codes[a:b],
            amounts=self.amounts[a:b],
        )

    def recoded(self, places: Mapping[str, int]) -> TokenValues:
        """The same values with other name indices; names without an index are left out."""
        if list(places.items()) == list(zip(self.names, range(len(self.names)), strict=True)):
            return self
        to = np.array([places.get(name, -1) for name in self.names], np.int64)
        codes = to[self.codes] if len(to) else np.empty(0, np.int64)
        kept = codes >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        return TokenValues(
            tuple(places),
            before[self.starts].astype(np.int64),
            codes[kept].astype(np.uint32),
            self.amounts[kept],
        )

    @classmethod
    def joined(cls, parts: Sequence[tuple[TokenValues | None, int]]) -> TokenValues | None:
        """Concatenate the values of corpora, each given with its number of tokens."""
        if all(values is None for values, _ in parts):
            return None
        names = dict.fromkeys(name for values, _ in parts if values for name in values.names)
        places = {name: place for place, name in enumerate(names)}
        found = [
            cls(tuple(names), *_nothing(tokens)) if values is None else values.recoded(places)
            for values, tokens in parts
        ]
        before = [0, *accumulate(len(values.codes) for values in found)]
        inner = [values.starts[:-1] + b for values, b in zip(found, before, strict=False)]
        return cls(
            tuple(names),
            np.concatenate([*inner, before[-1:]]).astype(np.int64),
            np.concatenate([values.codes for values in found]),
            np.concatenate([values.amounts for values in found]),
        )


def _nothing(tokens: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of tokens without values."""
    return np.zeros(tokens + 1, np.int64), np.empty(0, np.uint32), np.empty(0)
