"""The SVM problems that the solvers are given, and the reports on their progress."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin.data.rows import Rows
from widemargin.loops.steps import REACH, Rule


@dataclass(frozen=True)
class BinarySVM:
    """A two-class SVM, and how precisely to solve it.

        min over w, b of  1/2 w.w + sum_i C price_i loss(1 - y_i (w.x_i + b))

    Attributes
    ----------
    rows : Rows
        The examples. A row stores each column at most once.
    y : array of int8
        -1 or +1.
    price : array of float64
        The weight of each example's loss; empty if all weights are 1. Examples of weight 0 are
        left out.
    C : float
        The cost of an error; infinity forbids errors (the hard margin).
    squared : bool
        Whether the loss is the squared hinge.
    free_bias : bool
        Whether there is a bias that is not regularised. (Otherwise the bias is the weight of a
        constant feature of the rows.)
    tol : float
        The relative duality gap to reach.
    epochs : int
        The largest number of passes; a Newton step in the primal counts as one.
    features : int
        The number of columns before those that never occur were left out; 0 if none were. The
        choice of steps depends on it.
    """

    rows: Rows
    y: np.ndarray
    price: np.ndarray
    C: float = 1.0
    squared: bool = False
    free_bias: bool = False
    tol: float = 1e-3
    epochs: int = 1000
    features: int = 0

    @property
    def width(self) -> int:
        """The number of columns on which the choice of steps depends."""
        return self.features or self.rows.width

    @property
    def rule(self) -> Rule:
        """The step rule: that of the passive-aggressive learners."""
        if self.squared and math.isfinite(self.C):
            return Rule(REACH, target=1.0, soft=1.0 / (2.0 * self.C))
        return Rule(REACH, target=1.0, cap=self.C)

    @property
    def costs(self) -> np.ndarray:
        """C times the weight of every example."""
        if not len(self.price):
            return np.full(self.rows.n, self.C)
        return np.multiply(self.C, self.price, where=self.price > 0.0, out=np.zeros(self.rows.n))


@dataclass(frozen=True)
class JointSVM:
    """One SVM for several classes, and how precisely to solve it.

        min over W of  1/2 sum_k w_k.w_k + sum_i C price_i max_k (1 - [k = y_i] + (w_k - w_y).x_i)

    Attributes
    ----------
    rows : Rows
        The examples. A row stores each column at most once.
    y : array of int64
        Their classes, 0 ... classes - 1.
    price : array of float64
        The weight of each example's loss; empty if all weights are 1. Examples of weight 0 are
        left out.
    classes : int
        The number of classes.
    C, tol, epochs
        The cost of an error, the relative gap to reach, and the largest number of epochs. An epoch
        is either a Newton step or passes that add up to at least half of all examples and classes.
    """

    rows: Rows
    y: np.ndarray
    price: np.ndarray
    classes: int
    C: float = 1.0
    tol: float = 1e-3
    epochs: int = 1000

    @property
    def costs(self) -> np.ndarray:
        """C times the weight of every example."""
        return self.C * (self.price if len(self.price) else np.ones(self.rows.n))


class SolverReport(NamedTuple):
    """A solver's progress, reported after every slice of work."""

    epoch: int
    done: float  # the fraction of this epoch that is done, 0 to 1
    mistakes: int
    updates: int
    primal: float = 0.0  # estimated during the pass; available once `done` is 1
    dual: float = 0.0


class Reports(NamedTuple):
    """The reports of several steps that were taken at once."""

    each: list[SolverReport]


@dataclass
class StopSignal:
    """Set by the driver to make solvers stop after their current slice of work."""

    stop: bool = False


#: A generator of reports that returns whether the gap seems to have been reached.
Attempt = Generator[SolverReport | Reports, None, bool]
