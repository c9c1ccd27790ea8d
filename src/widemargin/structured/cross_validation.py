"""Cross-validation of taggers and parsers with fixed parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from widemargin.data.readers.corpus import Corpus
from widemargin.evaluate.folds import check_folds, plain_folds
from widemargin.evaluate.intervals import corrected_t
from widemargin.structured.report import Report
from widemargin.threads import run_all


@dataclass(frozen=True)
class SentenceFolds:
    """The scores measured on each fold.

    Attributes
    ----------
    scores : dict of str to array
        The figures of the folds by name: accuracy, and f1 of spans; or uas and las.
    ratio : float
        Ratio of test to training sentences of a fold.
    seed : int
        The seed of the folds.
    """

    scores: dict[str, np.ndarray]
    ratio: float
    seed: int = 0

    def interval(self, name: str) -> tuple[float, float]:
        """The 95 % interval of a mean, by the corrected resampled t-test over the folds."""
        _, low, high, _ = corrected_t(self.scores[name], self.ratio)
        return max(0.0, low), min(1.0, high)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        found: dict[str, Any] = {"folds": len(next(iter(self.scores.values())))}
        for name, scores in self.scores.items():
            found[f"fold_{name}"] = scores.tolist()
            found[f"cross_validated_{name}"] = float(np.mean(scores))
            found[f"cross_validated_{name}_interval"] = list(self.interval(name))
        return found

    def lines(self, titles: dict[str, str]) -> list[str]:
        """Each figure of the folds, and its mean with its interval; `titles` names the figures."""
        lines = []
        for name, scores in self.scores.items():
            title, (low, high) = titles.get(name, name), self.interval(name)
            each = " ".join(f"{score:.4f}" for score in scores)
            lines += [
                f"{title} of {len(scores)} folds of sentences (seed {self.seed}): {each}",
                f"cross-validated {title}: {float(np.mean(scores)):.4f} (95 % interval {low:.4f} to"
                f" {high:.4f}, by the t-test corrected for folds that share training sentences)",
            ]
        return lines


def cross_validate_sentences(
    learner: Any,
    corpus: Corpus,
    examine: Callable[[Any, Corpus], Report],
    *,
    folds: int = 5,
    seed: int = 0,
    threads: int = 1,
    **how: Any,
) -> SentenceFolds:
    """Test a tagger or a parser on every fold of a corpus after training it on the others.

    The figures are those of scikit-learn's `cross_val_score(learner, corpus, cv=KFold(folds,
    shuffle=True, random_state=seed))`, and others from `examine`.

    Parameters
    ----------
    learner : Tagger or Parser
        The estimator, which is copied for every fold and not modified.
    corpus : Corpus
        Sentences with their answers.
    examine : callable
        Measures a model on sentences.
    folds, seed : int
        The number of folds, and the seed for drawing them.
    threads : int
        How many folds to run in parallel; the result does not depend on it.
    **how
        More arguments of `fit`.
    """
    check_folds(folds, len(corpus), "sentence")
    cuts, ended = plain_folds(len(corpus), folds, seed), Event()

    def work(number: int) -> dict[str, float]:
        fold, fresh = cuts[number], copy.deepcopy(learner)
        fresh.fit(corpus[fold.train], watch=lambda _: ended.is_set(), **how)
        return _main_figures(examine(fresh.model_, corpus[fold.test]))

    found = run_all(work, range(folds), threads, ended.set)
    scores = {name: np.array([one[name] for one in found]) for name in found[0]}
    ratio = float(np.mean([len(cut.test) / len(cut.train) for cut in cuts]))
    return SentenceFolds(scores, ratio, seed)


def _main_figures(report: Report) -> dict[str, float]:
    """The figures that every fold has."""
    found = {} if report.spans is None else {"f1": report.spans.overall.f1}
    kept = ("accuracy", "uas", "las")
    return {**found, **{name: one.f1 for name, one in report.figures.items() if name in kept}}
