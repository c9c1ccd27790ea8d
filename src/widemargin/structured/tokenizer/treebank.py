"""The raw text of a treebank, and where its tokens and sentences are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from widemargin.data.readers.conll import read_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError

_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
#: A sentence after one of these comments begins a new paragraph.
_NEW = ("# newpar", "# newdoc")
_TEXT = "# text ="
#: Sentences per section, enough that most of them have neighbours on both sides.
_SECTION = 10


class Token(NamedTuple):
    """A token of a text: where it starts and ends, and its words.

    It has one word, its own form, unless it is a multiword token such as French du (de, le).
    """

    start: int
    end: int
    words: tuple[str, ...]


@dataclass
class Paragraph:
    """Raw text with its sentences, each a list of tokens."""

    text: str = ""
    sentences: list[list[Token]] = field(default_factory=list)
    _space: bool = False

    def add(self, sentence: _Sentence) -> None:
        """Append a sentence."""
        here: list[Token] = []
        for form, words, space in sentence.tokens:
            start = len(self.text) + self._space
            self.text += " " * self._space + form
            here.append(Token(start, len(self.text), words))
            self._space = space
        self.sentences.append(here)

    def sections(self) -> Iterator[Paragraph]:
        """The paragraph in sections of a few sentences."""
        for first in range(0, len(self.sentences), _SECTION):
            chosen = self.sentences[first : first + _SECTION]
            a, b = chosen[0][0].start, chosen[-1][-1].end
            moved = [
                [Token(start - a, end - a, words) for start, end, words in sentence]
                for sentence in chosen
            ]
            yield Paragraph(self.text[a:b], moved)


class _Sentence(NamedTuple):
    """The tokens of one sentence as (form, words, whether a space follows), and its first line."""

    tokens: list[tuple[str, tuple[str, ...], bool]]
    opens: bool
    text: str | None


def paragraphs_of(treebank: Any) -> list[Paragraph]:
    """The paragraphs of a treebank: paths, a corpus, or the paragraphs themselves."""
    if isinstance(treebank, list) and treebank and isinstance(treebank[0], Paragraph):
        return treebank
    if not isinstance(treebank, Corpus):
        treebank = read_conll(treebank, format="conllu")
    return read_paragraphs(treebank)


def read_paragraphs(corpus: Corpus) -> list[Paragraph]:
    """The paragraphs of a corpus.

    A space follows every token whose MISC column does not say SpaceAfter=No. A paragraph begins
    where a comment says newpar or newdoc.
    """
    if corpus.format != "conllu" or corpus.layout is None:
        raise DataError(
            f"{corpus.source}: is {corpus.format}; a tokenizer learns from CoNLL-U files, which"
            " record where spaces are (SpaceAfter=No)"
        )
    if not len(corpus):
        raise DataError(f"{corpus.source}: there are no sentences to learn from")
    lines, blocks = corpus.layout.text.lines, corpus.layout.blocks.tolist()
    paragraphs = [Paragraph()]
    for number in range(len(corpus)):
        sentence = _read_sentence(lines[blocks[number] : blocks[number + 1]])
        _check_text(sentence, corpus, number)
        if sentence.opens and paragraphs[-1].sentences:
            paragraphs.append(Paragraph())
        paragraphs[-1].add(sentence)
    return paragraphs


def _read_sentence(lines: Sequence[str]) -> _Sentence:
    tokens: list[tuple[str, tuple[str, ...], bool]] = []
    opens, text, inside = False, None, 0
    for line in lines:
        if tokens and not line.strip():
            break  # comments at the end of a file belong to no sentence
        if line.startswith("#"):
            opens = opens or line.startswith(_NEW)
            if line.startswith(_TEXT):
                text = line[len(_TEXT) :]
            continue
        cells = line.rstrip("\r").split("\t")
        if len(cells) < 10 or "." in cells[0]:
            continue
        several = _RANGE.fullmatch(cells[0])
        space = "SpaceAfter=No" not in cells[9].split("|")
        if several:
            inside = int(several[2]) - int(several[1]) + 1
            tokens.append((cells[1], (), space))
        elif inside:  # a word of the multiword token before it
            form, words, space = tokens[-1]
            tokens[-1] = form, (*words, cells[1]), space
            inside -= 1
        else:
            tokens.append((cells[1], (cells[1],), space))
    return _Sentence(tokens, opens, text)


def _check_text(sentence: _Sentence, corpus: Corpus, number: int) -> None:
    """Raise an error if the tokens of a sentence do not match its text."""
    if sentence.text is None:
        return
    expected = "".join(sentence.text.split())
    found = "".join("".join(form.split()) for form, _, _ in sentence.tokens)
    if expected != found:
        raise DataError(
            f"{corpus.where(int(corpus.starts[number]))}: the text of this sentence is"
            f" {sentence.text.strip()[:40]!r}, but its tokens are {found[:40]!r}; correct one"
        )
