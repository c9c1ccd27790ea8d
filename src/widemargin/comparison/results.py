"""The results of a comparison, as a table, in words, as JSON and as an HTML page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin.comparison.paired import Pair
from widemargin.markup.charts import interval_chart
from widemargin.markup.html import Markup, facts, fragment, joined, page, section, table, tag
from widemargin.stores.writing import write_text

_MEGA = 1024 * 1024
_HEADS = ("learner", "accuracy", "below the best by", "fit s", "answer s", "memory MB", "note")


@dataclass(frozen=True)
class Entry:
    """The results of one learner.

    Attributes
    ----------
    name : str
    scores : array
        The accuracy on every fold; empty if the learner was left out for the reason in `note`.
    fit_seconds, predict_seconds : float
        Mean time per fold.
    memory : int or None
        Peak additional memory of training or prediction, in bytes.
    note : str
        A warning that it issued, or why it was left out.
    """

    name: str
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    memory: int | None = None
    note: str = ""

    @property
    def accuracy(self) -> float:
        """Mean accuracy over all folds."""
        return float(np.mean(self.scores)) if len(self.scores) else float("nan")


@dataclass(frozen=True)
class Comparison:
    """The results of learners on shared folds.

    Attributes
    ----------
    entries : list of Entry
        Best first; learners that were left out come last.
    pairs : list of Pair
        All pairs, most significant difference first.
    rows, features : int
    classes : list
    folds, repeats : int
    settings : dict
        The settings of the learners.
    commonest : float
        Fraction of the rows in the most frequent class.
    """

    entries: Sequence[Entry]
    pairs: Sequence[Pair]
    rows: int
    features: int
    classes: Sequence[Any]
    folds: int
    repeats: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    commonest: float = 0.0

    @property
    def best(self) -> Entry:
        """The learner with the highest mean; `words` says whether that is significant."""
        return self.entries[0]

    def pair(self, one: str, other: str) -> Pair:
        """The comparison of two learners."""
        for pair in self.pairs:
            if {pair.better, pair.worse} == {one, other}:
                return pair
        raise KeyError(f"no comparison of {one!r} and {other!r}")

    def words(self) -> list[str]:
        """Which differences are significant, in plain sentences."""
        ran = [entry for entry in self.entries if len(entry.scores)]
        if len(ran) < 2:
            return ["There is only one learner, so there is nothing to compare."]
        best = self.best.name
        behind = {entry.name: self.pair(best, entry.name) for entry in ran[1:]}
        worse = [name for name, pair in behind.items() if pair.real]
        likely = [name for name, pair in behind.items() if not pair.real and pair.low > 0.0]
        alike = [name for name, pair in behind.items() if not pair.real and pair.low <= 0.0]

        def by(names: list[str]) -> str:
            return _and(
                [f"{one} (by {behind[one].low:.4f} to {behind[one].high:.4f})" for one in names]
            )

        said = [f"The highest accuracy is that of {best}, {self.best.accuracy:.4f}."]
        if alike:
            said.append(
                _sentence(
                    f"{_and(alike)} {_is(alike)} not significantly worse: the difference may"
                    " be chance."
                )
            )
        if likely:
            said.append(
                _sentence(
                    f"{by(likely)} {_is(likely)} probably worse, but among {len(self.pairs)} pairs"
                    " some look so by chance."
                )
            )
        if worse:
            said.append(_sentence(f"{by(worse)} {_is(worse)} significantly worse."))
        others = [p for p in self.pairs if p.real and p.better != best]
        if others:
            listed = "; ".join(f"{p.better} is better than {p.worse}" for p in others[:8])
            more = f"; and {len(others) - 8} more" if len(others) > 8 else ""
            said.append(f"Also significant: {listed}{more}.")
        said.append(self._cost_words(ran))
        return said

    def _cost_words(self, ran: Sequence[Entry]) -> str:
        fastest = min(ran, key=lambda entry: entry.fit_seconds)
        slowest = max(ran, key=lambda entry: entry.fit_seconds)
        times = slowest.fit_seconds / max(fastest.fit_seconds, 1e-9)
        return (
            f"The fastest to train is {fastest.name} ({fastest.fit_seconds:.3g} s per fold), the"
            f" slowest {slowest.name} ({slowest.fit_seconds:.3g} s, {times:.3g} times as long)."
        )

    def method(self) -> str:
        """The method of measurement, in one paragraph."""
        told = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return (
            f"{self.folds} folds x {self.repeats}, the same for all; nothing was tuned ({told})."
            " Intervals: 95 %, paired by fold, corrected resampled t (Nadeau and Bengio 2003). A"
            " difference is significant at the 5 % level, corrected for all pairs (Holm 1979)."
            f" Always predicting the most frequent class: {self.commonest:.4f}."
        )

    def lines(self) -> list[list[str]]:
        """The cells of the table."""
        found = []
        for entry in self.entries:
            if not len(entry.scores):
                found.append([entry.name, "-", "-", "-", "-", "-", entry.note])
                continue
            behind = "-"
            if entry is not self.best:
                pair = self.pair(self.best.name, entry.name)
                mark = " *" if pair.real else ""
                behind = f"{pair.difference:.4f} ({pair.low:.4f} to {pair.high:.4f}){mark}"
            memory = "-" if entry.memory is None else f"{entry.memory / _MEGA:.1f}"
            times = [f"{entry.fit_seconds:.3g}", f"{entry.predict_seconds:.3g}"]
            found.append([entry.name, f"{entry.accuracy:.4f}", behind, *times, memory, entry.note])
        return found

    def __str__(self) -> str:
        rows = [list(_HEADS), *self.lines()]
        widths = [max(len(row[j]) for row in rows) for j in range(len(_HEADS))]
        lines = [
            "  ".join(
                f"{cell:<{width}}" if j in (0, 2, 6) else f"{cell:>{width}}"
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        lines += ["* significantly worse than the best", "", *self.words(), "", self.method()]
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and strings, for JSON."""
        return {
            "rows": self.rows,
            "features": self.features,
            "classes": list(self.classes),
            "folds": self.folds,
            "repeats": self.repeats,
            "settings": dict(self.settings),
            "commonest": self.commonest,
            "learners": [
                {
                    "name": entry.name,
                    "accuracy": entry.accuracy if len(entry.scores) else None,
                    "scores": entry.scores.tolist(),
                    "fit_seconds": entry.fit_seconds,
                    "predict_seconds": entry.predict_seconds,
                    "memory_bytes": entry.memory,
                    "note": entry.note,
                }
                for entry in self.entries
            ],
            "pairs": [pair._asdict() for pair in self.pairs],
            "words": self.words(),
            "method": self.method(),
        }

    def _table(self) -> Markup:
        return table(_HEADS, self.lines(), "* significantly worse than the best")

    def _chart(self) -> Markup:
        """How far each learner is below the best, with its interval."""
        ran = [entry for entry in self.entries[1:] if len(entry.scores)]
        pairs = [(entry.name, self.pair(self.best.name, entry.name)) for entry in ran]
        lines = [(name, -pair.high, -pair.difference, -pair.low) for name, pair in pairs]
        return interval_chart(f"accuracy, compared with {self.best.name} (0)", lines)

    def _repr_html_(self) -> str:
        words = (tag("p", line) for line in self.words())
        return fragment(self._table(), *words, tag("figure", self._chart()))

    def report(self, path: str | os.PathLike[str], data: str = "") -> None:
        """Write everything to one self-contained HTML page.

        Parameters
        ----------
        path : path
            Where to write.
        data : str
            A name for the examples.
        """
        title = f"Learners compared{f' on {data}' if data else ''}"
        told = tag("div", *(tag("p", line) for line in self.words()), kind="verdict")
        heads = ["better", "worse", "difference", "95 % interval", "p", "adjusted p", "real"]
        rows = [
            [
                pair.better,
                pair.worse,
                f"{pair.difference:.4f}",
                f"{pair.low:.4f} to {pair.high:.4f}",
                f"{pair.p:.3g}",
                f"{pair.adjusted:.3g}",
                "yes" if pair.real else "not certain",
            ]
            for pair in self.pairs
        ]
        shape = [
            ("examples", f"{self.rows:,}"),
            ("features", f"{self.features:,}"),
            ("classes", f"{len(self.classes):,}"),
        ]
        body = joined(
            [
                tag("h1", title),
                section("verdict", "Verdict", told),
                section("learners", "Learners", self._table(), tag("figure", self._chart())),
                section("pairs", "All pairs", table(heads, rows)),
                section("data", "Examples", facts(shape)),
                section("method", "How it was measured", tag("p", self.method())),
            ]
        )
        write_text(path, page(title, tag("main", body)))


def _and(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> _and(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]
