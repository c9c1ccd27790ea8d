"""The class that comes nearest to beating the right one."""

from __future__ import annotations

from widemargin.loops.jit import jit


@jit(inline=True)
def best_rival(s, right):
    """The class with the highest score but for the right one; of equals the first."""
    rival = 1 if right == 0 else 0
    for k in range(len(s)):
        if k != right and s[k] > s[rival]:
            rival = k
    return rival
