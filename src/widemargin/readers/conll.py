"""Sentences from files: CoNLL-2000/2002/2003 columns, CoNLL-U, and plain text; and back again."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np

from widemargin.errors import DataError
from widemargin.readers.corpus import Corpus, Layout, joined
from widemargin.readers.formats import CORPORA, format_of
from widemargin.readers.sources import find_files, name_of, open_bytes

#: The columns of CoNLL-U behind the number of the token.
CONLLU = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
#: What columns without names are called: CoNLL-2002, 2000, 2003.
_NAMES = {
    1: ("word",),
    2: ("word", "ner"),
    3: ("word", "pos", "chunk"),
    4: ("word", "pos", "chunk", "ner"),
}
_DOCUMENT = "-DOCSTART-"
_BOM = "\ufeff"
_BLANKS = re.compile("[ \t]+")
_SPECIAL = re.compile(r"[1-9][0-9]*-[1-9][0-9]*|(?:0|[1-9][0-9]*)\.[1-9][0-9]*")
#: A file in which none of these stands has no blanks but between columns.
_ODD = ("\r", "\n ", "\n\t", " \n", "\t\n")


def read_conll(
    source: Any,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
) -> Corpus:
    """Read sentences from files, compressed or not.

    Parameters
    ----------
    source : str, path, or list of them; or an open file
        Names, patterns, "-" for standard input.
    columns : list of str
        Names for the columns of a "conll" file. Without them, one is called word; two word ner
        (CoNLL-2002); three word pos chunk (2000); four word pos chunk ner (2003); more word, 2,
        3 and so on.
    format : {"conll", "conllu", "text"} or None
        "conll": a token a line, its columns between blanks or tabs, blank lines between sentences;
        lines that begin with -DOCSTART- are no tokens. "conllu": CoNLL-U. "text": a sentence a
        line, words between blanks. None: as the name or the first lines say.
    encoding : str
        How characters are written.

    Raises
    ------
    DataError
        If a line has too few or too many columns, is not in this encoding, or its number is not
        the next: with file and line.
    """
    if hasattr(source, "read"):
        name = str(getattr(source, "name", "sentences"))
        return _parse(source.read(), name, columns, format, encoding)
    parts = []
    for path in find_files(source):
        with open_bytes(path) as file:
            parts.append(_parse(file.read(), name_of(path), columns, format, encoding))
    if len({part.format for part in parts}) > 1:
        kinds = ", ".join(f"{part.source} is {part.format}" for part in parts)
        raise DataError(f"files of different formats cannot be read together: {kinds}")
    return joined(parts)


def _parse(
    content: bytes | str,
    source: str,
    columns: Sequence[str] | None,
    format: str | None,
    encoding: str,
) -> Corpus:
    text = content if isinstance(content, str) else _decode(content, source, encoding)
    if format is None:
        format = format_of(source, text[: 1 << 14].encode("utf-8", "replace"), tuple(CORPORA))
    if format == "conllu":
        if columns is not None:
            raise DataError(f"{source}: the columns of CoNLL-U have names already")
        return _parse_conllu(text, source)
    if format == "conll":
        return _parse_columns(text, source, columns)
    if format == "text":
        return _parse_text(text, source)
    raise DataError(f"format={format!r} is unknown; choose one of {', '.join(CORPORA)}, text")


def _decode(content: bytes, source: str, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except LookupError:
        raise DataError(f"encoding {encoding!r} is unknown") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{source}:{line}: the byte 0x{content[error.start]:02x} is not {encoding}:"
            " give the encoding (latin-1, perhaps), or convert the file"
        ) from None


class _Lines:
    """A text, cut into lines; those that hold something, and where sentences end.

    `shown` are the lines as they will be written again, `plain` as they are parsed.
    """

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.shown = text.split("\n")
        self.open_end = self.shown[-1] != ""
        if not self.open_end:
            self.shown.pop()
        self.plain = self.shown
        if text.startswith((_BOM, " ", "\t")) or any(mark in text for mark in _ODD):
            self.plain = [line.strip(" \r") for line in self.shown]
            self.plain = ["" if line.isspace() and "\t" in line else line for line in self.plain]
            self.plain[0] = self.plain[0].removeprefix(_BOM)

    def corpus(self, rows: np.ndarray, columns: Mapping[str, list[str]], format: str) -> Corpus:
        """Sentences, given the numbers of the lines that are tokens, and what these hold."""
        blank = np.array([not line for line in self.plain], np.bool_)
        sentence = np.cumsum(blank)[rows] if len(rows) else rows
        starts = np.flatnonzero(np.diff(sentence, prepend=-1)) if len(rows) else rows
        # The lines of a sentence begin behind the blank lines after the one before.
        ends = np.flatnonzero(blank)
        lasts = rows[starts[1:] - 1]
        after = ends[np.searchsorted(ends, lasts)] + 1 if len(lasts) else lasts
        blocks = np.concatenate([np.zeros(min(1, len(starts)), np.int64), after, [len(blank)]])
        return Corpus(
            dict(columns),
            np.append(starts, len(rows)).astype(np.int64),
            rows + 1,
            ((0, self.source),),
            format,
            Layout(self.shown, rows, blocks.astype(np.int64), self.open_end),
        )

    def fail(self, row: int, message: str) -> None:
        """Complain of a line."""
        raise DataError(f"{self.source}:{row + 1}: {message}")


def _parse_columns(text: str, source: str, names: Sequence[str] | None) -> Corpus:
    """The columns of CoNLL-2000, 2002 and 2003."""
    lines = _Lines(text, source)
    rows = np.array(
        [i for i, line in enumerate(lines.plain) if line and not line.startswith(_DOCUMENT)],
        np.int64,
    )
    tokens = [lines.plain[i] for i in rows.tolist()]
    between = "\t" if tokens and "\t" in tokens[0] else " "
    width = tokens[0].count(between) + 1 if tokens else len(names or ("word",))
    cells = _split(tokens, between, width)
    if cells is None and between == " ":
        # Several blanks between columns, or tabs here and there.
        tokens = [_BLANKS.sub(" ", line) for line in tokens]
        width = tokens[0].count(" ") + 1
        cells = _split(tokens, " ", width)
    if cells is None:
        _explain_ragged(lines, rows, tokens, between, width)
    assert cells is not None
    if names is None:
        names = _NAMES.get(width) or ("word", *map(str, range(2, width + 1)))
    elif len(names) != width or len(set(names)) != width:
        found = f"{width} column{'s' * (width != 1)}"
        raise DataError(f"{source}: has {found}; the names given are {', '.join(names)}")
    return lines.corpus(rows, dict(zip(names, cells, strict=True)), "conll")


def _parse_conllu(text: str, source: str) -> Corpus:
    """CoNLL-U. Ranges and empty nodes are no tokens, but are written again."""
    lines = _Lines(text, source)
    rows = np.array([i for i, line in enumerate(lines.plain) if line and line[0] != "#"], np.int64)
    tokens = [lines.plain[i] for i in rows.tolist()]
    width = len(CONLLU) + 1
    cells = _split(tokens, "\t", width)
    if cells is None:
        _explain_ragged(lines, rows, tokens, "\t", width)
    assert cells is not None
    numbers, *cells = cells
    words = [number.isdecimal() for number in numbers]
    if not all(words):
        for row, number, word in zip(rows.tolist(), numbers, words, strict=True):
            if not word and not _SPECIAL.fullmatch(number):
                lines.fail(row, f"{number!r} is no number of a token, a range or an empty node")
        rows = rows[np.array(words)]
        numbers, *cells = (list(compress(column, words)) for column in (numbers, *cells))
    corpus = lines.corpus(rows, dict(zip(CONLLU, cells, strict=True)), "conllu")
    place = np.arange(corpus.tokens) - np.repeat(corpus.starts[:-1], corpus.lengths) + 1
    expected = list(map(str, place.tolist()))
    if numbers != expected:
        at = next(i for i, number in enumerate(numbers) if number != expected[i])
        lines.fail(int(rows[at]), f"the token's number is {numbers[at]}, not {expected[at]}")
    return corpus


def _split(tokens: list[str], between: str, width: int) -> list[list[str]] | None:
    """The columns of lines, all at once; None if some line has not `width` cells, all filled.

    A line end between any two lines, as a cell of its own, must be found after every `width`.
    """
    if not tokens:
        return [[] for _ in range(width)]
    cells = f"{between}\n{between}".join(tokens).split(between)
    ends = cells[width :: width + 1]
    if len(cells) != len(tokens) * (width + 1) - 1 or ends.count("\n") != len(tokens) - 1:
        return None
    columns = [cells[j :: width + 1] for j in range(width)]
    return None if any("" in column for column in columns) else columns


def _explain_ragged(
    lines: _Lines, rows: np.ndarray, tokens: list[str], between: str, width: int
) -> None:
    """Find the line that is to blame."""
    kind = "tabs" if between == "\t" else "blanks"
    for row, line in zip(rows.tolist(), tokens, strict=True):
        cells = line.split(between)
        if len(cells) != width:
            expected = "CoNLL-U has" if width == len(CONLLU) + 1 else "the first line has"
            lines.fail(
                row,
                f"{len(cells)} column{'s' * (len(cells) != 1)} between {kind}, where"
                f" {expected} {width}",
            )
        if "" in cells:
            lines.fail(row, f"column {cells.index('') + 1} is empty; write _ there")


def _parse_text(text: str, source: str) -> Corpus:
    """A sentence a line; an empty line is a sentence without words."""
    lines = text.removeprefix(_BOM).split("\n")
    if not lines[-1]:
        lines.pop()
    sentences = [line.split() for line in lines]
    made = Corpus.of(sentences)
    numbers = np.repeat(np.arange(len(lines)) + 1, made.lengths)
    return Corpus(made.columns, made.starts, numbers, ((0, source),), "text")
