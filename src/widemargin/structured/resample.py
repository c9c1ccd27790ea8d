"""Precision, recall, F1 and accuracy, with intervals from resampling sentences.

Errors within a sentence are correlated, so the bootstrap draws sentences, not tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.evaluate.intervals import wilson

#: How often the sentences are resampled, and the most numbers to draw at once.
_DRAWS, _AT_ONCE = 1000, 1 << 22


class Ratio(NamedTuple):
    """Counts per sentence: found and right, found, and wanted.

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
        """Make a ratio from the counts of every sentence."""
        return cls(*(np.asarray(counts, np.int64) for counts in (hits, guesses, answers)))

    @classmethod
    def of_tokens(cls, right: np.ndarray, starts: np.ndarray) -> Ratio:
        """Make a ratio of right tokens: precision, recall and F1 all equal the accuracy."""
        sums = np.concatenate([[0], np.cumsum(right)])
        n = np.diff(starts)
        return cls.of(np.diff(sums[starts]), n, n)

    @property
    def right(self) -> int:
        """How many were found and right."""
        return int(self.hits.sum())

    @property
    def found(self) -> int:
        """How many were found."""
        return int(self.guesses.sum())

    @property
    def wanted(self) -> int:
        """How many there are to find."""
        return int(self.answers.sum())

    @property
    def precision(self) -> float:
        """The share of found items that are right; 0 if nothing was found."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of wanted items that were found; 0 if there are none."""
        return self.right / self.wanted if self.wanted else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2.0 * self.right / max(1, self.found + self.wanted)

    def interval(self) -> tuple[float, float]:
        """95 % interval of F1 (for tokens: of the accuracy), by resampling sentences.

        It is never narrower than the interval for independent tokens or spans, because a few
        sentences without a mistake prove little.
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
