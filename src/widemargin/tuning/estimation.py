"""Tune a learner, and estimate without bias how good it then is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.data.pool import Pool
from widemargin.evaluate.folds import Fold, stratified_folds
from widemargin.tuning.cross_validation import MakeGenerator, Say, run_folds, sizes_of
from widemargin.tuning.learning import AnySettings, Outcome, learn_and_test
from widemargin.tuning.results import Estimate, Tuning
from widemargin.tuning.search import Search, SearchSpace, search

#: One row in this many is held out for the estimate, and at most this many rows.
_HELD_OUT, _MOST = 10, 10_000


def tune_pool(
    pool: Pool,
    settings: AnySettings,
    space: SearchSpace,
    make_generator: MakeGenerator,
    *,
    folds: int = 5,
    nested: bool = False,
    seed: int = 0,
    threads: int = 1,
    say: Say | None = None,
) -> Tuning:
    """Search for the best settings, and measure them on rows that took no part in the search.

    By default a tenth of the rows, at most 10,000, is held out: the search uses the others, and a
    model trained on them with the chosen settings is tested on the held-out rows. With `nested`
    this is done for every fold, and a final search on all rows makes the choice.

    Parameters
    ----------
    pool, settings, space, make_generator, folds, seed, threads, say
        As for `search`.
    nested : bool
        Whether to estimate with as many outer folds as inner ones.
    """
    codes, everything = pool.codes, np.arange(len(pool.codes))
    parts = folds if nested else max(_HELD_OUT, math.ceil(len(codes) / _MOST))
    outer = stratified_folds(codes, parts, seed)[: folds if nested else 1]

    def find(which: np.ndarray, about: str) -> Search:
        tell: Any = None if say is None else lambda line: say(f"{about}{line}")
        return search(
            pool,
            which,
            settings,
            space,
            make_generator,
            folds=folds,
            seed=seed,
            threads=threads,
            say=tell,
        )

    found = [
        find(cut.train, f"outer fold {number} of {folds}: " if nested else "")
        for number, cut in enumerate(outer, start=1)
    ]
    chosen = [one.best.chosen for one in found]
    right = _test(pool, settings, chosen, outer, make_generator, threads)
    estimate = Estimate(right, sizes_of(outer), chosen)
    return Tuning(find(everything, "all rows: ") if nested else found[0], estimate)


def _test(
    pool: Pool,
    settings: AnySettings,
    chosen: list[dict[str, Any]],
    outer: list[Fold],
    make_generator: MakeGenerator,
    threads: int,
) -> np.ndarray:
    """Right answers on the outer test parts, after training on the rows used by the searches."""

    def work(number: int, stop: Callable[..., bool]) -> Outcome:
        split = pool.split(*outer[number])
        tuned = replace(settings, **chosen[number])
        return learn_and_test(split, tuned, make_generator(), watch=stop)

    return np.concatenate([one.right for one in run_folds(work, len(outer), threads)])
