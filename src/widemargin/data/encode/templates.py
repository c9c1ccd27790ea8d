"""Feature templates: which columns of which neighbours make up a feature.

A template names columns of tokens (see `encode.tokens`) at positions relative to the token to tag:
"word[0]" (or just "word"), "suffix3[-1]", and conjunctions such as "pos[-1]|pos[0]|pos[1]". The
template "bias" is a feature that every token has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.data.encode.tokens import TokenColumns, Tokens
from widemargin.data.rows import frozen
from widemargin.errors import DataError
from widemargin.loops.sequences.templates import Table

_PART = re.compile(r"([^\[\]|]+?)(?:\[([+-]?[0-9]+)\])?")
#: Span tags with more types than this are taken to be chunks.
_FEW = 5
#: The largest distance of a neighbour in a template.
_FURTHEST = 100


def each(columns: str, places: Sequence[int]) -> list[str]:
    """Templates of columns, given as words, at each of these places."""
    return [f"{column}[{place}]" for column in columns.split() for place in places]


#: For parts of speech: nothing but words.
WORDS = [
    "bias",
    *each("word lower", (0,)),
    *each("lower", (-2, -1, 1, 2)),
    *each("prefix1 prefix2 prefix3 prefix4 prefix5", (0,)),
    *each("suffix1 suffix2 suffix3 suffix4 suffix5", (0,)),
    *each("suffix2 suffix3", (-1, 1)),
    *each("shape runs flags", (0,)),
    *each("runs flags", (-1, 1)),
    "runs[-1]|runs[0]",
    "lower[-1]|lower[0]",
    "lower[0]|lower[1]",
    "suffix3[0]|flags[0]",
    "suffix3[-1]|suffix3[0]",
    "suffix3[0]|suffix3[1]",
    "suffix2[-1]|suffix2[0]|suffix2[1]",
]
#: For chunks, given parts of speech in a column whose name stands for POS.
CHUNKS = [
    "bias",
    *each("word", (-2, -1, 0, 1, 2)),
    "word[-1]|word[0]",
    "word[0]|word[1]",
    *each("POS", (-2, -1, 0, 1, 2)),
    "POS[-2]|POS[-1]",
    "POS[-1]|POS[0]",
    "POS[0]|POS[1]",
    "POS[1]|POS[2]",
    "POS[-2]|POS[-1]|POS[0]",
    "POS[-1]|POS[0]|POS[1]",
    "POS[0]|POS[1]|POS[2]",
    "POS[-2]|POS[-1]|POS[0]|POS[1]",
    "POS[-1]|POS[0]|POS[1]|POS[2]",
    "word[0]|POS[0]",
    "word[-1]|POS[0]",
    "word[0]|POS[-1]",
    "word[0]|POS[1]",
    "word[1]|POS[0]",
    "word[-1]|POS[-1]|POS[0]",
    "word[0]|POS[0]|POS[1]",
    "word[0]|POS[-1]|POS[0]",
    "lower[0]",
    *each("suffix2 suffix3 suffix4 flags", (0,)),
]
#: For names, which may span several words.
NAMES = [
    *WORDS,
    *each("word", (-2, -1, 1, 2)),
    *each("runs", (-2, 2)),
    "runs[-1]|runs[0]|runs[1]",
    "lower[-1]|runs[0]",
    "lower[1]|runs[0]",
    "lower[-2]|lower[-1]",
    "lower[1]|lower[2]",
    *each("prefix3", (-1, 1)),
]
#: Extra templates for names if the input has parts of speech or chunks.
_BESIDE = [
    *each("POS", (-1, 0, 1)),
    "POS[-1]|POS[0]",
    "POS[0]|POS[1]",
    "POS[-1]|POS[0]|POS[1]",
    "word[0]|POS[0]",
    "runs[0]|POS[0]",
]


def default_templates(tags: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Templates that suit the tags, given the columns of the input besides the words.

    Tags such as B-NP and I-NP are span tags: chunks if they have many types and there is one
    column besides the words (parts of speech), otherwise names. Other tags are parts of speech.
    If all spans are single tokens, they may all be tagged S-NP or U-NP.
    """
    spans = any(tag[:2] in ("B-", "I-") for tag in tags)
    spans = spans or {tag[:2] for tag in tags if tag != "O"} in ({"S-"}, {"U-"})
    if not spans:
        return list(WORDS)
    kinds = {tag[2:] for tag in tags if tag[1:2] == "-"}
    if len(inputs) == 1 and len(kinds) > _FEW:
        return [template.replace("POS", inputs[0]) for template in CHUNKS]
    beside = [one.replace("POS", name) for name in inputs for one in _BESIDE]
    return list(dict.fromkeys([*NAMES, *beside]))


