"""Sentences in memory: columns of strings for all tokens, and the lines they came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise
from typing import Any, overload

import numpy as np

from widemargin.data.readers.cells import Columns, LazyLines
from widemargin.data.readers.token_values import TokenValues
from widemargin.errors import DataError
from widemargin.markup.words import several

#: Both names mean the column of the words.
WORDS = ("word", "form")
_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Layout:
    """The lines of the files, so that they can be written back as they were.

    Attributes
    ----------
    text : LazyLines
        All lines without their line ends, including comments and blank lines.
    rows : array of int64
        The line of every token, counted from 0 through all lines.
    blocks : array of int64, one longer than there are sentences
        Where the lines of each sentence begin, including the comments before it.
    open_end : bool
        Whether the last line has no line end.
    """

    text: LazyLines
    rows: np.ndarray
    blocks: np.ndarray
    open_end: bool = False


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences whose tokens have columns.

    Attributes
    ----------
    columns : mapping of str to list of str
        Each holds one string per token, all sentences concatenated.
    starts : array of int64, one longer than there are sentences
        Sentence i has the tokens from starts[i] up to starts[i + 1].
    lines : array of int64
        The line of each token in its file, from 1; empty if there was no file.
    sources : tuple of (int, str)
        The files, and the first token of each.
    format : str
        "conll", "conllu", "text", or "lists" if it was made in Python.
    layout : Layout or None
        What is needed to write the files back.
    values : TokenValues or None
        Numeric values of tokens, besides their columns.
    skipped : tuple of str
        What was wrong with each sentence that was skipped.
    numbered : tuple of str
        The columns in the order of the file, if the words are not the first one there. In CoNLL-U
        the first one holds the numbers of the tokens, and is not among `columns`.

    Examples
    --------
    >>> corpus = Corpus.of([["the", "dog"], ["it", "barks"]], [["DET", "NOUN"], ["PRON", "VERB"]])
    >>> len(corpus), corpus.tokens, corpus.column("tag")
    (2, 4, ['DET', 'NOUN', 'PRON', 'VERB'])
    >>> corpus[1:].sentences()
    [['it', 'barks']]
    >>> corpus[1], corpus[1].column("tag"), list(corpus)
    (['it', 'barks'], ['PRON', 'VERB'], [['the', 'dog'], ['it', 'barks']])
    """

    columns: Mapping[str, list[str]]
    starts: np.ndarray
    lines: np.ndarray = field(default_factory=lambda: _NO_ROWS)
    sources: tuple[tuple[int, str], ...] = ()
    format: str = "lists"
    layout: Layout | None = None
    values: TokenValues | None = None
    skipped: tuple[str, ...] = ()
    numbered: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sequence[str]] | Mapping[str, Sequence[Sequence[str]]],
        tags: Sequence[Sequence[str]] | None = None,
        checked: bool = True,
    ) -> Corpus:
        """Make a corpus from lists.

        Parameters
        ----------
        sentences : list of lists of str, or dict of such
            The words of each sentence; or several columns by name, the words first.
        tags : list of lists of str
            One tag per word: the column "tag".
        checked : bool
            Whether to make sure that all cells are strings; see `check_cells`.
        """
        given = dict(sentences) if isinstance(sentences, Mapping) else {"word": sentences}
        if tags is not None:
            given["tag"] = tags
        if not given:
            raise DataError("sentences: there are no columns")
        flat, lengths = {}, None
        for name, column in given.items():
            found = _lengths(name, column)
            if lengths is None:
                first, lengths = name, found
            _check_lengths(first, lengths, name, found)
            flat[name] = list(chain.from_iterable(column))
        assert lengths is not None
        made = cls(Columns(flat), np.array([0, *accumulate(lengths)], np.int64))
        if checked:
            made.check_cells()
        return made

    def check_cells(self) -> None:
        """Raise a DataError that names the sentence if a cell is not a string."""
        for name, cells in self.columns.items():
            try:
                "".join(cells)  # the fastest test that all are strings
            except TypeError:
                token = next(i for i, cell in enumerate(cells) if not isinstance(cell, str))
                sentence = int(np.searchsorted(self.starts, token, "right"))
                raise DataError(
                    f"sentence {sentence}: {name!r} holds {cells[token]!r}, of type"
                    f" {type(cells[token]).__name__}; cells must be strings"
                ) from None

    def __len__(self) -> int:
        """How many sentences there are."""
        return len(self.starts) - 1

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return int(self.starts[-1])

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.columns)

    @property
    def source(self) -> str:
        """The name of the files in error messages."""
        return ", ".join(name for _, name in self.sources) or "sentences"

    @property
    def words(self) -> list[str]:
        """The first column: the words."""
        return self.columns[self.names[0]]

    @property
    def lengths(self) -> np.ndarray:
        """How many tokens each sentence has."""
        return np.diff(self.starts)

    def name_of(self, column: str | int | None = None) -> str:
        """The name of a column that is given by name, or by its number from 1 (-1 is the last).

        Numbers are those of the columns in the file. The words are called both "word" and "form".
        None is the default column to learn: "upos" in CoNLL-U, otherwise the last.
        """
        names = self.names
        if column is None:
            return "upos" if self.format == "conllu" else names[-1]
        if isinstance(column, str) and column.lstrip("-").isdecimal():
            column = int(column)
        if isinstance(column, int):
            return self._name_of_number(column)
        if column in names:
            return column
        if column in WORDS and names[0] in WORDS:
            return names[0]
        raise DataError(f"{self.source}: has no column {column!r}; it has {', '.join(names)}")

    def _name_of_number(self, number: int) -> str:
        """The name of the column with this number in the file; added columns follow its own."""
        names = [*self.numbered, *(name for name in self.names if name not in self.numbered)]
        if number == 0 or abs(number) > len(names):
            raise DataError(
                f"{self.source}: has no column {number}, only columns 1 to {len(names)}"
            )
        found = names[number - 1 if number > 0 else number]
        if found not in self.columns:
            raise DataError(f"{self.source}: column {number} holds the numbers of the tokens")
        return found

    def column(self, column: str | int | None = None) -> list[str]:
        """A column as one string per token; given as in `name_of`."""
        return self.columns[self.name_of(column)]

    def sentences(self, column: str | int | None = None) -> list[list[str]]:
        """A column as one list per sentence; by default the words."""
        return self.by_sentence(self.words if column is None else self.column(column))

    def by_sentence(self, each: Any) -> list[Any]:
        """A list or an array with an entry for every token, cut into one per sentence."""
        return [each[a:b] for a, b in pairwise(self.starts.tolist())]

    def where(self, token: int) -> str:
        """The file and line of a token for an error message; its sentence if there is no file."""
        if not len(self.lines):
            sentence = int(np.searchsorted(self.starts, token, "right"))
            place = token - int(self.starts[sentence - 1]) + 1
            return f"{self.source}: sentence {sentence}, token {place}"
        name = next(name for first, name in reversed(self.sources) if first <= token)
        return f"{name}:{self.lines[token]}"

    def __iter__(self) -> Iterator[Sentence]:
        """Iterate over the sentences."""
        words = self.sentences()
        return (Sentence(words[number], self, number) for number in range(len(self)))

    @overload
    def __getitem__(self, which: int | np.integer) -> Sentence: ...

    @overload
    def __getitem__(self, which: slice | Sequence[int] | np.ndarray) -> Corpus: ...

    def __getitem__(self, which: Any) -> Corpus | Sentence:
        """A sentence by its number; or several, by a slice, a list of numbers, or a mask."""
        if isinstance(which, (int, np.integer)):
            at = int(which) + len(self) * bool(which < 0)
            if not 0 <= at < len(self):
                raise IndexError(f"there is no sentence {which}: there are {len(self):,}")
            return Sentence(self.words[self.starts[at] : self.starts[at + 1]], self, at)
        if isinstance(which, slice) and which.step in (None, 1):
            first, last, _ = which.indices(len(self))
            return self._stretch(first, max(first, last))
        chosen = np.arange(len(self))[which]
        runs = np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1) if len(chosen) else []
        return joined([self._stretch(int(run[0]), int(run[-1]) + 1) for run in runs], like=self)

    def _stretch(self, first: int, last: int) -> Corpus:
        """The sentences from `first` up to `last`."""
        a, b = int(self.starts[first]), int(self.starts[last])
        sources = [(max(at - a, 0), name) for at, name in self.sources if at < b or at <= a]
        layout = self.layout
        if layout is not None:
            c, d = int(layout.blocks[first]), int(layout.blocks[last])
            layout = Layout(
                layout.text.stretch(c, d),
                layout.rows[a:b] - c,
                layout.blocks[first : last + 1] - c,
                layout.open_end and d == int(layout.blocks[-1]),
            )
        return replace(
            self,
            columns=Columns.of(self.columns).stretch(a, b),
            starts=self.starts[first : last + 1] - a,
            lines=self.lines[a:b],
            sources=tuple(dict(sources).items()),
            layout=layout,
            values=None if self.values is None else self.values.stretch(a, b),
        )

    def with_column(self, name: str, cells: Sequence[str]) -> Corpus:
        """A corpus with one column added or replaced."""
        if len(cells) != self.tokens:
            raise DataError(f"column {name!r}: {len(cells)} cells for {self.tokens} tokens")
        return replace(self, columns=Columns.of(self.columns).replaced(name, list(cells)))

    def with_columns(self, columns: Mapping[str, Sequence[str]]) -> Corpus:
        """A corpus with several columns added or replaced."""
        corpus = self
        for name, cells in columns.items():
            corpus = corpus.with_column(name, cells)
        return corpus

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} sentences, {self.tokens:,} tokens: {', '.join(self.names)})"


