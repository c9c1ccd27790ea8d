"""`widemargin inspect`: what a model is, how it was trained, and what it looks at."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from widemargin.cli.model_input import load_rows_model
from widemargin.markup.words import several
from widemargin.modelfile.files import learner_of
from widemargin.models.kernel import KernelModel
from widemargin.models.linear import LinearModel
from widemargin.models.threshold import describe_threshold
from widemargin.pages.reportable import describe_encoder
from widemargin.stores.addresses import size_of
from widemargin.structured.registry import SENTENCE_LEARNERS, TASK_LEARNER
from widemargin.training.history import History

_WIDTH = 40
_BLOCKS = " ▏▎▍▌▋▊▉█"
#: The largest number of rows in a chart; of more, only some are shown.
_ROWS = 20
#: The largest number of classes to show.
CLASSES = 20


def inspect(path: str, top: int, as_json: bool) -> None:
    """Print a model's description, the chart of its training, and its strongest features."""
    learner = learner_of(path)
    if learner == TASK_LEARNER:
        from widemargin.cli.structured_test import inspect_task

        inspect_task(path, top, as_json)
        return
    if learner in SENTENCE_LEARNERS:
        from widemargin.cli.structured_test import inspect as work

        work(path, top, as_json)
        return
    model = load_rows_model(path)
    if isinstance(model, KernelModel):
        from widemargin.cli.inspect_kernel import inspect_kernel

        inspect_kernel(path, model, top, as_json)
        return
    if as_json:
        click.echo(json.dumps(_figures(path, model, top)))
        return
    state, labels = model.state, [str(label) for label in model.classes.tolist()]
    show_training(
        path,
        model,
        [f"{several(state.width, 'feature')}, {describe_encoder(model)}; bias: {_bias(model)}"],
        f", weights {state.W.dtype}",
    )
    click.echo("\nstrongest features")
    side = max(map(len, labels[:CLASSES]))
    for label, features in list(model.top_features(top).items())[:CLASSES]:
        listed = ", ".join(f"{name} {weight:.3g}" for name, weight in features) or "-"
        click.echo(f"{label!s:<{side}}  {listed}")
    texts = getattr(model.encoder, "text", None) or model.encoder
    names = getattr(texts, "names", None)
    if names is not None and len(names):
        click.echo(f"\nnames kept: {len(names):,}; columns with several: {names.collisions:,}")


def _bias(model: LinearModel) -> str:
    if not model.bias:
        return "none"
    less = " (the threshold subtracted)" if model.threshold else ""
    return ", ".join(f"{b:.4g}" for b in model.intercept[:CLASSES]) + less


def show_training(
    path: str, model: LinearModel | KernelModel, facts: list[str], stored: str
) -> None:
    """Print what a model is and how its training went; `facts` are lines for its kind of model."""
    labels = [str(label) for label in model.classes.tolist()]
    given = {name: value for name, value in model.params.items() if value is not None}
    parameters = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "-"
    shown = ", ".join(labels[:CLASSES]) + (", ..." if len(labels) > CLASSES else "")
    for line in (
        f"{path}: {model.learner}, {model.rule} rule, {model.keep} kept",
        f"{several(len(labels), 'class')}: {shown}",
        *facts,
        *([f"threshold: {describe_threshold(model)}"] if model.threshold else []),
        f"parameters: {parameters}",
        f"file: {size_of(path):,} bytes{stored}",
    ):
        click.echo(line)
    show_history(model.history)
    if model.certificate is not None:
        click.echo(f"\n{model.certificate}")


def show_history(history: History) -> None:
    """Print how training went, with a chart."""
    if not len(history):
        return
    epochs = history.epochs_run
    gaps = history["gap"]
    solved = bool(np.any(np.isfinite(gaps)))
    # An SVM's epochs skip examples that look settled, so the number of mistakes means little.
    mistakes = "" if solved else f", {several(history.mistakes, 'mistake')}"
    click.echo(
        f"trained for {several(epochs, 'epoch')}, {history.epochs[-1].seconds:.2f} s"
        f"{mistakes}; stopped: {history.stopped or '-'}"
    )
    if solved:
        _chart("relative gap, on a logarithmic scale", history, gaps, "{:.2g}", powers=True)
    else:
        _chart("mistakes", history, history["mistakes"], "{:,.0f}")
    scores = history["held_out"]
    measured = np.flatnonzero(np.isfinite(scores))
    if len(measured) == 1:  # an SVM is measured once, when it is solved
        at = history.epochs[measured[0]].epoch
        click.echo(f"held-out score after epoch {at}: {scores[measured[0]]:.4f}")
    elif len(measured):
        _chart("held out", history, scores, "{:.4f}", best=history.best)


