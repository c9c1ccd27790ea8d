"""Reading sentences and loading their models, for the commands of the shell."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from widemargin.cli import options
from widemargin.data.readers.conll import decode, read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.formats import CORPORA
from widemargin.data.readers.recoded import check_encoding
from widemargin.data.readers.sources import STANDARD_INPUT, find_files, name_of, open_bytes
from widemargin.errors import DataError, ModelFileError
from widemargin.modelfile.files import read_model_file, restore
from widemargin.structured.registry import SENTENCE_LEARNERS, TASK_LEARNER
from widemargin.threads import thread_count

_FORMATS = (*CORPORA, "text")
#: Options that apply only to models of rows.
_OF_TABLES = ("label", "header", "delimiter", "decimal", "text")
#: The number of skipped sentences to report one by one.
_SHOWN = 5


def load_sentence_model(path: str, *wanted: str) -> Any:
    """Load a sentence model, which must be made by one of the `wanted` learners, if given."""
    arrays, about = read_model_file(path)
    learner = str(about.get("learner"))
    if learner not in (wanted or SENTENCE_LEARNERS):
        *others, last = map(str.lower, wanted or SENTENCE_LEARNERS)
        kind = f"{', '.join(others)} or {last}" if others else last
        known = SENTENCE_LEARNERS.get(learner)
        used = f"; use it with widemargin {'predict' if known is None else known.command}"
        if learner == TASK_LEARNER:
            used = ""
        raise ModelFileError(f"{path}: is not a {kind}: it was made by the learner {learner}{used}")
    return restore(path, arrays, about, SENTENCE_LEARNERS[learner].load_model().of)


def refuse_table_options() -> None:
    """Refuse options on the command line that apply only to tables and vectors."""
    for name, written in options.typed_options().items():
        if name in _OF_TABLES:
            raise click.UsageError(f"{written} has no effect for taggers and parsers")


def read_questions(files: Sequence[str], given: Mapping[str, Any], plain: bool) -> Corpus:
    """Read sentences for a model to annotate; a pipe is read as one sentence per line.

    Parameters
    ----------
    files, given : as in `read_sentences`
        Without files, standard input is read.
    plain : bool
        Whether the model needs only words.
    """
    if given.get("tokenizer") is not None:
        return _tokenize(files, given)
    piped = list(files) in ([], [STANDARD_INPUT]) and given.get("format") is None
    if not piped:
        corpus = read_sentences(files or [STANDARD_INPUT], given, plain, needs_some=False)
        report_skipped(corpus)
        return corpus
    with open_bytes(STANDARD_INPUT) as file:
        content = file.read()
    source, tab = name_of(STANDARD_INPUT), content.find(b"\t")
    columns = "give --format conllu or conll for columns"
    if plain and tab >= 0:
        line = content.count(b"\n", 0, tab) + 1
        raise DataError(
            f"{source}:{line}: has a tab, but a pipe is read as text; {columns}, or --format text"
        )
    if not plain and tab < 0 and content.strip():
        raise DataError(
            f"{source}: a pipe is read as text, but this model needs more than words; {columns}"
        )
    piped_text = io.BytesIO(content)
    piped_text.name = source
    corpus = read_conll(piped_text, format="text" if plain else None, **_reading(given))
    report_skipped(corpus)
    return corpus


def read_sentences(
    files: Sequence[str],
    given: Mapping[str, Any],
    plain: bool = False,
    check: Callable[[Corpus], object] | None = None,
    needs_some: bool = True,
) -> Corpus:
    """Read files of sentences.

    Parameters
    ----------
    files : sequence of str
        Names, patterns, or "-".
    given : dict
        The options of the command: format, encoding, number of bad sentences to skip.
    plain : bool
        Whether input without columns is text, one sentence per line.
    check : callable
        Raises DataError for unusable sentences, which are skipped like other bad ones.
    needs_some : bool
        Whether it is an error if there are no sentences, as for training and testing.
    """
    format = given.get("format")
    if format is not None and format not in _FORMATS:
        raise click.UsageError(
            f"--format {format}: expected one of {', '.join(_FORMATS)} for sentences"
        )
    corpus = read_conll(list(files), format=format, plain=plain, check=check, **_reading(given))
    if not len(corpus) and needs_some:
        good = "good sentences" if corpus.skipped else "sentences"
        raise DataError(f"{corpus.source or ', '.join(files)}: there are no {good}")
    return corpus


def _reading(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options for reading files that were given on the command line."""
    skip_bad = given.get("skip_bad") or 0
    return {"encoding": encoding_of(given), "words": given.get("words"), "skip_bad": skip_bad}


def encoding_of(given: Mapping[str, Any]) -> str:
    """The encoding of the files."""
    encoding = options.encoding_of(given)
    check_encoding(encoding)
    return encoding


def report_skipped(corpus: Corpus) -> None:
    """Report on standard error which bad sentences were skipped."""
    for flaw in corpus.skipped[:_SHOWN]:
        click.echo(f"skipped: {flaw}", err=True)
    if len(corpus.skipped) > _SHOWN:
        click.echo(f"... {len(corpus.skipped) - _SHOWN:,} more bad sentences skipped", err=True)


def refuse_skipping(given: Mapping[str, Any]) -> None:
    """Refuse --skip-bad for raw text, which cannot have bad sentences."""
    if given.get("skip_bad"):
        raise click.UsageError("--skip-bad has no effect on raw text, which has no bad sentences")


def _tokenize(files: Sequence[str], given: Mapping[str, Any]) -> Corpus:
    """Read raw text and cut it into sentences with a tokenizer."""
    refuse_skipping(given)
    if given.get("format") is not None:
        raise click.UsageError("--format has no effect with --tokenizer, which reads raw text")
    tokenizer = load_sentence_model(given["tokenizer"], "Tokenizer")
    text = read_raw_text(files, given)
    return tokenizer(text, thread_count(given.get("threads") or -1))


def read_raw_text(files: Sequence[str], given: Mapping[str, Any]) -> str:
    """Read the text of files, or of standard input; each file begins a paragraph."""
    encoding = encoding_of(given)
    texts = []
    for path in find_files(list(files) or [STANDARD_INPUT]):
        with open_bytes(path) as file:
            text = decode(file.read(), name_of(path), encoding)
            texts.append(text.removeprefix("\ufeff"))
    return "\n\n".join(texts)