class Sentence(list[str]):
    """The words of one sentence of a corpus, with access to their other columns.

    It is a list of strings, and equal to one. A list of such sentences is accepted wherever a
    corpus is, with all columns: scikit-learn makes such lists when it takes part of a corpus.

    Attributes
    ----------
    corpus : Corpus
        Where it comes from.
    number : int
        Its position there, counted from 0.
    """

    def __init__(self, words: Iterable[str], corpus: Corpus, number: int) -> None:
        super().__init__(words)
        self.corpus, self.number = corpus, number

    @property
    def words(self) -> list[str]:
        """The words."""
        return list(self)

    def column(self, column: str | int | None = None) -> list[str]:
        """A column as one string per word; given as in `Corpus.name_of`."""
        cells, starts = self.corpus.column(column), self.corpus.starts
        return cells[starts[self.number] : starts[self.number + 1]]

    @property
    def values(self) -> TokenValues | None:
        """The numeric values of its words."""
        values, starts = self.corpus.values, self.corpus.starts
        if values is None:
            return None
        return values.stretch(int(starts[self.number]), int(starts[self.number + 1]))


def gather(sentences: Sequence[Sentence]) -> Corpus:
    """A corpus of sentences taken from other corpora, in this order and with all columns."""
    parts, first = [], 0
    for at in range(1, len(sentences) + 1):
        if at == len(sentences) or sentences[at].corpus is not sentences[first].corpus:
            numbers = [sentence.number for sentence in sentences[first:at]]
            parts.append(sentences[first].corpus[numbers])
            first = at
    return joined(parts)


