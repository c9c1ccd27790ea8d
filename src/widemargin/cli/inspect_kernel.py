"""`widemargin inspect` of a kernel model: the examples that it is made of."""

from __future__ import annotations

import json
from typing import Any

import click

from widemargin.cli.inspect import CLASSES, figures_of, show_training
from widemargin.markup.words import several
from widemargin.models.kernel import KernelModel
from widemargin.models.support import strongest_rows
from widemargin.pages.reportable import describe_encoder


def inspect_kernel(path: str, model: KernelModel, top: int, as_json: bool) -> None:
    """Print a kernel model's description, the chart of its training, and its support by row."""
    if as_json:
        click.echo(json.dumps(_figures(path, model, top)))
        return
    facts = [
        f"kernel {model.kernel}, longest example {model.R:.6g} in its space",
        f"{several(model.width, 'feature')}, {describe_encoder(model)}",
    ]
    show_training(path, model, facts, "")
    count = several(model.support.n, "support vector")
    click.echo(f"\n{count}; the strongest, by row of the training data")
    rows = strongest_rows(model, top, first=1)[:CLASSES]
    side = max(len(name) for name, _ in rows)
    for name, found in rows:
        listed = ", ".join(f"row {row} ({coef:+.4g})" for row, coef in found) or "-"
        click.echo(f"{name:<{side}}  {listed}")


def _figures(path: str, model: KernelModel, top: int) -> dict[str, Any]:
    return {
        **figures_of(path, model, model.width),
        "kernel": model.kernel.to_dict(),
        "support_vectors": model.support.n,
        "support_rows": (model.support.index + 1).tolist(),
        "strongest": dict(strongest_rows(model, top, first=1)),
    }
