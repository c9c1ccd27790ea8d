"""Orders of rows, written by compiled loops."""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit

#: Rows that lie side by side and are read together; see "Shuffling in streams" in
#: docs/decisions.md. A constant and a power of two: a division would cost more.
RUN = np.uint64(64)


@jit()
def interleave_runs(which, runs, cut, window, rest, out):
    """Write rows into `out`, run after run, and shuffle them window by window.

    The first len(runs) * RUN places of the order are those of the runs, in the order given by
    `runs`, each beginning at cut + RUN * its number; the other places are those before the first
    run and behind the last. Every len(window) places are then permuted by `window`, and those left
    over by `rest`.
    """
    inside = np.uint64(len(runs)) * RUN
    size = np.uint64(len(window))
    whole = np.uint64(len(out)) // size * size
    for begin in range(np.uint64(0), whole, size):
        for k in range(size):
            out[begin + k] = which[_place(begin + window[k], runs, cut, inside)]
    for k in range(np.uint64(len(rest))):
        out[whole + k] = which[_place(whole + rest[k], runs, cut, inside)]


@jit(inline=True)
def _place(p, runs, cut, inside):
    """Which of the rows comes p-th when runs are laid out one after the other."""
    if p < inside:
        return cut + runs[p // RUN] * RUN + p % RUN
    return p - inside if p < inside + cut else p


@jit()
def keep_active(which, shrunk, out):
    """Write the rows that are not shrunk to `out`; returns their number."""
    n = np.uint64(0)
    for k in range(len(which)):
        out[n] = which[k]
        n += np.uint64(shrunk[which[k]] == 0)
    return n
