"""`widemargin train`: the path from options to a model and a report, shared by all learners."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from widemargin.cli.default_learner import make_trainer
from widemargin.cli.selection import select
from widemargin.cli.threshold import check_threshold, set_threshold, wanted_threshold
from widemargin.cli.trainer import Trainer
from widemargin.cli.training_report import report
from widemargin.errors import DataError
from widemargin.loops.jit import announce_compiling, compile_quietly, is_cold
from widemargin.modelfile.files import learner_of
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.progress import Watcher, watched


def train(
    files: Sequence[str], learner: str | None, given: Mapping[str, Any], typed: Mapping[str, str]
) -> int:
    """Train a learner on files, or on the embedded data set, and return the exit code.

    Parameters
    ----------
    files : sequence of str
        Names, patterns, or "-".
    learner : str or None
        One of `LEARNERS`; None for the one that suits the files.
    given : dict
        All options by name, with their defaults.
    typed : dict
        The options given on the command line, as they were written.
    """
    began = time.monotonic()
    _refuse_models(files)
    if given["quiet"]:
        compile_quietly()
    elif is_cold():
        announce_compiling(always=True)
    return run(make_trainer(learner, files, given, typed), began)


def _refuse_models(files: Sequence[str]) -> None:
    """Refuse to learn from a model."""
    for path in files:
        if os.path.isfile(path) and learner_of(path):
            raise DataError(f"{path}: is a model, not examples; to train it further, use update")


def run(trainer: Trainer, began: float | None = None) -> int:
    """Read, train, save, measure and report; return the exit code.

    Parameters
    ----------
    trainer : Trainer
        The trainer to run.
    began : float, optional
        The start time, if some of the work was done before this call.
    """
    began, job = time.monotonic() if began is None else began, trainer.job
    wanted = wanted_threshold(trainer)
    trainer.read()
    check_threshold(trainer, wanted)
    selected = select(trainer)
    checkpoints = _open_checkpoints(trainer)
    shown = False if job.quiet or job.as_json else None
    with (
        watched(shown, trainer.epochs, table=True) as watch,
        _saying_what_is_kept(watch, job.model),
    ):
        model = trainer.fit(watch, checkpoints)
        watch.close()
        model.save(job.model)
        watch.kept = True
        if checkpoints is not None and not watch.interrupted:
            checkpoints.remove()
        # The model is already saved, so it is not lost if the threshold cannot be reached.
        model, told = set_threshold(trainer, model, wanted)
        if wanted is not None:
            model.save(job.model)
        measured = trainer.measure(model)
        found = selected.joined(told).joined(measured)
        report(trainer, model, found, time.monotonic() - began)
    return 130 if watch.interrupted else 0


@contextmanager
def _saying_what_is_kept(watch: Watcher, path: str) -> Iterator[None]:
    """Add to KeyboardInterrupt whether the model was saved."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"the model was saved to {path} before" if watch.kept else "no model was saved"
        raise KeyboardInterrupt(f"; {kept}") from None


def _open_checkpoints(trainer: Trainer) -> Checkpoints | None:
    job = trainer.job
    if job.checkpoint is None:
        return None
    checkpoints = Checkpoints(job.checkpoint, trainer.task(), job.every, resume=job.resume)
    if not job.resume:
        checkpoints.remove()  # left by an earlier run that is not resumed
    return checkpoints
