"""`widemargin predict`: one line of output for each example."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from widemargin.cli.model_input import ModelInput
from widemargin.cli.wording import on_one_line


def predict(path: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print the label of every example, with its scores or probabilities if requested."""
    if given["proba"] and given["scores"]:
        raise click.UsageError("--scores and --proba: give one of them, not both")
    inputs = ModelInput(path, files or ["-"], given, live=True)
    model, threads = inputs.model, inputs.threads
    if given["proba"] and not model.has_probabilities:
        raise click.UsageError(
            f"--proba: {path} has no probabilities; only --learner logistic with --keep last or"
            " average gives them. Use --scores instead"
        )
    for _, rows in inputs.chunks():
        labels = list(map(on_one_line, model.predict(rows, threads).tolist()))
        if given["proba"]:
            figures = model.predict_proba(rows, threads)
        elif given["scores"]:
            figures = model.decision_function(rows, threads)
            figures = figures[:, None] if figures.ndim == 1 else figures
        else:
            sys.stdout.write("\n".join(labels) + "\n")
            sys.stdout.flush()
            continue
        for label, row in zip(labels, figures.tolist(), strict=True):
            sys.stdout.write("\t".join([label, *(f"{figure:.6g}" for figure in row)]) + "\n")
        sys.stdout.flush()
