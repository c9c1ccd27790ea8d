"""A plot of the hypotheses that decided a voted prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from widemargin.data.encode.text import texts_of
from widemargin.markup.words import short, short_names
from widemargin.online.scores import best_class
from widemargin.plots import style
from widemargin.plots.display import Display
from widemargin.plots.hypotheses import scores_along

#: The largest number of classes in the legend: those with the most votes.
_NAMED = 6


@dataclass(repr=False)
class VotesDisplay(Display):
    """All hypotheses of a training run in order, each drawn as wide as its number of votes.

    Attributes
    ----------
    codes : array
        The class that each hypothesis votes for.
    leads : array
        The score of each hypothesis, or the lead of its best class over the next.
    votes : array
        The number of votes of each hypothesis.
    labels : list
        The classes.
    """

    codes: np.ndarray
    leads: np.ndarray
    votes: np.ndarray
    labels: list[Any]

    @classmethod
    def from_estimator(cls, estimator: Any, x: Any, *, ax: Any = None) -> Self:
        """Plot the votes on one example."""
        model = style.plain_model(estimator)
        if isinstance(x, str):
            x = texts_of([x])
        elif not hasattr(x, "tocsr") and not isinstance(x, tuple):
            x = np.atleast_2d(x)
        scores, votes = scores_along(model, x)
        if scores.shape[1] == 1:
            codes, leads = best_class(scores[:, 0]), np.abs(scores[:, 0])
        else:
            codes = best_class(scores)
            rest = np.sort(scores, axis=1)
            leads = rest[:, -1] - rest[:, -2]
        return cls(codes, leads, votes, list(model.classes.tolist())).plot(ax=ax)

    @property
    def shares(self) -> dict[Any, float]:
        """The share of all votes that each class has."""
        total = float(self.votes.sum())
        counted = np.bincount(self.codes, weights=self.votes, minlength=len(self.labels))
        return {label: float(v) / total for label, v in zip(self.labels, counted, strict=True)}

    def plot(self, ax: Any = None) -> Self:
        """Draw the plot."""
        self.ax_ = ax = style.new_axes(ax, (4.0, 2.8))
        self.figure_ = ax.figure
        ends = np.cumsum(self.votes)
        starts = ends - self.votes
        two = len(self.labels) == 2
        shares = self.shares
        most = sorted(shares, key=lambda label: -shares[label])[:_NAMED]
        names = short_names(self.labels, 16)
        for code, label in enumerate(self.labels):
            mine = self.codes == code
            if not np.any(mine):
                continue
            heights = self.leads[mine] * (-1.0 if two and code == 0 else 1.0)
            share = f"{names[code]}: {100 * self.shares[label]:.3g} %"
            named = share if label in most else None
            look: dict[str, Any] = {"color": style.colour_of(code), "label": named}
            look["hatch"] = None if code % 2 else "///"
            edge = {"edgecolor": "white", "linewidth": 0.4 if len(self.votes) < 120 else 0.0}
            ax.bar(starts[mine], heights, self.votes[mine], align="edge", **edge, **look)
        ax.axhline(0.0, color=style.INK, linewidth=0.8)
        style.dress(
            ax,
            f"{len(self.votes):,} hypotheses vote: {short(most[0], 30)}",
            "votes (examples survived), early to late",
            "score" if two else "lead of its class",
        )
        style.legend_above(ax)
        return self


def plot_votes(estimator: Any, x: Any, *, ax: Any = None) -> VotesDisplay:
    """Draw how every hypothesis of a training run votes on one example.

    Parameters
    ----------
    estimator : fitted learner or model
        Trained with keep="vote".
    x : row, matrix with one row, or a text for a model of texts
        The example.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    VotesDisplay
        It has `shares`, the share of the votes of each class.

    Examples
    --------
    >>> from widemargin import Perceptron, plot_votes
    >>> X, y = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]], list("oxxoox")
    >>> p = Perceptron(keep="vote", random_state=0).fit(X, y)
    >>> plot_votes(p, [0.5, 1.0]).figure_.savefig("votes.png")
    """
    return VotesDisplay.from_estimator(estimator, x, ax=ax)
