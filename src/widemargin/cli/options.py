"""Options that several commands share, and what they mean to the readers and encoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

#: As in `widemargin.readers.formats`, which is not imported before a command runs.
FORMATS = (
    "svmlight",
    "vw",
    "csv",
    "tsv",
    "parquet",
    "jsonl",
    "fasttext",
    "labelled-text",
)

_READING = [
    click.option("--format", type=click.Choice(FORMATS), help="What the files are (they tell)."),
    click.option("--label", help="Table: the column of the labels, by name or number."),
    click.option("--header/--no-header", default=None, help="Table: whether line 1 has names."),
    click.option("--skip-bad", type=int, default=0, help="Skip up to so many bad lines (0)."),
    click.option("--threads", type=int, help="Threads that read and encode (every core)."),
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
    click.option("--bits", type=int, help="Hash into 2^BITS features (20)."),
    click.option(
        "--weighting",
        type=click.Choice(["count", "binary", "sublinear"]),
        help="Text: what a word counts that comes often.",
    ),
    click.option("--idf", is_flag=True, default=None, help="Text: rare words count more."),
]


def reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how to read files."""
    return _add(command, _READING)


def encoding(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how what is read becomes rows; a model remembers them."""
    return _add(command, _ENCODING)


def _add(command: Callable[..., Any], options: list[Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


READING = ("format", "label", "header", "skip_bad", "threads")
ENCODING = (
    "text",
    "columns",
    "drop",
    "scale",
    "zero_based",
    "double",
    "ngrams",
    "analyzer",
    "bits",
    "weighting",
    "idf",
)


def read_options(given: Mapping[str, Any], **table: Any) -> Any:
    """How to read files, from what was given on the command line."""
    import numpy as np

    from widemargin.readers.columns import TableOptions
    from widemargin.readers.files import ReadOptions
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


def encode_options(given: Mapping[str, Any]) -> Any:
    """How to encode what is read, from what was given on the command line."""
    from widemargin.teach import EncodeOptions

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
