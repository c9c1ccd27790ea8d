"""What a kernel SVM has to solve: examples by class, and the machines that tell them apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.kernel_gap import KernelCertificate
from widemargin.kernels.blocks import diagonal
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.points import Points


class Machine(NamedTuple):
    """Tells the class `first` from `second`, or from all others if that is None."""

    first: int
    second: int | None


@dataclass(frozen=True)
class Problem:
    """Examples in the order of their classes, and what errors on them cost.

    Attributes
    ----------
    kernel, points
        What is computed, of what.
    sizes : array
        How many examples every class has; they follow each other in `points`.
    costs : array
        C times the weight of every example.
    C, tol : float
        What an error costs; the largest violation that may be left.
    pairs : bool
        More than two classes: a machine for every two, rather than one a class.
    threads : int
        How many may work.
    """

    kernel: Kernel
    points: Points
    sizes: np.ndarray
    costs: np.ndarray
    C: float
    tol: float
    pairs: bool
    threads: int

    @property
    def machines(self) -> list[Machine]:
        """The machines in the order in which the model has them."""
        count = len(self.sizes)
        if count > 2 and not self.pairs:
            return [Machine(c, None) for c in range(count)]
        return [Machine(a, b) for a, b in combinations(range(count), 2)]

    @cached_property
    def diagonal(self) -> np.ndarray:
        """K(x, x) of every example."""
        return diagonal(self.kernel, self.points)

    @cached_property
    def ends(self) -> np.ndarray:
        """Where the examples of every class end."""
        return np.cumsum(self.sizes)

    def span(self, c: int) -> slice:
        """The examples of a class."""
        return slice(int(self.ends[c] - self.sizes[c]), int(self.ends[c]))

    def examples(self, machine: Machine) -> np.ndarray:
        """The places of the examples that a machine learns from, in its own order."""
        if machine.second is None:
            return np.arange(self.points.n)
        first, second = self.span(machine.first), self.span(machine.second)
        return np.r_[first.start : first.stop, second.start : second.stop]

    def signs(self, machine: Machine) -> np.ndarray:
        """1 for the first class of a machine, -1 for the others, in the machine's order."""
        if machine.second is not None:
            return np.repeat([1.0, -1.0], [self.sizes[machine.first], self.sizes[machine.second]])
        signs = np.full(self.points.n, -1.0)
        signs[self.span(machine.first)] = 1.0
        return signs

    def labels(self, machine: Machine, classes: np.ndarray) -> tuple[Any, ...]:
        """The two classes, for a certificate."""
        return classes[machine.first], None if machine.second is None else classes[machine.second]


class Solved(NamedTuple):
    """What was found: the examples that count, what they add to every machine, its worth."""

    support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    certificate: KernelCertificate
    steps: np.ndarray
    stopped: str
    beta: np.ndarray | None  # signed dual values (examples, machines), if they are known
