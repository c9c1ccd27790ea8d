"""How well scores rank one class above the rest: ROC and precision-recall curves, with intervals.

    true positive rate (recall) at t    positives with a score of at least t / positives
    false positive rate at t            negatives with a score of at least t / negatives
    precision at t                      positives among those with a score of at least t

A curve has one point per distinct score: examples with equal scores pass a threshold together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.data.encode.labels import check_label_count, codes_of, encode_labels
from widemargin.errors import DataError
from widemargin.evaluate.intervals import logit_interval, wilson
from widemargin.evaluate.measures import Measures
from widemargin.evaluate.thresholds import Aim, Counts, best_cut, between, read_aim
from widemargin.markup.reprs import brief, brief_repr

#: A threshold is chosen this many times, each time leaving out a different part of the examples.
_PARTS = 10


@dataclass(frozen=True)
class Choice:
    """A threshold that was chosen on examples.

    Attributes
    ----------
    aim : Aim
        What it was chosen for.
    threshold : float
        The threshold, halfway between two scores. A score of at least this is the positive class;
        for mirrored scores (`Curves.mirrored`), the threshold applies to the original scores.
    chosen : Measures
        Precision, recall and F1 of the positive class (the second label) on these examples. They
        are optimistic, because the threshold was chosen on the same examples.
    expected : Measures or None
        The same on parts of the examples, each with a threshold chosen on the other parts: what to
        expect on other examples. None if a class has a single example.
    """

    aim: Aim
    threshold: float
    chosen: Measures
    expected: Measures | None

    __repr__ = brief_repr


@dataclass(frozen=True, repr=False)
class Curves:
    """How well scores rank one class above the rest.

    Attributes
    ----------
    positive, negative
        The class that large scores indicate, and the other one.
    truth : array of bool
        Which examples are positive.
    scores : array of float
        Their scores.
    mirrored : bool
        Whether these are the scores of a model with opposite signs, because the positive class is
        the first of its two.
    """

    positive: Any
    negative: Any
    truth: np.ndarray
    scores: np.ndarray
    mirrored: bool = False

    def __repr__(self) -> str:
        return (
            f"Curves({self.positives:,} of {len(self.truth):,} are {self.positive!r}:"
            f" AUC {self.auc:.4f}, average precision {self.average_precision:.4f})"
        )

    @property
    def positives(self) -> int:
        """Number of positive examples."""
        return int(np.count_nonzero(self.truth))

    @property
    def share(self) -> float:
        """The share of positives, which is the average precision of random scores."""
        return self.positives / len(self.truth)

    @cached_property
    def counts(self) -> Counts:
        """How many positives and negatives reach each distinct score."""
        return Counts.of(self.truth, self.scores)

    @property
    def thresholds(self) -> np.ndarray:
        """The distinct scores, largest first."""
        return self.counts.thresholds

    @property
    def recall(self) -> np.ndarray:
        """The recall (true positive rate) at each threshold."""
        return self.counts.recall

    @property
    def precision(self) -> np.ndarray:
        """The precision at each threshold."""
        return self.counts.precision

    @property
    def false_positive_rate(self) -> np.ndarray:
        """The share of the negatives that reach each threshold."""
        return self.counts.false / (len(self.truth) - self.positives)

    @cached_property
    def _placements(self) -> tuple[np.ndarray, np.ndarray]:
        """The share of negatives below each positive, and of positives above each negative.

        Ties count one half. The mean of either is the AUC.
        """
        order = np.argsort(self.scores, kind="stable")
        ranked = self.scores[order]
        first = np.searchsorted(ranked, ranked, side="left")
        after = np.searchsorted(ranked, ranked, side="right")
        below = np.concatenate([[0], np.cumsum(~self.truth[order])])
        above = np.concatenate([[0], np.cumsum(self.truth[order])])
        hits = self.truth[order]
        lower = (below[first] + below[after])[hits] / 2.0
        upper = self.positives - (above[first] + above[after])[~hits] / 2.0
        return lower / (len(hits) - self.positives), upper / self.positives

    @property
    def auc(self) -> float:
        """The area under the ROC curve.

        This is the probability that a positive has a larger score than a negative (a tie counts
        one half).
        """
        return float(np.mean(self._placements[0]))

    @property
    def auc_interval(self) -> tuple[float, float]:
        """95 % interval of the AUC: DeLong's variance, on the log-odds scale.

        If every positive is above every negative, the variance is 0; the interval is then Wilson's
        for as many trials as the smaller class has examples.

        References
        ----------
        E. DeLong, D. DeLong and D. Clarke-Pearson (1988), Comparing the areas under two or more
        correlated receiver operating characteristic curves, Biometrics 44.
        """
        area = self.auc
        sides = self._placements
        few = min(map(len, sides))
        if few < 2 or not 0.0 < area < 1.0:
            return wilson(round(area * few), few)
        variance = sum(float(np.var(side, ddof=1)) / len(side) for side in sides)
        return logit_interval(area, math.sqrt(variance))

    @property
    def average_precision(self) -> float:
        """The mean precision at the positives: the area under the precision-recall steps."""
        gained = np.diff(self.counts.true, prepend=0)
        return float(np.sum(gained * self.precision) / self.positives)

    @property
    def average_precision_interval(self) -> tuple[float, float]:
        """95 % interval of the average precision, on the log-odds scale.

        The variance is that of a proportion of as many trials as there are positives.

        References
        ----------
        K. Boyd, K. Eng and C. Page (2013), Area under the precision-recall curve: point estimates
        and confidence intervals, ECML (the logit interval).
        """
        area, n = self.average_precision, self.positives
        if not 0.0 < area < 1.0:
            return wilson(round(area * n), n)
        return logit_interval(area, math.sqrt(area * (1.0 - area) / n))

    def at(self, threshold: float) -> Measures:
        """Precision, recall and F1 (of the second label) if a score >= threshold is positive.

        Examples
        --------
        >>> found = curves(["no", "yes", "no", "yes"], [0.1, 0.4, 0.5, 0.9]).at(0.4)
        >>> found.labels[1], found.precision[1], found.recall[1]
        ('yes', 0.6666666666666666, 1.0)
        """
        return self.measured(self.scores >= threshold)

    def deployed(self) -> Measures:
        """Precision, recall and F1 of a model with these scores; 0 counts as its second class."""
        return self.measured(self.scores > 0.0 if self.mirrored else self.scores >= 0.0)

    def choose(self, aim: str | Aim) -> Choice:
        """Choose a threshold, and estimate what to expect of it.

        Parameters
        ----------
        aim : str
            "f1" for the largest F1; "precision=0.95" for the largest recall at a precision of at
            least 0.95; "recall=0.9" for the largest precision at a recall of at least 0.9.

        Examples
        --------
        >>> y, scores = [0, 0, 1, 0, 1, 1], [-3.0, -2.0, -1.0, -0.5, 1.0, 2.0]
        >>> choice = curves(y, scores).choose("recall=1")
        >>> choice.threshold, choice.chosen.precision[1]
        (-1.5, 0.75)
        """
        wanted = read_aim(aim)
        if not isinstance(wanted, Aim):
            raise ValueError(f"choose({aim!r}): for a known threshold, use at({aim!r})")
        low, high = self._cut(self.counts, wanted)
        return Choice(
            wanted,
            between(-high, -low) if self.mirrored else between(low, high),
            self.at(high),
            self._expected(wanted),
        )

    def _cut(self, counts: Counts, aim: Aim) -> tuple[float, float]:
        """The two neighbouring scores between which to cut."""
        best = best_cut(counts, aim)
        if best is None:
            largest = int(np.argmax(counts.precision))
            raise DataError(
                f"no threshold reaches {aim} for {self.positive!r} on {len(self.truth):,} examples:"
                f" the largest {aim.kind} is {counts.precision[largest]:.4f}"
                f" (recall {counts.recall[largest]:.4f})"
            )
        low = counts.thresholds[best + 1] if best + 1 < len(counts.thresholds) else -math.inf
        return float(low), float(counts.thresholds[best])

    def _expected(self, aim: Aim) -> Measures | None:
        """Measure every part with a threshold chosen on the others."""
        parts = min(_PARTS, self.positives, len(self.truth) - self.positives)
        if parts < 2:
            return None
        rng = np.random.default_rng(0)
        part_of = np.empty(len(self.truth), np.int64)
        for side in (self.truth, ~self.truth):
            part_of[side] = rng.permutation(np.count_nonzero(side)) % parts
        found = np.zeros(len(self.truth), bool)
        for part in range(parts):
            mine = part_of == part
            counts = Counts.of(self.truth[~mine], self.scores[~mine])
            try:
                threshold = between(*self._cut(counts, aim))
            except DataError:  # not reachable without this part: use the nearest to it
                threshold = float(counts.thresholds[np.argmax(counts.precision)])
            found[mine] = self.scores[mine] >= threshold
        return self.measured(found)

    def measured(self, found: np.ndarray) -> Measures:
        """Precision, recall and F1 if these examples are predicted as positive."""
        right = int(np.count_nonzero(found & self.truth))
        false = int(np.count_nonzero(found)) - right
        missed = self.positives - right
        table = [[len(self.truth) - right - false - missed, false], [missed, right], [0, 0]]
        return Measures([self.negative, self.positive], np.array(table))


def curves(y: Any, scores: Any, *, positive: Any = None) -> Curves:
    """Compute the ROC and precision-recall curves of scores, their areas and 95 % intervals.

    Parameters
    ----------
    y : array of n labels
        The correct labels.
    scores : array of n numbers
        The larger, the more likely the positive class: for a model of two classes, the result of
        `decision_function`, or a probability.
    positive : label, optional
        The class that large scores indicate, against all others. By default the second of two.

    Returns
    -------
    Curves
        `auc`, `average_precision` and their intervals; `thresholds`, `recall`, `precision` and
        `false_positive_rate`, point by point; `at(threshold)`; `choose(rule)`.

    Examples
    --------
    >>> from widemargin import curves
    >>> found = curves(["ham", "spam", "ham", "spam"], [-2.0, -0.5, 0.5, 3.0])
    >>> found.auc, round(found.average_precision, 4)
    (0.75, 0.8333)
    >>> found.thresholds.tolist(), found.recall.tolist()
    ([3.0, 0.5, -0.5, -2.0], [0.5, 0.5, 1.0, 1.0])
    """
    classes, codes = encode_labels(y)
    labels, scores = classes.tolist(), np.asarray(scores, np.float64)
    if scores.ndim != 1:
        raise DataError(
            f"scores has shape {scores.shape}: give one score per row, such as the column of one"
            " class together with positive=LABEL"
        )
    check_label_count(len(scores), len(codes), "score")
    if not np.all(np.isfinite(scores)):
        raise DataError(f"scores has {scores[~np.isfinite(scores)][0]}: scores must be finite")
    if len(labels) < 2:
        raise DataError(f"only one class ({labels[0]!r}) is present: curves need two")
    if positive is None and len(labels) > 2:
        raise DataError(f"there are {len(labels)} classes: say which one is positive=")
    if positive is not None and positive not in labels:
        raise DataError(f"positive={positive!r} is not a label: the first is {labels[0]!r}")
    code = 1 if positive is None else labels.index(positive)
    negative = labels[1 - code] if len(labels) == 2 else "the rest"
    return Curves(labels[code], negative, codes == code, scores)


def curves_of_model(
    classes: np.ndarray, codes: np.ndarray, scores: np.ndarray, positive: Any = None
) -> Curves | None:
    """The curves of a model of two classes for its rarer class, or for a given one.

    Parameters
    ----------
    classes : array
        The two labels; positive scores indicate the second.
    codes : array
        The correct class of every example; examples with -1, whose label the model does not know,
        are left out.
    scores : array
        The result of `decision_function`.
    positive : label, optional
        The class to rank above the other. By default the one with fewer examples, or the second if
        both have equally many.

    Returns
    -------
    Curves or None
        None unless there are examples of both classes.
    """
    known = codes >= 0
    codes, scores = codes[known], np.asarray(scores, np.float64)[known]
    sizes = np.bincount(codes, minlength=2)
    if not np.all(sizes):
        return None
    code = int(sizes[1] <= sizes[0])
    labels = classes.tolist()
    if positive is not None:
        code = label_code(labels, positive)
    return Curves(
        labels[code],
        labels[1 - code],
        codes == code,
        scores if code else -scores,
        mirrored=not code,
    )


def choose_threshold(
    classes: np.ndarray, y: Any, scores: np.ndarray, aim: Aim, positive: Any = None
) -> Choice:
    """Choose a threshold for a model of two classes on held-out labels and scores."""
    if len(classes) != 2:
        raise DataError(
            f"a threshold decides between two classes, and the model has {len(classes)}"
        )
    codes = codes_of(y, classes)
    check_label_count(len(scores), len(codes))
    found = curves_of_model(classes, codes, scores, positive)
    if found is None:
        raise DataError("to choose a threshold, examples of both classes must be held out")
    return found.choose(aim)


def label_code(labels: list[Any], label: Any) -> int:
    """The index of a label, which the shell gives as a string."""
    found = [code for code, known in enumerate(labels) if known == label or str(known) == label]
    if not found:
        listed = " or ".join(map(repr, labels))
        raise DataError(f"{brief(label)} is not a class of the model, which has {listed}")
    return found[0]
