"""Test whether a kernel is legal: its Gram matrices are symmetric and positive semi-definite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernels.blocks import block, check_values
from widemargin.kernels.kernel import KERNEL_PARAMETERS, Kernel, make_kernel, uses_of_kernel
from widemargin.kernels.points import Points, len_of, points_of
from widemargin.parameters.effects import refuse_unused
from widemargin.parameters.names import refuse_unknown

#: Relative size below which a number is treated as a rounding error, by type.
_ROUNDING = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-4}


@dataclass(frozen=True)
class KernelCheck:
    """What the Gram matrix of a sample shows about a kernel.

    Attributes
    ----------
    n : int
        The number of examples in the sample.
    asymmetry : float
        The largest difference between K(x, z) and K(z, x).
    smallest, largest : float
        The extreme eigenvalues of the Gram matrix.
    legal : bool
        Whether no violation was found. A sample can show that a function is not a kernel, but not
        that it is one.
    """

    n: int
    asymmetry: float
    smallest: float
    largest: float
    legal: bool

    def __bool__(self) -> bool:
        return self.legal

    def __repr__(self) -> str:
        verdict = "no violation found" if self.legal else "not a kernel"
        return (
            f"{verdict} ({self.n} examples: eigenvalues {self.smallest:.4g} ..."
            f" {self.largest:.4g}, asymmetry {self.asymmetry:.2g})"
        )


def check_kernel(kernel: Any, X: Any, *, sample: int = 300, seed: int = 0, **params: Any) -> Any:
    """Test whether a kernel is legal (L27 of the lectures), on a sample of examples.

    A kernel is legal if every Gram matrix K[i, j] = K(x_i, x_j) is symmetric and positive
    semi-definite; it is then an inner product in some feature space.

    Parameters
    ----------
    kernel : str or callable
        See `make_kernel`, which also takes the other parameters.
    X : array, sparse matrix, or a list of objects for a function
        The examples, or for "precomputed" the square Gram matrix.
    sample : int
        Check at most this many examples, drawn at random.

    Returns
    -------
    KernelCheck, which is true if no violation was found

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> bool(check_kernel("rbf", X, gamma=1.0))
    True
    >>> bool(check_kernel(lambda x, z: -abs(x[0] - z[0]), X))
    False
    """
    refuse_unknown("check_kernel", params, (*KERNEL_PARAMETERS, "sample", "seed"))
    rows = None if callable(kernel) or isinstance(kernel, Kernel) else _vectors(X)
    refuse_unused(params, uses_of_kernel(kernel))
    made = make_kernel(kernel, rows=rows, **params)
    points = points_of(made, X)
    if made.is_precomputed:
        check_square(points)
    chosen = np.arange(points.n)
    if points.n > sample:
        chosen = np.sort(np.random.default_rng(seed).choice(points.n, sample, replace=False))
    some = points.take(chosen)
    K = block(made, some, some)
    check_values(K, some, some)
    return _examine(K)


def check_gram(points: Points) -> None:
    """Raise an error unless a precomputed matrix is square, symmetric and, on a sample, legal."""
    check_square(points)
    assert points.rows is not None
    matrix = points.rows.to_matrix()
    largest = float(abs(matrix).max()) if points.n else 0.0
    different = abs(matrix - matrix.T)
    if float(different.max()) > _ROUNDING[points.dtype] * largest:
        found = different.toarray() if points.rows.is_sparse else different
        i, j = divmod(int(np.argmax(found)), points.n)
        raise DataError(
            f"a precomputed matrix must be symmetric: K[{i}, {j}] is {matrix[i, j]:.6g} but"
            f" K[{j}, {i}] is {matrix[j, i]:.6g}"
        )
    chosen = np.unique(np.linspace(0, points.n - 1, min(points.n, 300)).astype(np.int64))
    found = matrix[chosen][:, chosen]
    kernel_check = _examine(found.toarray() if points.rows.is_sparse else found)
    if not kernel_check.legal:
        raise DataError(
            f"a precomputed matrix must be positive semi-definite: its eigenvalues range from"
            f" {kernel_check.smallest:.4g} to {kernel_check.largest:.4g}, so it is not the Gram"
            " matrix of a kernel"
        )


def check_square(points: Points) -> None:
    """Raise an error unless a precomputed matrix has as many columns as rows."""
    assert points.rows is not None
    if points.rows.n != points.rows.width:
        raise DataError(
            "a precomputed matrix to learn from must be square, with one row and one column per"
            f" example; found shape {points.rows.shape}"
        )


def _vectors(X: Any) -> Rows | None:
    """The examples as rows, if they are vectors."""
    if len_of(X) and isinstance(X, (list, tuple)) and isinstance(X[0], str):
        return None
    return Rows.of(X, bias=0.0)


def _examine(K: np.ndarray) -> KernelCheck:
    """Check one Gram matrix."""
    K = np.asarray(K)
    rounding = _ROUNDING.get(K.dtype, 1e-9)
    found = K.astype(np.float64)
    asymmetry = float(np.max(np.abs(found - found.T), initial=0.0))
    eigenvalues = np.linalg.eigvalsh((found + found.T) / 2.0) if len(found) else np.zeros(1)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    size = max(abs(smallest), abs(largest))
    legal = asymmetry <= rounding * size and smallest >= -rounding * size
    return KernelCheck(len(found), asymmetry, smallest, largest, legal)
