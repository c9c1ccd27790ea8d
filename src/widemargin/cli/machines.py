"""`widemargin train --learner kernel-...`: learners that see examples through a kernel."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import click
import numpy as np

from widemargin.cli import options
from widemargin.cli.digits import read_digits
from widemargin.cli.embedded import MEASURED
from widemargin.cli.held_out import answered_right, read_held_out
from widemargin.cli.report import Job, say_if_cold
from widemargin.data.datasets import Classes, Encoded, EncodeOptions, make_encoder, read_all
from widemargin.data.encode.labels import encode_labels
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.rows import Rows
from widemargin.evaluate.intervals import wilson
from widemargin.kernel_machines.perceptron.fit import HeldOutPoints, fit_kernel_perceptron
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings, fit_kernel_svm
from widemargin.models.kernel import KernelModel
from widemargin.online.fit import check_classes, split
from widemargin.parameters import refuse_unused
from widemargin.training.history import History
from widemargin.training.progress import watched

_SHUFFLES = {"blocks": True, "no": False}


class Machine(NamedTuple):
    """A learner of the shell."""

    name: str  # of the estimator
    options: tuple[str, ...]  # that are parameters besides those of kernels
    fit: Callable[..., KernelModel]  # (rows, classes, codes, params, rng, weights, held out, watch)


def _fit_perceptron(
    rows: Rows,
    classes: np.ndarray,
    codes: np.ndarray,
    params: Mapping[str, Any],
    rng: np.random.Generator,
    weights: np.ndarray | None,
    held_out: Encoded | None,
    watch: Any,
) -> KernelModel:
    settings = KernelSettings(**params)
    settings.check()
    refuse_unused(params, settings.uses(held_out is not None))
    asked = None
    if held_out is not None:
        held_rows = held_out.rows.with_bias(0.0)
        asked = HeldOutPoints(held_rows.widened(max(rows.width, held_rows.width)), held_out.codes)
    return fit_kernel_perceptron(
        rows,
        classes,
        codes,
        settings,
        rng,
        sample_weight=weights,
        held_out=asked,
        watch=watch,
    )


def _fit_svm(
    rows: Rows,
    classes: np.ndarray,
    codes: np.ndarray,
    params: Mapping[str, Any],
    rng: np.random.Generator,
    weights: np.ndarray | None,
    held_out: Encoded | None,
    watch: Any,
) -> KernelModel:
    settings = KernelSVMSettings(**params)
    settings.check()
    refuse_unused(params, settings.uses())
    trained = fit_kernel_svm(rows, classes, codes, settings, sample_weight=weights, watch=watch)
    return trained.model


#: What `--learner` may say, and what it then takes.
MACHINES = {
    "kernel-perceptron": Machine(
        "KernelPerceptron",
        (
            "rule",
            "keep",
            "epochs",
            "eta",
            "C",
            "shuffle",
            "multiclass",
            "validation",
            "patience",
            "max_seconds",
            "budget",
            "forget",
        ),
        _fit_perceptron,
    ),
    "kernel-svm": Machine("KernelSVM", ("C", "tol", "multiclass", "max_seconds"), _fit_svm),
}


def train_machine(
    learner: str,
    patterns: Sequence[str],
    reading: ReadOptions,
    encoding: EncodeOptions,
    given: Mapping[str, Any],
    job: Job,
) -> int:
    """Train on files, or on the embedded set; returns the exit code."""
    if job.stream or job.checkpoint is not None or job.cache:
        raise click.UsageError(
            f"the learner {learner} keeps all examples in memory and has no checkpoints"
        )
    say_if_cold(job)
    began = time.monotonic()
    machine = MACHINES[learner]
    params = _params(machine, given)
    seed = given["seed"]
    rng = np.random.default_rng(seed)
    encoder: Any = None
    held_out = None
    if patterns:
        files = Files(patterns, reading)
        encoder, known = make_encoder(files, encoding), Classes()
        data = read_all(files, encoder, known, learn=True)
        assert data is not None
        rows, classes, codes, weights = data.rows, known.values, data.codes, data.weights
        name = ", ".join(patterns)
        if job.valid is not None:
            held_out = read_held_out(job.valid, reading, encoder, known, 0.0)
    else:
        X, y = read_digits()
        classes, every = encode_labels(y)
        learned, measured = (part.astype(np.int64) for part in split(every, MEASURED, rng))
        rows, codes, weights, name = Rows.of(X[learned]), every[learned], None, "digits"
        asked = Rows.of(X[measured], bias=0.0)
    check_classes(classes)
    rows = rows.with_bias(0.0)
    shown = False if job.quiet or job.as_json else None
    with watched(shown, max(1, round(given["epochs"] or 10)), table=True) as watch:
        settings = {**params, "n_jobs": reading.threads, "max_memory": job.memory}
        model = machine.fit(rows, classes, codes, settings, rng, weights, held_out, watch)
    model = replace(
        model,
        learner=machine.name,
        params={**params, "random_state": seed},
        encoder=encoder,
    )
    model.save(job.model)
    right = None
    if not patterns:
        right = model.predict(asked) == classes[every[measured]]
    elif held_out is not None:
        right = answered_right(model, held_out)
    figures = _figures(model, rows, right, time.monotonic() - began, job)
    if job.as_json:
        click.echo(json.dumps(figures))
    elif not job.quiet:
        _tell(name, model, rows, figures)
    return 130 if watch.interrupted else 0


def _params(machine: Machine, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, as the estimator calls them."""
    params = options.kernel_params(given)
    params |= {name: given[name] for name in machine.options if given.get(name) is not None}
    if "shuffle" in params:
        params["shuffle"] = _SHUFFLES.get(params["shuffle"], params["shuffle"])
    return params


def _figures(
    model: KernelModel, rows: Rows, right: np.ndarray | None, seconds: float, job: Job
) -> dict[str, Any]:
    history: History = model.history
    figures: dict[str, Any] = {
        "learner": model.learner,
        "kernel": str(model.kernel),
        "rule": model.rule,
        "keep": model.keep,
        "rows": rows.n,
        "features": rows.width,
        "classes": len(model.classes),
        "epochs": len(history),
        "mistakes": history.mistakes,
        "stopped": history.stopped,
        "support_vectors": model.support.n,
    }
    if right is not None:
        figures["held_out_rows"] = len(right)
        figures["accuracy"] = float(np.mean(right))
        figures["accuracy_interval"] = wilson(int(np.sum(right)), len(right))
    return {**figures, "seconds": seconds, "model": os.path.abspath(job.model)}


def _tell(name: str, model: KernelModel, rows: Rows, figures: Mapping[str, Any]) -> None:
    click.echo(f"{name}: {rows.n} rows, {rows.width} features, {len(model.classes)} classes")
    click.echo(f"{model.learner}, {model.rule} rule, {model.keep} kept, kernel {model.kernel}\n")
    click.echo(repr(model.history) + "\n")
    if model.certificate is not None:
        click.echo(str(model.certificate))
    else:
        click.echo(
            f"mistakes while learning: {figures['mistakes']}"
            f" in {figures['epochs']} epoch{'s' * (figures['epochs'] != 1)}"
        )
    click.echo(f"support vectors: {figures['support_vectors']}")
    if "accuracy" in figures:
        low, high = figures["accuracy_interval"]
        click.echo(
            f"held-out accuracy: {figures['accuracy']:.4f} on {figures['held_out_rows']} rows"
            f" (95 % interval {low:.4f} to {high:.4f})"
        )
    click.echo(f"model saved to {figures['model']}")
