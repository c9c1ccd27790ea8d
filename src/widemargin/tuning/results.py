"""The result of tuning: the choice, everything that was tried, and an unbiased estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.evaluate.intervals import interval_of_folds, wilson
from widemargin.tuning.search import Search, Trial

_HEADS = ("", "C", "epochs", "accuracy", "spread")


@dataclass(frozen=True)
class Estimate:
    """The accuracy of tuned settings on rows that took no part in choosing them.

    Attributes
    ----------
    right, sizes : arrays of int
        Right answers and rows: of the held-out part, or of each outer fold.
    chosen : list of dict
        The settings that were tested on each of them.
    """

    right: np.ndarray
    sizes: np.ndarray
    chosen: list[dict[str, Any]]

    @property
    def nested(self) -> bool:
        """Whether there were outer folds, each with its own search."""
        return len(self.sizes) > 1

    @property
    def accuracy(self) -> float:
        """The accuracy; with outer folds, their mean accuracy."""
        return float(np.mean(self.right / self.sizes))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval: Wilson's, or with outer folds that of `interval_of_folds`."""
        if self.nested:
            return interval_of_folds(self.right, self.sizes)
        return wilson(int(self.right[0]), int(self.sizes[0]))

    def __str__(self) -> str:
        low, high = self.interval
        accuracy = f"accuracy {self.accuracy:.4f} (95 % interval {low:.4f} to {high:.4f})"
        if self.nested:
            return f"{accuracy} on {len(self.sizes)} outer folds, each tuned without its own rows"
        return f"{accuracy} on {int(self.sizes[0])} held-out rows that took no part in the search"


@dataclass
class Tuning:
    """The result of `tune`: print it to see what was tried.

    Attributes
    ----------
    best_ : dict
        The chosen settings: `C`, `epochs`, or both.
    estimate_ : Estimate
        Their `accuracy` and its `interval` on rows that took no part in the choice.
    trials_ : list of Trial
        All candidates (`C`, `epochs`), their `scores` on the inner folds, `mean` and `spread`.
    notes_ : list of str
        Remarks about the choice, such as that it is at an end of the values tried.
    estimator_ : estimator or None
        The estimator with the chosen settings, trained on all rows.
    """

    search: Search
    estimate_: Estimate
    estimator_: Any = None

    @property
    def best_(self) -> dict[str, Any]:
        """The chosen settings."""
        return self.search.best.chosen

    @property
    def trials_(self) -> list[Trial]:
        """All candidates."""
        return self.search.trials

    @property
    def notes_(self) -> list[str]:
        """Remarks about the choice."""
        return self.search.notes

    def lines(self) -> list[str]:
        """The table of what was tried, the choice, and the estimate."""
        best = self.search.best
        cells = [
            [
                "*" if trial is best else "",
                "" if trial.C is None else f"{trial.C:g}",
                "" if trial.epochs is None else str(trial.epochs),
                f"{trial.mean:.4f}",
                f"{trial.spread:.4f}",
            ]
            for trial in self._shown()
        ]
        shown = [j for j in range(len(_HEADS)) if any(row[j] for row in cells)]
        table = [list(_HEADS), *cells]
        widths = [max(len(row[j]) for row in table) for j in shown]
        lines = [
            "  ".join(f"{row[j]:>{width}}" for j, width in zip(shown, widths, strict=True))
            for row in table
        ]
        values = ", ".join(f"{name} = {value:g}" for name, value in self.best_.items())
        lines.append(
            f"* chosen: {values}, by the mean of {self.search.folds} folds of"
            f" {self.search.rows} rows (spread: their standard deviation)"
        )
        lines += [f"note: {note}" for note in self.notes_]
        return [*lines, f"estimate for tuned settings: {self.estimate_}"]

    def _shown(self) -> list[Trial]:
        """The candidates to show: all for a single C, otherwise the best one of each C."""
        if len({trial.C for trial in self.trials_}) == 1:
            return self.trials_
        best: dict[float | None, Trial] = {}
        for trial in self.trials_:
            if trial.C not in best or trial.mean > best[trial.C].mean:
                best[trial.C] = trial
        return list(best.values())

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, for JSON."""
        low, high = self.estimate_.interval
        return {
            "tuned": self.best_,
            "tried": [
                {**trial.chosen, "accuracy": trial.mean, "spread": trial.spread}
                for trial in self.trials_
            ],
            "notes": self.notes_,
            "estimate": {
                "accuracy": self.estimate_.accuracy,
                "interval": [low, high],
                "rows": int(self.estimate_.sizes.sum()),
                "nested": self.estimate_.nested,
            },
        }
