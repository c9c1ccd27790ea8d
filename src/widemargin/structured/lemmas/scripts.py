"""Edit scripts, which turn words into lemmas in a way that also works for unseen words.

A script consists of fields separated by tabs: the case of the letters, and then how many of them to
remove and what to put in their place at the beginning and at the end: "lower -0+ -3+y" turns Tries
into try. If word and lemma have no letter in common, the script is the lemma itself: "=be".
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

#: The time to find a common substring grows with the cube of the length: a word and a lemma of this
#: many letters without a common one took 10 ms.
_LONGEST = 200


def script_of(word: str, lemma: str) -> str:
    """The script that turns a word into a lemma and keeps as much of the word as possible.

    Examples
    --------
    >>> script_of("Tries", "try")
    'lower\\t-0+\\t-3+y'
    >>> apply_script(script_of("Tries", "try"), "flies")
    'fly'
    >>> script_of("is", "be")
    '=be'
    """
    if "\t" in lemma:  # a tab separates the fields of other scripts
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
    """The size of the longest common substring, and where it first begins in each.

    For strings longer than any word, such as a URL, only a common prefix is searched for.
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
    """Raise a ValueError if this is not a script, as in a forged file.

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
    """The lemma of a word by a script; the word itself if the script does not fit."""
    if script.startswith("="):
        return script[1:]
    change, taken, added, cut, put = _read_script(script)
    changed = change(word)
    if taken + cut > len(changed):
        return word
    return added + changed[taken : len(changed) - cut] + put or word
