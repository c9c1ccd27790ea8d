"""Plots of one data set learned in several orders, or with several starts or step sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from widemargin.data.encode.labels import codes_of
from widemargin.errors import DataError
from widemargin.markup.words import several, short
from widemargin.online.state import KEEPS
from widemargin.plots import style
from widemargin.plots.display import Display
from widemargin.plots.views import View, examples_of, make_view, names_of

_ANSWERS = {"last": "last", "average": "averaged", "vote": "voted"}


@dataclass(repr=False)
class OrdersDisplay(Display):
    """How much the results of several training runs differ.

    Attributes
    ----------
    accuracy : dict
        For each run, the accuracy of its "last", "averaged" and "voted" predictions, as far as
        they are available.
    lines : dict
        For each run, the hyperplanes (w, b) of its last and averaged weights; two classes only.
    points, codes, labels, view
        The examples, if they can be drawn.
    """

    accuracy: dict[str, dict[str, float]]
    lines: dict[str, dict[str, tuple[np.ndarray, float]]] = field(default_factory=dict)
    points: np.ndarray | None = None
    codes: np.ndarray | None = None
    labels: list[Any] = field(default_factory=list)
    view: View | None = None

    @classmethod
    def from_runs(cls, runs: Mapping[str, Any], X: Any, y: Any, *, ax: Any = None) -> Self:
        """Plot finished training runs."""
        if not runs:
            raise DataError("there are no runs to compare")
        y = np.asarray(y)
        accuracy: dict[str, dict[str, float]] = {}
        lines: dict[str, dict[str, tuple[np.ndarray, float]]] = {}
        for name, run in runs.items():
            answers = {}
            for keep in KEEPS:
                try:
                    answers[keep] = run.using(keep)
                except (ValueError, AttributeError):  # not stored by this run
                    continue
            answers = answers or {"last": run}
            accuracy[str(name)] = {
                _ANSWERS[keep]: float(np.mean(one.predict(X) == y)) for keep, one in answers.items()
            }
            models = {keep: style.plain_model(one) for keep, one in answers.items()}
            lines[str(name)] = {
                _ANSWERS[keep]: (np.asarray(model.coef[0], np.float64), float(model.intercept[0]))
                for keep, model in models.items()
                if keep != "vote" and len(model.coef) == 1
            }
        shown = cls(accuracy, {name: some for name, some in lines.items() if some})
        data = examples_of(X)
        if shown.lines and data.shape[1] == 2:
            model = style.plain_model(next(iter(runs.values())))
            shown.view = make_view(data, None, names=names_of(model, X))
            shown.points = shown.view.place(data)
            shown.codes, shown.labels = codes_of(y, model.classes), model.classes.tolist()
        return shown.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the scores and, if the examples have two features, the lines next to them."""
        if ax is not None or self.points is None:
            axes = [style.new_axes(ax)]
        else:
            axes = list(style.new_panels(2, 1, (4.0, 5.2), height_ratios=[3, 2])[:, 0])
        self._draw_scores(axes[-1])  # first, because its names determine the left edge of both
        if len(axes) > 1:
            self._draw_lines(axes[0])
        self.ax_ = axes if len(axes) > 1 else axes[0]
        self.figure_ = axes[0].figure
        return self

    def _draw_lines(self, ax: Any) -> None:
        assert self.points is not None
        assert self.codes is not None
        assert self.view is not None
        frame = style.frame_of(self.points)
        looks: dict[str, dict[str, Any]] = {
            "last": {"color": style.COLOURS[5], "linewidth": 1.1},
            "averaged": {"color": style.INK, "linewidth": 1.6, "linestyle": "--"},
        }
        for answer, look in looks.items():
            label: str | None = f"{answer} weights"
            for some in self.lines.values():
                if answer not in some:
                    continue
                line = self.view.line(*some[answer])
                if np.any(line.w) and style.draw_line(ax, frame, *line, label=label, **look):
                    label = None
        style.draw_points(ax, self.points, self.codes, self.labels)
        style.set_frame(ax, frame)
        made = several(len(self.lines), "training run")
        axes = (short(name, 40) for name in self.view.axes)
        style.dress(ax, f"{made} on the same examples", *axes)
        style.legend_above(ax, 2)

    def _draw_scores(self, ax: Any) -> None:
        names = list(self.accuracy)
        for code, answer in enumerate(_ANSWERS.values()):
            at = [
                (some[answer], i) for i, some in enumerate(self.accuracy.values()) if answer in some
            ]
            if not at:
                continue
            x, row = np.array(at, dtype=float).T
            marker = ("o", "D", "x")[code]
            hollow = {} if marker == "x" else {"markerfacecolor": "none"}
            look: dict[str, Any] = {"color": style.colour_of(code), "linestyle": "none", **hollow}
            shift = 0.18 * (code - 1)
            ax.plot(x, row + shift, marker=marker, label=answer, markeredgewidth=1.6, **look)
        ax.set_yticks(range(len(names)), [short(name, 18) for name in names])
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.grid(axis="y", color=style.PALE, linewidth=0.5)
        style.dress(ax, "one row per run", "accuracy")
        style.legend_above(ax)


def plot_orders(
    runs: Mapping[str, Any] | Callable[[Any], Any],
    X: Any,
    y: Any,
    *,
    over: Iterable[Any] = (),
    ax: Any = None,
) -> OrdersDisplay:
    """Draw how last, averaged and voted predictions depend on order, start or step size.

    Parameters
    ----------
    runs : dict of fitted learners, or function
        The fitted learners by name, or a function that fits one for each value of `over`:
        `plot_orders(lambda seed: Perceptron(keep="vote", random_state=seed).fit(X, y), X, y,
        over=range(5))`.
    X, y
        The examples to score them on.
    over : iterable
        The arguments to call the function with, one per run.
    ax : matplotlib axes, optional
        Axes for the scores alone.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from widemargin import Perceptron, plot_orders
    >>> X, y = make_blobs(80, centers=2, cluster_std=3.0, random_state=0)
    >>> def learned(seed):
    ...     return Perceptron(keep="vote", epochs=1, random_state=seed).fit(X, y)
    >>> plot_orders(learned, X, y, over=range(3)).figure_.savefig("orders.png")
    """
    made = {str(value): runs(value) for value in over} if callable(runs) else runs
    return OrdersDisplay.from_runs(made, X, y, ax=ax)
