"""Edit scripts: what makes the lemma of a word, so that it fits words never seen as well.

A script says, between tabs, the case of letters, and then how many of them are taken away and what
is put in their place at the beginning and at the end: "lower -0+ -3+y" makes try of Tries. Where
word and lemma have no letter in common, it is the lemma itself: "=be".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

#: How the case of letters changes, in the order in which it is tried.
_CASES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "same": str,
    "title": lambda word: word[:1].upper() + word[1:].lower(),
    "upper": str.upper,
}

#: A script that keeps some letters; no word has a billion of them.
_SCRIPT = re.compile(rf"({'|'.join(_CASES)})\t-[0-9]{{1,9}}\+[^\t]*\t-[0-9]{{1,9}}\+[^\t]*")

#: The time to look for a common substring grows with the third power of the length: a word and a
#: lemma of so many letters without a common one took 10 ms.
_LONGEST = 200


def script_of(word: str, lemma: str) -> str:
    """The script that makes a lemma of a word: the one that keeps most of it.

    Examples
    --------
    >>> script_of("Tries", "try")
    'lower\\t-0+\\t-3+y'
    >>> apply_script(script_of("Tries", "try"), "flies")
    'fly'
    >>> script_of("is", "be")
    '=be'
    """
    if "\t" in lemma:  # which separates the parts of other scripts
        return f"={lemma}"
    best, script, tried = 0, f"={lemma}", set()
    for case, change in _CASES.items():
        changed = change(word)
        if changed in tried:
            continue
        tried.add(changed)
        size, begin, at = _longest_common(changed, lemma)
        if size > best:
            best = size
            after = len(changed) - begin - size
            script = f"{case}\t-{begin}+{lemma[:at]}\t-{after}+{lemma[at + size :]}"
    return script if apply_script(script, word) == lemma else f"={lemma}"


def _longest_common(word: str, lemma: str) -> tuple[int, int, int]:
    """The size of the longest substring that both have, and where the first one begins.

    In what is longer than any word, such as an address, only a common beginning is looked for.
    """
    if max(len(word), len(lemma)) > _LONGEST:
        pairs = enumerate(zip(word, lemma, strict=False))
        shorter = min(len(word), len(lemma))
        return next((k for k, (a, b) in pairs if a != b), shorter), 0, 0
    for size in range(min(len(word), len(lemma)), 0, -1):
        for begin in range(len(word) - size + 1):
            at = lemma.find(word[begin : begin + size])
            if at >= 0:
                return size, begin, at
    return 0, 0, 0


@lru_cache(maxsize=1 << 16)
def _read_script(script: str) -> tuple[Callable[[str], str], int, str, int, str]:
    case, begin, end = script.split("\t")
    taken, _, added = begin[1:].partition("+")
    cut, _, put = end[1:].partition("+")
    return _CASES[case], int(taken), added, int(cut), put


def check_script(script: str) -> None:
    """Raise a ValueError if this is no script, as in a file that was forged.

    Examples
    --------
    >>> check_script("lower\\t-0+\\t-3+y")
    >>> check_script("lower -3+y")
    Traceback (most recent call last):
    ValueError: 'lower -3+y' is no edit script
    """
    if not script.startswith("=") and not _SCRIPT.fullmatch(script):
        raise ValueError(f"{script!r:.40} is no edit script")


def apply_script(script: str, word: str) -> str:
    """The lemma that a script makes of a word; the word itself if it does not fit."""
    if script.startswith("="):
        return script[1:]
    change, taken, added, cut, put = _read_script(script)
    changed = change(word)
    if taken + cut > len(changed):
        return word
    return added + changed[taken : len(changed) - cut] + put or word
