"""scikit-learn's validation of examples, with errors that name a column of strings."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils.validation import _get_feature_names, column_or_1d
from sklearn.utils.validation import validate_data as validate

from widemargin.data.encode.labels import check_label_count, check_labels
from widemargin.data.readers.frames import column_of_strings
from widemargin.errors import DataError

#: The types in which weights are learned.
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
#: How scikit-learn checks rows. NaN and infinity are left to the learners: their loops detect them
#: in scores and norms without an extra pass, and their errors name the cell.
_ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": (np.float64, np.float32),
    "order": "C",
    "ensure_all_finite": False,
}


def is_valid(estimator: Any, X: Any) -> bool:
    """Whether validation would return the examples unchanged, for a fitted estimator.

    Validation takes longer than learning from a row, so it is skipped for obviously valid input.
    """
    known = vars(estimator)
    if not _is_plain(X) or "feature_names_in_" in known:
        return False
    return bool(known.get("n_features_in_") == X.shape[1])


def accept_plain(estimator: Any, X: Any, y: Any) -> bool:
    """Whether validation for a fit would return examples and labels unchanged.

    If so, the estimator is told the number of features, as validation does. A fit of a few hundred
    examples takes less time than their validation. Labels that are floats still have to be checked.
    """
    if not _is_plain(X) or X.shape[1] == 0 or type(y) is not np.ndarray:
        return False
    if y.shape != (X.shape[0],) or y.dtype.kind not in "iubUf":
        return False
    vars(estimator).pop("feature_names_in_", None)
    estimator.n_features_in_ = X.shape[1]
    return True


def _is_plain(X: Any) -> bool:
    """Whether this is a matrix of floats that learners use as it is, with at least one row."""
    kind = type(X)
    if kind is np.ndarray:
        if X.ndim != 2 or not X.flags.c_contiguous:
            return False
    elif kind is not csr_matrix and kind is not csr_array:
        return False
    return X.dtype in _FLOATS and len(X.shape) == 2 and X.shape[0] > 0


def are_valid_labels(y: Any, examples: int) -> bool:
    """Whether validation would return the labels unchanged, one for each example."""
    if type(y) is list:
        kinds = set(map(type, y))
        return len(y) == examples and (kinds == {int} or kinds == {str})
    return type(y) is np.ndarray and y.shape == (examples,) and y.dtype.kind in "iubU"


def validate_data(estimator: Any, X: Any, *y: Any, reset: bool = True) -> Any:
    """Validate examples, and labels if given, as scikit-learn's function of this name does.

    X becomes an array or a CSR matrix of floats. For strings, the error names their column, if it
    has a name, and an estimator that takes them.
    """
    try:
        return validate(estimator, X, *y, reset=reset, **_ROWS)
    except (ValueError, TypeError) as error:
        name, learner = column_of_strings(X), type(estimator).__name__
        if name is not None:
            raise DataError(
                f"column {name!r} holds strings, and {learner} takes numbers only:"
                f" use TableClassifier({learner}(...)), which encodes tables"
            ) from None
        if are_documents(X):
            raise DataError(
                f"X holds strings, and {learner} takes numbers only:"
                f" use TextClassifier({learner}(...)), which encodes texts"
            ) from None
        if str(error).startswith("could not convert string"):
            raise DataError(
                f"X holds strings, and {learner} takes numbers only:"
                f" use TableClassifier({learner}(...)), which encodes columns of strings"
            ) from None
        if str(error).startswith("Input y contains NaN"):
            raise DataError("Input y contains NaN: every example needs a label") from None
        raise


def validate_labels(y: Any, examples: int) -> np.ndarray:
    """Validate the labels of examples that were already checked, one for each."""
    y = check_labels(column_or_1d(y, warn=True))
    check_label_count(examples, len(y))
    return y


def validate_more(estimator: Any, X: Any, *y: Any) -> Any:
    """As `validate_data`, for further examples.

    With `grow=True` the number of features may differ. Features are known by their places, so
    names, if there are any, must be in the same order, and new ones come last.
    """
    if not getattr(estimator, "grow", False):
        return validate_data(estimator, X, *y, reset=False)
    known, names = getattr(estimator, "feature_names_in_", None), _get_feature_names(X)
    if known is not None and names is not None:
        for place, (old, new) in enumerate(zip(known, names, strict=False), start=1):
            if old != new:
                raise DataError(
                    f"column {place} is {new!r}, but was {old!r} before: give the columns in the"
                    " same order as before, and new ones after them"
                )
    return validate_data(copy.copy(estimator), X, *y)


def adopt_new_names(estimator: Any, X: Any) -> None:
    """Remember the names of further columns, once they have been learned from."""
    known, names = getattr(estimator, "feature_names_in_", None), _get_feature_names(X)
    if known is not None and names is not None and len(names) > len(known):
        estimator.feature_names_in_ = names


def as_matrix(x: Any) -> Any:
    """One example as a matrix with one row; a row of a pandas data frame keeps its names."""
    if hasattr(x, "tocsr") or hasattr(x, "columns"):
        return x
    return x.to_frame().T if hasattr(x, "to_frame") and hasattr(x, "iloc") else np.atleast_2d(x)


def are_documents(X: Any) -> bool:
    """Whether this is a list or an array of strings."""
    if isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.ndim == 1):
        return len(X) > 0 and all(isinstance(text, str) for text in X[:10])
    return False
