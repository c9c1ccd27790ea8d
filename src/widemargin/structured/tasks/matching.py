"""Bipartite matching: one partner for every row, none used twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

import numpy as np

from widemargin.structured.task import Score, Task

#: Row i and column j: the features of matching i with j.
Table = Sequence[Sequence[Mapping[str, float]]]


class Matching(Task):
    """Match each row with a column; there are at least as many columns as rows.

    x is a table (a list of rows) whose cell i, j is a dict of the features of matching i with j; y
    is a tuple of column numbers, one per row.

    Examples
    --------
    >>> from widemargin.structured import StructuredPerceptron
    >>> x = [[{"near": 1.0}, {"near": 0.5}], [{"near": 0.9}, {"near": 0.1}]]
    >>> StructuredPerceptron(Matching()).set_weights({"near": 1.0}).predict([x])
    [(1, 0)]
    """

    def features(self, x: Table, y: Sequence[int]) -> dict[str, float]:
        """The features of all pairs together."""
        total: dict[str, float] = {}
        for i, j in enumerate(y):
            for name, value in x[i][j].items():
                total[name] = total.get(name, 0.0) + value
        return total

    def argmax(self, x: Table, score: Score) -> tuple[int, ...]:
        """The best assignment (the Hungarian method)."""
        return _assign(np.array([[score(cell) for cell in row] for row in x], float))

    def argmax_with_cost(self, x: Table, score: Score, y: Sequence[int]) -> tuple[int, ...]:
        """The same, with a bonus of 1 for every wrong pair."""
        return _assign(
            np.array(
                [
                    [score(cell) + (j != y[i]) for j, cell in enumerate(row)]
                    for i, row in enumerate(x)
                ]
            )
        )

    def cost(self, y: Sequence[int], found: Sequence[int]) -> float:
        """How many rows are matched wrongly."""
        return float(sum(a != b for a, b in zip(y, found, strict=True)))

    def quality(self, y: Sequence[int], found: Sequence[int]) -> float:
        """The share of rows that are matched correctly."""
        return 1.0 - self.cost(y, found) / max(1, len(y))

    def candidates(self, x: Table) -> Iterable[tuple[int, ...]]:
        """All assignments."""
        return permutations(range(len(x[0]) if x else 0), len(x))


def _assign(scores: np.ndarray) -> tuple[int, ...]:
    from scipy.optimize import linear_sum_assignment

    if not len(scores):
        return ()
    return tuple(linear_sum_assignment(scores, maximize=True)[1].tolist())
