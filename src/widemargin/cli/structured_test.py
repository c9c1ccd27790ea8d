"""`widemargin test` and `inspect` for taggers and parsers."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from widemargin.cli.inspect import show_history
from widemargin.cli.options import typed_options
from widemargin.cli.sentences import (
    load_sentence_model,
    read_sentences,
    refuse_table_options,
    report_skipped,
)
from widemargin.cli.test import SHOWN, print_confusion
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.markup.words import several
from widemargin.stores.addresses import size_of
from widemargin.structured.annotator.annotator import check_annotated
from widemargin.structured.parser.model import ParserModel
from widemargin.structured.parser.treebank import check_treebank
from widemargin.structured.perceptron import StructuredPerceptron
from widemargin.structured.registry import SENTENCE_LEARNERS
from widemargin.structured.report import Report
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.task import Task
from widemargin.structured.task_file import task_named_in
from widemargin.structured.tokenizer.model import TokenizerModel
from widemargin.structured.tokenizer.treebank import read_paragraphs
from widemargin.threads import thread_count

#: The number of errors shown, and the most classes whose confusion table fits a terminal.
_ERRORS, _CLASSES = 10, 20
#: Checks for sentences that cannot be compared with predictions although their format is valid.
CHECKS = {
    "Parser": check_treebank,
    "Tokenizer": read_paragraphs,
    "Annotator": check_annotated,
}
#: Learners that read raw text, and are compared with its sentences in a treebank.
_OF_TEXT = ("Tokenizer", "Annotator")
#: The titles of figures.
TITLES = {
    "f1": "span F1",
    "accuracy": "token accuracy",
    "unseen_accuracy": "on unseen words",
    "uas": "UAS",
    "las": "LAS",
    "token_f1": "token F1",
    "sentence_f1": "sentence F1",
    "word_f1": "word F1",
}


def test(path: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print figures, confusions and the most frequent errors."""
    refuse_table_options()
    model = load_sentence_model(path)
    refuse_column(model, given)
    corpus = _read_answers(files, given, model.learner)
    report_skipped(corpus)
    threads = thread_count(given.get("threads") or -1)
    column = {} if given.get("column") is None else {"column": given["column"]}
    report = SENTENCE_LEARNERS[model.learner].load_measure()(model, corpus, threads, **column)
    if given["as_json"]:
        skipped = {"skipped_sentences": len(corpus.skipped)} if corpus.skipped else {}
        click.echo(json.dumps({**figures_of(report), **skipped, **_mistakes(report)}))
        return
    click.echo(f"{several(report.sentences, 'sentence')}, {several(report.tokens, 'token')}")
    click.echo("\n".join(figure_lines(report)))
    if report.spans is not None:
        _print_spans(report)
    if 0 < len(report.confusion.labels) <= SHOWN:
        print_confusion(report.confusion)
    _print_mistakes(report)
    for note in report.notes:
        click.echo(note, err=True)


def refuse_column(model: Any, given: Mapping[str, Any]) -> None:
    """Refuse --column for models other than taggers."""
    if given.get("column") is not None and not isinstance(model, TaggerModel):
        kind = model.learner.lower()
        raise click.UsageError(f"--column is for taggers: it has no effect for this {kind}")


def _read_answers(files: Sequence[str], given: Mapping[str, Any], learner: str) -> Corpus:
    """The sentences to compare with; learners of raw text need CoNLL-U."""
    check = CHECKS.get(learner)
    if learner not in _OF_TEXT or given.get("format") is not None:
        return read_sentences(files, given, check=check)
    try:
        return read_sentences(files, {**given, "format": "conllu"}, check=check)
    except DataError as error:
        if all(".conllu" in path for path in files):
            raise
        kind, command = learner.lower(), SENTENCE_LEARNERS[learner].command
        raise DataError(
            f"{error}: to test the {kind}, give a treebank in CoNLL-U, which has the right answers"
            f" (for plain text, use widemargin {command})"
        ) from None


