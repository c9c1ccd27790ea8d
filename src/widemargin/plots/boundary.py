"""Plots of examples and decision boundaries, of linear models and kernel machines."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from widemargin.data.encode.labels import check_label_count, codes_of
from widemargin.markup.words import short
from widemargin.plots import style
from widemargin.plots.display import Display
from widemargin.plots.views import Features, Line, View, examples_of, make_view, names_of

#: Grid points per axis at which a model without weights is evaluated.
_GRID = 160


@dataclass(repr=False)
class BoundaryDisplay(Display):
    """Two-dimensional examples, the boundary between the classes, margin, support and weights.

    Attributes
    ----------
    points : array (n, 2)
        The coordinates of the examples in the plot.
    codes, labels
        The class code of each example, and the classes.
    view : View
        The plane shown.
    line : Line or None
        The boundary of two classes, if it is straight.
    band : float or None
        The margin: half the width of the band, in scores.
    band_story : str
        The legend of the band.
    support : array
        The rows that are ringed: support vectors, or examples that were mistakes.
    support_story : str
        The legend of the rings.
    grid : (x, y, scores) or None
        Scores on a grid of points, if the boundary is not one straight line.
    """

    points: np.ndarray
    codes: np.ndarray
    labels: list[Any]
    view: View
    line: Line | None = None
    band: float | None = None
    band_story: str = "margin"
    support: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    support_story: str = "support vectors"
    grid: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        features: Features | None = None,
        at: Any = None,
        ax: Any = None,
        title: str | None = None,
    ) -> Self:
        """Plot a fitted classifier and examples; see `plot_boundary`."""
        model = style.plain_model(estimator)
        names, X = names_of(model, X), examples_of(X)
        labels = list(np.asarray(_classes(estimator, y)).tolist())
        codes = codes_of(y, np.asarray(_classes(estimator, y)))
        check_label_count(X.shape[0], len(codes))
        W, b = _weights(model)
        straight = W is not None and len(W) == 1 and getattr(model, "keep", "last") != "vote"
        view = make_view(X, W, b if b is not None else 0.0, features=features, at=at, names=names)
        points = view.place(X)
        line = grid = band = None
        band_story = "margin"
        if straight:
            assert W is not None
            assert b is not None
            line = view.line(W[0], b)
            band, band_story = _band(model, X, W[0], b, codes)
        else:
            grid = _grid(estimator, view, points)
            if grid[2].ndim == 2 and _has_unit_margin(model):
                band = 1.0
        support, support_story = _support(estimator, model, X, W, b, codes)
        made = title if title is not None else _title(estimator, model)
        shown = cls(
            points,
            codes,
            labels,
            view,
            line,
            band,
            band_story,
            support,
            support_story,
            grid,
            made,
        )
        return shown.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the plot."""
        self.ax_ = ax = style.new_axes(ax)
        self.figure_ = ax.figure
        frame = style.frame_of(self.points)
        if self.grid is not None:
            self._draw_grid(ax)
        if self.line is not None:
            self._draw_line(ax, frame)
        style.ring(ax, self.points[self.support], self.support_story)
        style.draw_points(ax, self.points, self.codes, self.labels)
        style.set_frame(ax, frame)
        style.dress(ax, self.title, *(short(name, 40) for name in self.view.axes))
        if self.view.story:
            words = short(self.view.story, 200)
            ax.set_xlabel(f"{ax.get_xlabel()}\n({words})", fontsize=style.SMALL, wrap=True)
        style.legend_above(ax, 3 if len(self.labels) <= 4 else 5)
        return self

    def _draw_line(self, ax: Any, frame: style.Frame) -> None:
        assert self.line is not None
        w, b = self.line
        if not np.any(w):
            return
        style.draw_line(ax, frame, w, b, color=style.INK, linewidth=1.8, label="boundary", zorder=2)
        if self.band:
            edges = [style.line_ends(frame, w, b + side * self.band) for side in (-1.0, 1.0)]
            name: str | None = self.band_story
            for edge in edges:
                if edge is not None:
                    look = {"color": style.GREY, "linewidth": 1.0, "linestyle": "--"}
                    ax.plot(*edge.T, zorder=1.5, label=name, **look)
                    name = None
            self._shade(ax, frame, w, b)
        self._draw_weights(ax, frame, w, b)

    def _shade(self, ax: Any, frame: style.Frame, w: np.ndarray, b: float) -> None:
        """Fill the band between the two margins."""
        assert self.band is not None
        x, y = np.meshgrid(frame[:2], frame[2:])
        scores = w[0] * x + w[1] * y + b
        ax.contourf(x, y, scores, levels=[-self.band, self.band], colors=["#F0E442"], alpha=0.25)

    def _draw_weights(self, ax: Any, frame: Any, w: np.ndarray, b: float) -> None:
        """Draw the weight vector from the middle of the boundary towards the second class."""
        ends = style.line_ends(frame, w, b)
        foot = np.mean(frame[:2]), np.mean(frame[2:])
        if ends is not None:
            foot = ends.mean(axis=0)
        reach = 0.16 * min(frame[1] - frame[0], frame[3] - frame[2])
        tip = np.asarray(foot) + reach * w / np.linalg.norm(w)
        arrow = {"arrowstyle": "-|>", "color": style.INK, "linewidth": 1.4}
        ax.annotate("", xy=tip, xytext=foot, arrowprops=arrow, zorder=4)
        ax.annotate(
            "w",
            xy=tip,
            xytext=5.0 * w / np.linalg.norm(w),
            textcoords="offset points",
            fontsize=style.NORMAL,
            fontstyle="italic",
            ha="center",
            va="center",
            zorder=4,
        )

    def _draw_grid(self, ax: Any) -> None:
        """Draw the regions, and for two classes the boundary and the margin as contours."""
        assert self.grid is not None
        x, y, scores = self.grid
        if scores.ndim == 2:
            ax.contourf(
                x,
                y,
                scores,
                levels=[-np.inf, 0.0, np.inf],
                colors=[style.colour_of(0), style.colour_of(1)],
                alpha=0.12,
            )
            ax.contour(x, y, scores, levels=[0.0], colors=[style.INK], linewidths=1.8)
            if self.band:
                levels = [-self.band, self.band]
                look: dict[str, Any] = {"linewidths": 1.0, "linestyles": "--"}
                ax.contour(x, y, scores, levels=levels, colors=[style.GREY], **look)
            return
        best = np.argmax(scores, axis=2)
        for code in range(scores.shape[2]):
            mine = (best == code).astype(float)
            colour = [style.colour_of(code)]
            ax.contourf(x, y, mine, levels=[0.5, 1.5], colors=colour, alpha=0.15)
        rest = np.sort(scores, axis=2)
        lead = rest[..., -1] - rest[..., -2]
        for code in range(scores.shape[2]):
            side = np.where(best == code, lead, -lead)
            ax.contour(x, y, side, levels=[0.0], colors=[style.INK], linewidths=0.9)


