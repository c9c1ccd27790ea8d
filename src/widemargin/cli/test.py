"""`widemargin test`: how well a model does on labelled examples."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from widemargin.cli.model_input import ModelInput, labels_among, no_known_label
from widemargin.cli.ranking import describe_ranking, ranking_figures
from widemargin.data.datasets import Classes
from widemargin.data.readers.sources import name_of
from widemargin.errors import DataError
from widemargin.evaluate.measures import Measures, confusion_of
from widemargin.evaluate.ranking import curves_of_model
from widemargin.modelfile.files import learner_of
from widemargin.online.scores import best_class
from widemargin.structured.registry import SENTENCE_LEARNERS

#: A confusion table of more classes than this does not fit a terminal.
SHOWN = 12
#: The number of labels unknown to the model to name.
_UNKNOWN = 5


def test(path: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print accuracy, precision, recall, F1 and the confusion table."""
    if learner_of(path) in SENTENCE_LEARNERS:
        from widemargin.cli.structured_test import test as work

        work(path, files, given)
        return
    for name in ("words", "column"):
        if given[name] is not None:
            raise click.UsageError(f"--{name} has no effect: this model does not read sentences")
    inputs = ModelInput(path, files, given)
    model = inputs.model
    classes, k = Classes(model.classes), len(model.classes)
    confusion = np.zeros((k + 1, k), np.int64)
    ranked: list[tuple[np.ndarray, np.ndarray]] = []
    unknown: Counter[str] = Counter()
    for chunk, rows in inputs.chunks():
        if chunk.labels is None:
            schema = getattr(model.encoder, "schema", None)
            where = f", no column {schema.label!r}" if schema and schema.label else ""
            raise DataError(f"{chunk.source}: has no labels to test against{where}")
        answers = classes.codes(chunk.labels)
        missing = np.flatnonzero(chunk.labels.codes < 0)
        if len(missing):
            raise DataError(
                f"{chunk.source}:{chunk.lines[missing[0]]}: has no label to test against"
            )
        unknown.update(labels_among(chunk.labels, answers < 0))
        scores = model.decision_function(rows, inputs.threads)
        confusion += confusion_of(answers, best_class(scores), k)
        if k == 2:
            ranked.append((answers, scores))
    if not confusion.any():
        raise DataError(f"{', '.join(map(name_of, files))}: there are no examples")
    if not confusion[:-1].any():
        raise no_known_label(files, unknown, model.classes)
    measures = Measures(model.classes.tolist(), confusion)
    curves = None
    if ranked:
        codes, scores = map(np.concatenate, zip(*ranked, strict=True))
        curves = curves_of_model(model.classes, codes, scores)
    if given["as_json"]:
        two = {"threshold": model.threshold, **ranking_figures(curves)} if k == 2 else {}
        named = {"unknown_label_rows": dict(unknown.most_common())} if unknown else {}
        click.echo(json.dumps({**_figures(measures), **named, **two}))
        return
    _print(measures, unknown)
    if curves is not None:
        click.echo("\n" + "\n".join(describe_ranking(curves, measures, model)))


def _figures(measures: Measures) -> dict[str, Any]:
    """The figures for JSON, in one flat object."""
    mean, each = measures.f1_intervals()
    figures: dict[str, Any] = {
        "rows": measures.n,
        "accuracy": measures.accuracy,
        "accuracy_interval": measures.accuracy_interval,
        "f1": measures.macro_f1,
        "f1_interval": mean,
    }
    for i, label in enumerate(measures.labels):
        figures[f"precision_{label}"] = measures.precision[i]
        figures[f"precision_{label}_interval"] = measures.precision_intervals[i]
        figures[f"recall_{label}"] = measures.recall[i]
        figures[f"recall_{label}_interval"] = measures.recall_intervals[i]
        figures[f"f1_{label}"] = measures.f1[i]
        figures[f"f1_{label}_interval"] = each[i]
        figures[f"rows_{label}"] = int(measures.support[i])
    figures["labels"] = measures.labels
    figures["confusion"] = measures.confusion[:-1].tolist()
    figures["unknown_labels"] = int(measures.confusion[-1].sum())
    return figures


def _print(measures: Measures, unknown: Counter[str]) -> None:
    low, high = measures.accuracy_interval
    click.echo(
        f"accuracy {measures.accuracy:.4f} (95 % interval {low:.4f} to {high:.4f}),"
        f" {measures.right:,} of {measures.n:,} right"
    )
    mean, each = measures.f1_intervals()
    click.echo(f"mean F1  {measures.macro_f1:.4f} (95 % interval {mean[0]:.4f} to {mean[1]:.4f})\n")
    width = max(5, *(len(str(label)) for label in measures.labels))
    click.echo(f"{'class':<{width}}  precision  recall      F1  95 % interval      rows")
    for i, label in enumerate(measures.labels):
        click.echo(
            f"{label!s:<{width}}  {measures.precision[i]:>9.4f}  {measures.recall[i]:>6.4f}"
            f"  {measures.f1[i]:.4f}  {each[i][0]:.4f} to {each[i][1]:.4f}"
            f"  {int(measures.support[i]):>6,}"
        )
    if unknown:
        some = ", ".join(f"{label} ({rows:,})" for label, rows in unknown.most_common(_UNKNOWN))
        more = f", and {len(unknown) - _UNKNOWN:,} more" if len(unknown) > _UNKNOWN else ""
        click.echo(
            "\nrows with a label that the model does not know, counted as mistakes:"
            f" {unknown.total():,}\nthese labels: {some}{more}"
        )
    if len(measures.labels) <= SHOWN:
        print_confusion(measures)
    else:
        _print_commonest(measures)


def print_confusion(measures: Measures) -> None:
    """Print the confusion table."""
    names = [str(label) for label in measures.labels]
    cells = [[f"{count:,}" for count in row] for row in measures.confusion[:-1].tolist()]
    widths = [max(len(names[j]), *(len(row[j]) for row in cells)) for j in range(len(names))]
    side = max(map(len, names))
    click.echo("\nright answer (down), prediction (across)")
    click.echo("  ".join([" " * side, *(f"{n:>{w}}" for n, w in zip(names, widths, strict=True))]))
    for name, row in zip(names, cells, strict=True):
        shown = (f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True))
        click.echo("  ".join([f"{name:<{side}}", *shown]))


def _print_commonest(measures: Measures) -> None:
    wrong = measures.confusion[:-1].copy()
    np.fill_diagonal(wrong, 0)
    click.echo("\nthe most frequent mistakes")
    for at in np.argsort(-wrong, axis=None, kind="stable")[:10]:
        i, j = np.unravel_index(at, wrong.shape)
        if wrong[i, j]:
            click.echo(f"{wrong[i, j]:>6,}  {measures.labels[i]} taken for {measures.labels[j]}")
