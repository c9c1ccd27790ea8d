"""Options shared by several commands, and their translation for the readers and encoders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from widemargin.parameters.effects import Use

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
    "text",
    "conll",
    "conllu",
)


class _Number(click.ParamType):
    """A number: an int if it is whole, else a float."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        """Convert what was typed on the command line."""
        try:
            found = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        return int(found) if found.is_integer() else found


NUMBER = _Number()


class Amount(click.FloatRange):
    """A number in a range. NaN, which click finds in every range, is in none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert what was typed on the command line."""
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


def count(name: str, help: str, *, default: int, least: int = 0) -> Callable[..., Any]:
    """Make an option that takes a whole number."""
    return click.option(
        name, type=click.IntRange(least), default=default, show_default=True, help=help
    )


quiet = click.option(
    "--quiet", is_flag=True, help="Print nothing but errors and what --json asks for."
)
force = click.option(
    "--force", is_flag=True, help="Overwrite the file even if it was not written by widemargin."
)

#: Options whose parameter has another name.
_PARAMETER = {"power": "eta", "dictionary": "tag_dictionary"}
#: Options that choose the kernel.
KERNEL = ("kernel", "degree", "gamma", "coef0", "sigma")
_KERNELS = [
    click.option(
        "--kernel",
        type=click.Choice(["rbf", "poly", "linear", "laplace", "laplacian"]),
        help="Kernel function.",
    ),
    click.option("--degree", type=int, help="Degree of the poly kernel (default: 3)."),
    click.option(
        "--gamma",
        help="Factor of the distance, or in poly of the dot product: a number; scale,"
        " which is 1 / (features * variance of their values); or auto, which is 1 / features"
        " (default: scale; 1 for poly with kernel-perceptron).",
    ),
    click.option("--sigma", type=float, help="Width of the kernel; gamma is then 1/(2 sigma^2)."),
    click.option(
        "--coef0", type=float, help="Constant term of the poly kernel (default: 1; kernel-svm 0)."
    ),
]
encoded = click.option(
    "--encoding", help="Character encoding of the text in the files (default: utf-8)."
)
threads = click.option(
    "--threads", type=click.IntRange(1), help="Number of threads (default: one per core)."
)
skipping = click.option(
    "--skip-bad",
    type=click.IntRange(0),
    default=0,
    help="Skip up to this many bad lines, or bad sentences, instead of stopping at the first"
    " (default: 0).",
)
_READING = [
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="Format of the files (default: recognised by their names or first lines).",
    ),
    encoded,
    click.option(
        "--label",
        help="Tables: the column of the labels, by name, or by number counted from 1, where -1 is"
        " the last (default: label, class, target or y, else the last).",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Tables and labelled text: whether the first line names the columns.",
    ),
    click.option(
        "--delimiter",
        help="CSV and TSV: what separates the cells, such as ';', tab or ' ' for one blank"
        " (default: guessed from the first lines).",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        help="CSV and TSV: the decimal sign of numbers (default: a point).",
    ),
    skipping,
    threads,
]
_ENCODING = [
    click.option(
        "--text",
        multiple=True,
        help="Tables: a column of texts, by name or number; other columns are then used only if"
        " --column names them. May be given several times, like --column, --drop and --category.",
    ),
    click.option("--column", "columns", multiple=True, help="Tables: a column to use."),
    click.option("--drop", multiple=True, help="Tables: a column to leave out."),
    click.option(
        "--category",
        "categories",
        multiple=True,
        help="Tables: a column of categories, even if they look like numbers.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["standard", "maxabs", "none"]),
        help="Tables: how to scale numbers (default: standard). Vectors, with the learner svm:"
        " maxabs divides every column by its largest value (default: none).",
    ),
    click.option(
        "--interactions",
        help="Tables and VW files: pairs of columns (tables) or namespaces (VW) whose products are"
        " added as features, such as age*hours,kind*sex. A colon stands for every column or"
        " namespace: age*: pairs age with each, :*: all with all, as -q does in VW.",
    ),
    click.option(
        "--zero-based/--one-based",
        default=None,
        help="Vectors: whether the first index is 0 or 1 (default: 0 if it occurs, else 1).",
    ),
    click.option("--double", is_flag=True, help="Vectors: learn in double precision."),
    click.option(
        "--ngrams",
        help="Texts: the length of the longest n-gram, or a range such as 3-5 (default: 2; 1 in"
        " tables with other columns).",
    ),
    click.option(
        "--analyzer",
        type=click.Choice(["word", "char", "char_wb"]),
        help="Texts: what n-grams are made of (default: word).",
    ),
    click.option(
        "--bits",
        type=click.IntRange(4, 30),
        help="Hash features into 2^BITS columns (default: 22; for VW files 20).",
    ),
    click.option(
        "--weighting",
        type=click.Choice(["count", "binary", "sublinear"]),
        help="Texts: how to weight a word that occurs several times (default: sublinear).",
    ),
    click.option(
        "--idf/--no-idf",
        default=None,
        help="Texts: multiply the weight of each n-gram by its inverse document frequency, so that"
        " rare ones count more; n-grams that did not occur in training are then ignored (default:"
        " --idf if --learner is not given and all examples fit in memory, otherwise --no-idf).",
    ),
]
words = click.option(
    "--words",
    type=click.IntRange(1),
    metavar="N",
    help="CoNLL columns: the number of the column that holds the words (default: 1).",
)
_ANNOTATING = [
    click.argument("model"),
    click.argument("files", nargs=-1),
    words,
    click.option(
        "--format",
        type=click.Choice(["conll", "conllu", "text"]),
        help="Format of the files (default: recognised by their names or first lines).",
    ),
    encoded,
    skipping,
    threads,
    click.option(
        "--tokenizer",
        metavar="TOKENIZER",
        help="Read raw text, and cut it into sentences and words with this model.",
    ),
]


def kernels(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose the kernel."""
    return _add(command, _KERNELS)


def reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading files."""
    return _add(command, _READING)


def encoding(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for encoding examples as rows, which are stored in the model."""
    return _add(command, _ENCODING)


def annotating(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments MODEL and FILES (of sentences to annotate), and options for reading."""
    return _add(command, _ANNOTATING)


def _add(command: Callable[..., Any], options: list[Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def typed_options() -> dict[str, str]:
    """The options given on the command line, by parameter name, as they were written."""
    context = click.get_current_context(silent=True)
    if context is None:
        return {}
    typed = {}
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
        if isinstance(option, click.Option) and given:
            off = option.secondary_opts and not context.params.get(name)
            typed[name] = max(option.secondary_opts if off else option.opts, key=len)
    return typed


def refuse_unused(uses: Mapping[str, Use], typed: Mapping[str, str]) -> None:
    """Refuse options on the command line that have no effect, given the others.

    Parameters
    ----------
    uses : dict
        The uses of parameters that do not always have an effect.
    typed : dict
        The options given on the command line, as they were written.
    """
    for option, written in typed.items():
        use = uses.get(_PARAMETER.get(option, option))
        if use is not None and not use.here:
            raise click.UsageError(f"{written} has no effect {use.now}, only {use.needs}")


#: How files are read, but not how their examples are encoded.
_OF_READING = {"format", "encoding", "skip_bad", "label", "header", "delimiter", "decimal"}
_OF_TEXTS = {"ngrams", "analyzer", "bits", "weighting", "idf"}


def check_meaning(given: Mapping[str, Any], format: str, *also: str) -> None:
    """Refuse options that have no effect for files of this format, except those in `also`."""
    from widemargin.data.readers.formats import TABLES, options_of

    used = options_of(format, _OF_TEXTS, bool(given.get("text"))) | set(also)
    for name, written in typed_options().items():
        if name not in _of_formats() - used:
            continue
        without = " without --text" if name in _OF_TEXTS and format in TABLES else ""
        raise click.UsageError(f"{written} has no effect for {format} files{without}")


def _of_formats() -> set[str]:
    """The options that have an effect for files of some formats only."""
    from widemargin.data.readers.formats import OPTIONS_OF_TABLES, OPTIONS_OF_VECTORS

    return {*OPTIONS_OF_TABLES, *OPTIONS_OF_VECTORS, *_OF_TEXTS}


def check_cache(held_out: bool, *also: str) -> None:
    """Refuse options that have no effect on a cache, except those in `also`.

    `held_out` is whether another file is read, too, to measure the model.
    """
    unused = (_of_formats() | {"cache", "stream"}) - {*also}
    unused = unused - _OF_READING if held_out else unused | _OF_READING
    for name, written in typed_options().items():
        if name in unused:
            raise click.UsageError(f"{written} has no effect on a cache, which is already encoded")


def refuse_without_files() -> None:
    """Refuse options for reading files, given no files."""
    for name, written in typed_options().items():
        if name in _OF_READING | {"text", "threads", "column"}:
            raise click.UsageError(f"{written} has no effect without FILES to read")


def encoding_of(given: Mapping[str, Any]) -> str:
    """The character encoding of the files."""
    return "utf-8" if given.get("encoding") is None else str(given["encoding"])


def read_options(given: Mapping[str, Any], **table: Any) -> Any:
    """The options for reading files that were given on the command line."""
    import numpy as np

    from widemargin.data.readers.columns import TableOptions
    from widemargin.data.readers.files import ReadOptions
    from widemargin.threads import thread_count

    options = {
        "label": given.get("label"),
        "weight": given.get("weight"),
        "header": given.get("header"),
        "delimiter": _delimiter(given.get("delimiter")),
        "decimal": given.get("decimal") or ".",
        "first": 1,
    }
    listed = ("text", "columns", "drop", "categories")
    options |= {name: tuple(given.get(name) or ()) for name in listed}
    return ReadOptions(
        format=given.get("format"),
        encoding=encoding_of(given),
        table=TableOptions(**{**options, **table}),
        skip_bad=given.get("skip_bad") or 0,
        dtype=np.float64 if given.get("double") else np.float32,
        threads=thread_count(given.get("threads") or -1),
    )


def kernel_params(given: Mapping[str, Any]) -> dict[str, Any]:
    """The kernel's parameters that were given, as `make_kernel` takes them."""
    params = {name: given[name] for name in KERNEL if given.get(name) is not None}
    if "gamma" in params:
        params["gamma"] = read_gamma(params["gamma"])
    return params


def read_gamma(given: str) -> float | str:
    """A number, or how to choose one."""
    if given in ("scale", "auto"):
        return given
    try:
        return float(given)
    except ValueError:
        raise click.UsageError(f"--gamma {given}: expected a number, scale or auto") from None


def only_texts(given: Mapping[str, Any], format: str) -> bool:
    """Whether files of this format are read as labelled texts and nothing else."""
    from widemargin.data.readers.formats import TABLES, options_of

    if format not in TABLES:
        return options_of(format, _OF_TEXTS, has_texts=False) >= _OF_TEXTS
    return bool(given.get("text")) and not given.get("columns")


def encode_options(given: Mapping[str, Any], format: str = "", idf: bool | str = False) -> Any:
    """The options for encoding examples that were given on the command line.

    Parameters
    ----------
    given : dict
        The options by name.
    format : str
        The format of the files, if known; files of texts only have their own defaults.
    idf : bool or "seen"
        The default of `--idf` for files of texts only.
    """
    from widemargin.data.datasets import EncodeOptions
    from widemargin.data.encode.interactions import pairs_of
    from widemargin.models.text_defaults import NGRAMS

    names = ("analyzer", "bits", "weighting", "idf")
    text = {name: given[name] for name in names if given.get(name)}
    if given.get("ngrams"):
        text["ngrams"] = _ngrams(given["ngrams"])
    if format and only_texts(given, format):
        text.setdefault("ngrams", NGRAMS)
        if given.get("idf") is None and idf:
            text["idf"] = idf
    zero_based = given.get("zero_based")
    first = None if zero_based is None else 0 if zero_based else 1
    keep = bool(given.get("folds") or given.get("tune"))
    scale = given.get("scale") or "standard"
    pairs = () if given.get("interactions") is None else pairs_of(given["interactions"])
    return EncodeOptions(first=first, scale=scale, text=text, interactions=pairs, keep=keep)


def _ngrams(given: str) -> int | tuple[int, int]:
    low, _, high = given.partition("-")
    if not low.isdecimal() or (high and not high.isdecimal()):
        raise click.UsageError(f"--ngrams {given}: expected a number, or two such as 3-5")
    return (int(low), int(high)) if high else int(low)


def _delimiter(given: str | None) -> str | None:
    """The delimiter; a tab may be written as "tab"."""
    return "\t" if given in ("tab", "\\t") else given
