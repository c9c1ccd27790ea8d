"""The full matrix of kernel values, for as many examples as fit in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernels.blocks import block, check_values, refuse_underflow
from widemargin.kernels.kernel import KERNEL_PARAMETERS, make_kernel, uses_of_kernel
from widemargin.kernels.points import points_of
from widemargin.parameters.effects import refuse_unused
from widemargin.parameters.names import refuse_unknown

#: The largest matrix that is computed, in bytes.
_MOST_BYTES = 1 << 31


def gram_matrix(X: Any, kernel: Any = "rbf", **params: Any) -> np.ndarray:
    """The matrix K[i, j] = K(x_i, x_j), in float64 and exactly symmetric.

    Parameters
    ----------
    X : array, sparse matrix, or a list of objects for a function
        The examples.
    kernel, **params
        See `widemargin.kernels.kernel.make_kernel`.

    Examples
    --------
    >>> gram_matrix([[0.0, 1.0], [2.0, 0.0]], "poly", degree=2)
    array([[ 4.,  1.],
           [ 1., 25.]])
    """
    refuse_unknown("gram_matrix", params, (*KERNEL_PARAMETERS, "kernel"))
    rows = None
    if not (callable(kernel) or kernel == "ngrams" or getattr(kernel, "on_objects", False)):
        X = X.to_matrix() if isinstance(X, Rows) else X
        rows = Rows.of(X, bias=0.0, dtype=np.float64)
    refuse_unused(params, uses_of_kernel(kernel))
    made = make_kernel(kernel, rows=rows, **params)
    points = points_of(made, X if rows is None else rows)
    if 8 * points.n**2 > _MOST_BYTES:
        raise DataError(
            f"the Gram matrix of {points.n} examples would take {8e-9 * points.n**2:.0f} GB;"
            f" use at most {int((_MOST_BYTES / 8) ** 0.5)} of them"
        )
    refuse_underflow(made, points)
    K = block(made, points, points)
    check_values(K, points, points)
    return (K + K.T) / 2.0