def joined(parts: Sequence[Corpus], like: Corpus | None = None) -> Corpus:
    """Concatenate corpora with the same columns."""
    if not parts:
        assert like is not None
        return like[:0]
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part in parts[1:]:
        if part.names != first.names:
            raise DataError(
                f"{part.source}: has the columns {', '.join(part.names)},"
                f" but {first.source} has {', '.join(first.names)}"
            )
    before = [0, *accumulate(part.tokens for part in parts)]
    sources: list[tuple[int, str]] = []
    for part, shift in zip(parts, before, strict=False):
        for at, name in part.sources if part.tokens else ():
            if not sources or sources[-1][1] != name:
                sources.append((at + shift, name))
    layouts = [part.layout for part in parts]
    return Corpus(
        Columns.joined([Columns.of(part.columns) for part in parts]),
        _end_to_end([part.starts for part in parts], before),
        np.concatenate([part.lines for part in parts]),
        tuple(sources),
        first.format,
        None if None in layouts else _joined_layout([one for one in layouts if one is not None]),
        TokenValues.joined([(part.values, part.tokens) for part in parts]),
        numbered=first.numbered,
    )


def _joined_layout(parts: list[Layout]) -> Layout:
    before = [0, *accumulate(int(part.blocks[-1]) for part in parts)]
    return Layout(
        LazyLines.joined([part.text for part in parts]),
        np.concatenate([part.rows + shift for part, shift in zip(parts, before, strict=False)]),
        _end_to_end([part.blocks for part in parts], before),
        parts[-1].open_end,
    )


def _end_to_end(starts: list[np.ndarray], before: list[int]) -> np.ndarray:
    """Offsets of several parts as offsets in the whole."""
    inner = [part[:-1] + shift for part, shift in zip(starts, before, strict=False)]
    return np.concatenate([*inner, before[-1:]]).astype(np.int64)


def _lengths(name: str, column: Sequence[Sequence[str]]) -> list[int]:
    for i, sentence in enumerate(column):
        if isinstance(sentence, str):
            raise DataError(
                f"sentence {i + 1}: its {name}s are one string, {sentence[:20]!r}; give a list of"
                " strings, such as split() returns"
            )
        if not hasattr(sentence, "__len__"):
            raise DataError(f"sentence {i + 1}: its {name}s are {sentence!r:.40}, not a list")
    return list(map(len, column))


def _check_lengths(first: str, lengths: list[int], name: str, found: list[int]) -> None:
    if len(lengths) != len(found):
        raise DataError(
            f"there are {len(lengths)} sentences in {first!r}, {len(found)} in {name!r}"
        )
    if lengths == found:
        return
    for i, (here, there) in enumerate(zip(lengths, found, strict=True)):
        if here != there:
            raise DataError(
                f"sentence {i + 1}: {first!r} has {several(here, 'cell')}, but {name!r} has {there}"
            )
