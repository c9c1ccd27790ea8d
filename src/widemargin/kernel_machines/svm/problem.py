"""The problem that a kernel SVM solves: examples by class, and the machines that separate them."""

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


class TwoClassMachine(NamedTuple):
    """A machine that separates class `first` from `second`, or from all others if that is None."""

    first: int
    second: int | None


@dataclass(frozen=True)
class KernelSVMProblem:
    """Examples in the order of their classes, and the cost of errors on them.

    Attributes
    ----------
    kernel, points
        The kernel, and the examples.
    sizes : array
        The number of examples of every class; `points` holds one class after another.
    costs : array
        C times the weight of every example.
    C, tol : float
        The cost of an error, and the largest violation that may remain.
    pairs : bool
        With more than two classes: one machine per pair of classes, rather than one per class.
    threads : int
        The number of threads.
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
    def machines(self) -> list[TwoClassMachine]:
        """The machines in the order of the model."""
        count = len(self.sizes)
        if count > 2 and not self.pairs:
            return [TwoClassMachine(c, None) for c in range(count)]
        return [TwoClassMachine(a, b) for a, b in combinations(range(count), 2)]

    @cached_property
    def diagonal(self) -> np.ndarray:
        """K(x, x) of every example."""
        return diagonal(self.kernel, self.points)

    @cached_property
    def ends(self) -> np.ndarray:
        """Where the examples of every class end."""
        return np.cumsum(self.sizes)

    def span(self, c: int) -> slice:
        """Return the examples of a class."""
        return slice(int(self.ends[c] - self.sizes[c]), int(self.ends[c]))

    def examples(self, machine: TwoClassMachine) -> np.ndarray:
        """Return the examples that a machine learns from, in the machine's order."""
        if machine.second is None:
            return np.arange(self.points.n)
        first, second = self.span(machine.first), self.span(machine.second)
        return np.r_[first.start : first.stop, second.start : second.stop]

    def signs(self, machine: TwoClassMachine) -> np.ndarray:
        """Return 1 for the first class of a machine and -1 for others, in the machine's order."""
        if machine.second is not None:
            return np.repeat([1.0, -1.0], [self.sizes[machine.first], self.sizes[machine.second]])
        signs = np.full(self.points.n, -1.0)
        signs[self.span(machine.first)] = 1.0
        return signs

    def labels(self, machine: TwoClassMachine, classes: np.ndarray) -> tuple[Any, ...]:
        """Return the labels of the two classes, for a certificate."""
        return classes[machine.first], None if machine.second is None else classes[machine.second]


class Solved(NamedTuple):
    """The solution: support vectors, their coefficients in every machine, and the certificate."""

    support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    certificate: KernelCertificate
    steps: np.ndarray
    stopped: str
    beta: np.ndarray | None  # signed dual values (examples, machines), if they are known