def plot_boundary(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    features: Features | None = None,
    at: Any = None,
    ax: Any = None,
    title: str | None = None,
) -> BoundaryDisplay:
    """Draw examples with x and o, the boundary, the margin, the support vectors and the weights.

    Parameters
    ----------
    estimator : fitted classifier or model
        A widemargin model, or anything with `decision_function`.
    X, y
        The examples. With more than two features they are projected, which the plot notes: for
        two classes onto w, so that the first axis is the distance to the hyperplane, and onto the
        orthogonal direction of largest variance; for more classes onto the two main directions of
        the weights.
    features : (int, int) or (str, str), optional
        Show a slice along these two features instead, with the others held at `at`.
    at : array, optional
        Values of the other features in a slice; by default their medians.
    ax : matplotlib axes, optional
        Where to draw.
    title : str, optional
        The title; by default it names the model.

    Returns
    -------
    BoundaryDisplay
        What was drawn: `points`, `line`, `band`, `support`, `ax_`, `figure_`.

    Examples
    --------
    >>> from widemargin import Perceptron, plot_boundary
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> y = ["o", "x", "x", "o", "o", "x"]
    >>> p = Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y)
    >>> shown = plot_boundary(p, X, y)
    >>> shown.figure_.savefig("boundary.png")
    """
    return BoundaryDisplay.from_estimator(
        estimator, X, y, features=features, at=at, ax=ax, title=title
    )


@dataclass(repr=False)
class KernelDisplay(BoundaryDisplay):
    """The scores of a kernel machine as contours, with its support vectors."""

    def _draw_grid(self, ax: Any) -> None:
        assert self.grid is not None
        x, y, scores = self.grid
        if scores.ndim == 3:
            super()._draw_grid(ax)
            return
        most = float(np.max(np.abs(scores))) or 1.0
        levels = np.linspace(-most, most, 15)
        from matplotlib.colors import LinearSegmentedColormap

        shades = LinearSegmentedColormap.from_list(
            "sides", [style.colour_of(0), "#FFFFFF", style.colour_of(1)]
        )
        ax.contourf(x, y, scores, levels=levels, cmap=shades, alpha=0.45)
        drawn = ax.contour(x, y, scores, levels=[-1.0, 0.0, 1.0], colors=[style.INK])
        drawn.set_linewidths([0.9, 1.8, 0.9])
        drawn.set_linestyles(["--", "-", "--"])
        ax.clabel(drawn, fmt="%g", fontsize=style.SMALL - 1)


def plot_kernel(
    machine: Any,
    X: Any,
    y: Any,
    *,
    features: Features | None = None,
    at: Any = None,
    ax: Any = None,
    title: str | None = None,
) -> KernelDisplay:
    """Draw the score of a kernel machine as contours: the boundary at 0, the margins at -1 and 1.

    Parameters
    ----------
    machine : fitted classifier
        Anything with `decision_function` on rows of X. The support vectors are the rows of X
        listed in its `support_`; without `support_`, the rows found among its
        `support_vectors_`.
    X, y
        The examples; with more than two features, choose two with `features`.
    features, at, ax, title
        As for `plot_boundary`.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from widemargin import KernelSVM, plot_kernel
    >>> X, y = make_circles(40, factor=0.5, noise=0.05, random_state=0)
    >>> plot_kernel(KernelSVM(gamma=1.0).fit(X, y), X, y).figure_.savefig("rings.png")
    """
    return KernelDisplay.from_estimator(machine, X, y, features=features, at=at, ax=ax, title=title)


