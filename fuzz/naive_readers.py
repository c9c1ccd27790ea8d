"""Slow and obvious line readers in plain Python, written from the description of each format.

Each takes the bytes of whole lines and returns the examples, (line, label, weight, example), and
the numbers of the lines that cannot be read. Nothing is imported from the package.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PAIR = re.compile(rb"([0-9]{1,10}):(.*)", re.DOTALL)
_QID = re.compile(rb"qid:[0-9]+")
_BLANKS = re.compile(rb"[ \t\r]+")
_LARGEST_INDEX = 2**31 - 2


class Found(NamedTuple):
    """The contents of a file."""

    examples: list[Any]
    bad: list[int]


class BadLineError(Exception):
    """A line that cannot be read."""


def read_lines(text: bytes, read: Any) -> Found:
    """Read every line; None stands for a line without an example."""
    examples, bad = [], []
    for number, line in enumerate(text.split(b"\n")[:-1]):
        try:
            found = read(line)
        except BadLineError:
            bad.append(number)
        else:
            if found is not None:
                examples.append((number, *found))
    return Found(examples, bad)


def number_of(token: bytes) -> float:
    """Parse a token as a number."""
    if not NUMBER.fullmatch(token):
        raise BadLineError
    return float(token)


def class_of(number: float) -> int:
    """The class that a number stands for."""
    if not abs(number) <= 2.0**53 or number != math.floor(number):
        raise BadLineError
    return int(number)


def narrowed(value: float, small: bool) -> float:
    """A value rounded to its storage type; raises an error if it is too large."""
    if not abs(value) < math.inf:
        raise BadLineError
    if not small:
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        raise BadLineError from None


def svmlight_line(line: bytes, small: bool = False) -> Any:
    """`label [qid:n] index:value ... [# comment]`, indices rising."""
    words = [word for word in _BLANKS.split(line.partition(b"#")[0]) if word]
    if not words:
        return None
    label, pairs, last = class_of(number_of(words[0])), list[Any](), -1
    for word in words[1:]:
        if not pairs and _QID.fullmatch(word):
            continue
        match = _PAIR.fullmatch(word)
        if not match or not last < int(match[1]) <= _LARGEST_INDEX:
            raise BadLineError
        last = int(match[1])
        pairs.append((last, narrowed(number_of(match[2]), small)))
    return label, 1.0, pairs


def vw_line(line: bytes, small: bool = False) -> Any:
    """`[label [importance [base]]] ['tag]|namespace[:weight] feature[:value] ... |...`."""
    if not line.strip(b" \t\r"):
        return None
    head, bar, rest = line.partition(b"|")
    words = [word for word in _BLANKS.split(head) if word]
    if not bar:
        raise BadLineError
    if words and head[-1:] not in (b" ", b"\t", b"\r"):
        words.pop()  # a tag comes right before the bar
    numbers = [number_of(word) for word in words if not word.startswith(b"'")]
    if len(numbers) > 3 or (len(numbers) > 1 and not 0.0 <= numbers[1] < math.inf):
        raise BadLineError
    features = [feature for part in rest.split(b"|") for feature in _namespace(part, small)]
    label = class_of(numbers[0]) if numbers else None
    return label, numbers[1] if len(numbers) > 1 else 1.0, features


def _namespace(part: bytes, small: bool) -> Iterator[Any]:
    """The features between two bars, as ((namespace, name), value)."""
    match = _BLANKS.search(part)
    space, after = (part, b"") if match is None else (part[: match.start()], part[match.end() :])
    name, colon, factor_text = space.partition(b":")
    factor = number_of(factor_text) if colon else 1.0
    for word in _BLANKS.split(after):
        if word:
            feature, colon, value_text = word.partition(b":")
            value = (number_of(value_text) if colon else 1.0) * factor
            yield (name, feature), narrowed(value, small)


def fasttext_line(line: bytes) -> Any:
    """`__label__spam Win a prize now`, UTF-8 without NUL."""
    line = line.removesuffix(b"\r")
    if not line:
        return None
    match = re.fullmatch(rb"__label__([^ \t]+)(.*)", _text(line), re.DOTALL)
    if not match or match[2][1:].startswith(b"__label__"):
        raise BadLineError
    return match[1].decode(), 1.0, match[2].decode()


def labelled_line(line: bytes) -> Any:
    """`spam<TAB>Win a prize now`, UTF-8 without NUL."""
    line = line.removesuffix(b"\r")
    if not line:
        return None
    label, tab, _ = _text(line).partition(b"\t")
    if not tab or not label:
        raise BadLineError
    return label.decode(), 1.0, line[len(label) :].decode()


def _text(line: bytes) -> bytes:
    try:
        line.decode()
    except UnicodeDecodeError:
        raise BadLineError from None
    if b"\0" in line:
        raise BadLineError
    return line


def _blocks_of_lines(text: str, left_out: str) -> list[list[str]]:
    """The lines of every sentence, without those that begin with a mark."""
    sentences, tokens = list[list[str]](), list[str]()
    lines = [line.strip(" \r") for line in text.removeprefix("\ufeff").split("\n")]
    for line in [*lines, ""]:
        if not line.strip("\t "):
            if tokens:
                sentences.append(tokens)
            tokens = []
        elif not line.startswith(left_out):
            tokens.append(line)
    return sentences


def conll_sentences(text: str) -> list[list[list[str]]] | None:
    """The cells of CoNLL columns, by sentence and token; None if the lines do not fit."""
    sentences = _blocks_of_lines(text, "-DOCSTART-")
    first = sentences[0][0] if sentences else ""
    if "\t" in first:
        found = [[token.split("\t") for token in sentence] for sentence in sentences]
    else:  # any number of spaces and tabs, also at the ends, as may be a carriage return
        found = [
            [re.split("[ \t]+", token.strip(" \t\r")) for token in sentence]
            for sentence in sentences
        ]
    cells = [token for sentence in found for token in sentence]
    if any(len(token) != len(cells[0]) or "" in token for token in cells):
        return None
    return found


def conllu_sentences(text: str) -> list[list[list[str]]] | None:
    """The cells of CoNLL-U, by sentence and token; None if the lines do not fit."""
    special = re.compile(r"[1-9][0-9]*-[1-9][0-9]*|(?:0|[1-9][0-9]*)\.[1-9][0-9]*")
    sentences = list[list[list[str]]]()
    for lines in _blocks_of_lines(text, "#"):
        found = [line.split("\t") for line in lines]
        if any(len(cells) != 10 or "" in cells for cells in found):
            return None
        tokens = [cells for cells in found if not special.fullmatch(cells[0])]
        if [cells[0] for cells in tokens] != [str(k + 1) for k in range(len(tokens))]:
            return None
        begun, covered = 0, 0  # tokens so far, and the last one in a range
        for number, *_ in found:
            if special.fullmatch(number) and "-" in number:
                first, last = map(int, number.split("-"))
                if first != begun + 1 or first <= covered or not first <= last <= len(tokens):
                    return None
                covered = last
            elif number == str(begun + 1):
                begun += 1
        if tokens:
            sentences.append(tokens)
    return sentences
