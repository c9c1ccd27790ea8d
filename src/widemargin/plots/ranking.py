"""ROC and precision-recall curves, with the point at which a model decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from widemargin.data.encode.labels import codes_of
from widemargin.errors import DataError
from widemargin.evaluate.measures import Measures
from widemargin.evaluate.ranking import Curves, curves, curves_of_model
from widemargin.markup.reprs import brief
from widemargin.markup.words import short
from widemargin.plots import style
from widemargin.plots.display import Display


class _Kind(NamedTuple):
    """A kind of plot: its axes, the name of its area, and how its points are joined.

    Straight lines give tied examples the area of their mean order, as the AUC does; the average
    precision is the area under steps.
    """

    x: str
    y: str
    area: str
    joined: str


_ROC = _Kind("false positive rate", "recall (true positive rate)", "AUC", "default")
_PRECISION_RECALL = _Kind("recall", "precision", "average precision", "steps-pre")


@dataclass(repr=False)
class RankingDisplay(Display):
    """A ROC or precision-recall curve.

    Attributes
    ----------
    curves : Curves
        The curves to draw.
    deployed : Measures or None
        The figures of the model's own decisions, which are marked on the curve.
    """

    curves: Curves
    deployed: Measures | None = None
    _kind = _ROC

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, positive: Any = None, ax: Any = None
    ) -> Self:
        """Plot the curve of a fitted classifier."""
        classes = getattr(estimator, "classes_", getattr(estimator, "classes", None))
        if classes is None or not hasattr(estimator, "decision_function"):
            raise DataError(f"{type(estimator).__name__} is not a fitted classifier with scores")
        scores = np.asarray(estimator.decision_function(X), np.float64)
        codes = codes_of(y, np.asarray(classes))
        if scores.ndim == 2:
            if positive is None:
                raise DataError(f"there are {len(classes)} classes: give one of them as positive=")
            places = [code for code, label in enumerate(classes) if label == positive]
            if not places:
                raise DataError(f"{brief(positive)} is not a class of the model")
            return cls(curves(y, scores[:, places[0]], positive=positive)).plot(ax=ax)
        found = curves_of_model(np.asarray(classes), codes, scores, positive)
        if found is None:
            raise DataError("the examples are all of one class: curves need two")
        return cls(found, found.deployed()).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the plot."""
        self.ax_ = ax = style.new_axes(ax)
        self.figure_ = ax.figure
        x, y, area, interval, chance, mark = self._drawn()
        look = {"color": style.GREY, "linewidth": 1.0, "linestyle": ":"}
        ax.plot((0.0, 1.0), chance, label="by chance", **look)
        label = f"{self._kind.area} {area:.3f}\n({interval[0]:.3f} to {interval[1]:.3f})"
        colour = style.colour_of(1)
        joined = self._kind.joined
        ax.plot(x, y, drawstyle=joined, color=colour, linewidth=1.8, label=label)
        if mark is not None:
            look = {"color": style.colour_of(0), "zorder": 4, "label": "as it decides"}
            ax.plot(*mark, "o", markersize=7, clip_on=False, **look)
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(0.0, 1.02)
        found = self.curves
        title = f"{short(found.positive, 24)}: {found.share:.1%} of {len(found.truth):,}"
        style.dress(ax, title, self._kind.x, self._kind.y)
        style.legend(ax, loc=self._corner())
        return self

    def _drawn(self) -> tuple[Any, ...]:
        """The points, the area with its interval, the line of chance, and the marked point."""
        found, mark = self.curves, None
        if self.deployed is not None:
            (true_negatives, false), (_, _) = self.deployed.confusion[:2]
            mark = (false / max(1, false + true_negatives), self.deployed.recall[1])
        x = np.concatenate([[0.0], found.false_positive_rate])
        y = np.concatenate([[0.0], found.recall])
        return x, y, found.auc, found.auc_interval, (0.0, 1.0), mark

    def _corner(self) -> str:
        """The corner that the curve leaves free; a good ROC curve is above the diagonal."""
        return "lower right" if self.curves.auc >= 0.5 else "upper left"


class PrecisionRecallDisplay(RankingDisplay):
    """A precision-recall curve; attributes as in `RankingDisplay`."""

    _kind = _PRECISION_RECALL

    def _drawn(self) -> tuple[Any, ...]:
        found, mark = self.curves, None
        if self.deployed is not None and self.deployed.predicted[1]:
            mark = (self.deployed.recall[1], self.deployed.precision[1])
        x = np.concatenate([[0.0], found.recall])
        y = np.concatenate([found.precision[:1], found.precision])
        area, interval = found.average_precision, found.average_precision_interval
        return x, y, area, interval, (found.share, found.share), mark

    def _corner(self) -> str:
        """The corner farthest from the curve: a good curve leaves the lower left free."""
        return "lower left" if self.curves.average_precision >= 0.5 else "upper right"


def plot_roc(
    estimator: Any, X: Any = None, y: Any = None, *, positive: Any = None, ax: Any = None
) -> RankingDisplay:
    """Draw the ROC curve of a classifier: recall against the false positive rate.

    Parameters
    ----------
    estimator : fitted classifier, or Curves
        The classifier, or the result of `widemargin.curves`, which needs no X and y.
    X, y
        Examples that it was not trained on, and their classes.
    positive : label, optional
        The class to be found. By default the rarer of two; required if there are more than two.
    ax : matplotlib axes, optional
        Where to draw.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LinearSVM, plot_roc
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> svm = LinearSVM(random_state=0).fit(X[:400], y[:400])
    >>> plot_roc(svm, X[400:], y[400:]).figure_.savefig("roc.png")
    """
    return _plot(RankingDisplay, estimator, X, y, positive, ax)


def plot_precision_recall(
    estimator: Any, X: Any = None, y: Any = None, *, positive: Any = None, ax: Any = None
) -> PrecisionRecallDisplay:
    """Draw the precision-recall curve of a classifier, which suits rare classes better than ROC.

    Parameters
    ----------
    estimator, X, y, positive, ax
        As for `plot_roc`.

    Examples
    --------
    >>> from widemargin import curves, plot_precision_recall
    >>> found = curves(["ham", "spam", "ham", "spam"], [-2.0, -0.5, 0.5, 3.0])
    >>> plot_precision_recall(found).figure_.savefig("precision_recall.png")
    """
    return _plot(PrecisionRecallDisplay, estimator, X, y, positive, ax)


def _plot(display: Any, estimator: Any, X: Any, y: Any, positive: Any, ax: Any) -> Any:
    if isinstance(estimator, Curves):
        if X is not None or y is not None or positive is not None:
            raise DataError("curves already contain their examples: leave out X, y and positive")
        return display(estimator).plot(ax=ax)
    if X is None or y is None:
        raise DataError("to draw the curve of a classifier, give examples, X and y")
    return display.from_estimator(estimator, X, y, positive=positive, ax=ax)
