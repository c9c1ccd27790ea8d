"""Margins of several classes: how far the right class is ahead of its best rival."""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit


@jit(inline=True)
def best_rival(s, right):
    """The class with the highest score other than `right`; the first, if there are several."""
    rival = 1 if right == 0 else 0
    for k in range(len(s)):
        if k != right and s[k] > s[rival]:
            rival = k
    return rival


@jit(inline=True)
def multiclass_margin(s, right):
    """The margin of the class `right`, its best rival, and whether a margin of 0 is a mistake.

    The margin is half the lead, m = (s[right] - s[rival]) / 2, so that two classes learn the rows
    -w and +w of the binary loop. Of equal scores the first predicts, so a tie with an earlier class
    is a mistake.
    """
    rival = best_rival(s, right)
    return (np.float64(s[right]) - np.float64(s[rival])) / 2.0, rival, rival < right
