"""The learners of `widemargin train`: their names, and the options each takes.

Nothing slow is imported here, because `widemargin --help` reads this table, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from widemargin.cli.trainer import Trainer

#: The options of every learner.
_EVERY = {
    *("path", "force", "learner", "seed", "max_seconds", "valid", "no_holdout", "format"),
    *("encoding", "as_json", "quiet"),
}
#: Options for reading rows from files and encoding them.
READING_ROWS = {
    *(
        "label",
        "weight",
        "header",
        "delimiter",
        "decimal",
        "skip_bad",
        "text",
        "columns",
        "drop",
        "categories",
    ),
    *("scale", "interactions", "zero_based", "double"),
    *("ngrams", "analyzer", "bits", "weighting", "idf", "cache"),
}
#: Options for choosing settings and measuring them on parts of the examples.
_SELECTION = {"folds", "tune", "nested"}
_ROWS = {*READING_ROWS, *_SELECTION, "threads", "threshold", "positive"}
_SENTENCES = {"words", "prune", "small", "folds", "skip_bad"}
_CHECKPOINTS = {"checkpoint", "checkpoint_every", "resume"}
_CLUSTERS = {"dask", "partitions"}
_KERNEL = ("kernel", "degree", "gamma", "coef0", "sigma")


class Learner(NamedTuple):
    """A learner that `--learner` can name.

    Attributes
    ----------
    estimator : str
        The name in Python, in reports and in model files.
    trainer : str
        The class that trains it, as module:class.
    parameters : tuple of str
        The options that are parameters of the estimator.
    others : frozenset of str
        Further options besides those of every learner, such as for reading and checkpoints.
    """

    estimator: str
    trainer: str
    parameters: tuple[str, ...]
    others: frozenset[str]

    @property
    def options(self) -> frozenset[str]:
        """All options that the learner takes."""
        return self.others.union(_EVERY, self.parameters)

    def load(self) -> type[Trainer]:
        """Import the class that trains it."""
        module, name = self.trainer.split(":")
        found: type[Trainer] = getattr(import_module(module), name)
        return found


_LINEAR = (
    *("rule", "keep", "epochs", "eta", "power", "C", "l2", "multiclass", "patience"),
    *("max_seconds", "batch", "shuffle", "class_weight"),
)


def _linear(estimator: str, *lacks: str) -> Learner:
    return Learner(
        estimator,
        "widemargin.cli.linear:LinearTrainer",
        tuple(name for name in _LINEAR if name not in lacks),
        frozenset({*_ROWS, *_CHECKPOINTS, *_CLUSTERS, "mix", "memory", "stream"}),
    )


LEARNERS = {
    "perceptron": _linear("Perceptron", "l2"),
    "pa": _linear("PassiveAggressive", "l2", "eta", "power"),
    "logistic": _linear("OnlineLogistic", "C", "rule"),
    "svm": Learner(
        "LinearSVM",
        "widemargin.cli.svm:SVMTrainer",
        ("C", "loss", "tol", "bias", "multiclass", "epochs", "max_seconds", "class_weight"),
        frozenset({*_ROWS, *_CLUSTERS}),
    ),
    "kernel-perceptron": Learner(
        "KernelPerceptron",
        "widemargin.cli.kernel:KernelPerceptronTrainer",
        (
            *(*_KERNEL, "rule", "keep", "epochs", "eta", "C", "shuffle", "multiclass"),
            *("patience", "max_seconds", "budget", "forget", "class_weight"),
        ),
        frozenset({*_ROWS, *_CHECKPOINTS, "memory"}),
    ),
    "kernel-svm": Learner(
        "KernelSVM",
        "widemargin.cli.kernel:KernelSVMTrainer",
        (*_KERNEL, "C", "tol", "multiclass", "max_seconds", "class_weight"),
        frozenset({*_ROWS, "memory"}),
    ),
    "tagger": Learner(
        "Tagger",
        "widemargin.cli.structured:TaggerTrainer",
        (
            *("rule", "keep", "epochs", "C", "bits", "patience", "order", "max_seconds"),
            *("shuffle", "templates", "dictionary", "committee", "beam"),
        ),
        frozenset({*_SENTENCES, *_CHECKPOINTS, "columns", "half", "threads", "calibrate"}),
    ),
    "tokenizer": Learner(
        "Tokenizer",
        "widemargin.cli.tokenizer:TokenizerTrainer",
        ("epochs", "C", "committee", "patience", "max_seconds"),
        frozenset({"skip_bad"}),
    ),
    "lemmatizer": Learner(
        "Lemmatizer",
        "widemargin.cli.annotator:LemmatizerTrainer",
        ("epochs", "C", "bits", "tags", "patience", "max_seconds"),
        frozenset({"folds", "skip_bad"}),
    ),
    "morphologizer": Learner(
        "Morphologizer",
        "widemargin.cli.annotator:MorphologizerTrainer",
        ("epochs", "C", "bits", "tags", "columns", "patience", "max_seconds"),
        frozenset({"folds", "skip_bad"}),
    ),
    "annotator": Learner(
        "Annotator",
        "widemargin.cli.annotator:AnnotatorTrainer",
        ("beam", "max_seconds"),
        frozenset({"skip_bad", "small"}),
    ),
    "parser": Learner(
        "Parser",
        "widemargin.cli.structured:ParserTrainer",
        ("epochs", "C", "bits", "system", "beam", "tags", "patience", "max_seconds"),
        frozenset({*_SENTENCES, *_CHECKPOINTS}),
    ),
}


def learners_with(option: str) -> list[str]:
    """The learners that take an option."""
    return [name for name, learner in LEARNERS.items() if option in learner.options]


def refuse_others(name: str, typed: Mapping[str, str], files: Collection[str]) -> None:
    """Refuse options that the learner does not take, or that have no effect without files.

    Parameters
    ----------
    name : str
        The learner.
    typed : dict
        The options given on the command line, as they were written.
    files : collection of str
        The files to learn from.
    """
    taken = LEARNERS[name].options
    embedded = not files and taken >= READING_ROWS  # taggers and parsers need files
    for option, written in typed.items():
        if option not in taken:
            known = f"; on a cluster, use one of {', '.join(learners_with('dask'))}"
            raise click.UsageError(
                f"{written} is not an option of the learner {name}{known * (option == 'dask')}"
            )
        if embedded and option in READING_ROWS | {"format", "encoding", "stream"}:
            raise click.UsageError(f"{written} has no effect without FILES to read")