def _classes(estimator: Any, y: Any) -> np.ndarray:
    """The classes, in the estimator's order."""
    for name in ("classes_", "classes"):
        found = getattr(estimator, name, None)
        if found is not None:
            return np.asarray(found)
    return np.unique(np.asarray(y))


def _weights(model: Any) -> tuple[np.ndarray | None, float | None]:
    """The weights of a linear model and, for two classes, its bias."""
    coef = getattr(model, "coef", None)
    bias = getattr(model, "intercept", None)
    if coef is None:
        # Without a default, scikit-learn's kernel machines would raise here unless they are linear.
        coef, bias = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if coef is None or hasattr(coef, "tocsr"):
        return None, None
    W = np.atleast_2d(np.asarray(coef, np.float64))
    b = np.ravel(np.zeros(1) if bias is None else np.asarray(bias, np.float64))
    return W, (float(b[0]) if len(W) == 1 else 0.0)


def _has_unit_margin(model: Any) -> bool:
    """Whether the margins of the model are at the scores -1 and 1."""
    return getattr(model, "rule", "") in ("hinge", "squared_hinge", "pa", "pa1", "pa2")


def _band(
    model: Any, X: Any, w: np.ndarray, b: float, codes: np.ndarray
) -> tuple[float | None, str]:
    """Half the width of the margin, in scores, and its legend."""
    if _has_unit_margin(model):
        return 1.0, "margin (score 1)"
    leads = np.where(codes == 1, 1.0, -1.0) * (np.asarray(X @ w).ravel() + b)
    least = float(np.min(leads, initial=np.inf))
    if not 0.0 < least < np.inf:
        return None, "margin"
    return least, f"margin {least / float(np.linalg.norm(w)):.3g}"


def _support(
    estimator: Any, model: Any, X: Any, W: Any, b: float | None, codes: np.ndarray
) -> tuple[np.ndarray, str]:
    """The rows to ring, and their legend."""
    n = X.shape[0]
    certificate = getattr(model, "certificate", None)
    alpha = getattr(certificate, "alpha", None)
    if certificate is not None and alpha is not None and len(alpha) == n:
        return certificate.support, "support vectors"
    if certificate is not None and W is not None and len(W) == 1 and b is not None:
        leads = np.where(codes == 1, 1.0, -1.0) * (np.asarray(X @ W[0]).ravel() + b)
        return np.flatnonzero(leads <= 1.0 + 1e-3), "within the margin"
    numbers = getattr(estimator, "support_", None)
    if numbers is not None:
        numbers = np.asarray(numbers, np.int64)
        return numbers[numbers < n], "support vectors"
    vectors = getattr(estimator, "support_vectors_", None)
    if vectors is not None:
        known = {np.asarray(row).tobytes() for row in np.asarray(vectors, np.float64)}
        dense = X.toarray() if hasattr(X, "toarray") else X
        dense = np.asarray(dense, np.float64)
        held = [i for i, row in enumerate(dense) if row.tobytes() in known]
        return np.array(held, np.int64), "support vectors"
    log = getattr(getattr(model, "state", None), "log", None)
    if log is not None:
        rows = np.unique([correction.row for correction in log]).astype(np.int64)
        return rows[rows < n], "mistaken while learning"
    return np.empty(0, np.int64), "support vectors"


def _grid(
    estimator: Any, view: View, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The scores of the classifier on a grid of points of the view."""
    left, right, bottom, top = style.frame_of(points)
    x, y = np.meshgrid(np.linspace(left, right, _GRID), np.linspace(bottom, top, _GRID))
    asked = view.lift(np.column_stack([x.ravel(), y.ravel()]))
    model = style.plain_model(estimator)
    asks = model if hasattr(model, "decision_function") else estimator
    with warnings.catch_warnings():
        # A scikit-learn estimator may know its columns by name; here they are in the same order.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        found = np.asarray(asks.decision_function(asked), np.float64)
    return x, y, found.reshape(*x.shape, -1) if found.ndim == 2 else found.reshape(x.shape)


def _title(estimator: Any, model: Any) -> str:
    """A short name of the model."""
    name = getattr(model, "learner", type(estimator).__name__)
    keep = getattr(model, "keep", None)
    if name in ("Perceptron", "PassiveAggressive", "OnlineLogistic") and keep:
        return f"{name}, { {'last': 'last', 'average': 'averaged', 'vote': 'voted'}[keep] }"
    C = getattr(model, "params", {}).get("C") if name == "LinearSVM" else None
    return f"{name}, C = {C:g}" if C is not None else name
