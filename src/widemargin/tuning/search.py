"""Search for C along a path from small to large, and for epochs within one training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.pool import Pool, Split
from widemargin.evaluate.folds import Fold, check_folds, stratified_folds
from widemargin.kernel_machines.svm.fit import KernelSVMSettings
from widemargin.linear_svm.fit import SVMSettings
from widemargin.tuning.cross_validation import (
    MakeGenerator,
    Say,
    run_folds,
    sizes_of,
)
from widemargin.tuning.learning import AnySettings, Outcome, learn_and_test

#: The values of C to try first, and how far the search goes if the best is at an end.
FIRST_C, SMALLEST_C, LARGEST_C = (0.1, 1.0, 10.0), 1e-6, 1e4
#: The numbers of epochs to try first, and those added if the largest is the best.
FIRST_EPOCHS, MORE_EPOCHS = (1, 2, 3, 5, 7, 10, 15, 20), (30, 50)
#: Splits are cached for the next C if together they take at most this many bytes.
_KEPT = 1 << 30


@dataclass(frozen=True)
class SearchSpace:
    """The search space.

    Attributes
    ----------
    C, epochs : tuple or None
        The values to try, ascending; empty for the default values, which the search extends and
        refines; None to leave the setting as it is.
    """

    C: tuple[float, ...] | None = ()
    epochs: tuple[int, ...] | None = ()

    def for_settings(self, settings: AnySettings) -> SearchSpace:
        """The part of the space that affects a learner."""
        if isinstance(settings, (SVMSettings, KernelSVMSettings)):
            return SearchSpace(self.C, None)
        used = settings.uses(held_out=False).get("C")
        return SearchSpace(self.C if used is not None and used.here else None, self.epochs)


class Trial(NamedTuple):
    """One candidate and its accuracy on every inner fold."""

    C: float | None
    epochs: int | None
    scores: np.ndarray

    @property
    def mean(self) -> float:
        """The mean accuracy of the folds."""
        return float(np.mean(self.scores))

    @property
    def spread(self) -> float:
        """The standard deviation of the folds' accuracies."""
        return float(np.std(self.scores, ddof=1))

    @property
    def chosen(self) -> dict[str, Any]:
        """The settings of the candidate."""
        known = {"C": self.C, "epochs": self.epochs}
        return {name: value for name, value in known.items() if value is not None}


@dataclass
class Search:
    """All candidates, in ascending order of C and epochs, and the best one.

    Attributes
    ----------
    trials : list of Trial
        All candidates.
    folds, rows : int
        The number of folds, and of rows.
    notes : list of str
        Remarks about the choice, such as that it is at an end of the values tried.
    """

    trials: list[Trial]
    folds: int
    rows: int
    notes: list[str] = field(default_factory=list)

    @property
    def best(self) -> Trial:
        """The candidate with the best mean; on a tie, the smallest C, then the fewest epochs."""
        return max(self.trials, key=lambda trial: trial.mean)


def search(
    pool: Pool,
    which: np.ndarray,
    settings: AnySettings,
    space: SearchSpace,
    make_generator: MakeGenerator,
    *,
    folds: int = 5,
    seed: int = 0,
    threads: int = 1,
    say: Say | None = None,
) -> Search:
    """Try values of C and epochs on the folds of some examples of a pool.

        for C = small ... large:
            train on every fold, a kernel SVM from its solution for the previous C
            stop when the scores have clearly fallen
        if the best C is at an end, try values beyond it; then values on both sides of the best

    Learners that learn in epochs are scored after each of them, so that one training covers all
    numbers of epochs.

    Parameters
    ----------
    pool, which : Pool, array
        The examples, and the indices of those to use.
    settings : AnySettings
        The learner and its settings; C and epochs are replaced by the values to try.
    space : SearchSpace
        What to try.
    make_generator : callable
        Makes the random generator of one training.
    folds, seed, threads : int
        As for `cross_validate`.
    say : callable, optional
        Called with a line before each step.
    """
    check_folds(folds, len(which))
    cuts = [Fold(which[a], which[b]) for a, b in stratified_folds(pool.codes[which], folds, seed)]
    space = space.for_settings(settings)
    path = _Path(pool, cuts, settings, space.epochs, make_generator, threads, say)
    if space.C is None:
        path.run(None)
    elif space.C:
        for C in space.C:
            path.run(C)
    else:
        _explore(path)
    if space.epochs == ():
        path.extend_epochs()
    found = Search(sorted(path.trials, key=_by_size), folds, len(which))
    found.notes = [*_notes(found, "C", space.C), *_notes(found, "epochs", space.epochs)]
    return found


