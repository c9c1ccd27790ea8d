"""Train on vectors with scaled columns, and predict on unscaled ones.

With x' = x f, where f holds a factor for every column, the score w'.x' is that of the weights
w = w' f on x. So nothing has to be scaled when a model predicts.
"""

from __future__ import annotations

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.loops.storage import Sparse
from widemargin.online.state import State


def scale_columns(rows: Rows) -> tuple[Rows, np.ndarray]:
    """Return sparse rows with columns scaled to absolute values of at most 1, and the factors."""
    assert isinstance(rows.stored, Sparse)
    values, indices = rows.stored.values, rows.stored.indices
    largest = np.zeros(rows.width)
    np.maximum.at(largest, indices.astype(np.int64), np.abs(values))
    factors = np.divide(1.0, largest, out=np.ones(rows.width), where=largest > 0.0)
    scaled = values * factors.astype(values.dtype)[indices.astype(np.int64)]
    stored = rows.stored._replace(values=frozen(scaled))
    return Rows(stored, rows.n, rows.width, rows.distinct), factors


def unscale_weights(state: State, factors: np.ndarray) -> None:
    """Turn weights for scaled columns into weights for the unscaled ones, in place."""
    if state.columns is not None:  # the first stands for all columns that never occurred
        factors = np.append(1.0, factors[state.columns.ids.astype(np.int64)])
    state.W[:, :-1] *= factors
