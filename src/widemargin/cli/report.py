"""What `train` is asked to do, and what it tells."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import Any

import click

from widemargin.cli.learners import Learner
from widemargin.evaluate.intervals import wilson
from widemargin.loops.jit import is_cold
from widemargin.models.linear import LinearModel
from widemargin.training.progress import watched


@dataclass(frozen=True)
class Job:
    """What `train` is asked to do, apart from the files and the learner.

    Attributes
    ----------
    model : str
        Where to save.
    valid : str or None
        A file of held-out examples.
    memory : int
        Bytes that examples may take; more are read again in every epoch.
    stream : bool
        Read them again in any case.
    checkpoint : str or None
        The folder for checkpoints.
    every : float
        Seconds between them at the least.
    resume : bool
        Go on from the last one.
    cache : bool
        Keep the parsed examples beside the first file, for the next time.
    as_json, quiet : bool
        What to print.
    """

    model: str
    valid: str | None = None
    memory: int = 1 << 31
    stream: bool = False
    checkpoint: str | None = None
    every: float = 30.0
    resume: bool = False
    cache: bool = False
    as_json: bool = False
    quiet: bool = False


class Report:
    """Says what was trained."""

    def __init__(
        self,
        data: str,
        rows: int,
        learner: Learner,
        model: LinearModel,
        job: Job,
        began: float,
    ) -> None:
        self.data, self.rows, self.width = data, rows, model.state.width
        self.learner, self.model, self.job, self.began = learner, model, job, began
        self.skipped = 0

    def tell(self, held_out: tuple[int, int] | None) -> None:
        """Print it, as a text or as JSON."""
        settings, history = self.learner.settings, self.model.history
        epochs = len({epoch.epoch for epoch in history})
        figures: dict[str, Any] = {
            "learner": self.learner.name,
            "rule": settings.rule,
            "keep": settings.keep,
            "rows": self.rows,
            "features": self.width,
            "classes": len(self.model.classes),
            "epochs": epochs,
            "mistakes": history.mistakes,
            "stopped": history.stopped,
        }
        if held_out is not None:
            right, n = held_out
            figures["held_out_rows"] = n
            figures["accuracy"], figures["accuracy_interval"] = right / n, wilson(right, n)
        if self.skipped:
            figures["skipped_lines"] = self.skipped
        figures["seconds"] = time.monotonic() - self.began
        figures["model"] = os.path.abspath(self.job.model)
        if self.job.as_json:
            click.echo(json.dumps(figures))
        elif not self.job.quiet:
            self._print(figures)

    def _print(self, figures: dict[str, Any]) -> None:
        click.echo(
            f"{self.data}: {self.rows} rows, {self.width} features,"
            f" {len(self.model.classes)} classes"
        )
        settings = self.learner.settings
        click.echo(f"{self.learner.name}, {settings.rule} rule, {settings.keep} kept\n")
        click.echo(repr(self.model.history) + "\n")
        click.echo(
            f"mistakes while learning: {figures['mistakes']}"
            f" in {figures['epochs']} epoch{'s' * (figures['epochs'] != 1)}"
        )
        if self.skipped:
            click.echo(f"bad lines skipped: {self.skipped}")
        if "accuracy" in figures:
            low, high = figures["accuracy_interval"]
            click.echo(
                f"held-out accuracy: {figures['accuracy']:.4f} on {figures['held_out_rows']} rows"
                f" (95 % interval {low:.4f} to {high:.4f})"
            )
        click.echo(f"model saved to {figures['model']}")


def watch_of(learner: Learner, job: Job) -> Any:
    """Watch a training: a table on terminals, unless nothing is to be printed."""
    shown = False if job.quiet or job.as_json else None
    return watched(shown, learner.settings.epochs, table=True)


def say_if_cold(job: Job) -> None:
    """Say why the first training takes its time."""
    if is_cold() and not job.quiet:
        click.echo("compiling the loops: some seconds, once", err=True)
