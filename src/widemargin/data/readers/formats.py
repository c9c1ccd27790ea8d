"""Recognise the format of a file by its name or its first lines."""

from __future__ import annotations

import re
from collections.abc import Collection

from widemargin.errors import DataError

#: Every format and its file extensions.
FORMATS = {
    "svmlight": ("svm", "svmlight", "libsvm", "scale"),
    "vw": ("vw",),
    "csv": ("csv",),
    "tsv": ("tsv",),
    "parquet": ("parquet", "pq"),
    "jsonl": ("jsonl", "ndjson"),
    "fasttext": ("ft", "fasttext"),
    "labelled-text": (),
    "text": (),
}
#: Formats of sentences, one token per line, for taggers and parsers, which also read plain text.
CORPORA = {
    "conll": ("conll", "conll2000", "conll2002", "conll2003", "iob", "iob2", "bio"),
    "conllu": ("conllu",),
}
#: Formats of tables, read by Arrow in columns.
TABLES = ("csv", "tsv", "parquet", "jsonl")
#: The formats of labelled examples that an encoder of each kind can read.
FORMATS_OF = {
    "numbers": ("svmlight",),
    "table": TABLES,
    "text": ("fasttext", "labelled-text"),  # a text must not be taken for a table
    "vw": ("vw",),
}
#: Formats of tables whose lines are cells separated by delimiters.
DELIMITED = ("csv", "tsv")
#: The options for reading and encoding tables, and vectors.
OPTIONS_OF_TABLES = (
    *("label", "weight", "text", "columns", "drop", "categories", "header", "delimiter", "quote"),
    *("decimal", "missing_values", "scale", "interactions"),
)
OPTIONS_OF_VECTORS = ("zero_based", "double")
#: How a line begins that separates documents in files of columns.
DOCUMENT = "-DOCSTART-"
#: How our own files begin, after the length of their header, and what they are.
_OWN = {
    b'{"__metadata__": {"model"': "a model, not examples",
    b'{"__metadata__": {"examples"': "a cache, which only train reads, if it is the only file;"
    " give the file that it was made from",
}
_COMPRESSIONS = ("gz", "bz2", "xz", "zst")
_LINES = 20
#: If the first line is longer than this, only its start was seen.
_LONG = 1 << 12

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SVMLIGHT = re.compile(rf"{_NUMBER}(?:\s+qid:\d+)?(?:\s+\d+:\S+)*\s*(?:#.*)?")
_TAG = re.compile(r"[BIOESLU](?:-\S+)?")
_VW = re.compile(rf"(?:{_NUMBER}\s+){{0,3}}(?:'?[^\s|]+)?\s*\|.*")


def options_of(format: str, of_texts: Collection[str], has_texts: bool) -> set[str]:
    """The options that have an effect for files of a format.

    Parameters
    ----------
    format : str
        The format of labelled examples.
    of_texts : collection of str
        The options for encoding texts.
    has_texts : bool
        Whether a table has columns of text.

    Examples
    --------
    >>> sorted(options_of("labelled-text", ["ngrams"], False))
    ['header', 'ngrams']
    """
    if format in TABLES:
        return {*OPTIONS_OF_TABLES, *(of_texts if has_texts else ())}
    if format == "svmlight":
        return {*OPTIONS_OF_VECTORS}
    if format == "vw":
        return {"bits", "double", "interactions"}
    return {*of_texts, "header"} if format == "labelled-text" else {*of_texts}


def format_of_nothing(name: str, among: tuple[str, ...]) -> str:
    """The format to read an empty file as: that of its name, or any other.

    Examples
    --------
    >>> format_of_nothing("new.csv", ("jsonl", "csv")), format_of_nothing("-", ("jsonl", "csv"))
    ('csv', 'jsonl')
    """
    named = _named(name)
    return named if named in among else among[0]


def format_of(
    name: str, head: bytes, among: tuple[str, ...] = tuple(FORMATS), delimited: bool = False
) -> str:
    """The format of a file with this name that begins with these bytes.

    A TSV file of labels and documents without column names is labelled text. A file that is not
    recognised as one of the formats `among` is plain text, one document per line, if that is one
    of them, not all formats are accepted, and the name has no known extension. A file that is known
    to be `delimited` is CSV, unless its name says otherwise.

    Examples
    --------
    >>> format_of("train.jsonl.xz", b"")
    'jsonl'
    >>> format_of("-", b"+1 3:0.5 7:1\\n-1 2:1\\n")
    'svmlight'
    """
    kind = next((kind for begins, kind in _OWN.items() if head[8:].startswith(begins)), "")
    if kind:
        raise DataError(f"{name}: is {kind}")
    named = _named(name)
    if named == "tsv" and "labelled-text" in among and _holds_documents(head):
        return "labelled-text"
    found = named or ("csv" if delimited and "csv" in among else _recognised(head))
    if found in among:
        return found
    if set(CORPORA) <= set(among):  # any other file with blank-separated columns
        return "text" if "text" in among and not _has_columns(head) else "conll"
    if "text" in among and len(among) < len(FORMATS) and not named:
        return "text"
    if not found:
        labelled = [format for format in among if format != "text"]
        if len(labelled) == 1 and head.strip():
            return labelled[0]  # the reader says what is wrong, and where
        raise DataError(
            f"{name}: cannot tell its format from its first lines;"
            f" give the format (--format), one of {', '.join(labelled)}"
        )
    if found in CORPORA:
        raise DataError(
            f"{name}: holds sentences ({found}):"
            " train on them with --learner tagger, parser, annotator or tokenizer"
        )
    if not head.strip():
        raise DataError(f"{name}: no examples found")
    *most, last = among
    wanted = f"{', '.join(most)} or {last}" if most else last
    raise DataError(f"{name}: is {found}, where {wanted} is needed")


