"""Dual coordinate descent for several classes side by side, each against the rest.

The problems of `widemargin.loops.svm.dual` for all classes have the same rows. Here the weights of
a feature for all classes are a row of V, a lane for each class, and so are the dual values of an
example: what one class costs by itself, eight cost together. Weights and dual values are float32,
which is enough for a gap of 1e-4; what is found is measured, and if need be improved, in float64.

A column that only one example has is left out of its row: its weight is a multiple of that
example's own dual value. Where these columns have the squared length d, the margin lacks d alpha:

    m = y (V . x) + d alpha

What a pass changes in place: V, alpha, `shrunk` (1 for examples that look as if no class will need
them) and `seen`, figures of every lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.lanes import add_to_rows, weigh_rows

_1 = np.uint64(1)
_F0, _F1, _HALF = np.float32(0), np.float32(1), np.float32(0.5)
#: Larger than any score that float32 can work with.
_LARGE = np.float32(1e30)
#: Sums of float32 go on in float64 after this many examples.
_EXAMPLES = 256


class LaneRows(NamedTuple):
    """The examples without the columns that only one of them has."""

    values: np.ndarray  # of float32
    indices: np.ndarray
    starts: np.ndarray
    bias: float
    q: np.ndarray  # the squared length of every whole row, of float32
    d: np.ndarray  # and of the columns that only this row has
    lane: np.ndarray  # the lane in which an example is positive; a larger number if there is none
    price: np.ndarray  # empty if all weights are 1


class LaneRule(NamedTuple):
    """The problem: cap = C, soft = 0 for the hinge; cap = inf, soft = 1/2C for the squared one."""

    cap: float
    soft: float


class Seen(NamedTuple):
    """What a pass saw of each lane, up to an example."""

    gap: np.ndarray  # the duality gap, each example's part taken before its step; of float64
    gain: np.ndarray  # by how much the dual grew
    up: np.ndarray  # the largest slope of the dual at an alpha that could grow; of float32
    down: np.ndarray  # the same at one that could shrink
    some: np.ndarray  # two rows of float32: gap and gain of the last examples
    on: np.ndarray  # 1 for lanes in use, else 0; of float32


@jit()
def lanes_pass(rows, order, rule, limits, V, alpha, shrunk, seen):
    """Coordinate ascent in the duals of all classes.

        for i in order:
            m = y (V . x[i]) + d[i] alpha[i]      (a number for each class)
            a = clip(alpha[i] + (1 - m - soft alpha[i]) / (q[i] + soft), 0, cap)
            V += (a - alpha[i]) y x[i]
            alpha[i] = a

    `limits` are slopes (up, down) for every lane, see `dual_pass`. Returns how many examples were
    on the wrong side (counted for each class), how many changed, and whether all is finite.
    """
    width = np.uint64(V.shape[1])
    s, steps = np.empty(width, np.float32), np.empty(width, np.float32)
    constant, bias = V[len(V) - 1], np.float32(rows.bias)
    mistakes, updates, finite = 0, 0, True
    for j in range(len(order)):
        i = order[j]
        first, last = rows.starts[i], rows.starts[i + _1]
        weigh_rows(V, rows.values, rows.indices, first, last, s)
        for c in range(width):
            s[c] += bias * constant[c]
        own = rows.lane[i]
        if own < width:
            s[own] = -s[own]
        weight = rows.price[i] if len(rows.price) else 1.0
        soft, cap = np.float32(rule.soft / weight), np.float32(rule.cap * weight)
        wrong, changed, held, sane = step_lanes(
            s, alpha[i], rows.q[i], rows.d[i], soft, cap, limits, seen, steps
        )
        mistakes += wrong
        shrunk[i] = held
        finite &= sane
        if changed:
            updates += 1
            if own < width:
                steps[own] = -steps[own]
            add_to_rows(V, rows.values, rows.indices, first, last, steps)
            for c in range(width):
                constant[c] += bias * steps[c]
        if j % _EXAMPLES == _EXAMPLES - 1 or j == len(order) - 1:
            gather_sums(seen, width)
    return mistakes, updates, finite


@jit(inline=True)
def step_lanes(s, a, q, d, soft, cap, limits, seen, steps):
    """One example's step in all lanes: s is minus the margin without d a. Changes a.

    Gives how many lanes had it on the wrong side, whether any changed, whether all are held at a
    bound by more than the limits, and whether all scores are finite. `steps` are minus the changes:
    those of a negative example.
    """
    wrong, changed, held, sane = 0, False, True, True
    whole = q + soft
    share = _F1 / whole if whole > _F0 else _LARGE  # of a zero row only alpha feels it
    # The loss of the squared hinge is short^2 / 2 soft, that of the hinge cap short.
    curved = _HALF / soft if soft > _F0 else _F0
    straight = _F0 if soft > _F0 else cap
    for c in range(np.uint64(len(s))):
        old, on = a[c], seen.on[c]
        short = _F1 + s[c] - d * old
        slope = short - soft * old
        new = old + slope * share
        new = new if new > _F0 else _F0
        new = on * (new if new < cap else cap)
        tau = new - old
        over = short if short > _F0 else _F0
        seen.some[0, c] += old * (_HALF * soft * old - short) + over * (straight + curved * over)
        seen.some[1, c] += tau * (slope - _HALF * tau * whole)
        grows = slope if old < cap else _F0
        falls = -slope if old > _F0 else _F0
        seen.up[c] = grows if grows > seen.up[c] else seen.up[c]
        seen.down[c] = falls if falls > seen.down[c] else seen.down[c]
        low = (old == _F0) & (slope < -limits[1, c])
        high = (old == cap) & (slope > limits[0, c])
        held &= low | high | (on == _F0)
        wrong += (short - _F1 + d * old >= _F0) & (on > _F0)
        changed |= tau != _F0
        sane &= (short > -_LARGE) & (short < _LARGE)
        a[c] = new
        steps[c] = -tau
    return wrong, changed, held, sane


@jit(inline=True)
def gather_sums(seen, width):
    """Move the sums of the last examples to where they are added up in double precision."""
    for c in range(width):
        seen.gap[c] += seen.some[0, c]
        seen.gain[c] += seen.some[1, c]
        seen.some[0, c] = _F0
        seen.some[1, c] = _F0
