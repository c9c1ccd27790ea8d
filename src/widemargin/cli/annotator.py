"""`widemargin train` for lemmatizers, morphologizers and annotators, and `parse` for the last."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from widemargin.cli.sentences import encoding_of, read_sentences, refuse_skipping, report_skipped
from widemargin.cli.structured import SentenceTrainer
from widemargin.cli.trainer import Job, Section
from widemargin.data.readers.conll_writer import conll_text
from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.recoded import not_encoded
from widemargin.data.readers.sources import STANDARD_INPUT, find_files, name_of, open_bytes
from widemargin.markup.words import several
from widemargin.parameters.effects import Use
from widemargin.structured.annotator.annotator import Annotator, check_annotated
from widemargin.structured.annotator.document import Document
from widemargin.structured.annotator.model import AnnotatorModel
from widemargin.structured.lemmas.lemmatizer import Lemmatizer
from widemargin.structured.morphology.morphologizer import Morphologizer
from widemargin.structured.report import Report, measure_annotator, measure_columns
from widemargin.threads import thread_count
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.progress import Watcher

#: The largest number of bytes to read at once; from a pipe, whatever has arrived is read.
_PIECE = 1 << 20


def _names(given: Sequence[str]) -> tuple[str, ...]:
    """The names in options that were given several times or separated by commas."""
    return tuple(name for part in given for name in part.split(","))


class _ColumnTrainer(SentenceTrainer):
    """Trains a model that predicts columns of tagged words."""

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        for name in ("tags", "columns"):
            if name in self.params:
                self.params[name] = _names(self.params[name])
        self.fitted = self.learns(**self.params)

    learns: type[Any]

    def uses(self) -> dict[str, Use]:
        """Which parameters have an effect."""
        held_out = self.job.valid is not None or self.job.validation is not None
        waiting = Use(held_out, "if nothing is held out", "with held-out sentences")
        return self.without_patience({"patience": waiting})

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> Any:
        """Learn."""
        return self.fitted.fit(self.corpus, watch=watch).model_

    def examine(self, model: Any, corpus: Corpus) -> Report:
        """Score the predicted columns."""
        return measure_columns(model, corpus)


class LemmatizerTrainer(_ColumnTrainer):
    """Trains a lemmatizer."""

    learns = Lemmatizer

    def describe_learner(self, model: Any) -> Section:
        """The number of edit scripts."""
        scripts = len(model.chooser.labels)
        return Section({"scripts": scripts}, [f"lemmatizer: {several(scripts, 'edit script')}"])


class MorphologizerTrainer(_ColumnTrainer):
    """Trains a morphologizer."""

    learns = Morphologizer

    def describe_learner(self, model: Any) -> Section:
        """The columns, and the number of labels."""
        labels, columns = len(model.chooser.labels), ", ".join(model.columns)
        figures = {"columns": list(model.columns), "labels": labels}
        return Section(figures, [f"morphologizer of {columns}: {several(labels, 'label')}"])


class AnnotatorTrainer(SentenceTrainer):
    """Trains an annotator."""

    fitted: Annotator
    check = staticmethod(check_annotated)

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        if job.validation:
            raise click.UsageError(
                "--valid of an annotator must be another treebank: paragraphs of the same text are"
                " too similar for some of them to be held out"
            )
        if given.get("no_holdout"):
            raise click.UsageError(
                "--no-holdout has no effect: an annotator holds nothing out unless --valid names a"
                " treebank"
            )
        self.params.pop("validation", None)
        self.fitted = Annotator(**self.params)

    def read(self) -> None:
        """Read the treebanks."""
        self.corpus = self.read_files(self.job.files, format="conllu")
        if self.job.valid is not None:
            self.held_out = self.read_files([self.job.valid], format="conllu")

    @property
    def epochs(self) -> int:
        """One, because each stage reports its own epochs."""
        return 1

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> Any:
        """Train all stages."""
        found = self.fitted.fit(self.corpus, valid=self.held_out, watch=watch).model_
        return self.make_smaller(found)

    def measure(self, model: Any) -> Section:
        """The results on another treebank, or that there was none."""
        if self.held_out is None:
            told = "not measured: nothing is held out unless --valid names another treebank"
            return super().measure(model).joined(Section({}, [told]))
        return super().measure(model)

    def examine(self, model: Any, corpus: Corpus) -> Report:
        """Score all annotations, predicted from raw text."""
        return measure_annotator(model, corpus)

    def count_weights(self, model: AnnotatorModel) -> int:
        """The number of nonzero weights in all parts."""
        tokens = model.tokenizer
        tables: list[Any] = [tokens.cutter, tokens.splitter, tokens.boundaries]
        tables += [model.tagger, model.parser]
        tables += [part.chooser for part in (model.morphology, model.lemmas) if part is not None]
        count = super().count_weights
        return sum(count(one) for one in tables if one is not None)

    def describe_learner(self, model: Any) -> Section:
        """The parts of the annotator."""
        return Section({}, [f"annotator: {what}: {told}" for what, told in model.facts()])


def annotate(model: AnnotatorModel, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print annotated texts while they are read."""
    threads = thread_count(given["threads"] or -1)
    input, write = given["input"], given["write"] or "conllu"
    if input == "conllu" or (input is None and _are_conllu(files, given)):
        if write != "conllu":
            raise click.UsageError(f"--write {write} has no effect on CoNLL-U, which is copied")
        how = {**given, "format": "conllu"}
        corpus = read_sentences(files or [STANDARD_INPUT], how, needs_some=False)
        report_skipped(corpus)
        _write(conll_text(corpus, model.columns(corpus, threads), "conllu"))
        return
    refuse_skipping(given)
    texts = _pieces(list(files) or [STANDARD_INPUT], encoding_of(given))
    for number, document in enumerate(model.stream(texts, input or "text", threads)):
        _write(_shown(document, write, number == 0))


def _are_conllu(files: Sequence[str], given: Mapping[str, Any]) -> bool:
    """Whether the input is CoNLL-U."""
    if given.get("format") is not None:
        if given["format"] != "conllu":
            raise click.UsageError(
                f"--format {given['format']}: an annotator reads conllu, or text (see --input)"
            )
        return True
    return bool(files) and all(".conllu" in path for path in files)


def _shown(document: Document, write: str, first: bool) -> str:
    """A document in the format `write`."""
    if write == "json":
        return document.json_lines()
    if write == "table":
        return document.tab_separated(first)
    return document.drawn() if write == "trees" else document.conllu()


def _pieces(files: Sequence[str], encoding: str) -> Iterator[str]:
    """Yield the text of files in pieces; each file begins a paragraph."""
    for number, path in enumerate(find_files(list(files))):
        if number:
            yield "\n\n"
        with open_bytes(path) as file:
            yield from _decoded(file, name_of(path), encoding)


def _decoded(file: Any, source: str, encoding: str) -> Iterator[str]:
    """Yield the text of one file in pieces, without a byte order mark."""
    decoder = codecs.getincrementaldecoder(encoding)()
    read, lines, first = getattr(file, "read1", file.read), 1, True
    while True:
        content = read(_PIECE)
        try:
            text = decoder.decode(content, final=not content)
        except UnicodeDecodeError as error:
            line = lines + error.object.count(b"\n", 0, error.start)
            raise not_encoded(source, line, error.object[error.start], encoding) from None
        lines += text.count("\n")
        yield text.removeprefix("\ufeff") if first else text
        first = first and not text
        if not content:
            return


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()