def figures_of(report: Report) -> dict[str, Any]:
    """The figures for JSON, in one flat object: fractions, each with its interval."""
    found: dict[str, Any] = {"sentences": report.sentences, "tokens": report.tokens}
    for name, ratio in report.figures.items():
        if ratio.wanted:
            found[name], found[f"{name}_interval"] = ratio.f1, ratio.interval()
    if "unseen_accuracy" in report.figures:
        found["unseen_tokens"] = report.figures["unseen_accuracy"].wanted
    if report.spans is not None:
        overall = report.spans.overall
        found |= {"precision": overall.precision, "recall": overall.recall}
        found |= {"f1": overall.f1, "f1_interval": overall.interval(), "spans": overall.wanted}
        for kind, ratio in report.spans.by_kind.items():
            found |= {f"precision_{kind}": ratio.precision, f"recall_{kind}": ratio.recall}
            found |= {f"f1_{kind}": ratio.f1, f"spans_{kind}": ratio.wanted}
    return found


def _mistakes(report: Report) -> dict[str, Any]:
    """The errors, for JSON."""
    return {
        "mistakes": [list(mistake) for mistake in report.mistakes[:_ERRORS]],
        "labels": report.confusion.labels,
        "confusion": report.confusion.confusion[:-1].tolist(),
        "notes": report.notes,
    }


def figure_lines(report: Report) -> list[str]:
    """Each figure with its interval, one per line."""
    lines = []
    if report.spans is not None:
        overall = report.spans.overall
        lines.append(_line("span F1", overall.f1, overall.interval()))
        lines.append(
            f"precision {overall.precision:.4f}, recall {overall.recall:.4f}:"
            f" {overall.right:,} right of {overall.found:,} predicted and {overall.wanted:,}"
            " expected"
        )
    for name, ratio in report.figures.items():
        if ratio.wanted:
            title = TITLES.get(name, name.replace("_", " "))
            line = _line(title, ratio.f1, ratio.interval())
            lines.append(f"{line}, {ratio.right:,} of {ratio.wanted:,}")
    return lines


