"""A kernel on strings, which counts the short substrings that two strings share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.errors import DataError


@dataclass(frozen=True)
class NGrams:
    """The spectrum kernel, which counts the n-grams of characters that two strings share.

        K(s, t) = sum over n-grams p of  (times p is in s) (times p is in t)

    Parameters
    ----------
    n : int
        The number of characters in an n-gram.
    normalize : bool
        Divide by the lengths in feature space, so that K(s, s) = 1 (0 for strings without n-grams).

    Examples
    --------
    >>> NGrams(2, normalize=False)("banana", "bandana")
    7.0

    References
    ----------
    C. Leslie, E. Eskin, W. Noble, The spectrum kernel (2002).
    """

    n: int = 3
    normalize: bool = True

    def __call__(self, s: str, t: str) -> float:
        """The value for two strings."""
        return float(self.block([s], [t])[0, 0])

    def block(self, A: Sequence[str], B: Sequence[str]) -> np.ndarray:
        """The values for two lists of strings."""
        columns: dict[str, int] = {}
        first = self._counts(A, columns)
        second = first if B is A else self._counts(B, columns)
        first.resize((len(A), max(1, len(columns))))
        return (first @ second.T).toarray()

    def _counts(self, strings: Sequence[str], columns: dict[str, int]) -> Any:
        """A sparse matrix of counts; new n-grams get new columns."""
        import scipy.sparse

        values, indices, ends = [], [], [0]
        for place, string in enumerate(strings):
            if not isinstance(string, str):
                raise DataError(f"row {place}: expected a string, found {type(string).__name__}")
            counts = Counter(string[i : i + self.n] for i in range(len(string) - self.n + 1))
            norm = 1.0
            if self.normalize:
                norm = float(np.sqrt(sum(c * c for c in counts.values()))) or 1.0
            values += [count / norm for count in counts.values()]
            indices += [columns.setdefault(piece, len(columns)) for piece in counts]
            ends.append(len(indices))
        shape = (len(strings), max(1, len(columns)))
        return scipy.sparse.csr_matrix((np.array(values, float), indices, ends), shape=shape)
