"""An annotated text, and the formats it can be written in."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.readers.conll import CONLLU, read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.markup.words import several
from widemargin.structured.tokenizer.cuts import white_space


class Span(NamedTuple):
    """A part of a text: a word and all words below it in the tree."""

    start: int
    end: int
    label: str
    text: str


@dataclass(frozen=True, eq=False)
class Document:
    """The sentences of a text.

    Attributes
    ----------
    text : str
        The text.
    columns : dict of str to list of str
        The columns of all words, named as in CoNLL-U.
    starts : array of int64, one longer than there are sentences
        Sentence i has the words from starts[i] up to starts[i + 1].
    tokens : array of int64
        The token that each word belongs to; the words of a multiword token share one.
    begins, ends : arrays of int64
        Where each token begins and ends in the text.
    paragraphs : array of bool
        Whether a sentence begins a paragraph.
    first : int
        The number of the first sentence.
    offset : int
        Where the text begins, if it is part of a longer one.

    Examples
    --------
    >>> columns = {"form": ["It", "barks"], "upos": ["PRON", "VERB"]}
    >>> where = np.array([0, 3]), np.array([2, 8])
    >>> document = Document("It barks", columns, np.array([0, 2]), np.arange(2), *where)
    >>> print(document.conllu(), end="")
    # newpar
    # sent_id = 1
    # text = It barks
    1	It	_	PRON	_	_	_	_	_	TokenRange=0:2
    2	barks	_	VERB	_	_	_	_	_	TokenRange=3:8
    <BLANKLINE>
    """

    text: str
    columns: Mapping[str, list[str]]
    starts: np.ndarray
    tokens: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    paragraphs: np.ndarray | None = None
    first: int = 1
    offset: int = 0

    def __repr__(self) -> str:
        sentences, words = several(len(self.starts) - 1, "sentence"), len(self.tokens)
        return f"Document({sentences}, {several(words, 'word')}: {', '.join(self.columns)})"

    def __len__(self) -> int:
        """How many sentences there are."""
        return len(self.starts) - 1

    @property
    def words(self) -> int:
        """How many words there are."""
        return int(self.starts[-1])

    def conllu(self) -> str:
        """The document as CoNLL-U."""
        if not len(self):
            return ""
        nothing = ["_"] * self.words
        numbers, told = write_numbers(self._numbers()), self._token_misc()
        cells = [self.columns.get(name, nothing) for name in CONLLU[:-1]]
        lines = list(map("\t".join, zip(numbers, *cells, self._misc(told), strict=True)))
        self._add_ranges(lines, numbers, told)
        written = []
        opens = self._opens()
        edges = self.starts.tolist()
        first, last = self.tokens[self.starts[:-1]], self.tokens[self.starts[1:] - 1]
        places = zip(self.begins[first].tolist(), self.ends[last].tolist(), strict=True)
        for number, ((a, b), (start, end)) in enumerate(
            zip(pairwise(edges), places, strict=True), self.first
        ):
            shown = " ".join(self.text[start:end].split())
            new = "# newpar\n" if opens[number - self.first] else ""
            body = "\n".join(lines[a:b])
            written.append(f"{new}# sent_id = {number}\n# text = {shown}\n{body}\n\n")
        return "".join(written)

    def _opens(self) -> list[bool]:
        if self.paragraphs is None:
            return [True] + [False] * (len(self) - 1)
        return self.paragraphs.tolist()

    def _numbers(self) -> np.ndarray:
        """The number of every word in its sentence, from 1."""
        return np.arange(self.words) - np.repeat(self.starts[:-1], np.diff(self.starts)) + 1

    @property
    def _several(self) -> np.ndarray:
        """The first words of multiword tokens."""
        sizes = np.bincount(self.tokens, minlength=len(self.begins))
        return np.flatnonzero((sizes[self.tokens] > 1) & (np.diff(self.tokens, prepend=-1) > 0))

    def _token_misc(self) -> list[str]:
        """The MISC cell of every token: whether no space follows, and its place in the text."""
        codes = np.frombuffer((self.text + " ").encode("utf-32-le", "surrogatepass"), np.uint32)
        apart = white_space()[codes[self.ends]]
        glued = np.where(apart, "TokenRange", "SpaceAfter=No|TokenRange").astype(object).tolist()
        begins, ends = (self.begins + self.offset).tolist(), (self.ends + self.offset).tolist()
        return [f"{name}={a}:{b}" for name, a, b in zip(glued, begins, ends, strict=True)]

    def _misc(self, told: list[str]) -> list[str]:
        """The MISC cell of every word, given those of the tokens."""
        if len(told) == self.words:
            return told
        sizes = np.bincount(self.tokens, minlength=len(told))
        shown = np.where(sizes > 1, "_", np.array(told, object))
        of_words: list[str] = shown[self.tokens].tolist()
        return of_words

    def _add_ranges(self, lines: list[str], numbers: list[str], told: list[str]) -> None:
        """Put the lines of multiword tokens before those of their first words."""
        several = self._several
        sizes = np.bincount(self.tokens, minlength=len(self.begins))
        for word in several.tolist():
            token = int(self.tokens[word])
            form = " ".join(self.text[self.begins[token] : self.ends[token]].split())
            last = int(numbers[word]) + int(sizes[token]) - 1
            blank = "\t_" * 7
            lines[word] = f"{numbers[word]}-{last}\t{form}{blank}\t{told[token]}\n{lines[word]}"

    def corpus(self) -> Corpus:
        """The sentences as a corpus, with all columns of CoNLL-U."""
        written = io.StringIO(self.conllu())
        written.name = "text"
        return read_conll(written, format="conllu")

    def table(self) -> dict[str, list[Any]]:
        """A row per word, as columns for pandas and Polars.

        The columns sentence and word count from 1; start and end are where the word's token begins
        and ends in the text.
        """
        numbers = np.repeat(np.arange(len(self)) + self.first, np.diff(self.starts))
        table: dict[str, list[Any]] = {
            "sentence": numbers.tolist(),
            "word": self._numbers().tolist(),
            **{name: list(cells) for name, cells in self.columns.items()},
            "start": (self.begins[self.tokens] + self.offset).tolist(),
            "end": (self.ends[self.tokens] + self.offset).tolist(),
        }
        if "head" in table:
            table["head"] = list(map(int, table["head"]))
        return table

    def sentences(self) -> Iterator[list[dict[str, Any]]]:
        """Each sentence as a list of words, which are dicts with a value for each column."""
        table = self.table()
        names = [name for name in table if name != "sentence"]
        rows = list(zip(*(table[name] for name in names), strict=True))
        for a, b in pairwise(self.starts.tolist()):
            yield [dict(zip(names, row, strict=True)) for row in rows[a:b]]

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        return self.sentences()

    def json_lines(self) -> str:
        """A line of JSON per sentence: its number, place, text and words."""
        lines = []
        for number, words in enumerate(self.sentences(), self.first):
            start, end = words[0]["start"], words[-1]["end"]
            shown = self.text[start - self.offset : end - self.offset]
            told = {"sentence": number, "start": start, "end": end, "text": shown, "words": words}
            lines.append(json.dumps(told, ensure_ascii=False) + "\n")
        return "".join(lines)

    def tab_separated(self, header: bool = True) -> str:
        """The table of words as text, columns separated by tabs."""
        table = self.table()
        rows = zip(*(map(str, column) for column in table.values()), strict=True)
        lines = [*(["\t".join(table)] if header else []), *map("\t".join, rows)]
        return "".join(f"{line}\n" for line in lines)

    def drawn(self) -> str:
        """The trees as text for a terminal: every word below its head, in the order of the text."""
        written = []
        for number, words in enumerate(self.sentences(), self.first):
            below: dict[int, list[int]] = {}
            for k, word in enumerate(words, 1):
                below.setdefault(word["head"], []).append(k)
            lines = [f"# {number}"]
            # Words still to be drawn, with the prefixes of their line and of their children's.
            waiting = [(k, "", "") for k in reversed(below.get(0, []))]
            while waiting:
                k, before, beneath = waiting.pop()
                word = words[k - 1]
                lines.append(f"{before}{word['form']}  {word['upos']} {word['deprel']}")
                children = below.get(k, [])
                drawn = [(child, f"{beneath}├─ ", f"{beneath}│  ") for child in children]
                if drawn:
                    drawn[-1] = (children[-1], f"{beneath}└─ ", f"{beneath}   ")
                waiting += reversed(drawn)
            written.append("\n".join(lines) + "\n\n")
        return "".join(written)

    def spans(self, *labels: str) -> list[Span]:
        """The parts of the text below words whose deprel, without subtype, is one of `labels`.

        Examples
        --------
        In "The old dog barks", `spans("nsubj")` is the span of "The old dog".
        """
        if "head" not in self.columns:
            return []
        found = []
        relations = self.columns["deprel"]
        for a, b in pairwise(self.starts.tolist()):
            low, high = _reach([int(head) for head in self.columns["head"][a:b]])
            for k in range(b - a):
                label = relations[a + k].partition(":")[0]
                if label in labels:
                    start = int(self.begins[self.tokens[a + low[k]]])
                    end = int(self.ends[self.tokens[a + high[k]]])
                    where = start + self.offset, end + self.offset
                    found.append(Span(*where, label, self.text[start:end]))
        return found


def write_numbers(numbers: np.ndarray) -> list[str]:
    """Small numbers as strings, each distinct one converted once."""
    strings = np.array([str(k) for k in range(int(numbers.max(initial=0)) + 1)], object)
    written: list[str] = strings[numbers].tolist()
    return written


def _reach(heads: list[int]) -> tuple[list[int], list[int]]:
    """The first and the last word below each word, itself included."""
    low, high = list(range(len(heads))), list(range(len(heads)))
    for word in range(len(heads)):
        above, steps = heads[word], 0
        while above and steps < len(heads):
            low[above - 1] = min(low[above - 1], word)
            high[above - 1] = max(high[above - 1], word)
            above, steps = heads[above - 1], steps + 1
    return low, high
