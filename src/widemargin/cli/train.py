"""`widemargin train`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from widemargin.cli.digits import read_digits
from widemargin.encode.labels import encode_labels
from widemargin.fit import Settings, fit_linear, split
from widemargin.intervals import wilson
from widemargin.loops.jit import is_cold
from widemargin.model import LinearModel
from widemargin.progress import watched
from widemargin.rows import Rows

#: The learner's class, its rule unless another is asked for, and the options it does not have.
_LEARNERS = {
    "perceptron": ("Perceptron", "perceptron", {"l2"}),
    "pa": ("PassiveAggressive", "pa1", {"l2", "eta", "power"}),
    "logistic": ("OnlineLogistic", "logistic", {"C", "rule"}),
}
_SHUFFLES = {"blocks": True, "no": False}
#: The part of the embedded set that is only used to measure.
_MEASURED = 0.2


def train(path: str, learner: str, options: Mapping[str, Any], as_json: bool, quiet: bool) -> int:
    """Train on the embedded set; returns the exit code."""
    name, settings, params = _learner(learner, dict(options))
    settings.plan()
    if is_cold() and not quiet:
        click.echo("compiling the loops: some seconds, once", err=True)
    began = time.monotonic()
    X, y = read_digits()
    classes, codes = encode_labels(y)
    rng = np.random.default_rng(params["random_state"])
    learned, measured = (part.astype(np.int64) for part in split(codes, _MEASURED, rng))
    rows = Rows.of(X[learned])
    with watched(False if quiet or as_json else None, settings.epochs) as watch:
        state, history = fit_linear(rows, classes, codes[learned], settings, rng, watch=watch)
    model = LinearModel(
        classes=classes,
        state=state,
        keep=settings.keep,
        rule=settings.rule,
        learner=name,
        params=params,
        history=history,
        chance=rng.bit_generator.state,
    )
    model.save(path)
    right = int(np.sum(model.predict(X[measured]) == y[measured]))
    accuracy, interval = right / len(measured), wilson(right, len(measured))
    if as_json:
        figures = {
            "learner": name,
            "rule": settings.rule,
            "keep": settings.keep,
            "rows": rows.n,
            "features": rows.width,
            "classes": len(classes),
            "epochs": len(history),
            "mistakes": history.mistakes,
            "stopped": history.stopped,
            "held_out_rows": len(measured),
            "accuracy": accuracy,
            "accuracy_interval": interval,
            "seconds": time.monotonic() - began,
            "model": os.path.abspath(path),
        }
        click.echo(json.dumps(figures))
    elif not quiet:
        click.echo(f"digits: {rows.n} rows, {rows.width} features, {len(classes)} classes")
        click.echo(f"{name}, {settings.rule} rule, {settings.keep} kept\n")
        click.echo(repr(history))
        click.echo(f"\nmistakes while learning: {history.mistakes} in {len(history)} epochs")
        click.echo(
            f"held-out accuracy: {accuracy:.4f} on {len(measured)} rows"
            f" (95 % interval {interval[0]:.4f} to {interval[1]:.4f})"
        )
        click.echo(f"model saved to {os.path.abspath(path)}")
    return 130 if watch.interrupted else 0


def _learner(learner: str, options: dict[str, Any]) -> tuple[str, Settings, dict[str, Any]]:
    """The learner's name, its settings, and the parameters that its estimator would have."""
    name, rule, lacks = _LEARNERS[learner]
    given = {option: value for option, value in options.items() if value is not None}
    for option in lacks & set(given):
        raise click.UsageError(f"--{option} is no option of the learner {learner}")
    if learner == "pa" and not given.get("rule", rule).startswith("pa"):
        raise click.UsageError("--rule of the learner pa must be pa, pa1 or pa2")
    seed = given.pop("seed")
    power = given.pop("power", 0.0)
    eta = given.get("eta", 1.0)
    batch = str(given.pop("batch", 1))
    shuffle = given.pop("shuffle", "blocks")
    params = {
        **given,
        "batch": int(batch) if batch.lstrip("-").isdigit() else batch,
        "shuffle": _SHUFFLES.get(shuffle, shuffle),
    }
    if power:
        params["eta"] = (eta, power)
    settings = Settings(**{"rule": rule, **params})
    return name, settings, {**params, "random_state": seed}