def _chart(
    title: str,
    history: History,
    values: np.ndarray,
    form: str,
    best: int | None = None,
    powers: bool = False,
) -> None:
    """Print one bar per row; bars of scores start just below the smallest score.

    With `powers` bars are on a logarithmic scale that starts at the smallest power of ten.
    """
    which = np.unique(np.linspace(0, len(values) - 1, min(len(values), _ROWS)).astype(int))
    lengths = values
    if powers:
        known = np.isfinite(values) & (values > 0.0)
        lengths = np.full(len(values), np.nan)
        lengths[known] = np.log10(values[known])
        lengths = lengths - np.floor(np.nanmin(lengths)) if known.any() else np.zeros(len(values))
    low = 0.0 if best is None else float(np.nanmin(lengths)) * 0.98
    high = max(float(np.nanmax(lengths)), low + 1e-12)
    click.echo(f"\nepoch  {title}")
    for i in which.tolist():
        part = 0.0 if np.isnan(lengths[i]) else max(0.0, float(lengths[i]) - low) / (high - low)
        eighths = round(8 * _WIDTH * part)
        bar = "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()
        epoch = history.epochs[i].epoch
        mark = "  <- best, kept" if best is not None and epoch == best else ""
        click.echo(f"{epoch:>5}  {bar} {form.format(values[i])}{mark}")


def figures_of(path: str, model: LinearModel | KernelModel, width: int) -> dict[str, Any]:
    """The part of the JSON output that all kinds of models have."""
    encoder = model.encoder
    return {
        "model": os.path.abspath(path),
        "learner": model.learner,
        "rule": model.rule,
        "keep": model.keep,
        "classes": model.classes.tolist(),
        "threshold": model.threshold,
        "features": width,
        "encoder": None if encoder is None else {"kind": encoder.kind, **encoder.describe()},
        "history": model.history.to_dict(),
    }


def _figures(path: str, model: LinearModel, top: int) -> dict[str, Any]:
    return {
        **figures_of(path, model, model.state.width),
        "intercept": model.intercept.tolist(),
        "top_features": {str(label): found for label, found in model.top_features(top).items()},
    }


def explain(
    path: str, files: tuple[str, ...], row: int, top: int, given: Mapping[str, Any]
) -> None:
    """Print which features, or rows of the training data, decided the prediction of one row."""
    from widemargin.cli.model_input import ModelInput
    from widemargin.errors import DataError

    if learner_of(path) in SENTENCE_LEARNERS:
        from widemargin.cli.explain_sentence import explain_sentence

        explain_sentence(path, files, row, top, given)
        return
    if given["token"] is not None:
        raise click.UsageError("--token has no effect for this model, only for taggers and parsers")
    inputs = ModelInput(path, files, given)
    passed = 0
    for chunk in inputs.files.chunks():
        if row > passed + chunk.n:
            passed += chunk.n
            continue
        i = row - passed - 1
        raw = one_example(inputs.raw(chunk), i)
        click.echo(f"{chunk.source}:{chunk.lines[i]}")
        if chunk.labels is not None and chunk.labels.codes[i] >= 0:
            click.echo(f"label: {chunk.labels.values[chunk.labels.codes[i]]}")
        asked = raw if inputs.model.encoder is not None else inputs.rows(raw)
        if isinstance(inputs.model, KernelModel):
            click.echo(str(inputs.model.explain(asked, top, first=1)))
        else:
            click.echo(str(inputs.model.explain(asked, top)))
        return
    raise DataError(f"{', '.join(files)}: has {passed} rows, so there is no row {row}")


def one_example(raw: Any, i: int) -> Any:
    """One example of a chunk."""
    from widemargin.data.readers.chunk import Hashed, Texts, Vectors

    if isinstance(raw, Texts):
        return Texts(raw.buffer, raw.starts[i : i + 1], raw.ends[i : i + 1])
    if isinstance(raw, Vectors):
        return Vectors(raw.rows.take(np.array([i], np.uint64)), raw.least)
    if isinstance(raw, Hashed):
        mine = slice(int(raw.starts[i]), int(raw.starts[i + 1]))
        starts = raw.starts[i : i + 2] - raw.starts[i]
        return Hashed(raw.values[mine], raw.hashes[mine], starts, raw.text, raw.names[mine])
    return raw.slice(i, 1)