def _line(title: str, value: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{title:<15} {value:.4f} (95 % interval {low:.4f} to {high:.4f})"


def _print_spans(report: Report) -> None:
    assert report.spans is not None
    kinds = report.spans.by_kind
    width = max([5, *map(len, kinds)])
    click.echo(f"\n{'spans':<{width}}  precision  recall      F1  expected  predicted  right")
    for kind, ratio in kinds.items():
        click.echo(
            f"{kind:<{width}}  {ratio.precision:>9.4f}  {ratio.recall:.4f}  {ratio.f1:.4f}"
            f"  {ratio.wanted:>8,}  {ratio.found:>9,}  {ratio.right:>5,}"
        )


def _print_mistakes(report: Report) -> None:
    if not report.mistakes:
        return
    click.echo("\nthe most frequent errors")
    for mistake in report.mistakes[:_ERRORS]:
        click.echo(f"{mistake.times:>6,}  {mistake.right} taken for {mistake.found}")
        for example in mistake.examples:
            click.echo(f"        {example}")


def inspect(path: str, top: int, as_json: bool) -> None:
    """Print what a sentence model is, how it was trained, and a tagger's strongest features."""
    model = load_sentence_model(path)
    if "top" in typed_options() and not isinstance(model, TaggerModel):
        called = SENTENCE_LEARNERS[model.learner].called
        raise click.UsageError(f"--top has no effect for {called}")
    told = _description(path, model, top)
    if as_json:
        click.echo(json.dumps(told))
        return
    given = ", ".join(f"{name}={value!r}" for name, value in told["params"].items())
    if isinstance(model, TaggerModel):
        shown = ", ".join(model.tags[:_CLASSES]) + (", ..." if len(model.tags) > _CLASSES else "")
        scheme = f", {model.scheme}" if model.scheme else ""
        if model.given_scheme:
            scheme = f", {model.given_scheme} (learned as {model.scheme})"
        click.echo(f"{path}: Tagger of {model.column!r}, order {model.order}{scheme}")
        click.echo(f"{several(len(model.tags), 'tag')}: {shown}")
        click.echo(f"{len(model.templates)} templates: {', '.join(model.templates.written)}")
        if model.temperature != 1.0:
            click.echo(f"temperature of its probabilities: {model.temperature:.4g}")
    elif not isinstance(model, ParserModel):
        click.echo(f"{path}: {model.learner}")
        for name, value in model.facts():
            click.echo(f"{name}: {value}")
    else:
        shown = ", ".join(model.labels[:_CLASSES])
        shown += ", ..." if len(model.labels) > _CLASSES else ""
        click.echo(f"{path}: Parser, {model.system}, beam {model.beam}")
        click.echo(f"{several(len(model.labels), 'label')}: {shown}")
        for name, value in model.facts():
            click.echo(f"{name}: {value}")
        for tagger in model.taggers:
            click.echo(f"its tagger of {tagger.column!r}: {several(len(tagger.tags), 'tag')}")
    click.echo(f"parameters: {given or '-'}")
    click.echo(f"file: {told['bytes']:,} bytes")
    show_history(model.history)
    if model.certificate is not None:
        click.echo(f"\n{model.certificate}")
    if isinstance(model, TaggerModel) and model.names is not None:
        _show_weights(model, top)


def _show_weights(model: TaggerModel, top: int) -> None:
    """Print the strongest features of each tag, and the strongest transitions."""
    click.echo("\nstrongest features")
    side = max(map(len, model.tags[:_CLASSES]))
    for tag in model.tags[:_CLASSES]:
        found = model.top_features(top, tag)
        listed = ", ".join(f"{one.feature} {one.weight:.3g}" for one in found) or "-"
        click.echo(f"{tag:<{side}}  {listed}")
    pairs = [pair for pair in model.transitions().items() if math.isfinite(pair[1])]
    click.echo("\nstrongest transitions")
    for (before, after), weight in sorted(pairs, key=lambda pair: -abs(pair[1]))[:top]:
        click.echo(f"{weight:>9.3g}  {before or '<start>'} -> {after or '<end>'}")


def inspect_task(path: str, top: int, as_json: bool) -> None:
    """Print what a model of a user's task has learned; the task itself is not needed."""
    model = StructuredPerceptron.load(path, Task())
    told = {
        "learner": "StructuredPerceptron",
        "model": os.path.abspath(path),
        "bytes": size_of(path),
        "task": task_named_in(path),
        "params": {"keep": model.keep, "rule": model.rule, "beam": model.beam},
        "features": len(model.weights_),
        "history": model.history_.to_dict(),
        "top_features": [list(one) for one in model.top_features(top)],
    }
    if as_json:
        click.echo(json.dumps(told))
        return
    click.echo(f"{path}: StructuredPerceptron, {model.rule} rule, {model.keep} kept")
    click.echo(f"task: {told['task']}; {told['features']} features")
    click.echo(f"file: {told['bytes']:,} bytes")
    show_history(model.history_)
    click.echo(f"\n{model.certificate()}\n\nstrongest features")
    for feature, weight in model.top_features(top):
        click.echo(f"{weight:>9.3g}  {feature}")


def _description(path: str, model: Any, top: int) -> dict[str, Any]:
    told = {
        "model": os.path.abspath(path),
        "bytes": size_of(path),
        "params": {name: value for name, value in model.params.items() if value is not None},
        "history": model.history.to_dict(),
    }
    if isinstance(model, TaggerModel):
        named = model.names is not None
        return {
            "learner": "Tagger",
            **told,
            "column": model.column,
            "scheme": model.scheme,
            "order": model.order,
            "tags": model.tags,
            "templates": list(model.templates.written),
            "top_features": [list(one) for one in model.top_features(top)] if named else [],
        }
    if not isinstance(model, (TokenizerModel, ParserModel)):
        return {"learner": model.learner, **told, **{k: str(v) for k, v in model.facts()}}
    if isinstance(model, TokenizerModel):
        rules = [] if model.splitter is None else model.splitter.tags
        return {"learner": "Tokenizer", **told, "multiword_rules": rules}
    return {
        "learner": "Parser",
        **told,
        "system": model.system,
        "beam": model.beam,
        "labels": model.labels,
        "columns": list(model.columns),
    }
