"""Plots of curves: losses along a margin or a weight, the training history, proof of the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.encode.labels import encode_labels
from widemargin.errors import DataError
from widemargin.markup.words import several
from widemargin.online import losses
from widemargin.parameters.values import check_choice
from widemargin.plots import style
from widemargin.plots.display import Display
from widemargin.plots.views import examples_of
from widemargin.training.history import History

_LOSSES: dict[str, tuple[losses.Loss, str]] = {
    "0/1": (losses.zero_one, ":"),
    "perceptron": (losses.perceptron, "-"),
    "hinge": (losses.hinge, "--"),
    "logistic": (losses.logistic, "-."),
}


@dataclass(repr=False)
class LossesDisplay(Display):
    """Losses as curves.

    Attributes
    ----------
    x : array
        Margins, or values of one weight.
    curves : dict
        The losses at x, by name.
    name : str
        The label of x.
    marked : float or None
        The learned value of the weight.
    """

    x: np.ndarray
    curves: dict[str, np.ndarray]
    name: str = "margin  y w.x"
    marked: float | None = None

    @classmethod
    def of_margins(cls, low: float = -2.0, high: float = 2.5, ax: Any = None) -> Self:
        """Plot the losses of one example as its margin grows."""
        x = np.linspace(low, high, 451)
        return cls(x, {name: loss(x) for name, (loss, _) in _LOSSES.items()}).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        feature: int = 0,
        values: Any = None,
        ax: Any = None,
    ) -> Self:
        """Plot the average losses as one weight of a model of two classes changes."""
        model = style.plain_model(estimator)
        weights = np.asarray(getattr(model, "coef", getattr(model, "coef_", None)), np.float64)
        bias = getattr(model, "intercept", getattr(model, "intercept_", None))
        if weights.ndim != 2 or len(weights) != 1:
            raise DataError("losses along a weight can only be drawn for a model of two classes")
        w, b = weights[0], float(np.ravel(np.asarray(bias))[0])
        if not 0 <= feature < len(w):
            raise DataError(f"feature={feature} must be a column from 0 to {len(w) - 1}")
        X = examples_of(X)
        codes = encode_labels(y)[1]
        signs = np.where(codes == 1, 1.0, -1.0)
        if values is None:
            reach = 2.0 * max(1.0, abs(float(w[feature])))
            values = np.linspace(w[feature] - reach, w[feature] + reach, 241)
        column = X[:, [feature]]
        column = np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()
        # The other weights do not change, so their part of the scores is computed once.
        rest = np.asarray(X @ w).ravel() + b - column * w[feature]
        curves = {
            name: np.array([np.mean(loss(signs * (rest + value * column))) for value in values])
            for name, (loss, _) in _LOSSES.items()
        }
        called = getattr(model, "feature_name", lambda column: f"x{column}")(feature)
        shown = cls(np.asarray(values), curves, f"weight of {called}", float(w[feature]))
        return shown.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the plot."""
        self.ax_ = ax = style.new_axes(ax)
        self.figure_ = ax.figure
        for code, (name, values) in enumerate(self.curves.items()):
            look = {"color": style.colour_of(code), "linestyle": _LOSSES[name][1], "linewidth": 2.0}
            ax.plot(self.x, values, label=name, drawstyle="default", **look)
        most = max(float(self.curves[name].max()) for name in ("0/1", "hinge"))
        ax.set_ylim(-0.05 * most, 1.05 * most)
        average = self.marked is not None
        if average:
            ax.axvline(self.marked, color=style.GREY, linewidth=1.0, label="as learned")
        style.dress(ax, "average loss" if average else "loss of one example", self.name)
        style.legend(ax)
        return self


