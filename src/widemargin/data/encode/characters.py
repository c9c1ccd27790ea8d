"""Tables of characters: whether each belongs to words, and its lower case."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.text.gather import SPACE, SPECIAL, WORD

#: Characters whose lower case is not one character, or depends on its neighbours.
CONTEXTUAL = "\u0130\u03a3"
_ASCII, _ALL = 0x80, 0x110000


@lru_cache(maxsize=4)
def character_table(lowercase: bool, everything: bool) -> np.ndarray:
    """The lower case and flags of each code point (of ASCII, or of all), as the loops read them.

    Words and white space are those of Python's `re`, applied to the lowercased text if requested: a
    character and its lower case need not be of the same kind.
    """
    points = np.arange(_ALL if everything else _ASCII, dtype=np.uint32)
    text = points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    if lowercase:
        for letter in CONTEXTUAL:
            text = text.replace(letter, "a")  # they are marked below
        text = text.lower()
    table = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)
    for pattern, flag in ((r"\w+", WORD), (r"\s+", SPACE)):
        for run in re.finditer(pattern, text):
            table[run.start() : run.end()] |= flag
    if lowercase and everything:
        for letter in CONTEXTUAL:
            table[ord(letter)] = SPECIAL
    return frozen(table)


@lru_cache(maxsize=2)
def byte_table(lowercase: bool) -> np.ndarray:
    """For each byte, its lower case if it belongs to words, 0 if not; 255 if it is not ASCII."""
    table = character_table(lowercase, False)
    plain = np.full(256, 255, np.uint8)
    plain[:_ASCII] = np.where(table & WORD, table & 0x7F, 0)
    return frozen(plain)
