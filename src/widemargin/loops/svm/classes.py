"""Newton's method for the weights of several SVMs: the loops over all examples for one of them.

The formulas are those of `widemargin.loops.svm.primal`. An example belongs to class c or to the
rest, so its sign is y_i = +1 if codes[i] = c, else -1. The loops read only the scores of the
examples, which one matrix product gives for all classes; so they do not depend on how rows are
stored.
"""

from __future__ import annotations

import math

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.svm.primal import Pull, next_trial

#: Maximum number of points tried in a line search, and the fraction of the slope that may remain.
#: Chosen by hand, as in the search for one class; only the time depends on them.
_TRIALS, _FLAT = 40, 0.1


@jit()
def find_step(corner, codes, c, s, t, costs, caps, line):
    """Find how far to go from the scores s along t, where the slope of the objective is nearly 0.

    The penalty adds line[0] + tau line[1] to the slope; line[2] < 0 is the whole slope at tau = 0.
    It is Newton's method, kept within a bracket. Costs one pass over the examples per trial.
    """
    tau, low, high = 1.0, 0.0, math.inf
    for _ in range(_TRIALS):
        slope, bend = line[0] + tau * line[1], line[1]
        for i in range(np.uint64(len(s))):
            y = 1.0 if codes[i] == c else -1.0
            rate = corner.rate * costs[i]
            a = min(max(rate * (corner.top - y * (s[i] + tau * t[i])), 0.0), caps[i])
            slope -= a * y * t[i]
            bend += rate * t[i] * t[i] if (a > 0.0) & (a < caps[i]) else 0.0
        if abs(slope) <= -_FLAT * line[2]:
            break
        tau, low, high = next_trial(tau, low, high, slope, bend)
    return tau


@jit()
def move_scores(corner, codes, c, t, tau, costs, caps, s, pull, inside, flipped):
    """Go on to the scores s + tau t, where every example pulls anew: by pull_i = a_i y_i.

    Changes s, pull and inside (1 for the examples on the parabola), and writes the examples whose
    `inside` changed into `flipped`. Returns the sums, and how many flipped.
    """
    mistakes, updates, n, m = 0, 0, np.uint64(0), np.uint64(0)
    loss, excess = 0.0, 0.0
    for i in range(np.uint64(len(s))):
        y = 1.0 if codes[i] == c else -1.0
        s[i] += tau * t[i]
        margin = y * s[i]
        mistakes += (margin <= 0.0) & (costs[i] > 0.0)
        short = 1.0 - margin
        a = min(max(corner.rate * costs[i] * (corner.top - margin), 0.0), caps[i])
        cost = costs[i] * max(short, 0.0)
        if corner.squared:
            loss += cost * max(short, 0.0)
        else:
            loss += cost
            excess += cost - a * short
        on = np.uint8((a > 0.0) & (a < caps[i]))
        flipped[m] = i
        m += np.uint64(on != inside[i])
        inside[i] = on
        n += np.uint64(on)
        updates += a * y != pull[i]
        pull[i] = a * y
    return Pull(mistakes, updates, np.int64(n), loss, excess), np.int64(m)


@jit()
def count_values(matrix, starts):
    """Write where the values of every row would start if only those that are not 0 were stored."""
    n = np.uint64(0)
    for i in range(np.uint64(len(matrix))):
        starts[i] = n
        row = matrix[i]
        for j in range(np.uint64(len(row))):
            n += np.uint64(row[j] != 0.0)
    starts[len(matrix)] = n


@jit()
def gather_values(matrix, starts, values, indices):
    """Write the values that are not 0, and their columns. Both have room for one more."""
    for i in range(np.uint64(len(matrix))):
        row, n = matrix[i], starts[i]
        for j in range(np.uint64(len(row))):
            values[n], indices[n] = row[j], j
            n += np.uint64(row[j] != 0.0)
