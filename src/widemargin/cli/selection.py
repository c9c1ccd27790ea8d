"""`widemargin train --folds` and `--tune`: the step between reading and training."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
import numpy as np

from widemargin.cli import options
from widemargin.cli.row_trainer import RowTrainer
from widemargin.cli.trainer import NOTHING, Section, Trainer
from widemargin.data.pool import Pool

#: A line of the report: the saved model learned from all rows, the measured ones from fewer.
_LEARNED = "learned from all rows"
#: The default number of folds of a search.
_FOLDS = 5


def select(trainer: Trainer) -> Section:
    """Cross-validate or tune the learner before training, and return what to report.

    Tuning changes the settings of the trainer to those that it finds.
    """
    given, job = trainer.given, trainer.job
    folds, tunes, nested = given.get("folds"), given.get("tune"), given.get("nested")
    if nested and not tunes:
        raise click.UsageError("--nested has no effect without --tune")
    if not (folds or tunes):
        return NOTHING
    if not isinstance(trainer, RowTrainer):  # such learners have --folds, but not --tune
        _refuse_valid(trainer, "--folds")
        return trainer.cross_validate(folds or _FOLDS)
    # Imported here because they import every learner, which other runs do not need.
    from widemargin.tuning.cross_validation import cross_validate
    from widemargin.tuning.estimation import tune_pool

    pool = _pool(trainer, "--tune" if tunes else "--folds")
    how = {"folds": folds or _FOLDS, "seed": trainer.seed, "threads": trainer.reading.threads}
    shown = sys.stderr.isatty() and not (job.quiet or job.as_json)
    if not tunes:
        found = cross_validate(pool, trainer.settings, _generator_of(trainer), **how)
        return Section(found.to_dict(), [_LEARNED, *str(found).split("\n")])
    space = _space(trainer)
    tuned = tune_pool(
        pool,
        trainer.settings,
        space,
        _generator_of(trainer),
        nested=bool(nested),
        say=_say if shown else None,
        **how,
    )
    if shown:
        _say("")
    trainer.settings = replace(trainer.settings, **tuned.best_)
    trainer.params |= tuned.best_
    return Section(tuned.to_dict(), [_LEARNED, "", *tuned.lines()])


def _pool(trainer: RowTrainer, option: str) -> Pool:
    """The examples of a trainer, if all of them are in memory."""
    _refuse_valid(trainer, option)
    examples = getattr(trainer, "examples", None)
    if examples is None:
        raise click.UsageError(
            f"{option} needs all examples in memory: give a file instead of a pipe, enough"
            " --memory, no --stream, and not --epochs 1 with --shuffle no"
        )
    return Pool(examples.data, examples.classes.values, examples.encoder, trainer.reading.threads)


def _refuse_valid(trainer: Trainer, option: str) -> None:
    if trainer.job.valid is not None or trainer.job.validation is not None:
        raise click.UsageError(f"--valid has no effect with {option}, which tests on folds")


def _space(trainer: RowTrainer) -> Any:
    """The parameters to search: those that have an effect and were not given."""
    from widemargin.tuning.search import SearchSpace

    typed = options.typed_options()
    asked = SearchSpace(None if "C" in typed else (), None if "epochs" in typed else ())
    space = asked.for_settings(trainer.settings)
    if space.C is None and space.epochs is None:
        raise click.UsageError(
            "--tune has nothing to search: --C and --epochs are given or have no effect here"
        )
    return space


def _generator_of(trainer: Trainer) -> Callable[[], np.random.Generator]:
    return lambda: np.random.default_rng(trainer.seed)


def _say(line: str) -> Any:
    """Show progress on one line, which is overwritten each time."""
    click.echo(f"\r\033[K{line}", err=True, nl=False)
