"""The size of a hashed table of weights."""

from __future__ import annotations

import math

#: Even a few sentences get this many bits; a table of that size costs nothing.
_LEAST = 10


def bits_for(tokens: int, features: int, most: int) -> int:
    """The bits of a table with room for every feature of a corpus, up to a limit.

    Tables are cleared, averaged and rounded as a whole. One of full size would take far longer
    than learning from a few hundred sentences does.

    Parameters
    ----------
    tokens : int
        The size of the corpus.
    features : int
        How many features describe a token, at most.
    most : int
        The limit.

    Examples
    --------
    >>> bits_for(66, 184, most=20), bits_for(200_000, 184, most=20)
    (14, 20)
    """
    return max(_LEAST, min(most, math.ceil(math.log2(max(1, tokens * features)))))
