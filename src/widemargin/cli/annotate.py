"""`widemargin tag` and `widemargin parse`: print sentences with predicted tags or trees."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import click
import numpy as np

from widemargin.cli.sentences import load_sentence_model, read_questions, read_sentences
from widemargin.data.readers.conll_writer import conll_text
from widemargin.data.readers.corpus import Corpus
from widemargin.markup.trees import draw_tree_text, draw_trees
from widemargin.structured.parser.model import Trees
from widemargin.structured.sentences import with_inputs
from widemargin.structured.tagger.model import TaggerModel
from widemargin.threads import thread_count


def tag(path: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print sentences with tags."""
    _check_probabilities(given)
    model = load_sentence_model(path, "Tagger", "Lemmatizer", "Morphologizer")
    if not isinstance(model, TaggerModel):
        _fill_columns(model, files, given)
        return
    temperature = _temperature(model, given)
    inputs = model.templates.columns.inputs
    corpus = read_questions(files, given, plain=not inputs)
    if not len(corpus):
        return  # without sentences, there are no columns either
    corpus = with_inputs(corpus, inputs)
    threads = thread_count(given["threads"] or -1)
    codes = model.codes(corpus, threads)
    column = given["column"] or model.column
    if given["column"] and column.lstrip("-").isdecimal():
        column = corpus.name_of(column)
    if corpus.format == "conll" and column not in corpus.names:
        column = "predicted"  # one more column
    cells = {column: model.shown(codes, corpus.starts)}
    more: dict[str, np.ndarray] = {}
    if given["margins"]:
        more["Margin"] = model.flat_margins(corpus, threads)
    if given["proba"]:
        likely = model.flat_marginals(corpus, temperature, threads)
        more["Proba"] = likely[np.arange(len(codes)), model.shown_places[codes]]
    _write(conll_text(corpus, _with_numbers(corpus, cells, more, given["write"]), given["write"]))


def _fill_columns(model: Any, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print sentences with the columns that a lemmatizer or morphologizer predicts."""
    for name in ("margins", "proba", "column", "tokenizer"):
        if given.get(name):
            raise click.UsageError(f"--{name} has no effect for a {model.called}")
    corpus = read_questions(files, given, plain=False)
    if not len(corpus):
        return
    cells = model.flat_columns(corpus)
    if corpus.format == "conll":  # columns of the input stay as they are
        cells = {
            name if name not in corpus.names else f"predicted_{name}": column
            for name, column in cells.items()
        }
    _write(conll_text(corpus, cells, given["write"]))


def _check_probabilities(given: Mapping[str, Any]) -> None:
    """Refuse the options for probabilities unless --proba is given."""
    for name in ("temperature", "calibrate"):
        if given[name] is not None and not given["proba"]:
            raise click.UsageError(f"--{name} has no effect without --proba")
    if given["temperature"] is not None and given["calibrate"] is not None:
        raise click.UsageError("--temperature and --calibrate: give one of them, not both")


def _temperature(model: TaggerModel, given: Mapping[str, Any]) -> float:
    """The temperature: given, fitted to tagged sentences, or the model's own."""
    if given["calibrate"] is None:
        if given["proba"] and given["temperature"] is None and model.temperature == 1.0:
            click.echo(
                "these probabilities are not calibrated: give tagged sentences that the model has"
                " not learned from (--calibrate FILE)",
                err=True,
            )
        return model.temperature if given["temperature"] is None else given["temperature"]
    found = model.calibrate(read_sentences([given["calibrate"]], {}))
    click.echo(f"temperature {found:.4g}", err=True)
    return found


def _with_numbers(
    corpus: Corpus,
    cells: Mapping[str, Sequence[str]],
    numbers: Mapping[str, np.ndarray],
    write: str | None,
) -> dict[str, Sequence[str]]:
    """Add numbers to the cells: as extra columns, or in CoNLL-U as parts of MISC."""
    told = {name: [f"{value:.6g}" for value in values] for name, values in numbers.items()}
    if "conllu" not in (corpus.format, write):
        return {**cells, **{name.lower(): column for name, column in told.items()}}
    misc = corpus.column("misc") if "misc" in corpus.names else ["_"] * corpus.tokens
    for name, column in told.items():
        kept = (
            "|".join(p for p in cell.split("|") if p.partition("=")[0] != name) for cell in misc
        )
        misc = [
            f"{name}={value}" if cell in ("_", "") else f"{cell}|{name}={value}"
            for cell, value in zip(kept, column, strict=True)
        ]
    return {**cells, "misc": misc} if told else dict(cells)


def parse(path: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print sentences with trees, as CoNLL-U."""
    model = load_sentence_model(path, "Parser", "Annotator")
    if model.learner == "Annotator":
        _annotate(model, files, given)
        return
    for name in ("input", "write"):
        if given[name] is not None:
            raise click.UsageError(f"--{name} has no effect for a parser, only for an annotator")
    corpus = read_questions(files, given, plain=bool(model.taggers))
    if not len(corpus):
        return
    threads = thread_count(given["threads"] or -1)
    trees = model.predict(corpus, threads)
    if given["draw"] is not None:
        if given["margins"]:
            raise click.UsageError("--margins has no effect with --draw")
        _write(_drawn(corpus, trees, given["draw"]))
        return
    cells = {"head": list(map(str, trees.heads.tolist())), "deprel": trees.labels}
    if model.taggers:
        cells = {**trees.tags, **cells}
    margins = {"Margin": model.flat_margins(corpus, threads)} if given["margins"] else {}
    if corpus.format == "conll":  # CoNLL-U has no place for its other columns
        words = {corpus.names[0]: corpus.sentences()}
        corpus = Corpus.of(words)
    _write(conll_text(corpus, _with_numbers(corpus, cells, margins, "conllu"), "conllu"))


def _drawn(corpus: Corpus, trees: Trees, how: str) -> str:
    """The trees as drawings, in text or SVG."""
    heads, starts = trees.heads.tolist(), corpus.starts.tolist()
    each = [
        (corpus.words[a:b], heads[a:b], trees.labels[a:b]) for a, b in pairwise(starts) if b > a
    ]
    if how == "svg":
        return draw_trees(each)
    return "".join(f"{draw_tree_text(*tree)}\n\n" for tree in each)


def _annotate(model: Any, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print texts with all annotations that an annotator predicts."""
    from widemargin.cli.annotator import annotate

    if given["draw"] is not None:
        raise click.UsageError("--draw is for a parser; an annotator draws with --write trees")
    for name in ("margins", "tokenizer"):
        if given.get(name):
            raise click.UsageError(f"--{name} has no effect for an annotator")
    annotate(model, files, given)


def _write(text: str) -> None:
    # Written as bytes, so that the file's content, including line endings, is unchanged.
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.flush()
