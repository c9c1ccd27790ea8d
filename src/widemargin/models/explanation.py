"""Explanations of predictions, as printable data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple


class Reason(NamedTuple):
    """The contribution of one feature to a prediction."""

    feature: str
    value: float
    weight: float
    share: float  # value times weight: its contribution to the score
    mistakes: list[tuple[int, float]] | None  # (row, amount added to the weight), if logged


@dataclass(frozen=True)
class Explanation:
    """The explanation of one prediction.

    Attributes
    ----------
    prediction, instead_of
        The predicted label, and the one that came second.
    score : float
        The margin by which the first won.
    reasons : list of Reason
        The features that contributed, largest first. If the mistake log was kept, each names the
        rows whose mistakes produced its weight.
    voted : bool
        Whether the prediction is a vote; the weights are then those of the average.
    rest : float or None
        The sum of the shares of the features that are not listed, if it is known: with it, the
        shares add up to the score.
    """

    prediction: Any
    instead_of: Any
    score: float
    reasons: list[Reason]
    voted: bool = False
    rest: float | None = None

    def __str__(self) -> str:
        if self.instead_of is None:
            return f"{self.prediction}: nothing else is possible here"
        what = "mean vote" if self.voted else "score"
        lines = [f"{self.prediction} rather than {self.instead_of}, {what} {self.score:+.4g}"]
        width = max([len(reason.feature) for reason in self.reasons] + [7])
        lines.append(f"{'feature':{width}}       value      weight       share")
        for feature, value, weight, share, mistakes in self.reasons:
            line = f"{feature:{width}}  {value:10.4g}  {weight:10.4g}  {share:+10.4g}"
            if mistakes is not None:
                rows = ", ".join(str(row) for row, _ in mistakes[:5])
                line += f"  from rows {rows}{', ...' if len(mistakes) > 5 else ''}"
            lines.append(line)
        if self.rest:
            lines.append(f"{'all others':{width}}  {'':10}  {'':10}  {self.rest:+10.4g}")
        return "\n".join(lines)

    __repr__ = __str__


def explanation_of(
    prediction: Any, instead_of: Any, reasons: list[Reason], top: int | None
) -> Explanation:
    """An explanation whose score is the sum of all shares, with the strongest reasons first.

    Parameters
    ----------
    prediction, instead_of
        What won, and what came second.
    reasons : list of Reason
        All of them.
    top : int or None
        How many to list; None for all.
    """
    ordered = sorted(reasons, key=lambda reason: -abs(reason.share))
    kept = len(ordered) if top is None else top
    score = math.fsum(reason.share for reason in reasons)
    rest = math.fsum(reason.share for reason in ordered[kept:])
    return Explanation(prediction, instead_of, score, ordered[:kept], rest=rest)
