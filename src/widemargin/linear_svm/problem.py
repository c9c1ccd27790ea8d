"""A two-class SVM as its solvers are given it, and what they tell."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin.data.rows import Rows
from widemargin.loops.steps import REACH, Rule


@dataclass(frozen=True)
class Problem:
    """Two classes to be told apart, and when to be content.

    Attributes
    ----------
    rows : Rows
        The examples, with each column stored at most once a row.
    y : array of int8
        -1 or +1.
    price : array of float64
        What multiplies the cost of every row; empty if nothing does. Rows of price 0 are left out.
    C : float
        What an error costs; infinity forbids errors.
    squared : bool
        Whether an error costs its square.
    free_bias : bool
        Whether a bias is added that costs nothing. (Otherwise it is a feature of the rows.)
    tol : float
        The relative gap to reach.
    epochs : int
        Passes at the most; a Newton step for the weights counts as one.
    """

    rows: Rows
    y: np.ndarray
    price: np.ndarray
    C: float = 1.0
    squared: bool = False
    free_bias: bool = False
    tol: float = 1e-3
    epochs: int = 1000

    @property
    def rule(self) -> Rule:
        """The step rule: that of the passive-aggressive learners."""
        if self.squared and math.isfinite(self.C):
            return Rule(REACH, target=1.0, soft=1.0 / (2.0 * self.C))
        return Rule(REACH, target=1.0, cap=self.C)

    @property
    def costs(self) -> np.ndarray:
        """C times the price of every row."""
        if not len(self.price):
            return np.full(self.rows.n, self.C)
        return np.multiply(self.C, self.price, where=self.price > 0.0, out=np.zeros(self.rows.n))


class Report(NamedTuple):
    """Where a solver stands, told after every slice of work."""

    epoch: int
    done: float  # the part of this epoch that is done, 0 to 1
    mistakes: int
    updates: int
    primal: float = 0.0  # estimated from what the pass saw; known when done is 1
    dual: float = 0.0


@dataclass
class Orders:
    """What the driver tells a solver between slices of work."""

    stop: bool = False


#: What a way of going on gives: reports after every slice of work.
Slices = Generator[Report, None, None]
#: The same, and whether it seems to have reached the end.
Leap = Generator[Report, None, bool]
