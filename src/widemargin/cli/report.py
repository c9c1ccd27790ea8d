"""`widemargin report`: an HTML page about a model."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from widemargin.cli import options
from widemargin.cli.inspect import one_example
from widemargin.cli.model_input import (
    ModelInput,
    labels_among,
    load_rows_model,
    no_known_label,
)
from widemargin.cli.sentences import (
    load_sentence_model,
    read_sentences,
    refuse_table_options,
    report_skipped,
)
from widemargin.cli.structured_test import CHECKS, refuse_column
from widemargin.cli.targets import PAGE, check_output
from widemargin.data.datasets import Classes
from widemargin.data.readers.chunk import Chunk, Texts
from widemargin.data.readers.sources import name_of
from widemargin.errors import DataError
from widemargin.evaluate.predictions import Exam, Mistake, describe_mistake, leads_of, text_at
from widemargin.modelfile.files import learner_of
from widemargin.models.kernel import KernelModel
from widemargin.online.scores import best_class
from widemargin.pages.reportable import subject_of
from widemargin.pages.reports import write_report
from widemargin.structured.examination import examine_sentences
from widemargin.structured.registry import SENTENCE_LEARNERS, TASK_LEARNER
from widemargin.threads import thread_count


def report(path: str, files: Sequence[str], target: str, given: Mapping[str, Any]) -> None:
    """Write the page."""
    check_output(target, PAGE)
    if not files:
        options.refuse_without_files()
    exam: Any = None
    if learner_of(path) in SENTENCE_LEARNERS:
        refuse_table_options()
        model = load_sentence_model(path, "Tagger", "Parser", "Annotator")
        refuse_column(model, given)
        if files:
            corpus = read_sentences(files, given, check=CHECKS.get(model.learner))
            report_skipped(corpus)
            threads = thread_count(given.get("threads") or -1)
            exam = examine_sentences(model, corpus, given["column"], threads)
    elif given["column"] is not None:
        raise click.UsageError("--column has no effect for this model, only for taggers")
    elif files:
        inputs = ModelInput(path, files, given)
        model, exam = inputs.model, _examine(inputs, files)
    elif learner_of(path) == TASK_LEARNER:
        raise DataError(f"{path}: is a model of a task written in Python: use widemargin inspect")
    else:
        model = load_rows_model(path)
    subject = subject_of(model, first=1)
    said = ["widemargin", "report", path, *files, "-o", target]
    write_report(
        target, subject, exam, data=", ".join(files), commands=[" ".join(map(shlex.quote, said))]
    )
    click.echo(f"{target}: {os.stat(target).st_size:,} bytes")


def _examine(inputs: ModelInput, files: Sequence[str]) -> Exam:
    """Compare the model's predictions for files with their labels, chunk by chunk."""
    model = inputs.model
    classes, exam = Classes(model.classes), Exam(model.classes)
    unknown: Counter[str] = Counter()
    for chunk, rows in inputs.chunks():
        if chunk.labels is None:
            raise DataError(f"{chunk.source}: has no labels to compare the predictions with")
        codes = classes.codes(chunk.labels)
        unknown.update(labels_among(chunk.labels, codes < 0))
        scores = np.asarray(model.decision_function(rows, inputs.threads))
        found = best_class(scores)
        leads = leads_of(scores, codes, found, len(model.classes))
        exam.add(codes, found, leads, _MistakeDescriber(inputs, chunk, found, leads))
    if not exam.rows:
        raise DataError(f"{', '.join(map(name_of, files))}: there are no examples")
    if unknown and not exam.measures.confusion[:-1].any():
        raise no_known_label(files, unknown, model.classes)
    return exam


class _MistakeDescriber:
    """Describes the examples of one chunk."""

    def __init__(
        self, inputs: ModelInput, chunk: Chunk, found: np.ndarray, leads: np.ndarray
    ) -> None:
        self.inputs, self.chunk, self.found, self.leads = inputs, chunk, found, leads

    def __call__(self, i: int) -> Mistake:
        inputs, chunk, labels = self.inputs, self.chunk, self.chunk.labels
        assert labels is not None
        raw = one_example(inputs.raw(chunk), i)
        known = inputs.model.encoder is not None
        return describe_mistake(
            inputs.model,
            f"{chunk.source}:{chunk.lines[i]}",
            labels.values[labels.codes[i]] if labels.codes[i] >= 0 else "(no label)",
            inputs.model.classes[self.found[i]],
            float(self.leads[i]),
            text=_words(raw),
            row=None if known else inputs.rows(raw),
            raw=raw if known else None,
            **({"first": 1} if isinstance(inputs.model, KernelModel) else {}),
        )


def _words(raw: Any) -> str:
    """An example as text, if the file has readable text; otherwise nothing."""
    if isinstance(raw, Texts):
        return text_at(raw, 0)
    if hasattr(raw, "column_names"):
        cells = raw.to_pylist()[0]
        return "\n".join(f"{name}: {value}" for name, value in cells.items())
    return ""
