"""From what was typed to the work."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from widemargin.cli import options
from widemargin.cli.learners import Learner
from widemargin.cli.report import Job
from widemargin.parameters import parse_bytes

_LEARNING = (
    "rule",
    "keep",
    "epochs",
    "eta",
    "power",
    "C",
    "l2",
    "batch",
    "shuffle",
    "multiclass",
    "patience",
    "max_seconds",
    "seed",
)


def run_train(files: Sequence[str], learner: str, given: Mapping[str, Any]) -> int:
    """`widemargin train`; returns the exit code."""
    options.refuse_others(learner, options.TAKEN[learner])
    learning = {name: given[name] for name in _LEARNING}
    valid, fraction = _valid(given["valid"])
    learning["validation"] = fraction
    job = Job(
        model=given["path"] or ("model.wm" if files else "digits.wm"),
        valid=valid,
        memory=parse_bytes("--memory", given["memory"]),
        stream=given["stream"],
        checkpoint=given["checkpoint"],
        every=given["checkpoint_every"],
        resume=given["resume"],
        cache=given["cache"],
        as_json=given["as_json"],
        quiet=given["quiet"],
    )
    if job.resume and job.checkpoint is None:
        raise click.UsageError("--resume needs --checkpoint, the folder to go on from")
    if learner in ("tagger", "parser"):
        from widemargin.cli.structured import train_sentences

        return train_sentences(files, learner, given, valid if fraction is None else fraction, job)
    if learner.startswith("kernel-"):
        return _train_machine(learner, files, given, learning, job)
    if learner == "svm":
        from widemargin.cli.svm import train_svm

        if fraction is not None:
            raise click.UsageError("--valid of the learner svm must be a file")
        asked = ("C", "loss", "tol", "bias", "multiclass", "epochs", "max_seconds", "seed")
        return train_svm(
            files,
            options.read_options(given),
            options.encode_options(given),
            {name: given[name] for name in asked},
            job,
        )
    if not files:
        if valid is not None:
            raise click.UsageError("--valid FILE needs FILES to train on")
        from widemargin.cli.embedded import train_digits

        return train_digits(Learner.of(learner, learning), job)
    from widemargin.cli.train import train_files

    return train_files(
        files,
        options.read_options(given),
        options.encode_options(given),
        Learner.of(learner, learning, valid is not None, fit_intercept="auto"),
        job,
        lambda format: options.check_meaning(given, format),
    )


def _train_machine(
    learner: str,
    files: Sequence[str],
    given: Mapping[str, Any],
    learning: Mapping[str, Any],
    job: Job,
) -> int:
    """Train a learner that sees examples through a kernel."""
    from widemargin.cli.machines import train_machine

    if learner == "kernel-svm" and learning["validation"] is not None:
        raise click.UsageError("--valid of the learner kernel-svm must be a file")
    everything = {**given, **learning}
    return train_machine(
        learner, files, options.read_options(given), options.encode_options(given), everything, job
    )


def _valid(given: str | None) -> tuple[str | None, float | None]:
    """A file, or a fraction."""
    if given is None:
        return None, None
    if re.fullmatch(r"0?\.\d+|0", given):
        return None, float(given)
    if re.fullmatch(r"[-+]?\d*\.?\d+%?", given) and not os.path.exists(given):
        raise click.UsageError(f"--valid {given}: expected a file, or a fraction such as 0.1")
    return given, None
