"""SMO for one pair of classes whose kernel rows are computed when a step first needs them.

A pair of a thousand examples has a hundred support vectors: most rows are never needed. A row is
computed from the columns of the examples, so that the innermost loop runs over examples that lie
side by side, whatever their number of features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.kernel.values import fast_exp
from widemargin.loops.svm.smo import smo_steps

#: The kernels x.z, (gamma x.z + coef0)^d and exp(-gamma |x - z|^2).
LINEAR, POWERS, DISTANCES = 0, 1, 2
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


class Form(NamedTuple):
    """A kernel by its number above, and its parameters."""

    kind: int
    gamma: float
    coef0: float
    degree: int


class PairRows(NamedTuple):
    """The examples of all classes, class by class, and where the two of a pair begin."""

    X: np.ndarray  # (n, d)
    columns: np.ndarray  # the same as (d, n)
    squares: np.ndarray  # x.x of every example
    first: int
    size: int  # examples of the first class
    second: int
    rest: int  # examples of the second class


@jit(inline=True)
def add_products(x, columns, start, end, v):
    """v[t] = x . z_t for the examples z from start to end, four features at a time."""
    d, count = np.uint64(len(x)), np.uint64(len(v))
    whole = d - d % _FOUR
    for t in range(count):
        v[t] = 0
    for f in range(np.uint64(0), whole, _FOUR):
        p, q = x[f], x[f + _ONE]
        r, s = x[f + _TWO], x[f + _THREE]
        a, b = columns[f][start:end], columns[f + _ONE][start:end]
        c, e = columns[f + _TWO][start:end], columns[f + _THREE][start:end]
        for t in range(count):
            v[t] += (p * a[t] + q * b[t]) + (r * c[t] + s * e[t])
    for f in range(whole, d):
        p, a = x[f], columns[f][start:end]
        for t in range(count):
            v[t] += p * a[t]


@jit(inline=True)
def finish_row(v, own, squares, form):
    """Turn products with an example of square `own` into kernel values, in place."""
    kind = v.dtype.type
    count = np.uint64(len(v))
    if form.kind == DISTANCES:
        zero, a = kind(0), kind(-form.gamma * own)
        g, g2 = kind(-form.gamma), kind(2.0 * form.gamma)
        for t in range(count):
            s = (a + g2 * v[t]) + g * kind(squares[t])
            v[t] = fast_exp(zero if s > zero else s)
    elif form.kind == POWERS:
        g, c = kind(form.gamma), kind(form.coef0)
        for t in range(count):
            base = g * v[t] + c
            power = base
            for _ in range(1, form.degree):
                power *= base
            v[t] = power


@jit(inner=True)
def fill_row(rows, form, i, v):
    """Compute the kernel row of the i-th example of a pair."""
    size, rest = np.uint64(rows.size), np.uint64(rows.rest)
    first, second = np.uint64(rows.first), np.uint64(rows.second)
    place = first + i if i < size else second + (i - size)
    x, own = rows.X[place], rows.squares[place]
    begin, at = first, np.uint64(0)
    for count in (size, rest):
        part, end = v[at : at + count], begin + count
        add_products(x, rows.columns, begin, end, part)
        finish_row(part, own, rows.squares[begin:end], form)
        begin, at = second, count
    for t in range(size + rest, np.uint64(len(v))):
        v[t] = 0


@jit()
def solve_pair(rows, form, K, known, q, E, beta, low, high, tol, most, longest, work):
    """Run `smo_steps`, computing a row of K whenever one is needed: at most `most` steps.

    The arrays are as in `smo_steps`; K, known, E and beta are changed. Returns the steps, the
    violation that is left, and how many rows were computed.
    """
    steps, filled = 0, 0
    missing = np.int64(-1) if known[0] else np.int64(0)
    violation = np.inf
    while True:
        if missing >= 0:
            i = np.uint64(missing)
            fill_row(rows, form, i, K[i])
            known[i] = 1
            filled += 1
        taken, violation, missing = smo_steps(
            K, known, q, E, beta, low, high, tol, most - steps, longest, work
        )
        steps += taken
        if missing < 0 or steps >= most:
            return steps, violation, filled
