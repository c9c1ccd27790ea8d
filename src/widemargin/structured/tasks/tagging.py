"""A tagger in plain Python; `widemargin.structured.Tagger` is the fast version."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from widemargin.structured.task import Score, Task

#: The tag before the first word.
_START = "^"


class Tagging(Task):
    """A first-order tagger whose features are the word, its last letters and the previous tag.

    x is a list of words, y a tuple of tags. It has exact search (Viterbi), cost-augmented search
    and beam search. Subclasses may override `look` to give words other features.

    Parameters
    ----------
    tags : sequence of str
        All tags.

    Examples
    --------
    >>> from widemargin.structured import StructuredPerceptron
    >>> model = StructuredPerceptron(Tagging(["Det", "Noun", "Verb"]))
    >>> model = model.fit([["the", "dog"], ["dogs", "bark"]], [("Det", "Noun"), ("Noun", "Verb")])
    >>> model.predict([["the", "cat"], ["dogs", "bark"]])
    [('Det', 'Noun'), ('Noun', 'Verb')]
    """

    def __init__(self, tags: Sequence[str]) -> None:
        self.tags = [tag.item() if isinstance(tag, np.generic) else tag for tag in tags]
        if not all(isinstance(tag, Hashable) for tag in self.tags):
            raise ValueError(f"tags={self.tags!r:.50}: a tag cannot be a list, a dict or an array")

    def params(self) -> dict[str, list[str]]:
        """The tags."""
        return {"tags": self.tags}

    def look(self, words: Sequence[str], i: int) -> list[str]:
        """The features of a word."""
        return [words[i], f"-{words[i][-2:]}"]

    def features(self, x: Sequence[str], y: Sequence[str]) -> list[str]:
        """Each tag with the features of its word, and with the previous tag."""
        before = (_START, *y)
        return [name for i, tag in enumerate(y) for name in self._local(x, i, before[i], tag)]

    def _local(self, x: Sequence[str], i: int, before: str, tag: str) -> list[str]:
        return [f"{before} {tag}", *(f"{seen} {tag}" for seen in self.look(x, i))]

    def argmax(self, x: Sequence[str], score: Score) -> tuple[str, ...]:
        """Viterbi's algorithm."""
        return self._viterbi(x, score, None)

    def argmax_with_cost(self, x: Sequence[str], score: Score, y: Sequence[str]) -> tuple[str, ...]:
        """Viterbi's algorithm, with a bonus of 1 for every wrong tag."""
        return self._viterbi(x, score, y)

    def _viterbi(self, x: Sequence[str], score: Score, y: Sequence[str] | None) -> tuple[str, ...]:
        ways: dict[str, tuple[float, tuple[str, ...]]] = {_START: (0.0, ())}
        for i in range(len(x)):
            seen = self.look(x, i)
            longer = {}
            for tag in self.tags:
                here = score([f"{one} {tag}" for one in seen])
                here += y is not None and tag != y[i]
                reached, before = max(
                    ((s + score(f"{b} {tag}"), b) for b, (s, _) in ways.items()),
                    key=lambda way: way[0],
                )
                longer[tag] = (reached + here, (*ways[before][1], tag))
            ways = longer
        return max(ways.values(), key=lambda way: way[0])[1]

    def cost(self, y: Sequence[str], found: Sequence[str]) -> float:
        """How many tags are wrong."""
        return float(sum(a != b for a, b in zip(y, found, strict=True)))

    def quality(self, y: Sequence[str], found: Sequence[str]) -> float:
        """The share of right tags."""
        return 1.0 - self.cost(y, found) / max(1, len(y))

    def candidates(self, x: Sequence[str]) -> Iterable[tuple[str, ...]]:
        """All taggings."""
        return product(self.tags, repeat=len(x))

    # The beam: a state is the tags so far.

    def start(self, x: Sequence[str]) -> tuple[str, ...]:
        """No tags."""
        return ()

    def steps(
        self, x: Sequence[str], state: tuple[str, ...]
    ) -> Iterator[tuple[list[str], tuple[str, ...]]]:
        """One more tag."""
        before = state[-1] if state else _START
        for tag in self.tags:
            yield self._local(x, len(state), before, tag), (*state, tag)

    def is_done(self, x: Sequence[str], state: tuple[str, ...]) -> bool:
        """A tag for every word."""
        return len(state) == len(x)

    def is_right(self, x: Sequence[str], y: Sequence[str], state: tuple[str, ...]) -> bool:
        """The first tags of y."""
        return state == tuple(y[: len(state)])

    def answer(self, x: Sequence[str], state: tuple[str, ...]) -> tuple[str, ...]:
        """The tags."""
        return state
