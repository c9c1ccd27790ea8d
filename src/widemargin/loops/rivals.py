"""The best-scoring class other than the correct one."""

from __future__ import annotations

from widemargin.loops.jit import jit


@jit(inline=True)
def best_rival(s, right):
    """The class with the highest score other than `right`; the first, if there are several."""
    rival = 1 if right == 0 else 0
    for k in range(len(s)):
        if k != right and s[k] > s[rival]:
            rival = k
    return rival
