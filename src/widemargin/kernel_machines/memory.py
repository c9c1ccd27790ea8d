"""How much memory a machine may take."""

from __future__ import annotations

import re

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def bytes_of(given: int | float | str) -> int:
    """A size in bytes, from a number or a text such as "500MB".

    Examples
    --------
    >>> bytes_of("2GB") == 2 * 1024**3
    True
    """
    if isinstance(given, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", given.strip().upper())
        if not found:
            raise ValueError(f"max_memory={given!r} must be a size such as '500MB' or '2GB'")
        given = float(found[1]) * _UNITS[found[2]]
    if not given > 0:
        raise ValueError(f"max_memory={given!r} must be positive")
    return int(given)
