"""Options that several commands share, and what they mean to the readers and encoders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import click

#: As in `widemargin.data.readers.formats`, which is not imported before a command runs.
FORMATS = (
    "svmlight",
    "vw",
    "csv",
    "tsv",
    "parquet",
    "jsonl",
    "fasttext",
    "labelled-text",
    "conll",
    "conllu",
)


class _Number(click.ParamType):
    """A whole number if it is one, else a fraction."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        """From what was typed."""
        try:
            found = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        return int(found) if found.is_integer() else found


NUMBER = _Number()
#: Options that say which kernel.
KERNEL = ("kernel", "degree", "gamma", "coef0", "sigma")
_KERNELS = [
    click.option(
        "--kernel",
        type=click.Choice(["rbf", "poly", "linear", "laplace", "laplacian"]),
        help="The product in feature space (kernel learners: rbf).",
    ),
    click.option("--degree", type=int, help="poly: its power (3)."),
    click.option("--gamma", help="kernel: its factor, a number, scale or auto (poly 1, scale)."),
    click.option("--sigma", type=float, help="kernel: instead of gamma, 1/(2 sigma^2)."),
    click.option("--coef0", type=float, help="poly: what is added before the power (1)."),
]
_BUDGETS = [
    click.option("--budget", type=int, help="kernel-perceptron: examples to store at the most."),
    click.option(
        "--forget",
        type=click.Choice(["projectron", "forgetron", "random"]),
        help="What then happens to others (projectron).",
    ),
]
_READING = [
    click.option("--format", type=click.Choice(FORMATS), help="What the files are (they tell)."),
    click.option("--label", help="Table: the column of the labels, by name or number."),
    click.option("--header/--no-header", default=None, help="Table: whether line 1 has names."),
    click.option(
        "--skip-bad", type=click.IntRange(0), default=0, help="Skip so many bad lines (0)."
    ),
    click.option("--threads", type=click.IntRange(1), help="Threads that read (every core)."),
]
_ENCODING = [
    click.option("--text", multiple=True, help="Table: a column of texts; only texts are used."),
    click.option("--column", "columns", multiple=True, help="Table: a column to use."),
    click.option("--drop", multiple=True, help="Table: a column to leave out."),
    click.option(
        "--scale",
        type=click.Choice(["standard", "maxabs", "none"]),
        help="Table: how numbers are scaled (standard).",
    ),
    click.option("--zero-based/--one-based", default=None, help="Vectors: the first index."),
    click.option("--double", is_flag=True, help="Vectors: learn in double precision."),
    click.option("--ngrams", help="Text: the longest n-gram, or SHORTEST-LONGEST (1)."),
    click.option(
        "--analyzer",
        type=click.Choice(["word", "char", "char_wb"]),
        help="Text: what n-grams are made of (word).",
    ),
    click.option("--bits", type=click.IntRange(4, 30), help="Hash into 2^BITS features (20)."),
    click.option(
        "--weighting",
        type=click.Choice(["count", "binary", "sublinear"]),
        help="Text: what a word counts that comes often.",
    ),
    click.option("--idf", is_flag=True, default=None, help="Text: rare words count more."),
]
_ENCODED = click.option("--encoding", help="Sentences: how characters are written (utf-8).")
_SENTENCES = [
    click.option("--order", type=click.IntRange(1, 2), help="Tagger: tags before that decide (1)."),
    click.option(
        "--committee", type=click.IntRange(1), help="Tagger: learn so often, keep the mean (1)."
    ),
    click.option(
        "--system",
        type=click.Choice(["arc-hybrid", "eisner", "cle"]),
        help="Parser: by transitions (arc-hybrid), or the best projective or any tree.",
    ),
    click.option("--beam", type=click.IntRange(1), help="Search with a beam of this width."),
    click.option("--tags", help="Parser: tags that are its own (own), gold, or a column's."),
    click.option(
        "--template", "templates", multiple=True, help="Tagger: a feature, as 'word[-1]|word[0]'."
    ),
    click.option(
        "--dictionary", type=click.IntRange(1), help="Tagger: words seen so often keep their tags."
    ),
    click.option("--prune", type=click.FloatRange(0), help="Leave out weights up to this size."),
    click.option("--half", is_flag=True, help="Tagger: save weights of 16 bits."),
    _ENCODED,
]
_ASKING = [
    click.option(
        "--format",
        type=click.Choice(["conll", "conllu", "text"]),
        help="What the files are (they tell).",
    ),
    _ENCODED,
    click.option("--threads", type=click.IntRange(1), help="Threads (every core)."),
]


_FILES = {
    *("path", "seed", "max_seconds", "valid", "format", "label", "header", "skip_bad", "threads"),
    *("text", "columns", "drop", "scale", "zero_based", "double", "ngrams", "analyzer", "bits"),
    *("weighting", "idf", "memory", "stream", "cache", "checkpoint", "checkpoint_every", "resume"),
    *("as_json", "quiet"),
}
_ONLINE = {"rule", "keep", "epochs", "batch", "shuffle", "multiclass", "patience"}
_BUDGET = {"budget", "forget"}
_SENTENCE_FILES = {
    *("path", "seed", "max_seconds", "valid", "format", "encoding", "as_json", "quiet"),
    *("epochs", "C", "bits", "beam", "prune"),
}
#: The options of `widemargin train` that each learner takes; others are refused.
TAKEN = {
    "perceptron": _FILES | _ONLINE | {"eta", "power", "C"},
    "pa": _FILES | _ONLINE | {"C"},
    "logistic": (_FILES | _ONLINE | {"eta", "power", "l2"}) - {"rule"},
    "svm": _FILES | {"C", "loss", "tol", "bias", "multiclass", "epochs"},
    "kernel-perceptron": (_FILES | _ONLINE | {*KERNEL, *_BUDGET, "eta", "C"}) - {"batch"},
    "kernel-svm": _FILES | {*KERNEL, "C", "tol", "multiclass"},
    "tagger": _SENTENCE_FILES
    | {"rule", "keep", "patience", "order", "shuffle", "templates", "dictionary", "committee"}
    | {"columns", "half", "threads"},
    "parser": _SENTENCE_FILES | {"system", "tags"},
}


def kernels(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which kernel."""
    return _add(command, _KERNELS)


