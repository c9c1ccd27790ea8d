"""Numbers and names in sentences."""

from __future__ import annotations

from typing import Any


def several(n: int, what: str) -> str:
    """A number of things.

    Examples
    --------
    >>> several(1, "mistake"), several(3, "mistake")
    ('1 mistake', '3 mistakes')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"


def short(text: Any, most: int = 24) -> str:
    """A label short enough for a plot.

    Examples
    --------
    >>> short("a rather long name of a feature", 10)
    'a rather …'
    """
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"
