"""`widemargin train --learner svm`: a linear SVM, with its duality gap."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from widemargin.cli.digits import read_digits
from widemargin.cli.embedded import MEASURED
from widemargin.cli.held_out import answered_right, read_held_out
from widemargin.cli.report import Job
from widemargin.data.datasets import Classes, EncodeOptions, make_encoder, read_all
from widemargin.data.encode.labels import encode_labels
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.rows import Rows
from widemargin.evaluate.intervals import wilson
from widemargin.linear_svm.fit import SVMSettings, fit_svm
from widemargin.models.linear import LinearModel
from widemargin.online.fit import check_classes, split
from widemargin.training.progress import watched


def train_svm(
    patterns: Sequence[str],
    reading: ReadOptions,
    encoding: EncodeOptions,
    given: Mapping[str, Any],
    job: Job,
) -> int:
    """Train on files, or on the embedded set; returns the exit code."""
    if job.stream or job.checkpoint is not None or job.cache:
        raise click.UsageError(
            "the learner svm keeps all examples in memory and has no checkpoints"
        )
    began = time.monotonic()
    params = {name: value for name, value in given.items() if value is not None}
    seed = params.pop("seed")
    settings = SVMSettings(**params, n_jobs=reading.threads)
    settings.check()
    rng = np.random.default_rng(seed)
    encoder: Any = None
    if patterns:
        files = Files(patterns, reading)
        encoder, known = make_encoder(files, encoding), Classes()
        data = read_all(files, encoder, known, learn=True)
        assert data is not None
        rows, classes, codes, weights = data.rows, known.values, data.codes, data.weights
        name = ", ".join(patterns)
    else:
        X, y = read_digits()
        classes, every = encode_labels(y)
        learned, measured = (part.astype(np.int64) for part in split(every, MEASURED, rng))
        rows, codes, weights, name = Rows.of(X[learned]), every[learned], None, "digits"
    check_classes(classes)
    with watched(False if job.quiet or job.as_json else None, settings.epochs) as watch:
        trained = fit_svm(
            rows.with_bias(settings.constant),
            classes,
            codes,
            settings,
            rng,
            sample_weight=weights,
            watch=watch,
        )
    model = LinearModel(
        classes=classes,
        state=trained.state,
        keep="last",
        rule=settings.loss,
        bias=1.0 if settings.free else settings.constant,
        learner="LinearSVM",
        params={**params, "random_state": seed},
        history=trained.history,
        certificate=trained.certificate,
        encoder=encoder,
    )
    model.save(job.model)
    figures: dict[str, Any] = {
        "learner": "LinearSVM",
        "loss": settings.loss,
        "C": settings.C,
        "rows": rows.n,
        "features": rows.width,
        "classes": len(classes),
        "epochs": len(trained.history),
        "stopped": trained.history.stopped,
        "primal": trained.certificate.primal,
        "dual": trained.certificate.dual,
        "gap": trained.certificate.gap,
        "support_vectors": trained.certificate.support_vectors,
    }
    right = None
    if not patterns:
        asked = Rows.of(X[measured]).with_bias(model.bias)
        right = model.predict(asked) == classes[every[measured]]
    elif job.valid is not None:
        held_out = read_held_out(job.valid, reading, encoder, known, model.bias)
        right = answered_right(model, held_out)
    if right is not None:
        figures["held_out_rows"] = len(right)
        figures["accuracy"] = float(np.mean(right))
        figures["accuracy_interval"] = wilson(int(np.sum(right)), len(right))
    figures["seconds"] = time.monotonic() - began
    figures["model"] = os.path.abspath(job.model)
    if job.as_json:
        click.echo(json.dumps(figures))
    elif not job.quiet:
        click.echo(f"{name}: {rows.n} rows, {rows.width} features, {len(classes)} classes")
        click.echo(
            f"LinearSVM, {settings.loss} loss, C = {settings.C:g},"
            f" {figures['epochs']} epochs; stopped: {figures['stopped']}\n"
        )
        click.echo(str(trained.certificate))
        if right is not None:
            low, high = figures["accuracy_interval"]
            click.echo(
                f"held-out accuracy: {figures['accuracy']:.4f} on {len(right)} rows"
                f" (95 % interval {low:.4f} to {high:.4f})"
            )
        click.echo(f"model saved to {figures['model']}")
    return 130 if watch.interrupted else 0
