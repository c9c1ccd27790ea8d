"""Scores, predictions and attributes of every estimator with a kernel model."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from widemargin.data.encode.labels import check_labels
from widemargin.data.rows import Rows
from widemargin.estimators.fitted import FittedClassifier
from widemargin.estimators.validation import as_matrix, validate_data, validate_labels
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.points import len_of
from widemargin.models.explanation import Explanation
from widemargin.models.kernel import KernelModel
from widemargin.threads import thread_count


class KernelAnswers(FittedClassifier):
    """Scores and predictions of a fitted kernel model, `model_`."""

    model_: KernelModel

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of all examples.

        Two classes: one score per example, positive for the second class. More: one score per
        example and class. With `keep="vote"`, a score is the mean vote of all hypotheses, from -1
        to 1, or the share of the votes for each class. For a precomputed kernel, X holds the kernel
        values of these examples (rows) with all training examples (columns).
        """
        return self._fitted().decision_function(self._to_ask(X), thread_count(self.n_jobs))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of every example."""
        return self._fitted().predict(self._to_ask(X), thread_count(self.n_jobs))

    def explain(self, x: Any, top: int | None = 10) -> Explanation:
        """Return the support vectors that decided the prediction for one example.

        They are named by their rows in the training data, counted from 0, and their labels. The
        share of each is its kernel value times its coefficient; all shares and that of the bias add
        up to the score by which the prediction won.

        Parameters
        ----------
        x : vector, matrix with one row, or one object
            The example. For a precomputed kernel, its kernel values with all training examples.
        top : int or None
            Maximum number of rows to return, the most influential first; None for all.
        """
        is_object = self._fitted().kernel.on_objects and not hasattr(x, "ndim")
        return self._fitted().explain(self._to_ask([x] if is_object else as_matrix(x)), top)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to one file; `widemargin.load` reads it back.

        If the kernel is a Python function, only its name is saved: pass the function to
        `with_kernel` of the loaded learner.
        """
        super().save(path)

    def with_kernel(self, function: Any) -> Self:
        """Return the same learner with its kernel function, which a file cannot store."""
        other = self._sharer()
        other.kernel = function
        other.model_ = self._fitted().with_kernel(function)
        return other

    def restore(self, model: KernelModel) -> Self:
        """Adopt a model that was read from a file."""
        self.model_ = model
        if not model.kernel.on_objects:
            self.n_features_in_ = model.width
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return self

    # Learned attributes

    @property
    def support_(self) -> np.ndarray:
        """Indices of the support vectors in the training data."""
        return self._fitted().support.index

    @property
    def support_vectors_(self) -> Any:
        """The support vectors: a matrix, or a list of objects."""
        support = self._fitted().support
        return support.objects if support.rows is None else support.rows.to_matrix()

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the support vectors: one row for two classes, otherwise one per class.

        They belong to the hypothesis that predicts; for a vote, to the last one.
        """
        model = self._fitted()
        return (model.summed / model.count if model.keep == "average" else model.coef).T

    @property
    def kernel_(self) -> Kernel:
        """The kernel with its parameters."""
        return self._fitted().kernel

    # Internals

    def _validate(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Validate training examples and labels as scikit-learn does; objects pass unchanged."""
        if isinstance(X, Rows) or self._takes_objects(X):
            return X, validate_labels(y, len_of(X))
        X, y = validate_data(self, X, y)
        self._check_finite(X)
        return X, check_labels(column_or_1d(y, warn=True))

    def _to_ask(self, X: Any) -> Any:
        """Validate examples to predict."""
        self._fitted()
        return self._more(X)

    def _more(self, X: Any) -> Any:
        """Validate further examples, which must have the same features as the training data."""
        if isinstance(X, Rows) or self._takes_objects(X):
            return X
        X = validate_data(self, X, reset=False)
        self._check_finite(X)
        return X

    def _check_finite(self, X: Any) -> None:
        """Reject NaN and infinity in vectors for a kernel function, which may not check them."""
        if callable(self.kernel):
            Rows.of(X, bias=0.0).check_finite()

    def _takes_objects(self, X: Any) -> bool:
        """Whether the examples are objects rather than vectors; scikit-learn cannot check those."""
        if not (callable(self.kernel) or self.kernel == "ngrams"):
            return False
        if hasattr(X, "tocsr"):
            return False
        if hasattr(X, "dtype") and hasattr(X, "ndim"):
            return X.dtype.kind in "OUS" and X.ndim == 1
        return isinstance(X, (list, tuple)) and not _is_vector(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def _is_vector(X: Any) -> bool:
    """Whether a list holds rows of numbers."""
    if not len(X) or isinstance(X[0], str):
        return False
    try:
        return np.ndim(X[0]) == 1 and np.asarray(X[0]).dtype.kind in "fiub"
    except ValueError:
        return False
