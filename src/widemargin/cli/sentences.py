"""Sentences and the models that read them, as the commands of the shell need them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import click

from widemargin.cli import options
from widemargin.cli.ask import SENTENCE_LEARNERS
from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.formats import CORPORA
from widemargin.data.readers.sources import STANDARD_INPUT, name_of, open_bytes
from widemargin.errors import DataError, ModelFileError
from widemargin.modelfile import read_model_file, restore

_FORMATS = (*CORPORA, "text")
#: Options of commands that also ask other models, but not of sentences.
_OF_TABLES = ("label", "header", "delimiter", "decimal", "text", "skip_bad")


def load_sentence_model(path: str, wanted: str | None = None) -> Any:
    """A tagger or a parser from its file; `wanted` is the only one that will do."""
    arrays, about = read_model_file(path)
    learner = about.get("learner")
    if learner not in SENTENCE_LEARNERS or wanted not in (None, learner):
        kind = wanted.lower() if wanted else "tagger or parser"
        raise ModelFileError(f"{path}: is not a {kind}: it was made by the learner {learner}")
    if learner == "Tagger":
        from widemargin.structured.tagger.model import TaggerModel

        return restore(path, arrays, about, TaggerModel.of)
    from widemargin.structured.parser.model import ParserModel

    return restore(path, arrays, about, ParserModel.of)


def refuse_table_options() -> None:
    """Refuse options on the command line that only tables and vectors have."""
    for name, written in options.typed_options().items():
        if name in _OF_TABLES:
            raise click.UsageError(f"{written} has no effect for taggers and parsers")


def read_questions(files: Sequence[str], given: Mapping[str, Any], plain: bool) -> Corpus:
    """Read sentences to ask a model about: from a pipe, text with one sentence per line.

    Parameters
    ----------
    files, given : as in `read_sentences`
        Without files, standard input is read.
    plain : bool
        Whether the model needs nothing but words.
    """
    piped = list(files) in ([], [STANDARD_INPUT]) and given.get("format") is None
    if not piped:
        return read_sentences(files or [STANDARD_INPUT], given, plain)
    with open_bytes(STANDARD_INPUT) as file:
        content = file.read()
    source, tab = name_of(STANDARD_INPUT), content.find(b"\t")
    columns = "give --format conllu or conll for columns"
    if plain and tab >= 0:
        line = content.count(b"\n", 0, tab) + 1
        raise DataError(
            f"{source}:{line}: has a tab, but a pipe is read as text; {columns}, or --format text"
        )
    if not plain and tab < 0:
        raise DataError(
            f"{source}: a pipe is read as text, but this model needs more than words; {columns}"
        )
    piped_text = io.BytesIO(content)
    piped_text.name = source
    format = "text" if plain else None
    return read_conll(piped_text, format=format, encoding=given.get("encoding") or "utf-8")


def read_sentences(files: Sequence[str], given: Mapping[str, Any], plain: bool = False) -> Corpus:
    """Read files of sentences.

    Parameters
    ----------
    files : sequence of str
        Names, patterns, or "-".
    given : dict
        What was given on the command line: format and encoding.
    plain : bool
        Whether what has no columns is text, one sentence per line.
    """
    format = given.get("format")
    if format is not None and format not in _FORMATS:
        raise click.UsageError(
            f"--format {format}: expected one of {', '.join(_FORMATS)} for sentences"
        )
    corpus = read_conll(
        list(files),
        format=format,
        encoding=given.get("encoding") or "utf-8",
        plain=plain,
    )
    if not len(corpus) and not plain:
        raise DataError(f"{corpus.source}: there are no sentences")
    return corpus
