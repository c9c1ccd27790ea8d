"""The options of `widemargin train`, and its help, which shows them in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from widemargin.cli import options
from widemargin.cli.class_weights import ClassWeights
from widemargin.cli.learners import LEARNERS, learners_with
from widemargin.cli.program import Command

_ONLINE = ("perceptron", "pa", "logistic", "kernel-perceptron", "tagger", "parser")
_SVMS = ("svm", "kernel-svm")
_KERNELS = ("kernel-perceptron", "kernel-svm")
_ROWS = ("perceptron", "pa", "logistic", "svm", *_KERNELS)
_EVERYONE = tuple(LEARNERS)


class Group(NamedTuple):
    """Options that the help shows together.

    If an option is not for exactly these learners, its help lists the learners that take it.
    """

    title: str
    learners: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def heading(self) -> str:
        """The title, followed by the learners unless it applies to all."""
        if self.learners == _EVERYONE:
            return self.title
        return f"{self.title} ({', '.join(self.learners)})"


GROUPS = (
    Group(
        "Every learner",
        _EVERYONE,
        ("learner", "path", "force", "max_seconds", "seed", "as_json", "quiet"),
    ),
    Group(
        "Held-out examples and cross-validation",
        _EVERYONE,
        ("valid", "no_holdout", "patience", "folds", "tune", "nested"),
    ),
    Group(
        "How to learn",
        _EVERYONE,
        (
            *("epochs", "C", "rule", "keep", "eta", "power", "l2", "batch", "shuffle"),
            *("multiclass", "class_weight", "weight"),
        ),
    ),
    Group("Support vector machines", _SVMS, ("tol", "loss", "bias")),
    Group("Kernels", _KERNELS, (*options.KERNEL, "budget", "forget")),
    Group("Two classes", _ROWS, ("threshold", "positive")),
    Group("Checkpoints", _ONLINE, ("checkpoint", "checkpoint_every", "resume")),
    Group(
        "Files, memory and threads",
        _EVERYONE,
        ("format", "encoding", "skip_bad", "memory", "stream", "cache", "threads"),
    ),
    Group(
        "Tables and vectors",
        _ROWS,
        (
            *("label", "header", "delimiter", "decimal", "text", "columns", "drop", "categories"),
            *("scale", "interactions", "zero_based", "double"),
        ),
    ),
    Group("Texts", _ROWS, ("ngrams", "analyzer", "weighting", "idf", "bits")),
    Group(
        "Sentences",
        ("tagger", "parser"),
        (
            *("words", "tags", "templates", "order", "beam", "system", "dictionary", "committee"),
            *("prune", "half", "small", "calibrate"),
        ),
    ),
    Group("Clusters", ("perceptron", "pa", "logistic", "svm"), ("dask", "partitions", "mix")),
)

#: What `train` adds to the help of options that other commands have, too.
_MORE = {
    "kernel": ["(default: rbf)"],
    "columns": ["Taggers: the column of the tags. Morphologizers: those to predict."],
    "bits": [
        "Taggers: default 18, parsers: 20, or fewer if the corpus is small; lemmatizers: 20;"
        " morphologizers: 21."
    ],
}
_EVERY = [
    click.option(
        "--learner",
        type=click.Choice(list(LEARNERS)),
        help="Learning algorithm (default: perceptron; for texts svm with --loss squared_hinge"
        " --C 2, or pa with --rule pa2 --C 0.5 if they are not all in memory).",
    ),
    click.option(
        "--model",
        "path",
        help="File to save the model in (default: model.wm; digits.wm without FILES).",
    ),
    options.force,
    click.option(
        "--valid",
        help="Held-out examples: a file, or a fraction of the examples such as 0.1. Learners that"
        " take --patience stop when the score on them no longer improves. By default, if there are"
        " 100 or more examples in memory, a tenth of them (at most 10,000) is held out, only to"
        " measure the model. Annotators take a file only, and hold nothing out by default.",
    ),
    click.option(
        "--no-holdout",
        is_flag=True,
        help="Learn from all examples: hold none out to measure the model.",
    ),
    click.option("--max-seconds", type=float, help="Stop learning after this many seconds."),
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object."),
    options.quiet,
]
_LEARNING = [
    click.option(
        "--epochs",
        type=options.NUMBER,
        help="Largest number of passes over the examples (default: 10; svm 1000; tokenizer,"
        " lemmatizer and morphologizer 8; for a pipe 1).",
    ),
    click.option(
        "--rule",
        help="Step rule: perceptron, margin, pa, pa1, pa2 or logistic (default: perceptron; for"
        " pa and tagger pa1).",
    ),
    click.option(
        "--keep",
        type=click.Choice(["last", "average", "vote"]),
        help="Which weights predict: the last ones, the average of all, or all of them by vote"
        " (default: average).",
    ),
    click.option(
        "--C",
        "C",
        type=float,
        help="Cost of an error. Step rules pa1 and pa2: the larger, the longer the steps; SVMs:"
        " the larger, the closer the fit (default: 1; tagger and tokenizer 0.03; lemmatizer 0.1;"
        " morphologizer and parser 0.01). An svm also takes inf.",
    ),
    click.option(
        "--eta",
        type=float,
        help="Step size (default: 1; logistic: about 3 / |x|^2 for a typical example x).",
    ),
    click.option("--power", type=float, help="Let the step size decay as eta/t^POWER."),
    click.option("--l2", type=float, help="Penalty on the squared weights (default: 0)."),
    click.option("--batch", help="Number of examples per update, or 'full' (default: 1)."),
    click.option(
        "--shuffle",
        type=click.Choice(["blocks", "rows", "once", "draw", "no"]),
        help="Order of the examples: shuffled in every epoch, in blocks that are fast to read or"
        " row by row; shuffled once; drawn with replacement; or as they come (default: blocks).",
    ),
    click.option(
        "--multiclass",
        type=click.Choice(["joint", "ovr", "ovo"]),
        help="Learn all classes together (joint), each against the rest (ovr), or for kernel-svm"
        " in pairs (ovo). Default: joint; svm ovr; kernel-svm ovo.",
    ),
    click.option(
        "--patience",
        type=int,
        help="Stop when the held-out score has not improved for this many epochs, and keep the"
        " best weights (default with --valid: 5; tokenizer, lemmatizer and morphologizer 3;"
        " otherwise held-out examples never stop the training).",
    ),
    click.option("--checkpoint", help="Folder in which to save checkpoints at regular intervals."),
    click.option(
        "--checkpoint-every",
        type=options.Amount(0),
        help="Smallest number of seconds between checkpoints (default: 30).",
    ),
    click.option(
        "--resume",
        is_flag=True,
        help="Continue from the last checkpoint; the model will be the same as without the"
        " interruption.",
    ),
]
_SELECTION = [
    click.option(
        "--folds",
        type=click.IntRange(2),
        help="Cross-validate with this many folds, stratified except for sentences, before"
        " training on all examples; with --tune, the folds of the search (default: 5).",
    ),
    click.option(
        "--tune",
        is_flag=True,
        help="Search for the best --C and --epochs, unless they are given or have no effect, by"
        " cross-validation; estimate the result on a tenth that took no part in the search; then"
        " train on all examples.",
    ),
    click.option(
        "--nested",
        is_flag=True,
        help="With --tune: estimate the result on outer folds, with a separate search in each,"
        " instead of on a tenth.",
    ),
]
_WEIGHTS = [
    click.option(
        "--class-weight",
        type=ClassWeights(),
        help="Cost of an error on each class: balanced (the rarer the class, the higher), or"
        " labels with their costs, such as spam=5,ham=1 (default: 1 each).",
    ),
    click.option(
        "--weight",
        help="Tables: the column, by name or number, that holds the cost of an error on each"
        " example; it is not used as a feature. (VW files have importance weights instead.)",
    ),
]
_SVM = [
    click.option("--tol", type=float, help="Relative duality gap to reach (default: 0.001)."),
    click.option(
        "--loss",
        type=click.Choice(["hinge", "squared_hinge"]),
        help="Loss function (default: squared_hinge, or hinge with --multiclass joint).",
    ),
    click.option(
        "--bias",
        type=click.Choice(["regularised", "free"]),
        help="Whether the bias counts in the norm of the weights (default: regularised).",
    ),
]
_TWO_CLASSES = [
    click.option(
        "--threshold",
        help="Predict the second class if its score is at least this (default: 0). Or a measure"
        " to optimise on the held-out examples: f1, precision=P (largest recall at a precision of"
        " at least P) or recall=R (largest precision at a recall of at least R).",
    ),
    click.option(
        "--positive",
        help="The class whose F1, precision or recall --threshold refers to (default: the rarer).",
    ),
]
_BUDGET = [
    click.option("--budget", type=int, help="Largest number of examples to store."),
    click.option(
        "--forget",
        type=click.Choice(["projectron", "forgetron", "random"]),
        help="How to make room once the budget is used up (default: projectron).",
    ),
]
_MEMORY = [
    click.option(
        "--memory",
        default="2GB",
        show_default=True,
        help="Memory for the examples (kernel learners: for kernel values).",
    ),
    click.option("--stream", is_flag=True, help="Read the files again in every epoch."),
    click.option(
        "--cache",
        is_flag=True,
        help="Save the parsed examples in FILE.wmc, so that the next run need not parse them.",
    ),
]
_CLUSTERS = [
    click.option(
        "--dask",
        metavar="ADDRESS",
        help="Train on the workers of a Dask cluster: the address of its scheduler, or 'local' for"
        " a cluster on this machine.",
    ),
    click.option(
        "--partitions",
        type=click.IntRange(1),
        help="Approximate number of partitions to cut the files into. Default: one per 64 MB;"
        " for less than 512 MB, up to eight of at least 8 MB.",
    ),
    click.option(
        "--mix",
        type=click.Choice(["touched", "uniform"]),
        help="How the weights of the partitions are mixed after each epoch: each feature's changes"
        " divided by the number of partitions that changed it (touched), or by the number of all"
        " partitions (uniform). Default: touched.",
    ),
]
_SENTENCES = [
    options.words,
    click.option(
        "--beam",
        type=click.IntRange(1),
        help="Search with a beam of this width (default: tagger exact search; parser and"
        " annotator 1, greedy).",
    ),
    click.option(
        "--prune",
        type=options.Amount(0),
        help="Drop features whose weights are all at most this large.",
    ),
    click.option(
        "--order",
        type=click.IntRange(1, 2),
        help="Number of previous tags that a tag depends on (default: 1).",
    ),
    click.option(
        "--template",
        "templates",
        multiple=True,
        help="A feature template such as 'word[-1]|word[0]'; may be given several times.",
    ),
    click.option(
        "--dictionary",
        type=click.IntRange(1),
        help="Give words seen at least this often only tags they were seen with.",
    ),
    click.option(
        "--committee",
        type=click.IntRange(1),
        help="Train this many taggers, each on the sentences in another order, and save the average"
        " of their weights. Training takes that many times as long; tagging takes no longer."
        " Worthwhile for small corpora: on held-out data, the accuracy of 4 taggers was 1.3 points"
        " higher with 10,000 training tokens, 0.3 to 0.5 with 40,000, and the same with 200,000"
        " (default: 1; tokenizers 4).",
    ),
    click.option("--half", is_flag=True, help="Save the weights in half precision (16 bits)."),
    click.option(
        "--small",
        is_flag=True,
        help="Save a small model: 6-bit weights, and no features whose weights are below 2 % of"
        " the largest. The file is a third to a half as large; in the cases measured, accuracy"
        " dropped by at most 0.2 points.",
    ),
    click.option(
        "--calibrate",
        metavar="FILE",
        help="Tagged sentences that are not used in training; the temperature of the probabilities"
        " (tag --proba) is fitted to them and saved with the model.",
    ),
    click.option(
        "--system",
        type=click.Choice(["auto", "arc-hybrid", "pseudo-projective", "eisner", "cle"]),
        help="Parse by transitions (arc-hybrid; pseudo-projective if arcs may cross), or find the"
        " best projective tree (eisner) or the best of all trees (cle). Default: auto, which is"
        " pseudo-projective if at least 4 % of the training trees have crossing arcs, otherwise"
        " arc-hybrid.",
    ),
    click.option(
        "--tags",
        multiple=True,
        help="Parsers: where the tags of the words come from. own: the parser trains its own"
        " taggers, and parses plain words; gold: the input must have tags. Up to three columns may"
        " be named: own,upos,feats predicts UPOS and FEATS; upos,feats reads them from the input"
        " (default: own, with columns that suit the file). Lemmatizers and morphologizers: the"
        " columns of tags that the input has (default: upos and feats; morphologizer upos).",
    ),
]


def train_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options of `train`."""
    groups = (
        *(_SENTENCES, _CLUSTERS, _MEMORY, _BUDGET, _TWO_CLASSES),
        *(_SVM, _WEIGHTS, _SELECTION, _LEARNING, _EVERY),
    )
    for group in groups:
        for option in reversed(group):
            command = option(command)
    return options.kernels(options.reading(options.encoding(command)))


class TrainCommand(Command):
    """A command whose help shows its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group, then those of every command."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        records = {option.name: option.get_help_record(ctx) for option in options}
        for group in GROUPS:
            rows = []
            for name in group.names:
                written, told = records.pop(name) or ("", "")
                more = [told, *_MORE.get(name, ()), *_takers(name, group.learners)]
                rows.append((written, "  ".join(more)))
            with formatter.section(group.heading):
                formatter.write_dl(rows)
        with formatter.section("Help"):
            formatter.write_dl([record for record in records.values() if record is not None])


def _takers(option: str, usual: tuple[str, ...]) -> list[str]:
    """A note listing the learners that take an option, unless they are the group's."""
    takers = learners_with(option)
    if set(takers) == set(usual):
        return []
    lack = [name for name in LEARNERS if name not in takers]
    if len(lack) > 2:
        return [f"[{', '.join(takers)}]"]
    return [f"[all but {' and '.join(lack)}]" if lack else "[all learners]"]