class Templates:
    """A list of templates in the form that the loops read.

    Parameters
    ----------
    written : sequence of str
        The templates.

    Examples
    --------
    >>> templates = Templates(["word", "word[-1]|pos[+1]"])
    >>> templates.written
    ['word[0]', 'word[-1]|pos[1]']
    >>> templates.columns.inputs
    ['pos']
    """

    def __init__(self, written: Sequence[str]) -> None:
        if isinstance(written, str) or not len(written):
            raise DataError(f"templates={written!r} must be a non-empty list of strings")
        parsed = [_parse(template) for template in written]
        self.written = [_write(parts) for parts in parsed]
        twice = [one for k, one in enumerate(self.written) if one in self.written[:k]]
        if twice:
            raise DataError(f"the template {twice[0]!r} is given twice; give it once")
        self.parts = parsed
        self.columns = TokenColumns(
            list(dict.fromkeys(name for parts in parsed for name, _ in parts))
        )

    def __len__(self) -> int:
        return len(self.written)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Templates) and self.written == other.written

    def __hash__(self) -> int:
        return hash(tuple(self.written))

    @cached_property
    def table(self) -> Table:
        """The concatenated parts of all templates: columns and relative positions of cells."""
        index = {name: k for k, name in enumerate(self.columns.names)}
        columns = [index[name] for parts in self.parts for name, _ in parts]
        places = [place for parts in self.parts for _, place in parts]
        ends = np.cumsum([len(parts) for parts in self.parts])
        seeds = np.random.default_rng(0).integers(1, 1 << 63, len(self), dtype=np.uint64)
        return Table(
            frozen(np.array(columns, np.uint64)),
            frozen(np.array(places, np.int64)),
            frozen(ends.astype(np.uint64)),
            frozen(seeds),
            self.reach,
        )

    @property
    def reach(self) -> int:
        """The distance of the furthest neighbour."""
        return max((abs(place) for parts in self.parts for _, place in parts), default=0)

    def name(self, template: int, tokens: Tokens, token: int, start: int, end: int) -> str:
        """The name of a template's feature for a token in the sentence from start up to end."""
        parts = self.parts[template]
        if not parts:
            return "bias"
        return "|".join(
            f"{_write([(column, place)])}={self._cell(column, tokens, token + place, start, end)}"
            for column, place in parts
        )

    def _cell(self, column: str, tokens: Tokens, at: int, start: int, end: int) -> str:
        if at < start:
            return f"<start-{start - at}>" if start - at > 1 else "<start>"
        if at >= end:
            return f"<end+{at - end + 1}>" if at > end else "<end>"
        return self.columns.show(tokens, self.columns.names.index(column), at)


def _parse(template: Any) -> list[tuple[str, int]]:
    """The columns and places of a template."""
    if template == "bias":
        return []
    parts = []
    for part in str(template).split("|"):
        found = _PART.fullmatch(part.strip())
        if found is None:
            raise DataError(
                f"the template {template!r} cannot be parsed: write columns and positions,"
                " as in word[0] or word[-1]|pos[0]"
            )
        place = int(found[2] or 0)
        if abs(place) > _FURTHEST:
            raise DataError(
                f"the template {template!r} looks {abs(place)} tokens away;"
                f" at most {_FURTHEST} are allowed"
            )
        parts.append((found[1], place))
    return parts


def _write(parts: list[tuple[str, int]]) -> str:
    return "|".join(f"{name}[{place}]" for name, place in parts) or "bias"