class _Path:
    """The trainings of all folds, from one C to the next.

    Attributes
    ----------
    trials : list of Trial
        All candidates so far.
    """

    def __init__(
        self,
        pool: Pool,
        cuts: Sequence[Fold],
        settings: AnySettings,
        epochs: tuple[int, ...] | None,
        make_generator: MakeGenerator,
        threads: int,
        say: Say | None,
    ) -> None:
        self.pool, self.cuts, self.settings = pool, cuts, settings
        self.make_generator, self.threads, self.say = make_generator, threads, say
        self.epochs = FIRST_EPOCHS if epochs == () else epochs
        self.trials: list[Trial] = []
        self._starts: dict[float, list[Any]] = {}
        self._splits: dict[int, Split] = {}
        values = pool.data.rows.stored_values * len(cuts)
        self._keeps_splits = values * 12 <= _KEPT  # bytes of a value and its column

    def run(self, C: float | None) -> list[Trial]:
        """Train all folds with a C (None: the one in the settings), and add the results."""
        if self.say is not None:
            about = "the number of epochs" if C is None else f"C = {C:g}"
            self.say(f"trying {about} on {len(self.cuts)} folds")
        changed: dict[str, Any] = {} if C is None else {"C": C}
        if self.epochs is not None:
            changed["epochs"] = max(self.epochs)
        settings = replace(self.settings, **changed)
        before = [one for one in self._starts if C is not None and one < C]
        starts = self._starts[max(before)] if before else [None] * len(self.cuts)

        def work(number: int, stop: Callable[..., bool]) -> Outcome:
            return learn_and_test(
                self._split(number),
                settings,
                self.make_generator(),
                each_epoch=self.epochs is not None,
                start=starts[number],
                watch=stop,
            )

        found = run_folds(work, len(self.cuts), self.threads)
        if C is not None:
            self._starts[C] = [one.start for one in found]
        right = np.array([one.right for one in found]).T / sizes_of(self.cuts)
        if self.epochs is None:
            new = [Trial(C, None, right[0])]
        else:
            new = [Trial(C, epochs, right[epochs - 1]) for epochs in self.epochs]
        self.trials = [old for old in self.trials if old.C != C] + new
        return new

    def _split(self, number: int) -> Split:
        split = self._splits.get(number)
        if split is None:
            split = self.pool.split(*self.cuts[number])
            if self._keeps_splits:
                self._splits[number] = split
        return split

    @property
    def best(self) -> Trial:
        """The best candidate so far, ties as in `Search.best`."""
        return max(sorted(self.trials, key=_by_size), key=lambda trial: trial.mean)

    def means(self) -> dict[float, float]:
        """The best mean of every C, ascending."""
        found: dict[float, float] = {}
        for trial in sorted(self.trials, key=_by_size):
            assert trial.C is not None
            found[trial.C] = max(trial.mean, found.get(trial.C, -math.inf))
        return found

    def extend_epochs(self) -> None:
        """Train longer with the best C if the largest number of epochs was the best."""
        best = self.best
        assert self.epochs is not None
        if best.epochs == max(self.epochs):
            self.epochs = (*self.epochs, *MORE_EPOCHS)
            self.run(best.C)


def _explore(path: _Path) -> None:
    """Find the best C: go up by decades, go beyond an end if it is the best, then refine."""
    for C in FIRST_C:
        path.run(C)
        if _is_falling(path):
            break
    for end, step in ((min, 0.1), (max, 10.0)):
        while True:
            means = path.means()
            outermost = end(means)
            others = [mean for C, mean in means.items() if outermost != C]
            further = _rounded(outermost * step)
            if means[outermost] <= max(others) or not SMALLEST_C <= further <= LARGEST_C:
                break
            path.run(further)
    best = path.best.C
    assert best is not None
    for factor in (math.sqrt(0.1), math.sqrt(10.0)):
        path.run(_rounded(best * factor))


def _is_falling(path: _Path) -> bool:
    """Whether the last C is worse than the best by more than the latter's standard error."""
    best, last = path.best, path.means().popitem()[1]
    return last < best.mean - best.spread / math.sqrt(len(best.scores))


def _rounded(C: float) -> float:
    """Round to one significant digit: 0.316 becomes 0.3."""
    return float(f"{C:.0e}")


def _by_size(trial: Trial) -> tuple[float, float]:
    return trial.C or 0.0, trial.epochs or 0


def _notes(found: Search, name: str, given: tuple[Any, ...] | None) -> list[str]:
    """A note if the best value is at an end of those that were tried."""
    tried = sorted({getattr(trial, name) for trial in found.trials})
    best = getattr(found.best, name)
    if given is None or len(tried) < 2 or best not in (tried[0], tried[-1]):
        return []
    if name == "epochs" and best == 1:
        return []  # there are no fewer epochs to try
    which = "smallest" if best == tried[0] else "largest"
    more = "try values beyond it" if given else "the search goes no further"
    return [f"the best {name}, {best:g}, is the {which} that was tried: {more}"]
