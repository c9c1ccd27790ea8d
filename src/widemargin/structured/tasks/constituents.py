"""Constituents: the best tree of a sentence under a small grammar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from widemargin.errors import DataError
from widemargin.structured.task import Score, Task


class Constituents(Task):
    """Find trees of a grammar in Chomsky normal form with the CKY algorithm.

    x is a list of words. y is a tree: ("S", left, right) with trees below it, or ("Noun", "fish")
    for a word. Features are the rules that it uses, by name: "S NP VP", "Noun fish".

    Parameters
    ----------
    rules : list of str
        "S NP VP" means that S consists of NP and VP; "Noun fish" that the word fish is a Noun;
        "Noun *" that any word can be a Noun.
    root : str
        The symbol of a whole sentence.

    Examples
    --------
    >>> from widemargin.structured import StructuredPerceptron
    >>> task = Constituents(["S NP VP", "VP V NP", "NP Det N", "NP *", "Det the", "N *", "V *"])
    >>> StructuredPerceptron(task).predict([["Papa", "ate", "the", "caviar"]])[0]
    ('S', ('NP', 'Papa'), ('VP', ('V', 'ate'), ('NP', ('Det', 'the'), ('N', 'caviar'))))
    """

    def __init__(self, rules: Sequence[str], root: str = "S") -> None:
        self.rules, self.root = list(rules), root
        parts = [tuple(rule.split()) for rule in self.rules]
        if bad := [
            rule for rule, part in zip(rules, parts, strict=True) if len(part) not in (2, 3)
        ]:
            raise DataError(f"rule {bad[0]!r}: expected 'S NP VP' or 'Noun fish'")
        self._binary = [part for part in parts if len(part) == 3]
        self._lexical = [part for part in parts if len(part) == 2]

    def params(self) -> dict[str, Any]:
        """The grammar."""
        return {"rules": self.rules, "root": self.root}

    def _symbols(self, word: str) -> list[str]:
        return [symbol for symbol, made in self._lexical if made in (word, "*")]

    def features(self, x: Sequence[str], y: Any) -> list[str]:
        """The rules that a tree uses."""
        symbol, *below = y
        if isinstance(below[0], str):
            return [f"{symbol} {below[0]}"]
        named = [f"{symbol} {below[0][0]} {below[1][0]}"]
        return [*named, *self.features(x, below[0]), *self.features(x, below[1])]

    def argmax(self, x: Sequence[str], score: Score) -> Any:
        """CKY: the best tree of every symbol over every span, from short to long."""
        n = len(x)
        chart: dict[tuple[int, int], dict[str, tuple[float, Any]]] = {}
        for i, word in enumerate(x):
            chart[i, i + 1] = {
                symbol: (score(f"{symbol} {word}"), (symbol, word))
                for symbol in self._symbols(word)
            }
        for length in range(2, n + 1):
            for i in range(n - length + 1):
                cell = chart[i, i + length] = {}
                for middle in range(i + 1, i + length):
                    left, right = chart[i, middle], chart[middle, i + length]
                    for symbol, a, b in self._binary:
                        if a in left and b in right:
                            reached = left[a][0] + right[b][0] + score(f"{symbol} {a} {b}")
                            if symbol not in cell or reached > cell[symbol][0]:
                                cell[symbol] = (reached, (symbol, left[a][1], right[b][1]))
        if self.root not in chart.get((0, n), {}):
            raise DataError(f"the grammar has no tree for {' '.join(x)!r}")
        return chart[0, n][self.root][1]

    def quality(self, y: Any, found: Any) -> float:
        """F1 of the constituents of more than one word."""
        a, b = set(_brackets(y, 0)[0]), set(_brackets(found, 0)[0])
        return 2.0 * len(a & b) / (len(a) + len(b)) if a or b else 1.0

    def candidates(self, x: Sequence[str]) -> Iterable[Any]:
        """All trees."""
        return self._trees(x, 0, len(x), self.root)

    def _trees(self, x: Sequence[str], i: int, k: int, symbol: str) -> Iterator[Any]:
        if k == i + 1 and symbol in self._symbols(x[i]):
            yield (symbol, x[i])
        for top, a, b in self._binary:
            if top == symbol:
                for j in range(i + 1, k):
                    for left in self._trees(x, i, j, a):
                        for right in self._trees(x, j, k, b):
                            yield (symbol, left, right)


def _brackets(tree: Any, start: int) -> tuple[list[tuple[str, int, int]], int]:
    """The constituents of a tree, and where it ends."""
    symbol, *below = tree
    if isinstance(below[0], str):
        return [], start + 1
    left, middle = _brackets(below[0], start)
    right, end = _brackets(below[1], middle)
    return [(symbol, start, end), *left, *right], end
