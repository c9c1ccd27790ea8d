"""The section of a report on how well scores rank the rarer of two classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.evaluate.ranking import Curves
from widemargin.markup.charts import Curve, Mark, line_chart, thin_path
from widemargin.markup.html import Markup, facts, joined, tag
from widemargin.markup.words import short
from widemargin.models.threshold import describe_threshold


def ranked(curves: Curves, model: Any) -> Markup:
    """Figures and both curves, with the model's decision threshold marked."""
    deployed = curves.deployed()
    name = short(curves.positive, 40)
    measured = [
        ("precision", deployed.precision[1], deployed.precision_intervals[1]),
        ("recall", deployed.recall[1], deployed.recall_intervals[1]),
        ("F1", deployed.f1[1], deployed.f1_intervals()[1][1]),
        ("AUC (by chance 0.5)", curves.auc, curves.auc_interval),
        (
            f"average precision (by chance {curves.share:.4f})",
            curves.average_precision,
            curves.average_precision_interval,
        ),
    ]
    lines = [
        ("examples of the class", f"{curves.positives:,} of {len(curves.truth):,}"),
        ("decision", f"{describe_threshold(model)}" if hasattr(model, "threshold") else "score 0"),
        *(
            (what, f"{value:.4f} (95 % interval {low:.4f} to {high:.4f})")
            for what, value, (low, high) in measured
        ),
    ]
    words = (
        f"{name} is the rarer class. Another threshold moves the marked point along the curves:"
        " widemargin train --threshold, or with_threshold in Python."
    )
    charts = [tag("figure", chart) for chart in (_roc(curves), _precision_recall(curves))]
    return joined([tag("p", words), facts(lines), tag("div", *charts, kind="row")])


def _roc(curves: Curves) -> Markup:
    (kept_out, taken), (_, _) = curves.deployed().confusion[:2].tolist()
    mark = Mark(taken / (taken + kept_out), curves.deployed().recall[1], "as it decides")
    x = np.concatenate([[0.0], curves.false_positive_rate]).tolist()
    y = np.concatenate([[0.0], curves.recall]).tolist()
    return _chart(f"ROC, area {curves.auc:.4f}", x, y, "false positive rate", (0.0, 1.0), mark)


def _precision_recall(curves: Curves) -> Markup:
    deployed, mark = curves.deployed(), None
    if deployed.predicted[1]:
        mark = Mark(deployed.recall[1], deployed.precision[1], "as it decides")
    # The curve has steps: a precision applies from the previous recall to its own.
    x = np.repeat(np.concatenate([[0.0], curves.recall]), 2)[1:-1].tolist()
    y = np.repeat(curves.precision, 2).tolist()
    chance = (curves.share, curves.share)
    title = f"precision, average {curves.average_precision:.4f}"
    return _chart(title, x, y, "recall", chance, mark)


def _chart(
    title: str,
    x: list[float],
    y: list[float],
    x_name: str,
    chance: tuple[float, float],
    mark: Mark | None,
) -> Markup:
    kept = thin_path(x, y)
    drawn = Curve(title, [x[i] for i in kept], [y[i] for i in kept])
    by_chance = Curve("by chance", (0.0, 1.0), chance)
    return line_chart(title, [drawn, by_chance], x_name=x_name, from_zero=True, mark=mark)
