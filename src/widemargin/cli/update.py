"""`widemargin update`: continue training a model on new examples."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np

from widemargin.cli.linear import settings_of
from widemargin.cli.model_input import ModelInput
from widemargin.cli.progressive import Progressive, refuse_predictions
from widemargin.cli.targets import MODEL, check_output
from widemargin.data.datasets import Classes, Encoded, read_all
from widemargin.errors import DataError, DataWarning
from widemargin.markup.words import several
from widemargin.modelfile.files import learner_of
from widemargin.models.kernel import KernelModel
from widemargin.models.linear import LinearModel
from widemargin.models.text_defaults import ONLINE_NOTICE, make_online
from widemargin.models.threshold import describe_threshold, kept_threshold
from widemargin.online.fit import fit_linear, make_room
from widemargin.online.orders import generator_of
from widemargin.parameters.values import make_generator
from widemargin.structured.registry import SENTENCE_LEARNERS
from widemargin.training.progress import watched

#: The largest number of new classes that are named.
_NAMED = 10


def update(path: str, files: Sequence[str], target: str, given: Mapping[str, Any]) -> int:
    """Train the model on more examples, and return the exit code."""
    began = time.monotonic()
    check_output(target, MODEL, given["force"])
    _refuse_sentences(path)
    inputs = ModelInput(path, files, given, live=given["predictions"])
    model, encoder = _updatable(path, inputs.model, inputs.encoder), inputs.encoder
    _refuse_texts(given, encoder)
    settings = settings_of(model, epochs=given["epochs"] or 1, validation=0.0, start="zero")
    rng = _generator_of(model)
    table = replace(inputs.files.options.table, need_label=not given["predictions"])
    inputs.files.options = replace(inputs.files.options, table=table)
    if given["predictions"]:
        refuse_predictions(path, settings, given)
        progressive = Progressive(inputs, model, settings, rng)
        with progressive.heeding_interrupts():
            return _answer_and_learn(progressive, target, given, began)
    classes = Classes(model.classes)
    data = _read_labelled(inputs, encoder, classes)
    rows = data.rows.with_bias(model.bias)
    state, history = model.state, model.history.copy()
    make_room(state, model.classes, classes.values, rows, settings, rng)
    with watched(False if given["quiet"] or given["as_json"] else None, settings.epochs) as watch:
        state, more = fit_linear(
            rows.widened(state.width),
            classes.values,
            data.codes,
            settings,
            rng,
            state=state,
            sample_weight=data.weights,
            first_row=history.number_rows(rows.n, state.seen),
            watch=watch,
        )
        history.extend_by_call(more)
        learned = replace(
            model,
            classes=classes.values,
            state=state,
            keep=settings.keep,
            history=history,
            generator_state=rng.bit_generator.state,
            threshold=kept_threshold(model, classes.values),
        )
        watch.close()
        learned.save(target)
    figures = {
        "rows": rows.n,
        "epochs": more.epochs_run,
        "mistakes": more.mistakes,
        "new_classes": len(classes.values) - len(model.classes),
        **({"threshold": learned.threshold} if learned.threshold else {}),
        "seconds": time.monotonic() - began,
        "model": os.path.abspath(target),
    }
    if given["as_json"]:
        click.echo(json.dumps(figures))
    elif not given["quiet"]:
        _print_figures(figures, learned, np.setdiff1d(learned.classes, model.classes).tolist())
    return 130 if watch.interrupted else 0


def _read_labelled(inputs: ModelInput, encoder: Any, classes: Classes) -> Encoded:
    """All examples; an error if one has no label."""
    data = read_all(inputs.files, encoder, classes, learn=True, observe=False)
    if data is None or np.any(data.codes < 0):
        paths = ", ".join(inputs.files.paths)
        raise DataError(f"{paths}: every example needs a label to learn from")
    return data


def _refuse_texts(given: Mapping[str, Any], encoder: Any) -> None:
    """Raise an error for --text if the texts are not in a column of a table."""
    if given.get("text") and encoder.kind == "text":
        raise click.UsageError(
            "the model was trained on fastText or label<TAB>text files: update it with such files"
        )


def _generator_of(model: LinearModel) -> np.random.Generator:
    """The random generator as the model's training left it."""
    if model.generator_state is not None:
        return generator_of(model.generator_state)
    return make_generator(model.params.get("random_state"))


def _answer_and_learn(
    progressive: Progressive, target: str, given: Mapping[str, Any], began: float
) -> int:
    """Predict each example before learning from it, and save the model however it ends."""
    try:
        progressive.run()
    except DataError as error:
        if not progressive.answered:
            raise
        progressive.result()[0].save(target)
        done = several(progressive.answered, "example")
        raise DataError(
            f"{error}; the model learned from the {done} before it and was saved to {target}"
        ) from None
    except BrokenPipeError:  # the reader of the output has closed it
        progressive.result()[0].save(target)
        raise
    learned, more = progressive.result()
    learned.save(target)
    labelled = progressive.labelled
    figures = {
        "rows": progressive.counts.examples,
        "epochs": 1,
        "mistakes": more.mistakes,
        "new_classes": len(progressive.new_classes),
        **({"accuracy": progressive.right / labelled} if labelled else {}),
        **({"threshold": learned.threshold} if learned.threshold else {}),
        "seconds": time.monotonic() - began,
        "model": os.path.abspath(target),
    }
    if given["as_json"]:
        click.echo(json.dumps(figures), err=True)
    elif not given["quiet"]:
        _print_figures(figures, learned, progressive.new_classes, err=True)
        if labelled:
            rows = several(labelled, "row")
            click.echo(f"accuracy of the answers: {figures['accuracy']:.4f} on {rows}", err=True)
    return 130 if progressive.interrupted else 0


def _print_figures(
    figures: Mapping[str, Any], learned: LinearModel, new: Sequence[Any] = (), err: bool = False
) -> None:
    """Print a summary, new classes, and the threshold by which the model decides."""
    click.echo(
        f"learned from {several(figures['rows'], 'more row')}:"
        f" {several(figures['mistakes'], 'mistake')} in {several(figures['epochs'], 'epoch')};"
        f" model saved to {figures['model']}",
        err=err,
    )
    if len(new):
        names = ", ".join(map(str, new[:_NAMED]))
        more = ", ..." if len(new) > _NAMED else ""
        click.echo(f"{several(len(new), 'new class')}: {names}{more}", err=err)
    if learned.threshold:
        click.echo(
            f"threshold: {describe_threshold(learned)}, unchanged: it was chosen before these rows"
            " were learned",
            err=err,
        )


def _refuse_sentences(path: str) -> None:
    """Raise an error if the model was trained on sentences."""
    learner = learner_of(path)
    if learner in SENTENCE_LEARNERS:
        raise DataError(f"{path}: {learner}s cannot be updated: train again on all sentences")


def _updatable(path: str, model: LinearModel | KernelModel, encoder: Any) -> LinearModel:
    """The model in a form that can continue to learn; raises an error if there is none."""
    if isinstance(model.params.get("class_weight"), str):
        raise DataError(
            f"{path}: its class weights were balanced over all training examples and cannot be"
            " updated from new ones alone: train it again on all examples"
        )
    if isinstance(model, KernelModel):
        raise DataError(f"{path}: a kernel model cannot be updated: train it again on all examples")
    if model.certificate is None:
        return model
    if encoder.kind != "text" and not getattr(encoder, "only_texts", False):
        raise DataError(f"{path}: an SVM cannot be updated: train it again on all examples")
    warnings.warn(f"{path}: {ONLINE_NOTICE}", DataWarning, stacklevel=3)
    return make_online(model)
