"""Trainers that learn from rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click
import numpy as np

from widemargin.cli import options
from widemargin.cli.class_weights import weights_by_class
from widemargin.cli.data_checks import check_data
from widemargin.cli.trainer import NOTHING, Job, Section, Trainer
from widemargin.cli.training_data import (
    Examples,
    answered_right,
    examples_of_cache,
    examples_of_digits,
    held_out_part,
    is_lone_cache,
    read_examples,
    read_held_out,
)
from widemargin.data.datasets import Encoded
from widemargin.data.readers.files import Files
from widemargin.data.readers.sources import name_of
from widemargin.errors import DataError
from widemargin.evaluate.intervals import wilson
from widemargin.markup.words import several, some_labels
from widemargin.models.text_defaults import NGRAMS
from widemargin.online.fit import check_classes
from widemargin.online.held_out import usual_part
from widemargin.online.label_runs import find_runs


class RowTrainer(Trainer):
    """Trains a learner from rows in memory.

    Attributes
    ----------
    reading, encoding : ReadOptions, EncodeOptions
        How files are read.
    files : Files or None
        The files, unless the rows come from a cache or are embedded; set in advance if they are
        already open.
    found : Examples or None
        Their examples, if they have been read already.
    measured : Encoded or None
        Examples to measure the model on.
    settings : Settings, SVMSettings, KernelSettings or KernelSVMSettings
        How to learn.
    """

    settings: Any

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        self.reading = options.read_options(given)
        self.encoding = options.encode_options(given)
        self.files: Files | None = None
        self.found: Examples | None = None
        self.measured: Encoded | None = None
        self.examples: Examples
        self.rows = 0

    def read(self) -> None:
        """Read the rows into memory."""
        found = self.found or self._read()
        if found is not None:
            self._learn_from(found)

    def _read(self) -> Examples | None:
        """Read the examples; None if they do not fit into memory."""
        patterns = self.job.files
        if not patterns:
            return examples_of_digits()
        if self.files is None and is_lone_cache(patterns):
            found = examples_of_cache(patterns[0])
            also = self.also_of("svmlight") if found.encoder.kind == "numbers" else ()
            options.check_cache(self.job.valid is not None, *also)
            return found
        if self.files is None:
            self.files = Files(patterns, self.reading)
            options.check_meaning(self.given, self.files.format, *self.also_of(self.files.format))
        if options.only_texts(self.given, self.files.format):
            self.encoding = replace(self.encoding, text={"ngrams": NGRAMS, **self.encoding.text})
        return self.read_files(self.files)

    def also_of(self, format: str) -> tuple[str, ...]:
        """Options for tables that this learner also accepts for files of this other format."""
        return ()

    def read_files(self, files: Files) -> Examples | None:
        """Read files into memory."""
        return read_examples(files, self.encoding, cache=self.job.cache)

    def _learn_from(self, found: Examples) -> None:
        check_classes(found.classes.values)
        data, job = found.data, self.job
        self.examples, self.rows = found, data.rows.n
        if not job.quiet:
            runs = find_runs(self.settings, data.codes, found.classes.values)
            scaled = self.given.get("scale") == "maxabs"
            for suspicion in (*check_data(data, found.encoder, scaled), *([runs] if runs else [])):
                click.echo(f"warning: {suspicion}", err=True)
        if "class_weight" in self.params:
            weights = weights_by_class(self.params["class_weight"], found.classes.values)
            self.params["class_weight"] = weights
            self.settings = replace(self.settings, class_weight=weights)
        if job.valid is not None:
            found.held_out = self.measured = read_held_out(
                job.valid, self.reading, found.encoder, found.classes
            )
            if not np.any(self.measured.codes >= 0):
                raise DataError(
                    f"{job.valid}: none of its labels occurs in the examples to learn from, whose"
                    f" classes are {some_labels(found.classes.values.tolist())}"
                )
            return
        part = job.validation or 0.0
        if job.measures:
            keep = self.params.get("keep", "average")
            part = usual_part(np.bincount(data.codes), found.part, keep)
            self.settings = replace(self.settings, **self.hold_out(part, "rows"))
        if part:
            self.measured = held_out_part(data, part, self.seed)

    def describe_data(self, model: Any) -> Section:
        """The numbers of rows, features and classes."""
        figures: dict[str, Any] = {
            "rows": self.rows,
            "features": model.width,
            "classes": len(model.classes),
        }
        name = ", ".join(map(name_of, self.job.files)) or "digits"
        rows, features = several(self.rows, "row"), several(model.width, "feature")
        lines = [f"{name}: {rows}, {features}, {several(len(model.classes), 'class')}"]
        schema = getattr(model.encoder, "schema", None)
        if schema is not None and schema.label is not None:
            figures["label"] = schema.label
            if self.given.get("label") is None:
                lines.append(f"labels: column {schema.label!r}, unless --label names another")
        if self.measured is not None and self.job.valid is None:
            lines.append(f"held out: {self.measured.rows.n:,} of {self.rows:,} rows")
        return Section(figures, lines)

    def describe_result(self, model: Any) -> Section:
        """The number of bad lines that were skipped."""
        skipped = 0 if self.files is None else len(self.files.skipped.lines)
        if not skipped:
            return NOTHING
        return Section({"skipped_lines": skipped}, [f"bad lines skipped: {skipped:,}"])

    def measure(self, model: Any) -> Section:
        """The accuracy on held-out rows."""
        if self.measured is None:
            return NOTHING
        right = answered_right(model, self.measured)
        n = len(right)
        figures, line = describe_accuracy("", "held-out accuracy", int(np.sum(right)), n)
        if model.history.best is not None:
            line += "; these rows also chose the best epoch"
        return Section({"held_out_rows": n, **figures}, [line])


def describe_accuracy(prefix: str, name: str, right: int, n: int) -> tuple[dict[str, Any], str]:
    """An accuracy with its interval: figures whose names have a prefix, and a line."""
    low, high = wilson(right, n)
    figures = {f"{prefix}accuracy": right / n, f"{prefix}accuracy_interval": (low, high)}
    line = f"{name}: {right / n:.4f} on {several(n, 'row')} (95 % interval {low:.4f} to {high:.4f})"
    return figures, line