def are_columns_certain(name: str, head: bytes) -> bool:
    """Whether a file of tokens certainly has columns, and is not text with equally long lines.

    Its name or its tags say so, or tabs, breaks between documents or blank lines between sentences.
    """
    told = {_named(name), _recognised_sentences(_lines(head))} & set(CORPORA)
    return bool(told) or b"\t" in head or head.startswith(DOCUMENT.encode()) or _has_columns(head)


def _named(name: str) -> str:
    """The format for the extension of a name, or an empty string."""
    endings = name.lower().split(".")[1:]
    while endings and endings[-1] in _COMPRESSIONS:
        endings.pop()
    for format, known in (FORMATS | CORPORA).items():
        if endings and endings[-1] in known:
            return format
    return ""


def _holds_documents(head: bytes) -> bool:
    """Whether each line, including the first, is a word, a tab and a document."""
    cells = [line.split("\t") for line in _lines(head)]
    return (
        bool(cells)
        and " " in cells[0][-1].strip()
        and all(len(some) == 2 and " " not in some[0].strip() for some in cells)
    )


def _lines(head: bytes) -> list[str]:
    """The first nonblank lines; the last may be incomplete."""
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = text.splitlines()
    if len(lines) > 1 and not text.endswith("\n"):
        lines.pop()  # it may be cut
    elif lines and len(head) >= _LONG and not text.endswith("\n"):
        lines[0] = lines[0].rpartition(" ")[0] or lines[0]  # its last word may be incomplete
    return [line for line in lines if line.strip()][:_LINES]


def _recognised(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    lines = _lines(head)
    content = [line for line in lines if not line.lstrip().startswith("#")]
    if not lines:
        return "svmlight"  # an empty file has no examples in any format
    if sentences := _recognised_sentences(lines):
        return sentences
    if all(line.lstrip().startswith("{") for line in lines):
        return "jsonl"
    if all(line.startswith("__label__") for line in lines):
        return "fasttext"
    vectors = all(_SVMLIGHT.fullmatch(line.strip()) for line in content)
    if content and vectors and any(":" in line for line in lines):
        return "svmlight"
    if all(_VW.fullmatch(line) for line in lines):
        return "vw"
    tabs = {line.count("\t") for line in lines}
    if tabs == {1} and any(" " in line.split("\t")[1] for line in lines):
        return "labelled-text"
    if 0 not in tabs and len(tabs) == 1:
        return "tsv"
    if all("," in line for line in lines) or _are_semicolons_steady(lines):
        return "csv"
    return ""


def _are_semicolons_steady(lines: list[str]) -> bool:
    """Whether there are several lines, each with the same number of semicolons."""
    return len(lines) > 1 and {line.count(";") for line in lines} == {max(1, lines[0].count(";"))}


def _recognised_sentences(lines: list[str]) -> str:
    """CoNLL-U by its ten columns; other columns if the last one holds tags such as B-NP."""
    tokens = [line.split("\t") for line in lines if not line.startswith("#")]
    if tokens and all(len(cells) == 10 and cells[0][:1].isdecimal() for cells in tokens):
        return "conllu"
    rows = [line.split() for line in lines]
    tags = [cells[-1] for cells in rows]
    # Letters alone could be labels of anything.
    spans = all(map(_TAG.fullmatch, tags)) and any("-" in tag for tag in tags)
    return "conll" if spans and len({len(cells) for cells in rows}) == 1 < len(rows[0]) else ""


def _has_columns(head: bytes) -> bool:
    """Whether blank lines separate blocks of lines that all have the same two or more cells."""
    text = head.decode("utf-8", "replace").replace("\r", "")
    blocks = [block for block in text.split("\n\n") if block.strip()]
    lines = [line for line in text.split("\n") if line.strip()]
    widths = {len(line.split()) for line in lines[:-1]}  # the last may be incomplete
    several = "\n\n" in text and len(lines) >= 2 * len(blocks)
    return several and len(widths) == 1 and min(widths) > 1