def plot_losses(
    estimator: Any = None,
    X: Any = None,
    y: Any = None,
    *,
    feature: int = 0,
    values: Any = None,
    ax: Any = None,
) -> LossesDisplay:
    """Draw the 0/1, perceptron, hinge and logistic losses.

    Parameters
    ----------
    estimator, X, y : optional
        Without them, the losses of one example along its margin. With a fitted model of two
        classes and examples, the average losses as one weight changes and the others stay.
    feature : int
        Which weight.
    values : array, optional
        The values of that weight.
    ax : matplotlib axes, optional
        Where to draw.

    Examples
    --------
    >>> from widemargin import plot_losses
    >>> plot_losses().figure_.savefig("losses.png")
    """
    if estimator is None:
        return LossesDisplay.of_margins(ax=ax)
    if X is None or y is None:
        raise DataError("losses along a weight are averages over examples: give X and y")
    return LossesDisplay.from_estimator(estimator, X, y, feature=feature, values=values, ax=ax)


@dataclass(repr=False)
class HistoryDisplay(Display):
    """The training history, with one panel for each quantity that was measured.

    Attributes
    ----------
    history : History
        The history to draw.
    panels : dict
        The name of each panel and its values.
    """

    history: History
    panels: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot the history of a fit."""
        history = estimator if isinstance(estimator, History) else _history_of(estimator)
        if not len(history):
            raise DataError("the history is empty: nothing has been learned yet")
        gaps = history["gap"]
        panels: dict[str, np.ndarray] = {}
        if np.any(np.isfinite(gaps)):
            panels |= {"objective": history["loss"], "relative gap": gaps}
        else:
            panels |= {"mistakes": history["mistakes"], "loss": history["loss"]}
        if np.any(np.isfinite(history["held_out"])):
            panels["held-out score"] = history["held_out"]
        return cls(history, panels).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the plot; if axes are given, only its first panel."""
        panels = dict(list(self.panels.items())[:1]) if ax is not None else self.panels
        axes = (
            [ax]
            if ax is not None
            else style.new_panels(len(panels), 1, (4.0, 0.5 + 1.25 * len(panels)), sharex=True)[
                :, 0
            ]
        )
        self.ax_ = axes if ax is None else ax
        self.figure_ = axes[0].figure
        # A stream has several rows per epoch: its axis is the number of examples instead.
        streamed = self.history.is_streamed
        x = self.history["epoch"] if not streamed else np.cumsum(self.history["examples"])
        for code, (one, (name, values)) in enumerate(zip(axes, panels.items(), strict=True)):
            mark = "o" if len(values) <= 40 else ""
            look = {"color": style.colour_of(code + 1), "marker": mark, "markersize": 3.5}
            one.plot(x, values, linewidth=1.6, **look)
            style.dress(one, name)
            if name == "relative gap":
                one.set_yscale("log", nonpositive="mask")
            elif name in ("mistakes", "loss"):
                one.set_ylim(bottom=0)
            if name == "held-out score":
                self._mark_best(one, x, values)
        style.dress(axes[-1], axes[-1].get_title(loc="left"), "examples" if streamed else "epoch")
        if not streamed:
            axes[-1].xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        return self

    def _mark_best(self, ax: Any, x: np.ndarray, values: np.ndarray) -> None:
        returned = np.flatnonzero(self.history["epoch"] == self.history.best)
        if not len(returned):
            return
        at = int(returned[-1])
        ax.plot(
            [x[at]],
            [values[at]],
            marker="*",
            markersize=13,
            color=style.COLOURS[0],
            linestyle="none",
            clip_on=False,
            label=f"best: epoch {self.history.best}, {values[at]:.4f}",
        )
        ax.margins(y=0.2)
        style.legend(ax)


def plot_history(estimator: Any, *, ax: Any = None) -> HistoryDisplay:
    """Draw mistakes, loss and held-out score per epoch, with the best epoch marked.

    Parameters
    ----------
    estimator : fitted learner, model or History
        For an SVM, its objective and relative gap are drawn.
    ax : matplotlib axes, optional
        Axes for the first panel alone; by default every panel gets its own axes.

    Examples
    --------
    >>> from widemargin import Perceptron, plot_history
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> y = ["o", "x", "x", "o", "o", "x"]
    >>> p = Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y)
    >>> plot_history(p).figure_.savefig("history.png")
    """
    return HistoryDisplay.from_estimator(estimator, ax=ax)


