"""Formatting numbers and names for text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def several(n: int, what: str) -> str:
    """Format a count with a noun in the singular or plural.

    Examples
    --------
    >>> several(1, "mistake"), several(3, "class"), several(1200, "row")
    ('1 mistake', '3 classes', '1,200 rows')
    """
    ending = "es" if what.endswith("s") else "s"
    return f"{n:,} {what}{'' if n == 1 else ending}"


def some_labels(labels: Iterable[Any], most: int = 5) -> str:
    """List labels for a message, at most `most` of them.

    Examples
    --------
    >>> some_labels(["ham", "spam"]), some_labels(range(1000), most=2)
    ("'ham', 'spam'", "'0', '1', ... (1,000 in all)")
    """
    names = [repr(str(label)) for label in labels]
    more = f", ... ({len(names):,} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def one_line(text: Any) -> str:
    """Convert text to one line of printable characters, as control characters break SVG.

    Examples
    --------
    >>> one_line("a\\nb \\x1b[31m")
    'a b \ufffd[31m'
    """
    words = " ".join(str(text).split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)


def short(text: Any, most: int = 24) -> str:
    """Shorten a label for a plot.

    Examples
    --------
    >>> short("a rather long name of a feature", 10)
    'a rather …'
    """
    text = one_line(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def short_names(names: Sequence[Any], most: int = 24) -> list[str]:
    """Shorten names to at most this many letters, so that different names stay different.

    They are cut at the end; if that makes two of them equal, in the middle; and if that does not
    help, they are numbered.

    Examples
    --------
    >>> short_names(["Iris setosa", "Iris versicolor"], 8)
    ['Iris se…', 'Iris ve…']
    >>> short_names(["handwritten digit 1", "handwritten digit 2"], 9)
    ['hand…it 1', 'hand…it 2']
    """
    plain = list(map(one_line, names))
    tail = (most - 1) // 2
    ways = (
        [short(name, most) for name in plain],
        [
            name if len(name) <= most else f"{name[: most - 1 - tail]}…{name[-tail:]}"
            for name in plain
        ],
    )
    for way in ways:
        if len(set(way)) == len(set(plain)):
            return way
    numbered = enumerate(plain, 1)
    return [f"{number} " + short(name, most - len(str(number)) - 1) for number, name in numbered]
