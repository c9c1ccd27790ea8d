"""Read sentences from files: CoNLL-2000/2002/2003 columns, CoNLL-U, and plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any, NoReturn

import numpy as np

from widemargin.data.readers.cells import Cells, Columns, LazyLines, split_lines
from widemargin.data.readers.corpus import WORDS, Corpus, Layout, joined
from widemargin.data.readers.formats import CORPORA, DOCUMENT, are_columns_certain, format_of
from widemargin.data.readers.recoded import check_encoding, not_encoded
from widemargin.data.readers.skipping import SkippedSentences
from widemargin.data.readers.sources import find_files, name_of, open_bytes
from widemargin.errors import DataError
from widemargin.markup.words import several
from widemargin.parameters.values import check_choice, check_whole

#: The columns of CoNLL-U after the token number, and all of them.
CONLLU = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_ALL_CONLLU = ("id", *CONLLU)
#: Default column names: CoNLL-2002, 2000, 2003.
_NAMES = {
    1: ("word",),
    2: ("word", "ner"),
    3: ("word", "pos", "chunk"),
    4: ("word", "pos", "chunk", "ner"),
}
_BOM = "\ufeff"
_NEWLINE = 10
_BLANKS = re.compile("[ \t]+")
_SPECIAL = re.compile(r"[1-9][0-9]*-[1-9][0-9]*|(?:0|[1-9][0-9]*)\.[1-9][0-9]*")
#: A file without any of these has blanks only between columns.
_ODD = ("\r", "\n ", "\n\t", " \n", "\t\n")


def read_conll(
    source: Any,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    plain: bool = False,
    words: int | None = None,
    skip_bad: int = 0,
    check: Callable[[Corpus], object] | None = None,
) -> Corpus:
    """Read sentences from files, compressed or not.

    Parameters
    ----------
    source : str, path, or list of them; or an open file
        Names, patterns, or "-" for standard input.
    columns : list of str
        Names for the columns of a "conll" file. By default one column is word; two are word, ner
        (CoNLL-2002); three are word, pos, chunk (2000); four are word, pos, chunk, ner (2003);
        more are word, 2, 3 and so on. The words are the column called word or form, else the
        first; in the corpus they come first.
    format : {"conll", "conllu", "text"} or None
        "conll": one token per line, columns separated by blanks or tabs, and blank lines between
        sentences; lines that begin with -DOCSTART- are not tokens. "conllu": CoNLL-U. "text": one
        sentence per line, words separated by blanks. None: judging by the name or first lines;
        lines that could as well be text are refused.
    encoding : str
        The character encoding.
    plain : bool
        Read files that do not look like columns as text.
    words : int
        The number of the column of the words in a "conll" file, from 1, if `columns` is not given.
    skip_bad : int
        Skip up to this many bad sentences instead of stopping at the first. The corpus lists what
        was wrong with them in `skipped`.
    check : callable
        With `skip_bad`: raises DataError if a corpus has a sentence that is well-formed but bad in
        another way, such as a tree with a cycle.

    Raises
    ------
    DataError
        If a line has too few or too many columns, is not in this encoding, or has a wrong token
        number; the message names the file and the line.

    Examples
    --------
    >>> import pathlib
    >>> from widemargin.structured import read_conll
    >>> _ = pathlib.Path("tiny.conll").write_text("dogs NOUN\\nbark VERB\\n\\nit NOUN\\n")
    >>> corpus = read_conll("tiny.conll", columns=["word", "pos"])
    >>> len(corpus), corpus[0].words, corpus[0].column("pos")
    (2, ['dogs', 'bark'], ['NOUN', 'VERB'])
    >>> _ = pathlib.Path("tiny.conll").write_text("NOUN dogs\\nVERB bark\\n")
    >>> read_conll("tiny.conll", columns=["pos", "word"]).sentences()
    [['dogs', 'bark']]
    """
    if words is not None:
        check_whole("words", words, least=1, other="None")
        if columns is not None:
            raise ValueError("words has no effect with columns; call the words 'word' there")
    check_whole("skip_bad", skip_bad, least=0)
    check_encoding(encoding)
    skipped = SkippedSentences(skip_bad, check) if skip_bad else None
    parse = partial(_parse, columns=columns, words=words)
    if hasattr(source, "read"):
        name = str(getattr(source, "name", "sentences"))
        parts = [_read(source.read(), name, format, encoding, plain, parse, skipped)]
    else:
        parts = []
        for path in find_files(source):
            with open_bytes(path) as file:
                content = file.read()
            parts.append(_read(content, name_of(path), format, encoding, plain, parse, skipped))
    if len({part.format for part in parts}) > 1:
        kinds = ", ".join(f"{part.source} is {part.format}" for part in parts)
        raise DataError(f"files of different formats cannot be read together: {kinds}")
    corpus = joined(parts)
    return corpus if skipped is None else replace(corpus, skipped=tuple(skipped.flaws))


def _read(
    content: bytes | str,
    source: str,
    format: str | None,
    encoding: str,
    plain: bool,
    parse: partial[Corpus],
    skipped: SkippedSentences | None,
) -> Corpus:
    """The sentences of one file, in the format that is given or that it seems to have."""
    text = content
    if not isinstance(text, str):
        text = decode(text, source, encoding, "surrogateescape" if skipped else "strict")
    certain = format is not None or any(parse.keywords.values())
    if format is None:
        among = (*CORPORA, "text") if plain else tuple(CORPORA)
        head = text[: 1 << 14].encode("utf-8", "replace")
        format = format_of(source, head, among)
        certain = certain or format != "conll" or are_columns_certain(source, head)
    check_choice("format", format, (*CORPORA, "text"))
    parse = partial(parse, source=source, format=format)
    corpus = parse(text) if skipped is None else skipped.read(text, source, format, parse)
    if not certain and len(corpus.names) > 1:
        raise DataError(
            f"{source}: may be text, one sentence per line, or columns, one token per line, as no"
            " blank lines separate its sentences; give the format (--format), text or conll"
        )
    return corpus


def _parse(
    text: str,
    source: str,
    columns: Sequence[str] | None,
    format: str,
    words: int | None,
) -> Corpus:
    if words is not None and format != "conll":
        raise DataError(f"{source}: is {format}, whose words are in a fixed column")
    if format == "conllu":
        if columns is not None:
            raise DataError(f"{source}: the columns of CoNLL-U have fixed names; leave out columns")
        return _parse_conllu(text, source)
    if format == "conll":
        return _parse_columns(text, source, columns, words)
    return _parse_text(text, source)


def decode(content: bytes, source: str, encoding: str, errors: str = "strict") -> str:
    """The text of a file; an error names the line that is not in this encoding."""
    try:
        return content.decode(encoding, errors)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise not_encoded(source, line, content[error.start], encoding) from None


class _CorpusLines:
    """A file as bytes, its lines, and which of them are blank.

    `text` is parsed: it ends with a line end, and has no blanks at the ends of lines. The original
    content is kept so that it can be written back.
    """

    def __init__(self, content: str, source: str) -> None:
        self.source, self.content = source, content
        self.open_end = bool(content) and not content.endswith("\n")
        plain = content + "\n" * self.open_end
        if plain.startswith((_BOM, " ", "\t")) or any(mark in plain for mark in _ODD):
            lines = [line.strip(" \r") for line in plain.removeprefix(_BOM).split("\n")]
            plain = "\n".join("" if line.strip("\t ") == "" else line for line in lines)
        self.text = np.frombuffer(plain.encode(), np.uint8)
        small = np.int32 if len(self.text) < 1 << 31 else np.int64
        self.ends = np.flatnonzero(self.text == _NEWLINE).astype(small)
        self.begins = np.concatenate([np.zeros(min(1, len(self.ends)), small), self.ends[:-1] + 1])
        self.blank = self.begins == self.ends

    def holding(self, mark: int) -> np.ndarray:
        """The lines that are not blank and do not begin with the character `mark`."""
        return np.flatnonzero(~self.blank & (self.text[self.begins] != mark))

    def line(self, row: int) -> str:
        """One line."""
        return self.text[self.begins[row] : self.ends[row]].tobytes().decode()

    def cells(self, rows: np.ndarray, between: str, width: int, expected: str) -> Cells:
        """The positions of the cells in some lines; an error unless each line has `width` cells."""
        marks = np.flatnonzero(self.text == ord(between)).astype(self.ends.dtype)
        begins, ends = self.begins[rows], self.ends[rows]
        first = np.searchsorted(marks, begins)
        found = np.searchsorted(marks, ends) - first + 1
        ragged = np.flatnonzero(found != width)
        if len(ragged):
            at, kind = ragged[0], "tabs" if between == "\t" else "blanks"
            columns = several(int(found[at]), "column")
            self.fail(rows[at], f"{columns} between {kind}, where {expected} {width}")
        edges = np.empty((len(rows), width + 1), self.ends.dtype)
        edges[:, 0], edges[:, width] = begins, ends + 1
        for j in range(1, width):
            edges[:, j] = marks[first + (j - 1)] + 1
        for j in range(width):
            empty = np.flatnonzero(edges[:, j + 1] - edges[:, j] == 1)
            if len(empty):
                self.fail(rows[empty[0]], f"column {j + 1} is empty; write _ there")
        return Cells(self.text, edges)

    def corpus(self, rows: np.ndarray, columns: Columns, format: str) -> Corpus:
        """Make sentences from the line numbers of the tokens and their columns."""
        sentence = np.cumsum(self.blank)[rows]
        starts = np.flatnonzero(np.diff(sentence, prepend=-1))
        # The lines of a sentence begin after the first blank line that follows the previous one.
        blanks = np.flatnonzero(self.blank)
        blocks = np.zeros(len(starts) + 1, np.int64)
        if len(starts) > 1:
            blocks[1:-1] = blanks[np.searchsorted(blanks, rows[starts[1:] - 1])] + 1
        blocks[-1] = len(self.blank)
        return Corpus(
            columns,
            np.append(starts, len(rows)).astype(np.int64),
            rows + 1,
            ((0, self.source),),
            format,
            Layout(
                LazyLines(split_lines, self.content),
                rows,
                blocks,
                self.open_end,
            ),
        )

    def fail(self, row: int, message: str) -> NoReturn:
        """Raise an error about a line."""
        raise DataError(f"{self.source}:{row + 1}: {message}")


def _parse_columns(
    text: str, source: str, names: Sequence[str] | None, words: int | None
) -> Corpus:
    """The columns of CoNLL-2000, 2002 and 2003."""
    lines = _CorpusLines(text, source)
    rows = np.flatnonzero(~lines.blank)
    if DOCUMENT in text:
        suspects = rows[lines.text[lines.begins[rows]] == ord("-")].tolist()
        breaks = [row for row in suspects if lines.line(row).startswith(DOCUMENT)]
        rows = np.setdiff1d(rows, breaks, assume_unique=True)
    head = lines.line(rows[0]) if len(rows) else ""
    between = "\t" if "\t" in head else " "
    if between == " " and ("  " in text or "\t" in text):
        # Several blanks, or a mixture of blanks and tabs, become one blank.
        made = _CorpusLines(_BLANKS.sub(" ", text), source)
        made.content, lines, head = text, made, _BLANKS.sub(" ", head)
    width = head.count(between) + 1
    cells = lines.cells(rows, between, width, "the first line has")
    if words is not None and words > width:
        raise DataError(f"{source}: has no column {words} for the words, only columns 1 to {width}")
    if names is None:
        names = _default_names(width, words or 1)
    elif len(names) != width or len(set(names)) != width:
        found = several(width, "column")
        raise DataError(f"{source}: has {found}, but the names given are {', '.join(names)}")
    at = next((j for j, name in enumerate(names) if name in WORDS), 0)
    order = [at, *(j for j in range(width) if j != at)]
    columns = Columns({}, cells, {names[j]: j for j in order})
    corpus = lines.corpus(rows, columns, "conll")
    return replace(corpus, numbered=tuple(names)) if at else corpus


def _default_names(width: int, words: int) -> list[str]:
    """The names of the columns of a file, given how many there are and which holds the words."""
    first, *others = _NAMES.get(width) or ("word", *map(str, range(2, width + 1)))
    return [*others[: words - 1], first, *others[words - 1 :]]


def name_without_tags(corpus: Corpus) -> Corpus:
    """Columns named as in a file with one more column, the tags.

    The names of columns depend on how many there are: in a file of words, parts of speech and
    chunks the second is "pos", and so it is in this one of words and parts of speech. Names that
    were given to `read_conll` stay as they are.
    """
    names = list(corpus.numbered) or corpus.names
    words = names.index(corpus.names[0]) + 1
    if names != _default_names(len(names), words):
        return corpus
    *others, _ = _default_names(len(names) + 1, words)
    columns = Columns.of(corpus.columns).renamed(dict(zip(names, others, strict=True)))
    return replace(corpus, columns=columns, numbered=tuple(others) if corpus.numbered else ())


def _parse_conllu(text: str, source: str) -> Corpus:
    """CoNLL-U. Ranges and empty nodes are not tokens, but are written back."""
    lines = _CorpusLines(text, source)
    rows = lines.holding(ord("#"))
    cells = lines.cells(rows, "\t", len(_ALL_CONLLU), "CoNLL-U has")
    numbers = cells.column(0)
    words = [number.isdecimal() for number in numbers]
    ranges: list[tuple[int, str]] = []
    if not all(words):
        for row, number, word in zip(rows.tolist(), numbers, words, strict=True):
            if not word:
                _check_special(lines, row, number)
                ranges += [(row, number)] * ("-" in number)
        chosen = np.array(words)
        rows, cells = rows[chosen], cells._replace(edges=cells.edges[chosen])
        numbers = list(compress(numbers, words))
    columns = Columns({}, cells, {name: j + 1 for j, name in enumerate(CONLLU)})
    corpus = replace(lines.corpus(rows, columns, "conllu"), numbered=_ALL_CONLLU)
    place = np.arange(corpus.tokens) - np.repeat(corpus.starts[:-1], corpus.lengths) + 1
    expected = list(map(str, place.tolist()))
    if numbers != expected:
        at = next(i for i, number in enumerate(numbers) if number != expected[i])
        lines.fail(rows[at], f"the token number is {numbers[at]}, expected {expected[at]}")
    _check_ranges(lines, rows, place, ranges)
    return corpus


def _check_special(lines: _CorpusLines, row: int, number: str) -> None:
    """Check the number of a line that is not a token."""
    if not _SPECIAL.fullmatch(number):
        lines.fail(row, f"{number!r} is not the number of a token, range or empty node")
    first, _, last = number.partition("-")
    if last and int(last) < int(first):
        lines.fail(row, f"the range {number} ends before it begins")


def _check_ranges(
    lines: _CorpusLines, rows: np.ndarray, place: np.ndarray, ranges: Sequence[tuple[int, str]]
) -> None:
    """Check that every range stands before its first token, and that its sentence has its last."""
    sentence, open_until = np.cumsum(lines.blank), (-1, 0)
    for row, number in ranges:
        first, last = map(int, number.split("-"))
        at, here = int(np.searchsorted(rows, row)), int(sentence[row])
        same = at < len(rows) and sentence[rows[at]] == here
        if not same or place[at] != first or open_until >= (here, first):
            lines.fail(row, f"the range {number} does not stand before token {first}, its first")
        end = at + last - first
        if end >= len(rows) or sentence[rows[end]] != here:
            lines.fail(row, f"the range {number} ends after the last token of the sentence")
        open_until = (here, last)


def _parse_text(text: str, source: str) -> Corpus:
    """One sentence per line; an empty line is a sentence without words."""
    lines = split_lines(text.removeprefix(_BOM))
    sentences = [line.split() for line in lines]
    made = Corpus.of(sentences)
    numbers = np.repeat(np.arange(len(lines)) + 1, made.lengths)
    return Corpus(made.columns, made.starts, numbers, ((0, source),), "text")
