"""scikit-learn's validation of examples, with errors that name a column of strings."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data as validate

from widemargin.data.readers.frames import column_of_strings
from widemargin.errors import DataError


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