def budgets(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how much to store of what was learned from."""
    return _add(command, _BUDGETS)


def reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how to read files."""
    return _add(command, _READING)


def encoding(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how what is read becomes rows; a model remembers them."""
    return _add(command, _ENCODING)


def sentences(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of learners of sentences."""
    return _add(command, _SENTENCES)


def asking(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how to read sentences that are asked about."""
    return _add(command, _ASKING)


def refuse_others(learner: str, taken: Collection[str]) -> None:
    """Refuse options on the command line that are none of those that the learner takes."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    for option in context.command.params:
        name = option.name or ""
        if not isinstance(option, click.Option) or name in taken or name == "learner":
            continue
        if context.get_parameter_source(name) == typed:
            shown = max(option.opts, key=len)
            raise click.UsageError(f"{shown} is no option of the learner {learner}")


def _add(command: Callable[..., Any], options: list[Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


_OF_TABLES = {"label", "header", "text", "columns", "drop", "scale"}
_OF_VECTORS = {"zero_based", "double"}
_OF_TEXTS = {"ngrams", "analyzer", "bits", "weighting", "idf"}
#: What can be said of files that are no tables; of tables everything that is not of vectors.
_MEANING = {
    "svmlight": _OF_VECTORS,
    "vw": {"bits", "double"},
    "fasttext": _OF_TEXTS,
    "labelled-text": _OF_TEXTS,
    "text": _OF_TEXTS,
}


def check_meaning(given: Mapping[str, Any], format: str) -> None:
    """Refuse options that mean nothing for files of this format."""
    meaning = _MEANING.get(format, _OF_TABLES | (_OF_TEXTS if given.get("text") else set()))
    for name in sorted((_OF_TABLES | _OF_VECTORS | _OF_TEXTS) - meaning):
        if given.get(name) in (None, (), False):
            continue
        option = {"columns": "column", "zero_based": "zero-based"}.get(name, name)
        told = " without --text" if name in _OF_TEXTS and format not in _MEANING else ""
        raise click.UsageError(f"--{option} means nothing for {format} files{told}")


def read_options(given: Mapping[str, Any], **table: Any) -> Any:
    """How to read files, from what was given on the command line."""
    import numpy as np

    from widemargin.data.readers.columns import TableOptions
    from widemargin.data.readers.files import ReadOptions
    from widemargin.threads import thread_count

    options = {
        "label": _column(given.get("label")),
        "header": given.get("header"),
        "text": tuple(map(_column, given.get("text") or ())),
        "columns": tuple(map(_column, given.get("columns") or ())),
        "drop": tuple(map(_column, given.get("drop") or ())),
    }
    return ReadOptions(
        format=given.get("format"),
        table=TableOptions(**{**options, **table}),
        skip_bad=given.get("skip_bad") or 0,
        dtype=np.float64 if given.get("double") else np.float32,
        threads=thread_count(given.get("threads") or -1),
    )


def kernel_params(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of the kernel, as `make_kernel` takes it."""
    params = {name: given[name] for name in KERNEL if given.get(name) is not None}
    if params.get("gamma", "scale") not in ("scale", "auto"):
        try:
            params["gamma"] = float(params["gamma"])
        except ValueError:
            raise click.UsageError(
                f"--gamma {params['gamma']}: expected a number, scale or auto"
            ) from None
    return params


def encode_options(given: Mapping[str, Any]) -> Any:
    """How to encode what is read, from what was given on the command line."""
    from widemargin.data.datasets import EncodeOptions

    text = {name: given[name] for name in ("analyzer", "bits", "weighting", "idf") if given[name]}
    if given["ngrams"]:
        text["ngrams"] = _ngrams(given["ngrams"])
    first = None if given["zero_based"] is None else 0 if given["zero_based"] else 1
    return EncodeOptions(first=first, scale=given["scale"] or "standard", text=text)


def _ngrams(given: str) -> int | tuple[int, int]:
    low, _, high = given.partition("-")
    if not low.isdigit() or (high and not high.isdigit()):
        raise click.UsageError(f"--ngrams {given}: expected a number, or two such as 3-5")
    return (int(low), int(high)) if high else int(low)


def _column(given: str | None) -> Any:
    """A column by its number if it is one, else by its name."""
    if given is None:
        return None
    return int(given) if given.lstrip("-").isdigit() else given
