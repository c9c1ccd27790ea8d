"""Networks of perceptrons, two levels deep, for boolean functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.errors import DataError, ModelFileError
from widemargin.markup.words import several
from widemargin.modelfile.checks import check_shape
from widemargin.modelfile.files import read_model_file, restore, write_model_file
from widemargin.parameters.values import check_choice, check_whole

#: Maximum number of inputs: larger tables do not make readable networks.
_MOST_INPUTS = 16


@dataclass(frozen=True, eq=False)
class BooleanNetwork:
    """Two levels of perceptrons: a unit fires if its weighted sum is not negative.

    Attributes
    ----------
    hidden : array (h, n) of int8
        The weights of the hidden units, -1, 0 or +1.
    thresholds : array (h,) of int8
        Hidden unit j fires if hidden[j] . x >= thresholds[j].
    output, bias : int
        The weight of every hidden unit in the output unit, and its bias: +1 and -1 to fire if any
        does, -1 and 0 to fire if none does.
    """

    hidden: np.ndarray
    thresholds: np.ndarray
    output: int
    bias: int

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.hidden.shape[1]

    @property
    def units(self) -> int:
        """Number of hidden units."""
        return len(self.hidden)

    def fired(self, X: Any) -> np.ndarray:
        """Which hidden units fire, for every row of inputs."""
        X = self._check(X)
        # The sums are small enough for int8, but only products of floats are fast.
        sums = X.astype(np.float32) @ self.hidden.T.astype(np.float32)
        return sums >= self.thresholds

    def predict(self, X: Any) -> np.ndarray:
        """The output, 0 or 1, for every row of inputs."""
        X = self._check(X)
        found = np.empty(len(X), np.int64)
        step = max(1, 20_000_000 // max(1, self.units))
        for start in range(0, len(X), step):
            firing = np.count_nonzero(self.fired(X[start : start + step]), axis=1)
            found[start : start + step] = self.output * firing + self.bias >= 0
        return found

    def explain(self, x: Any) -> str:
        """Describe which hidden units fired on one row of inputs, and the resulting output."""
        x = self._check(np.atleast_2d(x))
        if len(x) != 1:
            raise DataError(f"explain takes one row of inputs, found {len(x)}")
        names = [self.describe(j) for j in np.flatnonzero(self.fired(x)[0]).tolist()]
        fired = f"fired: {'; '.join(names)}" if names else "no hidden unit fired"
        wants = "any fires" if self.output > 0 else "none fires"
        return f"{int(self.predict(x)[0])}: {fired}; the output is 1 if {wants}"

    def describe(self, unit: int) -> str:
        """The condition on which a hidden unit fires, as a conjunction."""
        parts = [
            f"x{j}" if weight > 0 else f"not x{j}"
            for j, weight in enumerate(self.hidden[unit])
            if weight
        ]
        return " and ".join(parts) or "anything"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the network to one file, atomically."""
        arrays = {"hidden": self.hidden, "thresholds": self.thresholds}
        about = {"model": "boolean network", "output": self.output, "bias": self.bias}
        write_model_file(path, arrays, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BooleanNetwork:
        """Read a network from a file written by `save`."""
        arrays, about = read_model_file(path)
        if about.get("model") != "boolean network":
            raise ModelFileError(f"{path}: holds a {about.get('model')!a:.50} model, not a network")
        return restore(path, arrays, about, cls._of)

    @classmethod
    def _of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> BooleanNetwork:
        """The network in a file."""
        hidden, thresholds = arrays["hidden"], arrays["thresholds"]
        check_shape("hidden", hidden, (len(hidden), hidden.shape[-1]), kinds="i")
        check_shape("thresholds", thresholds, (len(hidden),), kinds="i")
        check_choice("output", about["output"], (1, -1))
        check_choice("bias", about["bias"], (-1, 0))
        return cls(hidden, thresholds, about["output"], about["bias"])

    def _check(self, X: Any) -> np.ndarray:
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.inputs:
            raise DataError(f"inputs must be rows of {self.inputs} values, found shape {X.shape}")
        if X.size and not np.all((X == 0) | (X == 1)):
            raise DataError("inputs must be 0 or 1")
        return X.astype(np.int8)

    def __repr__(self) -> str:
        wants = "any fires" if self.output > 0 else "none fires"
        size = f"{several(self.inputs, 'input')}, {several(self.units, 'hidden unit')}"
        return f"{size}, 1 if {wants}"


def boolean_network(
    table: Sequence[Any] | np.ndarray | Callable[..., Any], inputs: int | None = None
) -> BooleanNetwork:
    """Build the two-level network of perceptrons that computes a boolean function.

        one hidden unit per conjunction:  +1 for an input that must be 1, -1 for one that must be 0;
                                          the threshold is the number of inputs that must be 1
        the output fires if any unit does (or, if the table has fewer zeros, if none does)

    Conjunctions that differ in one input are merged as long as that reduces their number. There
    are never more hidden units than half the entries of the table.

    Parameters
    ----------
    table : sequence of 2^n zeros and ones, or callable
        The value for every input; the first input is the highest bit of the index into the table. A
        callable is called with every row of inputs.
    inputs : int
        Number of inputs of a callable, at most 16.

    Examples
    --------
    >>> from widemargin import boolean_network
    >>> xor = boolean_network([0, 1, 1, 0])
    >>> xor
    2 inputs, 2 hidden units, 1 if any fires
    >>> xor.predict([[0, 0], [0, 1], [1, 0], [1, 1]])
    array([0, 1, 1, 0])
    >>> print(xor.explain([1, 0]))
    1: fired: x0 and not x1; the output is 1 if any fires
    """
    if callable(table):
        check_whole("inputs", inputs, least=0, most=_MOST_INPUTS)
        assert inputs is not None
        table = [table(*row) for row in every_input(inputs).tolist()]
    values = np.asarray(table)
    n = len(values).bit_length() - 1 if values.ndim == 1 else -1
    if n < 0 or len(values) != 1 << n or n > _MOST_INPUTS:
        raise DataError(
            f"a truth table has 2^n entries, n up to {_MOST_INPUTS}; found shape {values.shape}"
        )
    if not np.all((values == 0) | (values == 1)):
        raise DataError("a truth table holds zeros and ones")
    values = values.astype(bool)
    ones = int(np.count_nonzero(values))
    wanted = values if 2 * ones <= len(values) else ~values
    hidden = _conjunctions(wanted, n)
    thresholds = np.count_nonzero(hidden > 0, axis=1).astype(np.int8)
    positive = wanted is values
    network = BooleanNetwork(hidden, thresholds, 1 if positive else -1, -1 if positive else 0)
    if not np.array_equal(network.predict(every_input(n)), values):
        raise AssertionError("the network does not compute its table")
    return network


def every_input(n: int) -> np.ndarray:
    """All rows of n zeros and ones, counting upwards."""
    places = np.arange(1 << n)[:, None]
    return ((places >> np.arange(n - 1, -1, -1)) & 1).astype(np.int8)


def _conjunctions(wanted: np.ndarray, n: int) -> np.ndarray:
    """Weights of conjunctions that together hold exactly where wanted."""
    # Each input in turn is dropped from all pairs that differ only in it: one conjunction replaces
    # two. Every entry stays covered exactly once.
    cells = every_input(n)[wanted] * 2 - 1
    for j in range(n):
        others = np.delete(cells, j, axis=1)
        _, first, group, size = np.unique(
            others, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        keep = np.zeros(len(cells), bool)
        keep[first] = True
        pair = (size == 2)[group.ravel()]
        cells = cells.copy()
        cells[pair, j] = 0
        cells = cells[keep | ~pair]
    return np.ascontiguousarray(cells, np.int8)
