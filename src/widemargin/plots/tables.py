"""Plots of tables: confusion matrices, weights, and the tags of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from widemargin.data.encode.labels import codes_of
from widemargin.errors import DataError
from widemargin.evaluate.measures import Measures, confusion_of
from widemargin.markup.reprs import brief
from widemargin.markup.words import short, short_names
from widemargin.plots import style
from widemargin.plots.display import Display

#: Tables with more classes than this are drawn without numbers.
_NUMBERED = 12


@dataclass(repr=False)
class ConfusionDisplay(Display):
    """How often each class was predicted as each other class.

    Attributes
    ----------
    measures : Measures
        The confusion matrix, `confusion`, and the scores derived from it.
    """

    measures: Measures

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Plot the predictions of a fitted classifier."""
        classes = np.asarray(getattr(estimator, "classes_", getattr(estimator, "classes", None)))
        return cls.from_predictions(y, estimator.predict(X), labels=classes, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, labels: Any = None, ax: Any = None
    ) -> Self:
        """Plot given predictions."""
        if labels is None:
            labels = np.unique(np.concatenate([np.asarray(y), np.asarray(predicted)]))
        labels = np.asarray(labels)
        counts = confusion_of(codes_of(y, labels), codes_of(predicted, labels), len(labels))
        return cls(Measures(labels.tolist(), counts)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the matrix: one row per right answer, shaded by the share of the row."""
        counts = self.measures.confusion[:-1]
        k = len(counts)
        side = 4.0 if k <= _NUMBERED else 5.0
        self.ax_ = ax = style.new_axes(ax, (4.0, 3.5) if k <= 6 else (side, side))
        self.figure_ = ax.figure
        parts = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
        ax.imshow(parts, cmap="Blues", vmin=0.0, vmax=1.0)
        if k <= _NUMBERED:
            size = style.NORMAL if k <= 6 else style.SMALL - 1
            for i in range(k):
                for j in range(k):
                    colour = (
                        "white" if parts[i, j] > 0.55 else style.INK if counts[i, j] else style.PALE
                    )
                    ax.text(
                        j,
                        i,
                        f"{counts[i, j]}",
                        ha="center",
                        va="center",
                        fontsize=size,
                        color=colour,
                    )
        names = short_names(self.measures.labels, 14)
        # Horizontal names must fit the width of the table, which is most of the figure's width.
        wide = sum(style.text_width(f"{name}  ", style.SMALL) for name in names)
        room = (0.62 if k <= 6 else 0.8) * 72.0 * ax.figure.get_size_inches()[0]
        turned = 90 if wide > room else 0
        ax.set_xticks(range(k), names, rotation=turned)
        ax.set_yticks(range(k), names)
        low, high = self.measures.accuracy_interval
        style.dress(
            ax,
            f"accuracy {self.measures.accuracy:.4f} ({low:.3f} to {high:.3f})",
            "prediction",
            "right answer",
        )
        if k > 20:
            ax.tick_params(labelsize=6)
        style.settle(ax)
        return self


def plot_confusion(estimator: Any, X: Any, y: Any, *, ax: Any = None) -> ConfusionDisplay:
    """Draw the confusion matrix of a fitted classifier.

    Parameters
    ----------
    estimator : fitted classifier
    X, y
        Examples that it was not trained on, and their classes.
    ax : matplotlib axes, optional
        Where to draw.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widemargin import Perceptron, plot_confusion
    >>> X, y = load_digits(return_X_y=True)
    >>> p = Perceptron(epochs=3, random_state=0).fit(X[:1400], y[:1400])
    >>> plot_confusion(p, X[1400:], y[1400:]).figure_.savefig("confusion.png")
    """
    return ConfusionDisplay.from_estimator(estimator, X, y, ax=ax)


@dataclass(repr=False)
class WeightsDisplay(Display):
    """The features with the largest weights for each class, or the weights as images.

    Attributes
    ----------
    top : dict
        For each class a list of (name, weight), strongest first.
    images : array (k, height, width) or None
        The weights of each class as an image.
    labels : list
        The classes.
    """

    top: Mapping[Any, list[tuple[str, float]]]
    images: np.ndarray | None = None
    labels: Sequence[Any] = ()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        n: int = 8,
        shape: tuple[int, int] | None = None,
        classes: Sequence[Any] | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot the weights of a linear model."""
        model = style.plain_model(estimator)
        if not hasattr(model, "top_features"):
            raise DataError(f"{type(estimator).__name__} has no feature weights to draw")
        labels = model.classes.tolist() if classes is None else list(classes)
        strange = [label for label in labels if label not in model.classes.tolist()]
        if strange:
            raise DataError(f"{brief(strange[0])} is not a class of the model")
        if shape is None:
            top = model.top_features(n)
            return cls({label: top[label] for label in labels}, labels=labels).plot(ax=ax)
        if shape[0] * shape[1] != model.coef.shape[1]:
            raise DataError(
                f"shape={tuple(shape)} holds {shape[0] * shape[1]} weights,"
                f" the model has {model.coef.shape[1]}"
            )
        W = model.coef if len(model.coef) > 1 else np.concatenate([-model.coef, model.coef])
        chosen = [model.classes.tolist().index(label) for label in labels]
        images = np.asarray(W, np.float64)[chosen].reshape(-1, *shape)
        return cls({}, images, labels).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw bars, or images."""
        return self._draw_bars(ax) if self.images is None else self._draw_images(ax)

    def _draw_bars(self, ax: Any) -> Self:
        """Two classes share one panel, the first to the left; more have one panel each."""
        if len(self.top) <= 2 or ax is not None:
            lines = [
                (
                    short(name),
                    weight * (-1.0 if code == 0 and len(self.top) == 2 else 1.0),
                    code,
                )
                for code, found in enumerate(self.top.values())
                for name, weight in (found if code == 0 else reversed(found))
            ]
            self.ax_ = ax = style.new_axes(ax, (4.0, 0.9 + 0.21 * max(4, len(lines))))
            self.figure_ = ax.figure
            _bars(ax, lines)
            sides = ("◀ {}", "{} ▶") if len(self.top) == 2 else ("{}",)
            room = 36.0 * ax.figure.get_size_inches()[0]  # half the width: names are to the left
            for letters in (24, 18, 14, 10):
                names = short_names(list(self.top), letters)
                title = "   ".join(map(str.format, sides, names))
                if style.text_width(title, style.NORMAL) <= room:
                    break
            style.dress(ax, title, "weight")
            return self
        longest = max(len(name) for found in self.top.values() for name, _ in found)
        columns, letters = (2, 16) if longest <= 16 else (1, 32)
        rows = -(-len(self.top) // columns)
        most = max(map(len, self.top.values()))
        axes = style.new_panels(rows, columns, (4.8, rows * (0.6 + 0.18 * most)))
        self.ax_, self.figure_ = axes, axes[0, 0].figure
        for panel in axes.flat[len(self.top) :]:
            panel.set_axis_off()
        for code, (panel, (label, found)) in enumerate(
            zip(axes.flat, self.top.items(), strict=False)
        ):
            names = short_names([name for name, _ in found], letters)
            weights = [weight for _, weight in found]
            _bars(panel, [(name, w, code) for name, w in zip(names, weights, strict=True)])
            style.dress(panel, short(label, 22 if columns == 2 else 48))
            panel.tick_params(labelsize=style.SMALL - 1)
        return self

    def _draw_images(self, ax: Any) -> Self:
        assert self.images is not None
        k = len(self.images)
        if ax is not None and k > 1:
            raise DataError("several images do not fit into one set of axes: leave out ax")
        columns = min(5, k)
        rows = -(-k // columns)
        axes = (
            np.array([[ax]])
            if ax is not None
            else style.new_panels(rows, columns, (4.0, 1.0 * rows + 0.5))
        )
        self.ax_, self.figure_ = (axes if ax is None else ax), axes[0, 0].figure
        most = float(np.max(np.abs(self.images))) or 1.0
        names = short_names(self.labels, 10 if columns > 3 else 16)
        for panel in axes.flat:
            panel.set_axis_off()
        for panel, image, label in zip(axes.flat, self.images, names, strict=False):
            # Purple is for the class, orange against it; these are easy to tell apart for everyone.
            drawn = panel.imshow(image, cmap="PuOr", vmin=-most, vmax=most)
            panel.set_title(label, fontsize=style.SMALL)
        bar = self.figure_.colorbar(drawn, ax=axes, orientation="horizontal", shrink=0.6, pad=0.03)
        bar.ax.tick_params(labelsize=style.SMALL)
        bar.set_label("weight: against the class | for it", fontsize=style.SMALL)
        return self


def plot_weights(
    estimator: Any,
    *,
    n: int = 8,
    shape: tuple[int, int] | None = None,
    classes: Sequence[Any] | None = None,
    ax: Any = None,
) -> WeightsDisplay:
    """Draw the features with the largest weights for each class, or weights of pixels as images.

    Parameters
    ----------
    estimator : fitted learner or model
        A linear model.
    n : int
        Features per class.
    shape : (int, int), optional
        Height and width, if the examples are images.
    classes : list, optional
        The classes to show; by default all.
    ax : matplotlib axes, optional
        Where to draw, for two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widemargin import Perceptron, plot_weights
    >>> X, y = load_digits(return_X_y=True)
    >>> p = Perceptron(epochs=3, random_state=0).fit(X[:1400], y[:1400])
    >>> plot_weights(p, shape=(8, 8)).figure_.savefig("weights.png")
    """
    return WeightsDisplay.from_estimator(estimator, n=n, shape=shape, classes=classes, ax=ax)


@dataclass(repr=False)
class TagsDisplay(Display):
    """A sentence, with the tag of every word and its margin.

    Attributes
    ----------
    words, tags : list of str
    margins : array
        The lead of each tag over the next best; tags with a small lead are doubtful.
    right : list of str or None
        The right tags, if known.
    """

    words: Sequence[str]
    tags: Sequence[str]
    margins: np.ndarray
    right: Sequence[str] | None = None

    def plot(self, ax: Any = None, across: int = 46) -> Self:
        """Draw the sentence, in lines of about `across` letters."""
        lines: list[list[tuple[int, float, float]]] = [[]]
        used = 0.0
        for i, (word, tag) in enumerate(zip(self.words, self.tags, strict=True)):
            shown = (short(word, 18), short(tag, 12), self._note(i))
            wide = max(4.4, *(len(text) + 1.4 for text in shown))
            if used + wide > across and lines[-1]:
                lines.append([])
                used = 0
            lines[-1].append((i, used, wide))
            used += wide
        self.ax_ = ax = style.new_axes(ax, (4.0, 0.55 + 0.72 * len(lines)))
        self.figure_ = ax.figure
        shades = style.pyplot().get_cmap("Blues")
        most = float(np.max(self.margins, initial=0.0)) or 1.0
        for row, some in enumerate(lines):
            for i, x, wide in some:
                self._draw_word(ax, i, x, wide, -row, shades, most)
        ax.set_xlim(0, across)
        ax.set_ylim(-len(lines) + 0.55, 0.62)
        ax.set_axis_off()
        wrong = "" if self.right is None else ", wrong tags boxed in orange"
        ax.set_title(f"the paler, the more doubtful{wrong}", fontsize=style.SMALL, loc="left")
        return self

    def _is_wrong(self, i: int) -> bool:
        return self.right is not None and self.right[i] != self.tags[i]

    def _note(self, i: int) -> str:
        """The margin and, if the tag is wrong, the right tag."""
        if not self._is_wrong(i):
            return f"{self.margins[i]:.2g}"
        assert self.right is not None
        return f"{self.margins[i]:.2g}; {short(self.right[i], 8)}"

    def _draw_word(
        self, ax: Any, i: int, x: float, wide: float, y: float, shades: Any, most: float
    ) -> None:
        wrong = self._is_wrong(i)
        part = max(0.0, float(self.margins[i])) / most
        look = {"facecolor": shades(0.08 + 0.72 * part), "linewidth": 2.0 if wrong else 0.5}
        edge = style.WRONG if wrong else style.PALE
        box = style.pyplot().Rectangle((x + 0.2, y - 0.3), wide - 0.4, 0.42, edgecolor=edge, **look)
        ax.add_patch(box)
        middle = x + wide / 2
        words = {"ha": "center", "va": "center", "fontsize": style.SMALL}
        ax.text(middle, y + 0.3, short(self.words[i], 18), color=style.INK, **words)
        tag = short(self.tags[i], 12)
        ax.text(middle, y - 0.02, tag, color="white" if part > 0.6 else style.INK, **words)
        small = {**words, "fontsize": style.SMALL - 2}
        ax.text(
            middle, y - 0.2, self._note(i), color="white" if part > 0.6 else style.GREY, **small
        )


def plot_tags(
    words: Sequence[str],
    tags: Sequence[str],
    margins: Any,
    *,
    right: Sequence[str] | None = None,
    ax: Any = None,
) -> TagsDisplay:
    """Draw a tagged sentence: every word, its tag, and the margin of the tag.

    Parameters
    ----------
    words, tags : sequences of str
        The words and one tag per word.
    margins : sequence of numbers
        The lead of every tag over the next best.
    right : sequence of str, optional
        The right tags; tags that differ are boxed.
    ax : matplotlib axes, optional
        Where to draw.

    Examples
    --------
    >>> from widemargin import plot_tags
    >>> shown = plot_tags(["a", "dog", "sleeps"], ["DET", "NOUN", "VERB"], [0.8, 0.3, 0.6])
    >>> shown.figure_.savefig("tags.png")
    """
    found = np.asarray(margins, np.float64)
    lengths = {len(words), len(tags), len(found), len(words if right is None else right)}
    if len(lengths) > 1 or not words:
        raise DataError(
            f"every word needs a tag and a margin: found {len(words)} words, {len(tags)} tags and"
            f" {len(found)} margins"
        )
    return TagsDisplay(words, tags, found, right).plot(ax=ax)


def _bars(ax: Any, lines: list[tuple[str, float, int]]) -> None:
    """Draw horizontal bars, the first on top."""
    for at, (_, weight, code) in enumerate(lines):
        hatch = None if code % 2 else "///"
        look = {"color": style.colour_of(code), "hatch": hatch, "edgecolor": "white"}
        ax.barh(at, weight, height=0.7, linewidth=0.0, **look)
    ax.set_yticks(range(len(lines)), [name for name, _, _ in lines])
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.axvline(0.0, color=style.INK, linewidth=0.8)
