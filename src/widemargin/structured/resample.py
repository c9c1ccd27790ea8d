"""Figures that are counted in sentences: precision, recall, F1, accuracy, with intervals.

Tokens of one sentence are right or wrong together, so the intervals come from drawing sentences,
not tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.evaluate.intervals import wilson

#: Times that the sentences are drawn anew, and how many numbers to draw at once at the most.
_DRAWS, _AT_ONCE = 1000, 1 << 22


class Ratio(NamedTuple):
    """What was found right, beside what was found and what there is; by sentence.

    Examples
    --------
    >>> import numpy as np
    >>> ratio = Ratio.of(np.array([1, 2]), np.array([2, 2]), np.array([1, 4]))
    >>> ratio.precision, ratio.recall, round(ratio.f1, 3)
    (0.75, 0.6, 0.667)
    """

    hits: np.ndarray
    guesses: np.ndarray
    answers: np.ndarray

    @classmethod
    def of(cls, hits: np.ndarray, guesses: np.ndarray, answers: np.ndarray) -> Ratio:
        """From counts for every sentence."""
        return cls(*(np.asarray(counts, np.int64) for counts in (hits, guesses, answers)))

    @classmethod
    def of_tokens(cls, right: np.ndarray, starts: np.ndarray) -> Ratio:
        """From which tokens are right: then precision, recall and F1 are all the accuracy."""
        sums = np.concatenate([[0], np.cumsum(right)])
        n = np.diff(starts)
        return cls.of(np.diff(sums[starts]), n, n)

    @property
    def right(self) -> int:
        """How many were found right."""
        return int(self.hits.sum())

    @property
    def found(self) -> int:
        """How many were found."""
        return int(self.guesses.sum())

    @property
    def wanted(self) -> int:
        """How many there are."""
        return int(self.answers.sum())

    @property
    def precision(self) -> float:
        """How much of what was found is right; 0 if nothing was."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """How much of what there is was found; 0 if there is nothing."""
        return self.right / self.wanted if self.wanted else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2.0 * self.right / max(1, self.found + self.wanted)

    def interval(self) -> tuple[float, float]:
        """95 % interval of F1 (for tokens: of the accuracy), by drawing sentences anew.

        It is never narrower than if all had been drawn alone: a few sentences without a mistake
        prove little.
        """
        n = len(self.hits)
        if not self.found + self.wanted:
            return 0.0, 1.0
        rng, scores = np.random.default_rng(0), np.empty(_DRAWS)
        either, step = self.guesses + self.answers, max(1, _AT_ONCE // n)
        for first in range(0, _DRAWS, step):
            drawn = rng.integers(0, n, (min(step, _DRAWS - first), n))
            scores[first : first + len(drawn)] = (2.0 * self.hits[drawn].sum(axis=1)) / np.maximum(
                1, either[drawn].sum(axis=1)
            )
        low, high = np.percentile(scores, (2.5, 97.5))
        alone = wilson(self.right, round((self.found + self.wanted) / 2.0))
        return min(float(low), alone[0]), max(float(high), alone[1])
