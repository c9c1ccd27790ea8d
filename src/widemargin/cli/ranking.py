"""What `widemargin test` reports about the rarer of two classes and how well scores rank it."""

from __future__ import annotations

from typing import Any

from widemargin.evaluate.measures import Measures
from widemargin.evaluate.ranking import Curves
from widemargin.models.threshold import describe_threshold

#: A class with a smaller share of the rows than this is rare enough to suggest a threshold.
_RARE = 0.2


def ranking_figures(curves: Curves | None) -> dict[str, Any]:
    """The areas with their intervals, for JSON; None if all rows are of one class."""
    if curves is None:
        return dict.fromkeys(
            (
                *("rarer_class", "auc", "auc_interval"),
                *("average_precision", "average_precision_interval"),
            )
        )
    return {
        "rarer_class": curves.positive,
        "auc": curves.auc,
        "auc_interval": curves.auc_interval,
        "average_precision": curves.average_precision,
        "average_precision_interval": curves.average_precision_interval,
    }


def describe_ranking(curves: Curves, measures: Measures, model: Any) -> list[str]:
    """The figures for the rarer class, line by line, and a threshold that would suit it better."""
    code = measures.labels.index(curves.positive)
    f1, interval = measures.f1[code], measures.f1_intervals()[1][code]
    figures = [
        ("precision", measures.precision[code], measures.precision_intervals[code], ""),
        ("recall", measures.recall[code], measures.recall_intervals[code], ""),
        ("F1", f1, interval, ""),
        ("AUC", curves.auc, curves.auc_interval, "; 0.5 by chance"),
        (
            "average precision",
            curves.average_precision,
            curves.average_precision_interval,
            f"; {curves.share:.4f} by chance",
        ),
    ]
    rarer = ", the rarer one" if 2 * curves.positives < len(curves.truth) else ""
    lines = [
        f"class {curves.positive}{rarer}: {curves.positives:,} of {len(curves.truth):,} rows",
        *([f"threshold: {describe_threshold(model)}"] if model.threshold else []),
        *(
            f"{name:<17}  {value:.4f} (95 % interval {low:.4f} to {high:.4f}{more})"
            for name, value, (low, high), more in figures
        ),
    ]
    better = _better_threshold(curves, f1, model.threshold)
    return lines if better is None else [*lines, better]


def _better_threshold(curves: Curves, f1: float, threshold: float) -> str | None:
    """Advice, if the class is rare and another threshold has a clearly larger F1."""
    if curves.share >= _RARE:
        return None
    expected = (choice := curves.choose("f1")).expected
    if expected is None or expected.f1_intervals()[1][1][0] <= f1:
        return None
    return (
        f"a threshold of {threshold + choice.threshold:.4g} would give an F1 of about"
        f" {expected.f1[1]:.4f} for {curves.positive}: train with --valid and --threshold f1"
    )
