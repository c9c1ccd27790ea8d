"""Explanations of predictions, as printable data."""

from __future__ import annotations

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
        By how much the first won.
    reasons : list of Reason
        The features that contributed, largest first. If the mistake log was kept, each names the
        rows whose mistakes produced its weight.
    voted : bool
        Whether the prediction is a vote; the weights are then those of the average.
    """

    prediction: Any
    instead_of: Any
    score: float
    reasons: list[Reason]
    voted: bool = False

    def __str__(self) -> str:
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
        return "\n".join(lines)

    __repr__ = __str__
