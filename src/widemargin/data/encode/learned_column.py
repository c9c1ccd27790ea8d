"""What an encoder of tables learns about a column: scale, categories, missing cells."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Moments:
    """Statistics of the numbers of a column, gathered chunk by chunk.

    Two parts with counts a, b, means m, k and sums of squared differences S, T make
    (a + b, m + d b / (a + b), S + T + d^2 a b / (a + b)) with d = k - m.

    References
    ----------
    Chan, Golub, LeVeque, "Algorithms for computing the sample variance" (1983), formula 2.1.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def add(self, numbers: np.ndarray) -> None:
        """Add more numbers."""
        b = len(numbers)
        if b == 0:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(np.mean(numbers))
            differences = numbers - mean
            squares = float(np.sum(differences * differences))
            d = mean - self.mean
            n = self.count + b
            self.squares += squares + d * d * (self.count / n) * b
            self.mean += d * (b / n)
        self.count = n
        self.low = min(self.low, float(numbers.min()))
        self.high = max(self.high, float(numbers.max()))

    def scaling(self, scale: str) -> tuple[float, float]:
        """What to subtract, and what to divide by.

        The divisor is infinity for a constant column, and NaN or 0 if float64 is not enough.
        """
        if self.count == 0:
            return 0.0, np.inf
        if scale == "none":
            return 0.0, 1.0
        if scale == "maxabs":
            return 0.0, max(abs(self.low), abs(self.high)) or np.inf
        if self.low == self.high:
            return self.low, np.inf
        spread = float(np.sqrt(self.squares / self.count))
        return self.mean, spread if np.isfinite(spread) else np.nan


@dataclass
class LearnedColumn:
    """What was learned about a column from training data."""

    name: str
    kind: str
    missing: int = 0
    moments: Moments = field(default_factory=Moments)
    values: dict[str, int] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """How many features the column makes."""
        plain = len(self.values) if self.kind == "category" else 1
        return plain + (self.missing > 0)

    def name_of(self, code: int) -> str:
        """The name of a feature: of a missing cell (0), or of a number or category (from 1)."""
        if code == 0:
            return f"{self.name} is missing"
        if self.kind != "category":
            return self.name
        return f"{self.name}={list(self.values)[code - 1]}"
