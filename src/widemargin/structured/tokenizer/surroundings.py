"""The surroundings of a character, as extra columns for templates.

For a sign between words (a full stop, a hyphen, a space), the words before and after it say more
than single characters: the tokenizer can learn "Mr." and "e-mail", and that sentences rarely end
before a lower-case letter. Words here are just runs of letters, marks and digits. Categories are
those of Unicode, so that signs never seen in training are treated like others of their kind.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np

#: The columns by name: the word before (in lower case) and after, their kinds, the category of the
#: character, and the signs between the same two spaces. Only signs have words.
COLUMNS = ("before", "after", "left", "right", "class", "chunk")
#: Maximum length of a word: the last characters of the word before, the first of the word after.
_MOST = 16
#: Maximum number of signs listed between two spaces; if there are more, only that there are many.
_SIGNS = 4
#: Sizes of the character tables: for most alphabets, and for all of Unicode.
_SIZES = (0x3000, 0x110000)
_CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs"
#: Categories as numbers; any other is the last one.
_NUMBER = {name: k for k, name in enumerate(_CATEGORIES.split())}
_UPPER, _WORDS = _NUMBER["Lu"], _NUMBER["No"]
_DIGITS, _SPACE = _NUMBER["Nd"], ord(" ")
#: Number of bits in a code point.
_POINT_BITS = 21


class _Words(NamedTuple):
    """Words of a text: where they begin and end, and each character's last and next one.

    Words count from 1; 0 stands for none in the same paragraph.
    """

    begins: np.ndarray
    ends: np.ndarray
    last: np.ndarray
    next: np.ndarray


def describe_characters(text: str, closes: np.ndarray) -> dict[str, list[str]]:
    """The columns of `COLUMNS` for the characters of a text.

    Parameters
    ----------
    text : str
        Concatenated paragraphs, each run of white space as one space.
    closes : array of bool
        The characters that end a paragraph.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _kinds(int(codes.max(initial=0)))[codes]
    first = np.append(True, closes[:-1])[: len(codes)]
    words = _find_words(kinds, first)
    shapes = np.append(0, _shapes(kinds, words))
    whole = _cut(text, words.begins, words.ends)
    return {
        "before": _chosen([one[-_MOST:].lower() for one in whole], words.last),
        "after": _chosen([one[:_MOST] for one in whole], words.next),
        "left": _letters(shapes[words.last]),
        "right": _letters(shapes[words.next]),
        "class": _letters(kinds),
        "chunk": _chunks(codes, kinds, first),
    }


def _find_words(kinds: np.ndarray, first: np.ndarray) -> _Words:
    """The words, and those before and after each character that is in none."""
    inside = kinds <= _WORDS
    begins = np.flatnonzero(inside & (first | ~np.append(False, inside[:-1])))
    ends = np.flatnonzero(inside & (np.append(first[1:], True) | ~np.append(inside[1:], False))) + 1
    paragraph = np.cumsum(first)
    of_word = np.concatenate([[0], paragraph[begins], [0]])
    last = np.cumsum(np.bincount(begins, minlength=len(kinds)))
    return _Words(
        begins,
        ends,
        np.where(~inside & (of_word[last] == paragraph), last, 0),
        np.where(~inside & (of_word[last + 1] == paragraph), last + 1, 0),
    )


def _shapes(kinds: np.ndarray, words: _Words) -> np.ndarray:
    """A number for the kind of every word: how it begins, its length, and if it is all capitals."""
    begins, ends = words.begins, words.ends
    capitals = np.append(0, np.cumsum(kinds == _UPPER))
    opening = kinds[begins]
    start = np.where(opening == _UPPER, 1, np.where(opening == _DIGITS, 2, 3))
    size = ends - begins
    whole = (capitals[ends] - capitals[begins] == size) & (size > 1)
    return 1 + start + 4 * np.minimum(size, 4) + 20 * whole


def _cut(text: str, begins: np.ndarray, ends: np.ndarray) -> list[str]:
    """The pieces of a text, preceded by an empty one."""
    return ["", *(text[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True))]


def _chosen(strings: list[str], which: np.ndarray) -> list[str]:
    """The strings with these indices."""
    found: list[str] = np.array(strings, object)[which].tolist()
    return found


def _chunks(codes: np.ndarray, kinds: np.ndarray, first: np.ndarray) -> list[str]:
    """For each character, the signs between the same two spaces; a space is on its own."""
    space = codes == _SPACE
    begins = first | space | np.append(False, space[:-1])[: len(space)]
    chunk = np.cumsum(begins) - 1
    signs = np.flatnonzero((kinds > _WORDS) & ~space)
    # Each sign of a chunk once, ordered by chunk and code point.
    found = np.unique(chunk[signs] << _POINT_BITS | codes[signs].astype(np.int64))
    odd, counts = np.unique(found >> _POINT_BITS, return_counts=True)
    points = (found & ((1 << _POINT_BITS) - 1)).astype("<u4")
    text = points.tobytes().decode("utf-32-le", "surrogatepass")
    ends = np.cumsum(counts)
    shown = _cut(text, ends - counts, ends)
    shown = [one if len(one) <= _SIGNS else "many" for one in shown]
    number = np.where(space[begins], len(shown), 0)
    number[odd] = np.arange(1, len(odd) + 1)
    return _chosen([*shown, " "], number[chunk])


def _letters(numbers: np.ndarray) -> list[str]:
    """Small numbers as single characters."""
    return list((numbers + ord("0")).astype("<u4").tobytes().decode("utf-32-le"))


def _kinds(highest: int) -> np.ndarray:
    """The category of every code point up to the highest, as a number."""
    return _table(next(size for size in _SIZES if highest < size))


@lru_cache(maxsize=len(_SIZES))
def _table(size: int) -> np.ndarray:
    other = len(_NUMBER)
    names = map(unicodedata.category, map(chr, range(size)))
    return np.array([_NUMBER.get(name, other) for name in names], np.int64)
