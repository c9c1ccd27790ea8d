"""`widemargin explain` for taggers and parsers: why one word of a sentence got its tag or head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from widemargin.cli.sentences import (
    load_sentence_model,
    read_sentences,
    refuse_table_options,
    report_skipped,
)
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError, ModelFileError
from widemargin.markup.words import several
from widemargin.modelfile.files import learner_of
from widemargin.structured.tagger.model import TaggerModel


def explain_sentence(
    path: str, files: Sequence[str], row: int, top: int, given: Mapping[str, Any]
) -> None:
    """Print the predictions for one sentence with their margins, and explain that for one word.

    Parameters
    ----------
    path : str
        The model.
    files : sequence of str
        Sentences.
    row : int
        The number of the sentence, counted from 1.
    top : int
        Number of features to show.
    given : dict
        The options of the command; without a token, the least certain one is explained.
    """
    refuse_table_options()
    if learner_of(path) == "Annotator":
        raise ModelFileError(
            f"{path}: is an annotator, whose parts cannot be explained: train a tagger or a parser"
            " on the same treebank (widemargin train --learner parser) and explain that, or list"
            " the errors of each part with widemargin report"
        )
    model = load_sentence_model(path, "Tagger", "Parser")
    tagger = isinstance(model, TaggerModel)
    plain = not model.templates.columns.inputs if tagger else bool(model.taggers)
    corpus = read_sentences(files, given, plain)
    report_skipped(corpus)
    if row > len(corpus):
        found = several(len(corpus), "sentence")
        raise DataError(f"{corpus.source}: has {found}, so there is no sentence {row}")
    sentence = corpus[row - 1]
    token = given["token"]
    if not sentence:
        raise DataError(f"{corpus.source}: sentence {row} has no words")
    if token is not None and token > len(sentence):
        found = several(len(sentence), "word")
        raise DataError(f"sentence {row} has {found}, so there is no --token {token}")
    margins = model.margins(sentence)
    click.echo(f"{corpus.where(int(corpus.starts[row - 1]))}: sentence {row}")
    for line in _table(model, corpus[row - 1 : row], margins):
        click.echo(line)
    at = int(np.argmin(margins)) if token is None else token - 1
    which = "the least certain" if token is None else "requested"
    click.echo(f"\n{at + 1} {sentence[at]} ({which})")
    click.echo(str(model.explain(sentence, at, top)))
    if not tagger:
        click.echo(f"\nits label\n{model.explain_label(sentence, at, top)}")


def _table(model: Any, corpus: Corpus, margins: np.ndarray) -> list[str]:
    """The words with their predictions and margins, and the right answers, if known."""
    if isinstance(model, TaggerModel):
        columns = {"tag": model.flat_tags(corpus)}
        right = {"right": model.column}
    else:
        trees = model.predict(corpus)
        columns = {"head": list(map(str, trees.heads.tolist())), "label": trees.labels}
        right = {"right head": "head", "right label": "deprel"}
    for name, column in right.items():
        if column in corpus.names:
            columns[name] = corpus.column(column)
    shown = {"": list(map(str, range(1, len(margins) + 1))), "word": corpus.words, **columns}
    shown["margin"] = [f"{margin:.4g}" for margin in margins]
    widths = [max(map(len, [name, *cells])) for name, cells in shown.items()]
    lines = [list(shown), *map(list, zip(*shown.values(), strict=True))]
    return [
        "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
