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
#: Options that only some learners have.
_SVM = ("loss", "tol", "bias")
_KERNEL = ("kernel", "degree", "gamma", "sigma", "coef0", "budget", "forget")
_SENTENCES = (
    *("order", "beam", "system", "tags", "templates", "dictionary", "committee", "prune"),
    *("half", "encoding"),
)


def run_train(files: Sequence[str], learner: str, given: Mapping[str, Any]) -> int:
    """`widemargin train`; returns the exit code."""
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

        _refuse(given, _KERNEL, "the kernel learners")
        return train_sentences(files, learner, given, valid if fraction is None else fraction, job)
    _refuse(given, _SENTENCES, "the learners tagger and parser")
    if learner.startswith("kernel-"):
        return _train_machine(learner, files, given, learning, job)
    _refuse(given, _KERNEL, "the kernel learners")
    if learner == "svm":
        from widemargin.cli.svm import LACKS, train_svm

        for name in LACKS:
            if learning.get(name) is not None:
                raise click.UsageError(f"--{name} is no option of the learner svm")
        asked = ("C", "loss", "tol", "bias", "multiclass", "epochs", "max_seconds", "seed")
        return train_svm(
            files,
            options.read_options(given),
            options.encode_options(given),
            {name: given[name] for name in asked},
            job,
        )
    _refuse(given, _SVM, "the learner svm")
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
        Learner.of(learner, learning, fit_intercept="auto"),
        job,
        lambda format: options.check_meaning(given, format),
    )


def _refuse(given: Mapping[str, Any], names: Sequence[str], whose: str) -> None:
    """Options that another learner has are an error, not ignored."""
    for name in names:
        if given[name] not in (None, (), False):
            option = {"templates": "template"}.get(name, name)
            raise click.UsageError(f"--{option} is an option of {whose} only")


def _train_machine(
    learner: str,
    files: Sequence[str],
    given: Mapping[str, Any],
    learning: Mapping[str, Any],
    job: Job,
) -> int:
    """Train a learner that sees examples through a kernel."""
    from widemargin.cli.machines import MACHINES, train_machine

    takes = {*options.KERNEL, *MACHINES[learner].options, "seed"}
    everything = {name: given[name] for name in (*_SVM, *_KERNEL)} | dict(learning)
    for name, value in everything.items():
        if value is not None and name not in takes:
            raise click.UsageError(f"--{name} is no option of the learner {learner}")
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
