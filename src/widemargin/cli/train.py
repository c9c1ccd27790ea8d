"""`widemargin train`: the one path from options to a model and a report, for every learner."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.cli.learners import LEARNERS, refuse_others
from widemargin.cli.options import refuse_unused
from widemargin.cli.report import report
from widemargin.cli.trainer import Job, Trainer
from widemargin.loops.jit import compile_quietly, is_cold, tell_compiling
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.progress import watched


def train(
    files: Sequence[str], learner: str, given: Mapping[str, Any], typed: Mapping[str, str]
) -> int:
    """Train a learner on files, or on the embedded data set; returns the exit code.

    Parameters
    ----------
    files : sequence of str
        Names, patterns, or "-".
    learner : str
        One of `LEARNERS`.
    given : dict
        All options by name, with their defaults.
    typed : dict
        Those that are on the command line, as they are written there.
    """
    refuse_others(learner, typed, files)
    trainer = LEARNERS[learner].load()(learner, given, Job.of(files, given))
    refuse_unused(trainer.uses(), typed)
    return run(trainer)


def run(trainer: Trainer) -> int:
    """Read, learn, save, measure and report; returns the exit code."""
    began, job = time.monotonic(), trainer.job
    if job.quiet:
        compile_quietly()
    elif is_cold():
        tell_compiling(always=True)
    trainer.read()
    checkpoints = _open_checkpoints(trainer)
    shown = False if job.quiet or job.as_json else None
    with watched(shown, trainer.epochs, table=True) as watch:
        model = trainer.fit(watch, checkpoints)
    model.save(job.model)
    if checkpoints is not None and not watch.interrupted:
        checkpoints.remove()
    measured = trainer.measure(model)
    report(trainer, model, measured, time.monotonic() - began)
    return 130 if watch.interrupted else 0


def _open_checkpoints(trainer: Trainer) -> Checkpoints | None:
    job = trainer.job
    if job.checkpoint is None:
        return None
    checkpoints = Checkpoints(job.checkpoint, trainer.task(), job.every, resume=job.resume)
    if not job.resume:
        checkpoints.remove()  # those of a training that is not gone on with
    return checkpoints
