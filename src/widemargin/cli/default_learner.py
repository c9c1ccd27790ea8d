"""The default of `widemargin train --learner`: a perceptron, or for texts an SVM.

The defaults for texts are those of `TextClassifier`. An SVM with idf needs all documents in memory;
if they do not fit, a learner that reads them in pieces takes its place, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import click

from widemargin.cli import options
from widemargin.cli.learners import LEARNERS, refuse_others
from widemargin.cli.row_trainer import RowTrainer
from widemargin.cli.trainer import Job, Trainer
from widemargin.cli.training_data import Examples, examples_of_cache, is_lone_cache, read_examples
from widemargin.data.readers.files import Files
from widemargin.errors import DataWarning
from widemargin.models.text_defaults import PIECEWISE, PIECEWISE_NOTICE, WHOLE, TextDefault

_USUAL, _FOR_TEXTS, _PIECEWISE = "perceptron", "svm", "pa"
#: The options of all learners that may be the default.
_POSSIBLE = frozenset().union(
    *(LEARNERS[name].options for name in (_USUAL, _FOR_TEXTS, _PIECEWISE))
)
#: Options that the default learner for texts accepts although SVMs do not have them.
_ALSO = {"memory", "stream"}
#: Options that apply only to training on a cluster.
_FOR_CLUSTERS = {"partitions", "mix"}


def make_trainer(
    learner: str | None, patterns: Sequence[str], given: Mapping[str, Any], typed: Mapping[str, str]
) -> Trainer:
    """Make the trainer of the given learner, or else of the one that suits the files."""
    if learner is None and patterns:  # the learner depends on the files, which are read later
        foreign = {name: how for name, how in typed.items() if name not in _POSSIBLE}
        refuse_others(_USUAL, foreign, patterns)
    else:
        refuse_others(learner or _USUAL, typed, patterns)
    job = Job.of(patterns, given)
    if given.get("dask") is not None:
        return _cluster_trainer(learner or _USUAL, given, typed, job)
    for name in _FOR_CLUSTERS & typed.keys():
        raise click.UsageError(f"{typed[name]} has no effect without --dask")
    if learner is not None or not patterns:
        return _trainer(learner or _USUAL, given, typed, job)
    if is_lone_cache(patterns):
        found = examples_of_cache(patterns[0])
        if not _holds_texts(found) or _other_option(typed):
            return _trainer(_USUAL, given, typed, job)
        return _trainer(_FOR_TEXTS, _with(given, WHOLE), typed, job)
    files = Files(patterns, options.read_options(given))
    options.check_meaning(given, files.format)
    if not options.only_texts(given, files.format):
        return _reading(_trainer(_USUAL, given, typed, job), files)
    other = _other_option(typed)
    if other is not None:
        _say(f"{other} selects a perceptron; without it, texts are learned by an SVM")
        return _reading(_trainer(_USUAL, given, typed, job), files)
    return _text_trainer(files, given, typed, job)


def _cluster_trainer(
    learner: str, given: Mapping[str, Any], typed: Mapping[str, str], job: Job
) -> Trainer:
    """A trainer for the workers of a cluster; without --learner, a perceptron."""
    from widemargin.cli.cluster import ClusterSVMTrainer, ClusterTrainer, refuse_local

    if not job.files:
        raise click.UsageError("--dask needs FILES to learn from")
    refuse_others(learner, typed, job.files)
    refuse_local(typed)
    trainer = (ClusterSVMTrainer if learner == "svm" else ClusterTrainer)(learner, given, job)
    options.refuse_unused(trainer.uses(), typed)
    return trainer


def _text_trainer(
    files: Files, given: Mapping[str, Any], typed: Mapping[str, str], job: Job
) -> Trainer:
    """An SVM if all examples fit into memory, else a learner that takes them in pieces."""
    whole, found = _with(given, WHOLE), None
    if files.readable_again and not job.stream:
        encoding = options.encode_options(whole, files.format)
        found = read_examples(files, encoding, job.memory, job.cache)
    if found is not None:
        unlimited = {name: how for name, how in typed.items() if name not in _ALSO}
        return _reading(_trainer(_FOR_TEXTS, whole, unlimited, job), files, found)
    _say(
        f"the examples are not all in memory: {PIECEWISE_NOTICE} (choose with --learner and --idf)"
    )
    pieces = _with(given, PIECEWISE)
    if not files.readable_again:
        pieces["epochs"] = None  # a pipe is read once
    return _reading(_trainer(_PIECEWISE, pieces, typed, job), files)


def _trainer(learner: str, given: Mapping[str, Any], typed: Mapping[str, str], job: Job) -> Trainer:
    refuse_others(learner, typed, job.files)
    trainer = LEARNERS[learner].load()(learner, given, job)
    options.refuse_unused(trainer.uses(), typed)
    return trainer


def _reading(trainer: Trainer, files: Files, found: Examples | None = None) -> Trainer:
    """Pass on files that are open (a pipe cannot be opened twice), or their examples."""
    assert isinstance(trainer, RowTrainer)
    trainer.files, trainer.found = files, found
    return trainer


def _with(given: Mapping[str, Any], default: TextDefault) -> dict[str, Any]:
    """The options, with the defaults for texts filled in."""
    usual = {**default.parameters, "idf": default.idf}
    unsaid = {name: value for name, value in usual.items() if given.get(name) is None}
    return {**given, **unsaid}


def _holds_texts(examples: Examples) -> bool:
    encoder = examples.encoder
    return encoder.kind == "text" or bool(getattr(encoder, "only_texts", False))


def _other_option(typed: Mapping[str, str]) -> str | None:
    """An option on the command line that the default learner for texts does not have."""
    known = (LEARNERS[_FOR_TEXTS].options - {"epochs"}) | _ALSO
    return next((written for name, written in typed.items() if name not in known), None)


def _say(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=3)
