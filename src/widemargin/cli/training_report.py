"""The report of a training run, as one JSON object or as text."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from widemargin.cli.trainer import Section, Trainer
from widemargin.markup.words import several
from widemargin.stores.addresses import is_address, shown, size_of


def report(trainer: Trainer, model: Any, measured: Section, seconds: float) -> None:
    """Print the report of a training run.

    Parameters
    ----------
    trainer : Trainer
        The trainer.
    model
        The trained model, which has been saved.
    measured : Section
        The results on held-out examples.
    seconds : float
        The duration of the whole run.
    """
    job, history = trainer.job, model.history
    learner, data = trainer.describe_learner(model), trainer.describe_data(model)
    result = trainer.describe_result(model)
    epochs = history.epochs_run
    figures: dict[str, Any] = {
        "learner": trainer.estimator,
        **learner.figures,
        **data.figures,
        "epochs": epochs,
        **({"mistakes": history.mistakes} if trainer.shows_mistakes else {}),
        "stopped": history.stopped,
        **result.figures,
        **measured.figures,
        "seconds": seconds,
        **({"bytes": size_of(job.model)} if trainer.shows_size else {}),
        "model": shown(job.model) if is_address(job.model) else os.path.abspath(job.model),
    }
    if job.as_json:
        click.echo(json.dumps(figures))
        return
    if job.quiet:
        return
    lines = [*data.lines, *learner.lines, ""]
    if trainer.shows_history:
        lines += [repr(history), ""]
    if trainer.shows_mistakes:
        lines.append(f"mistakes while learning: {history.mistakes:,} in {several(epochs, 'epoch')}")
    size = f" ({figures['bytes']:,} bytes)" if trainer.shows_size else ""
    lines += [*result.lines, f"model saved to {figures['model']}{size}", *measured.lines]
    click.echo("\n".join(lines))
