"""Cross-validation of a learner with fixed settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from widemargin.data.pool import Pool
from widemargin.evaluate.folds import Fold, check_folds, stratified_folds
from widemargin.evaluate.intervals import interval_of_folds
from widemargin.threads import one_blas_thread, run_all
from widemargin.tuning.learning import AnySettings, Outcome, learn_and_test

#: Called with a line that says what is being done.
Say = Callable[[str], None]
MakeGenerator = Callable[[], np.random.Generator]


@dataclass(frozen=True)
class Folds:
    """The number of right answers on each fold.

    Attributes
    ----------
    right, sizes : arrays of int
        Right answers and tested rows, fold by fold.
    seed : int
        The seed of the folds.
    """

    right: np.ndarray
    sizes: np.ndarray
    seed: int = 0

    @property
    def scores(self) -> np.ndarray:
        """The accuracy of each fold."""
        return self.right / self.sizes

    @property
    def accuracy(self) -> float:
        """The mean of the folds' accuracies."""
        return float(np.mean(self.scores))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval: see `interval_of_folds`."""
        return interval_of_folds(self.right, self.sizes)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "folds": len(self.sizes),
            "fold_accuracies": self.scores.tolist(),
            "cross_validated_accuracy": self.accuracy,
            "cross_validated_accuracy_interval": list(self.interval),
        }

    def __str__(self) -> str:
        scores = " ".join(f"{score:.4f}" for score in self.scores)
        low, high = self.interval
        return (
            f"accuracy of {len(self.sizes)} folds (stratified, seed {self.seed}): {scores}\n"
            f"cross-validated accuracy: {self.accuracy:.4f} (95 % interval {low:.4f} to {high:.4f},"
            " by the t-test corrected for folds that share training rows)"
        )


def run_folds(
    work: Callable[[int, Callable[..., bool]], Outcome], folds: int, threads: int
) -> list[Outcome]:
    """Run all folds in parallel; Ctrl-C stops all of them.

    Parameters
    ----------
    work : callable
        Called with the number of a fold and with a function that tells a training to stop.
    folds, threads : int
        How many folds there are, and how many to run at a time.
    """
    ended = Event()

    def stop(*_: Any) -> bool:
        return ended.is_set()

    with one_blas_thread():  # each fold already has its own thread
        return run_all(lambda number: work(number, stop), range(folds), threads, ended.set)


def cross_validate(
    pool: Pool,
    settings: AnySettings,
    make_generator: MakeGenerator,
    *,
    folds: int = 5,
    seed: int = 0,
    threads: int = 1,
) -> Folds:
    """Test a learner on every fold of a pool after training it on the others.

    Parameters
    ----------
    pool : Pool
        The examples.
    settings : AnySettings
        The learner and its settings.
    make_generator : callable
        Makes the random generator of one training.
    folds, seed : int
        The number of folds, and the seed for drawing them.
    threads : int
        How many folds to run in parallel; the result does not depend on it.
    """
    check_folds(folds, len(pool.codes))
    cuts = stratified_folds(pool.codes, folds, seed)

    def work(number: int, stop: Callable[..., bool]) -> Outcome:
        split = pool.split(*cuts[number])
        return learn_and_test(split, settings, make_generator(), watch=stop)

    found = run_folds(work, folds, threads)
    return Folds(np.concatenate([one.right for one in found]), sizes_of(cuts), seed)


def sizes_of(cuts: Sequence[Fold]) -> np.ndarray:
    """How many rows each fold tests."""
    return np.array([len(cut.test) for cut in cuts])
