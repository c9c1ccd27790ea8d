"""Monotone alignment of two strings: which letters, or words, correspond to each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from widemargin.structured.task import Score, Task

Pairs = tuple[tuple[int, int], ...]


class Alignment(Task):
    """Align two sequences: pairs of positions, in the same order on both sides.

    x is a pair of strings (or lists of strings); y is a tuple of pairs (i, j), increasing in both.
    Items that are not in a pair stand alone. Features: "a=b" for a pair of items, "same" if they
    are equal, and "a=" or "=b" with "alone" for an item that stands alone.

    Examples
    --------
    >>> from widemargin.structured import StructuredPerceptron
    >>> model = StructuredPerceptron(Alignment()).set_weights({"same": 2, "c=k": 1, "alone": -0.1})
    >>> model.predict([("cat", "kart")])
    [((0, 0), (1, 1), (2, 3))]
    """

    def features(self, x: tuple[Sequence[str], Sequence[str]], y: Pairs) -> list[str]:
        """The features of every pair and of every item that stands alone."""
        a, b = x
        left, right = {i for i, _ in y}, {j for _, j in y}
        found = [name for i, j in y for name in _pair(a[i], b[j])]
        found += [name for i in range(len(a)) if i not in left for name in _alone(a[i], "")]
        found += [name for j in range(len(b)) if j not in right for name in _alone("", b[j])]
        return found

    def argmax(self, x: tuple[Sequence[str], Sequence[str]], score: Score) -> Pairs:
        """Dynamic programming over prefixes of both sequences (Needleman and Wunsch)."""
        a, b = x
        best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
        came = [[(0, 0)] * (len(b) + 1) for _ in range(len(a) + 1)]
        for i in range(len(a) + 1):
            for j in range(len(b) + 1):
                ways = []
                if i and j:
                    ways.append((best[i - 1][j - 1] + score(_pair(a[i - 1], b[j - 1])), (1, 1)))
                if i:
                    ways.append((best[i - 1][j] + score(_alone(a[i - 1], "")), (1, 0)))
                if j:
                    ways.append((best[i][j - 1] + score(_alone("", b[j - 1])), (0, 1)))
                if ways:
                    best[i][j], came[i][j] = max(ways, key=lambda way: way[0])
        i, j, pairs = len(a), len(b), []
        while i or j:
            di, dj = came[i][j]
            i, j = i - di, j - dj
            if di and dj:
                pairs.append((i, j))
        return tuple(reversed(pairs))

    def cost(self, y: Pairs, found: Pairs) -> float:
        """How many pairs are in one of the two alignments only."""
        return float(len(set(y) ^ set(found)))

    def quality(self, y: Pairs, found: Pairs) -> float:
        """F1 of the pairs."""
        return 2.0 * len(set(y) & set(found)) / (len(y) + len(found)) if y or found else 1.0

    def candidates(self, x: tuple[Sequence[str], Sequence[str]]) -> Iterable[Pairs]:
        """All alignments."""
        a, b = x
        for n in range(min(len(a), len(b)) + 1):
            for left in combinations(range(len(a)), n):
                for right in combinations(range(len(b)), n):
                    yield tuple(zip(left, right, strict=True))


def _pair(a: str, b: str) -> list[str]:
    return [f"{a}={b}", "same"] if a == b else [f"{a}={b}"]


def _alone(a: str, b: str) -> list[str]:
    return [f"{a}={b}", "alone"]
