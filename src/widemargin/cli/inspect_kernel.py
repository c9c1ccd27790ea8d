"""`widemargin inspect` of a kernel model: the examples that it is made of."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from widemargin.cli.inspect import CLASSES, figures_of, show_training
from widemargin.models.kernel import KernelModel
from widemargin.pages.reportable import encoder_story


def inspect_kernel(path: str, model: KernelModel, top: int, as_json: bool) -> None:
    """Print a kernel model's description, the chart of its training, and its support by row."""
    if as_json:
        click.echo(json.dumps(_figures(path, model, top)))
        return
    facts = [
        f"kernel {model.kernel}, longest example {model.R:.6g} in its space",
        f"{model.width} features, {encoder_story(model)}",
    ]
    show_training(path, model, facts, "")
    click.echo(f"\n{model.support.n} support vectors; the strongest, by row of the training data")
    columns = _columns(model)
    side = max(len(name) for name, _ in columns[:CLASSES])
    for name, found in strongest(model, top)[:CLASSES]:
        listed = ", ".join(f"row {row} ({coef:+.4g})" for row, coef in found) or "-"
        click.echo(f"{name:<{side}}  {listed}")


def strongest(model: KernelModel, top: int) -> list[tuple[str, list[tuple[int, float]]]]:
    """For each score the rows, counted from 1, that add to it most, with what they add."""
    found = []
    for name, coef in _columns(model):
        order = np.argsort(-np.abs(coef), kind="stable")[:top]
        rows = [(int(model.support.index[i]) + 1, float(coef[i])) for i in order if coef[i]]
        found.append((name, rows))
    return found


def _columns(model: KernelModel) -> list[tuple[str, np.ndarray]]:
    """The coefficients of what answers, by the name of what they are for."""
    average = model.keep == "average" and len(model.summed)
    coef = model.summed / model.count if average else model.coef
    labels = [str(label) for label in model.classes.tolist()]
    if coef.shape[1] == 1:
        return [(labels[-1], coef[:, 0])]
    if coef.shape[1] == len(labels):
        return [(label, coef[:, c]) for c, label in enumerate(labels)]
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[i + 1 :]]
    return [(f"{a} / {b}", coef[:, c]) for c, (a, b) in enumerate(pairs)]


def _figures(path: str, model: KernelModel, top: int) -> dict[str, Any]:
    return {
        **figures_of(path, model, model.width),
        "kernel": model.kernel.to_dict(),
        "support_vectors": model.support.n,
        "support_rows": (model.support.index + 1).tolist(),
        "strongest": dict(strongest(model, top)),
    }
