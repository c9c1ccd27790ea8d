"""scikit-learn's validation of examples, with errors that name a column of strings."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils.validation import validate_data as validate

from widemargin.data.readers.frames import column_of_strings
from widemargin.errors import DataError

#: The types in which weights are learned.
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def is_valid(estimator: Any, X: Any) -> bool:
    """Whether validation would return the examples as they are, for a fitted estimator.

    It takes longer than learning from a row. What is not obviously valid is left to it.
    """
    kind = type(X)
    if kind is np.ndarray:
        if X.ndim != 2 or not X.flags.c_contiguous:
            return False
    elif kind is not csr_matrix and kind is not csr_array:
        return False
    if X.dtype not in _FLOATS or len(X.shape) != 2 or X.shape[0] == 0:
        return False
    known = vars(estimator)
    return "feature_names_in_" not in known and known.get("n_features_in_") == X.shape[1]


def are_valid_labels(y: Any, examples: int) -> bool:
    """Whether validation would return the labels as they are, one for each example."""
    if type(y) is list:
        kinds = set(map(type, y))
        return len(y) == examples and (kinds == {int} or kinds == {str})
    return type(y) is np.ndarray and y.shape == (examples,) and y.dtype.kind in "iubU"


def validate_data(estimator: Any, X: Any, *y: Any, **how: Any) -> Any:
    """Validate examples, and labels if given, as scikit-learn's function of this name does.

    A table with a column of strings is refused with its name, and with what takes it.
    """
    try:
        return validate(estimator, X, *y, **how)
    except (ValueError, TypeError):
        name, learner = column_of_strings(X), type(estimator).__name__
        if name is None:
            raise
        raise DataError(
            f"column {name!r} holds strings, and {learner} takes numbers only:"
            f" use TableClassifier({learner}(...)), which encodes tables"
        ) from None
