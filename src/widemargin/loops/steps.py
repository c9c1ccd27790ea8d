"""How far to step on one example: every rule is a few numbers.

With margin m = y (w . x), squared norm q = x . x and the dual value a that the example has
gathered so far (0 unless duals are kept), the step tau changes w by tau y x:

    ERROR     tau = eta                 if m < 0, or m = 0 and a tie counts as a mistake
    MARGIN    tau = eta                 if m <= target
    REACH     tau = clip(a + (target - m - soft a) / (q + soft), 0, cap) - a
    SIGMOID   tau = eta / (1 + exp(m))

REACH is the passive-aggressive step if a is not stored but always 0 (no cap, a cap C, soft = 1/2C),
and one step of dual coordinate descent for the SVM if a is stored. A price (class and sample
weight) multiplies what an error costs: eta, the cap, and 1/soft.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.loops.jit import jit

ERROR, MARGIN, REACH, SIGMOID = range(4)


class Rule(NamedTuple):
    """A step rule as numbers; see the top of this module."""

    form: int
    target: float = 0.0  # the margin aimed at
    eta: float = 1.0  # step size at turn 1
    power: float = 0.0  # step size at turn t: eta / t ** power
    cap: float = np.inf  # the longest step
    soft: float = 0.0  # how much the step yields
    l2: float = 0.0  # the penalty l2 |w|^2 is added to every example's loss
    ties: bool = True  # a tie is a mistake whatever the prediction


@jit()
def eta_at(rule, t):
    """The step size at turn t = 1, 2, ..."""
    return rule.eta if rule.power == 0.0 else rule.eta / t**rule.power


@jit(inner=True)
def mistaken(m, tie_is_wrong):
    """Whether margin m is a mistake."""
    return m < 0.0 or (m == 0.0 and tie_is_wrong)


@jit(inner=True)
def needs_norm(rule, m):
    """Whether the step at margin m depends on |x|^2, which costs another pass over the row."""
    return rule.form == REACH and m < rule.target


@jit(inline=True)
def reach(short, q, a, soft, cap):
    """The passive-aggressive step of an example that is `short` of the margin aimed at.

    clip(a + (short - soft a) / (q + soft), 0, cap) - a
    """
    if q + soft <= 0.0:  # a zero row can neither gain nor lose
        return 0.0
    reached = a + (short - soft * a) / (q + soft)
    return min(max(reached, 0.0), cap) - a


@jit()
def step(rule, m, wrong, q, a, eta, price):
    """Tau, the length of the step, for an example with margin m."""
    if rule.form == ERROR:
        return eta * price if wrong else 0.0
    if rule.form == MARGIN:
        return eta * price if m <= rule.target else 0.0
    if rule.form == SIGMOID:
        return eta * price / (1.0 + np.exp(m))
    return reach(rule.target - m, q, a, rule.soft / price, rule.cap * price)


@jit()
def loss(rule, m):
    """The loss of the rule at margin m."""
    if rule.form == SIGMOID:
        return np.log1p(np.exp(-m)) if m > 0.0 else np.log1p(np.exp(m)) - m
    return max(0.0, rule.target - m)