@dataclass(repr=False)
class BoundDisplay(Display):
    """The proof of the mistake bound on real data.

        k gamma  <=  w_k . w*  <=  |w_k|  <=  R sqrt k

    The outermost two meet at k = (R / gamma)^2, so there cannot be more mistakes than that.

    Attributes
    ----------
    certificate : RunCertificate
        With `progress`, the four quantities after every mistake.
    """

    certificate: RunCertificate

    @classmethod
    def from_certificate(cls, certificate: Any, *, ax: Any = None, scale: str = "auto") -> Self:
        """Plot a certificate from `widemargin.certify(learner, X, y)`."""
        if not isinstance(certificate, RunCertificate):
            raise DataError(
                "the proof is about a training run: give the result of"
                " widemargin.certify(learner, X, y)"
            )
        if certificate.progress is None:
            reason = certificate.no_bound or (
                "it needs two separable classes and the mistake log, keep='vote'"
            )
            raise DataError(f"the proof cannot be followed: {reason}")
        return cls(certificate).plot(ax=ax, scale=scale)

    def plot(self, ax: Any = None, scale: str = "auto") -> Self:
        """Draw the plot, on linear or logarithmic axes."""
        check_choice("scale", scale, ("auto", "linear", "log"))
        self.ax_ = ax = style.new_axes(ax, (4.0, 3.4))
        self.figure_ = ax.figure
        run = self.certificate
        assert run.progress is not None
        assert run.gamma is not None
        assert run.R is not None
        along, _, square, _ = run.progress.T
        bound, gamma, R = float(run.bound or 0.0), run.gamma.low, run.R
        made = len(along)
        k = np.arange(1, made + 1)
        log = scale == "log" or (scale == "auto" and bound > 6 * made)
        last = bound * 1.08
        whole = np.geomspace(1, last, 200) if log else np.linspace(0, last, 200)
        look: dict[str, Any] = {"linewidth": 1.2, "linestyle": "--"}
        ax.plot(whole, R * np.sqrt(whole), color=style.COLOURS[0], label="R √k", **look)
        many = {"linewidth": 2.0, "marker": "." if made <= 40 else ""}
        ax.plot(k, np.sqrt(square), color=style.COLOURS[0], label="|w_k|", **many)
        ax.plot(k, along, color=style.COLOURS[1], label="w_k·w*", **many)
        ax.plot(whole, gamma * whole, color=style.COLOURS[1], label="k γ", **look)
        ax.axvline(bound, color=style.GREY, linewidth=1.0, linestyle=":")
        ax.axvline(made, color=style.INK, linewidth=1.0, linestyle=":")
        if log:
            ax.set_xscale("log")
            ax.set_yscale("log")
        style.dress(
            ax,
            f"{several(made, 'mistake')} made, at most {math.floor(bound):,} possible",
            "mistake k",
            "length",
        )
        style.legend(ax)
        return self


def plot_bound(certificate: Any, *, ax: Any = None, scale: str = "auto") -> BoundDisplay:
    """Draw both inequalities of the mistake bound's proof (Block, Novikoff) during training.

    Parameters
    ----------
    certificate : RunCertificate
        The result of `widemargin.certify(learner, X, y)` for a perceptron with keep="vote".
    ax : matplotlib axes, optional
        Where to draw.
    scale : {"auto", "linear", "log"}
        "auto" uses logarithmic axes if the bound is far above the number of mistakes made.

    Examples
    --------
    >>> from widemargin import Perceptron, certify, plot_bound
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> y = ["o", "x", "x", "o", "o", "x"]
    >>> p = Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y)
    >>> plot_bound(certify(p, X, y)).figure_.savefig("bound.png")
    """
    return BoundDisplay.from_certificate(certificate, ax=ax, scale=scale)


def _history_of(estimator: Any) -> History:
    found = getattr(style.plain_model(estimator), "history", None)
    found = getattr(estimator, "history_", None) if found is None else found
    if not isinstance(found, History):
        raise DataError(f"{type(estimator).__name__} has no history to draw")
    return found
