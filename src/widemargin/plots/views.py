"""Planes on which examples are shown: their own two features, a slice, or a projection.

A view defines where an example lies in the plot, what the axes mean, and what a hyperplane of the
full space looks like there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.markup.reprs import brief_repr

#: Two columns, by number or by name.
Features = tuple[int | str, int | str]
#: The number of rows to sample for finding a direction.
_SAMPLED = 2000


class Line(NamedTuple):
    """The line w.p + b = 0 in a plot."""

    w: np.ndarray
    b: float


@dataclass(frozen=True)
class View:
    """The plane origin + p_0 basis_0 + p_1 basis_1.

    Attributes
    ----------
    origin : array (d,)
    basis : array (2, d)
        Orthonormal rows.
    axes : (str, str)
        The labels of the two axes.
    story : str
        How the examples were projected; empty if they have two features.
    """

    origin: np.ndarray
    basis: np.ndarray
    axes: tuple[str, str]
    story: str = ""

    __repr__ = brief_repr

    def place(self, X: Any) -> np.ndarray:
        """The coordinates of examples in the plot: (n, 2)."""
        return np.asarray(X @ self.basis.T) - self.basis @ self.origin

    def lift(self, points: np.ndarray) -> np.ndarray:
        """The points of the full space at these points of the plane."""
        return self.origin + points @ self.basis

    def line(self, w: np.ndarray, b: float) -> Line:
        """Where the hyperplane w.x + b = 0 meets the plane."""
        w = np.asarray(w, np.float64)
        return Line(self.basis @ w, float(w @ self.origin + b))


def examples_of(X: Any) -> Any:
    """Examples as an array or a CSR matrix of floats."""
    if isinstance(X, Rows):
        return X.to_matrix()
    if hasattr(X, "tocsr"):
        return X.tocsr()
    X = np.asarray(X, np.float64)
    if X.ndim != 2:
        raise DataError(f"examples must form a matrix with 2 dimensions, found {X.ndim}")
    return X


def names_of(model: Any, X: Any) -> Callable[[int], str]:
    """A function that returns the name of a column, from a data frame or else from the model.

    Parameters
    ----------
    model
        May have `feature_name`, `feature_names` or, as scikit-learn's, `feature_names_in_`.
    X
        The examples as they were given.
    """
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    if columns is None:
        if hasattr(model, "feature_name"):
            return model.feature_name
        columns = getattr(model, "feature_names", getattr(model, "feature_names_in_", None))
    if columns is None:
        return "x{}".format
    names = [str(name) for name in columns]
    return names.__getitem__


def make_view(
    X: Any,
    W: np.ndarray | None,
    b: float = 0.0,
    *,
    features: Features | None = None,
    at: Any = None,
    names: Any = None,
) -> View:
    """Make the plane on which to show examples.

    Parameters
    ----------
    X : array or CSR matrix (n, d)
        The examples.
    W : array (k, d) or None
        The weights of the model, one row for two classes.
    b : float
        The bias, with one row of weights; the first axis is then the distance to the hyperplane.
    features : (int, int) or (str, str), optional
        Show a slice along these two features, with the others held at `at`.
    at : array (d,), optional
        Values of the other features in a slice; by default their medians.
    names : callable, optional
        Gives the name of a column.
    """
    d = X.shape[1]
    call = names or (lambda column: f"x{column}")
    if d == 1:
        raise DataError("a plot needs two features, found 1: add a constant one")
    if features is None and d > 2:
        if W is None:
            raise DataError(
                f"examples have {d} features and the model has no weights: choose two features,"
                " as in features=(0, 1)"
            )
        return _projection(X, W, b)
    i, j = (_column(feature, d, call) for feature in features or (0, 1))
    if not (0 <= i < d and 0 <= j < d and i != j):
        raise DataError(f"features=({i}, {j}) must be two different columns from 0 to {d - 1}")
    basis = np.zeros((2, d))
    basis[0, i] = basis[1, j] = 1.0
    origin, story = np.zeros(d), ""
    if d > 2:
        origin = _medians(X) if at is None else np.array(at, dtype=np.float64)
        if origin.shape != (d,):
            raise DataError(f"at= must have {d} values, one per feature, found {origin.shape}")
        origin[[i, j]] = 0.0
        held = "their medians" if at is None else "the values given"
        story = f"slice: the other {d - 2} features held at {held}"
    return View(origin, basis, (call(i), call(j)), story)


def _column(feature: int | str, d: int, call: Callable[[int], str]) -> int:
    """The number of a column that is given by its number or its name."""
    if not isinstance(feature, str):
        return int(feature)
    names = [call(column) for column in range(d)]
    if feature not in names:
        near = get_close_matches(feature, names, 1) or names[:1]
        raise DataError(
            f"features= names {feature!r}, which is not a column: there is {near[0]!r}; columns"
            " of arrays have numbers instead of names"
        )
    return names.index(feature)


def _projection(X: Any, W: np.ndarray, b: float) -> View:
    """Project onto w and the main remaining direction, or for several classes onto those of W."""
    W = np.asarray(W, np.float64)
    if len(W) == 1:
        length = float(np.linalg.norm(W[0]))
        if length == 0.0:
            raise DataError("all weights are zero: there is no hyperplane to project along")
        first = W[0] / length
        second = _main_direction(X, first)
        axes = ("distance to the hyperplane, along w", "main direction across w")
        return View(
            -first * b / length,
            np.stack([first, second]),
            axes,
            f"{W.shape[1]} features, projected onto w and the main direction left",
        )
    centred = W - W.mean(axis=0)
    basis = np.linalg.svd(centred, full_matrices=False)[2][:2]
    mean = np.asarray(X.mean(axis=0)).ravel()
    axes = ("main direction of the weights", "second direction")
    return View(
        mean,
        basis,
        axes,
        f"{W.shape[1]} features, projected onto the two main directions of the weights;"
        " regions are those of the plane through the mean",
    )


def _main_direction(X: Any, first: np.ndarray) -> np.ndarray:
    """The unit vector orthogonal to `first` along which examples vary most."""
    n, d = X.shape
    X = X[np.unique(np.linspace(0, n - 1, min(n, _SAMPLED)).astype(int))]
    mean = np.asarray(X.mean(axis=0)).ravel()

    def across(vector: np.ndarray) -> np.ndarray:
        return vector - first * (first @ vector)

    # Power iteration on the covariance, which is never formed: d may be a million.
    found = across(np.random.default_rng(0).normal(size=d))
    for _ in range(60):
        length = float(np.linalg.norm(found))
        if length == 0.0:
            break
        found = found / length
        along = np.asarray(X @ found).ravel() - mean @ found
        found = across(np.asarray(X.T @ along).ravel() - mean * along.sum())
    length = float(np.linalg.norm(found))
    if length == 0.0:  # there is no variance left: any direction will do
        found = across(np.eye(1, d, int(np.argmin(np.abs(first)))).ravel())
        length = float(np.linalg.norm(found))
    found = found / length
    return found if found[np.argmax(np.abs(found))] > 0.0 else -found


def _medians(X: Any) -> np.ndarray:
    """The median of every feature."""
    if hasattr(X, "toarray"):
        if X.shape[1] > 10_000:
            raise DataError(f"{X.shape[1]} features are too many for a slice: give at=")
        X = X.toarray()
    return np.median(X, axis=0)
