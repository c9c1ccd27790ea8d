"""Test a model on labelled examples: how often it is right, and its worst mistakes."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.encode.labels import check_label_count, codes_of
from widemargin.data.encode.text import texts_of
from widemargin.data.readers.chunk import Texts
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.evaluate.measures import Measures, confusion_of
from widemargin.evaluate.ranking import Curves, curves_of_model
from widemargin.online.scores import best_class

#: Number of worst mistakes to keep, and number of characters of each to show.
_KEPT, _LETTERS = 10, 600
#: Number of features of an example to show.
_REASONS = 6


class Mistake(NamedTuple):
    """An example that a model gets wrong.

    Attributes
    ----------
    place : str
        The row, or the file and line.
    right, predicted
        The two labels.
    lead : float
        How far the correct label was behind, as a negative number.
    text : str
        The example itself, if it is a text; truncated if it is long.
    reasons : list of (feature, value, share)
        The features that contributed most to the wrong label.
    """

    place: str
    right: Any
    predicted: Any
    lead: float
    text: str = ""
    reasons: Sequence[tuple[str, float, float]] = ()


class Exam:
    """Counts predictions, and keeps the worst mistakes.

    Parameters
    ----------
    classes : array
        The labels that the model knows.
    """

    def __init__(self, classes: np.ndarray) -> None:
        self.classes = np.asarray(classes)
        k = len(self.classes)
        self._confusion = np.zeros((k + 1, k), np.int64)
        self._worst: list[tuple[float, int, Mistake]] = []
        self._ties = itertools.count()
        self._ranked: list[tuple[np.ndarray, np.ndarray]] = []
        self.rows = 0

    @property
    def measures(self) -> Measures:
        """Accuracy, F1 and the confusion table."""
        return Measures(self.classes.tolist(), self._confusion)

    @property
    def curves(self) -> Curves | None:
        """How well the scores of two classes rank the rarer one; None if unknown."""
        if not self._ranked:
            return None
        codes, scores = map(np.concatenate, zip(*self._ranked, strict=True))
        return curves_of_model(self.classes, codes, scores)

    @property
    def mistakes(self) -> list[Mistake]:
        """The worst mistakes, worst first."""
        return [mistake for _, _, mistake in sorted(self._worst, reverse=True)]

    def add(
        self,
        codes: np.ndarray,
        found: np.ndarray,
        leads: np.ndarray,
        describe: Callable[[int], Mistake],
    ) -> None:
        """Count predictions.

        Parameters
        ----------
        codes, found : arrays
            The correct classes (-1: unknown to the model) and the predicted ones.
        leads : array
            How far the correct label leads; negative for mistakes.
        describe : callable
            Maps the index of an example in these arrays to its description.
        """
        self._confusion += confusion_of(codes, found, len(self.classes))
        self.rows += len(codes)
        if len(self.classes) == 2:  # the lead of the second class is its score
            self._ranked.append((codes, np.where(codes == 1, leads, -leads)))
        wrong = np.flatnonzero(codes != found)
        for i in wrong[np.argsort(leads[wrong], kind="stable")[:_KEPT]].tolist():
            entry = (-float(leads[i]), -next(self._ties))
            if len(self._worst) < _KEPT:
                heapq.heappush(self._worst, (*entry, describe(i)))
            elif entry[:1] > self._worst[0][:1]:
                heapq.heapreplace(self._worst, (*entry, describe(i)))


def examine(model: Any, X: Any, y: Any) -> Exam:
    """Test a model on labelled examples in memory.

    Parameters
    ----------
    model : LinearModel, or anything with `classes` (or `classes_`), `predict` and
        `decision_function`
    X, y
        The examples, and their correct labels.
    """
    classes = np.asarray(getattr(model, "classes", getattr(model, "classes_", None)))
    if classes.ndim == 0:
        raise DataError(f"{type(model).__name__} has no classes: it is not a fitted classifier")
    codes = codes_of(y, classes)
    texts = list(X) if _is_texts(X) else None
    asked = model.rows(texts_of(texts) if texts is not None else X) if _is_ours(model) else X
    scores = np.asarray(model.decision_function(asked), np.float64)
    check_label_count(len(scores), len(codes))
    # Models break ties in their own way, and other models may score pairs of classes.
    found = best_class(scores) if _is_ours(model) else codes_of(model.predict(X), classes)
    exam = Exam(classes)
    leads = leads_of(scores, codes, found, len(classes))

    def describe(i: int) -> Mistake:
        row = asked.take(np.array([i], np.uint64)) if isinstance(asked, Rows) else None
        if row is None and hasattr(model, "support") and not hasattr(X, "columns"):
            row = X[i : i + 1]
        return describe_mistake(
            model,
            f"row {i}",
            np.asarray(y)[i],
            classes[found[i]],
            float(leads[i]),
            text="" if texts is None else str(texts[i]),
            row=row,
            raw=None if texts is None else texts_of([texts[i]]),
        )

    exam.add(codes, found, leads, describe)
    return exam


def leads_of(scores: np.ndarray, codes: np.ndarray, found: np.ndarray, classes: int) -> np.ndarray:
    """How far the correct class of every example leads the best other class.

    If the label is not a class, the lead is minus that of the predicted class.
    """
    each = np.arange(len(codes))
    if scores.ndim == 1:
        leads = np.where(codes == 1, scores, -scores)
        return np.where(codes < 0, -np.abs(scores), leads)
    if scores.shape[1] != classes:  # scores of pairs: only correct or wrong is known
        return np.where(codes == found, 1.0, -1.0)
    right = scores[each, np.maximum(codes, 0)]
    others = scores.copy()
    others[each, np.maximum(codes, 0)] = -np.inf
    leads = right - others.max(axis=1)
    unknown = codes < 0
    rest = np.sort(scores[unknown], axis=1)
    leads[unknown] = rest[:, -2] - rest[:, -1] if rest.shape[1] > 1 else -1.0
    return leads


def describe_mistake(
    model: Any,
    place: str,
    right: Any,
    predicted: Any,
    lead: float,
    *,
    text: str = "",
    row: Any = None,
    raw: Any = None,
    **more: Any,
) -> Mistake:
    """Describe one mistake.

    Parameters
    ----------
    row : Rows or matrix, optional
        The example as the model reads it.
    raw : optional
        The example in raw form, from which its encoder gets exact feature names.
    **more
        More arguments for the model's `explain`.
    """
    reasons: list[tuple[str, float, float]] = []
    if hasattr(model, "explain") and (row is not None or raw is not None):
        told = model.explain(row if raw is None else raw, _REASONS, **more)
        reasons = [(reason.feature, reason.value, reason.share) for reason in told.reasons]
    if len(text) > _LETTERS:
        text = text[:_LETTERS] + " …"
    return Mistake(place, right, predicted, lead, text, reasons)


def text_at(texts: Texts, i: int) -> str:
    """One document as text."""
    start, end = int(texts.starts[i]), int(texts.ends[i])
    return texts.buffer[start : min(end, start + 8 * _LETTERS)].tobytes().decode("utf-8", "replace")


def _is_ours(model: Any) -> bool:
    """Whether the model takes rows from our encoders."""
    return hasattr(model, "rows") and hasattr(model, "state")


def _is_texts(X: Any) -> bool:
    if isinstance(X, (Rows, str)) or hasattr(X, "tocsr") or getattr(X, "ndim", 1) != 1:
        return False
    first = next(iter(X), None) if not hasattr(X, "iloc") else X.iloc[0] if len(X) else None
    return isinstance(first, str)
