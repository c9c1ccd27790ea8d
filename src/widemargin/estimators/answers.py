"""Scores, predictions and attributes of every estimator with a linear model."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.data.rows import Rows
from widemargin.estimators.fitted import FittedClassifier
from widemargin.estimators.validation import is_valid, validate_data
from widemargin.models.explanation import Explanation
from widemargin.models.linear import LinearModel
from widemargin.threads import thread_count


class LinearAnswers(FittedClassifier):
    """Scores, predictions and explanations of a fitted linear model, `model_`."""

    model_: LinearModel

    # Prediction

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of all rows.

        Two classes: one score per row, positive for the second class. More: one score per row and
        class. With `keep="vote"`, a score is the mean vote of all hypotheses, from -1 to 1, or the
        share of the votes for each class.
        """
        return self._fitted().decision_function(self._rows_to_ask(X), thread_count(self.n_jobs))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of every row."""
        return self._fitted().predict(self._rows_to_ask(X), thread_count(self.n_jobs))

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Return the features that decided the prediction for one example, strongest first.

        If the mistake log was kept, also the rows whose mistakes produced their weights.
        """
        if not (hasattr(x, "tocsr") or hasattr(x, "columns")):
            x = np.atleast_2d(x)
        return self._fitted().explain(self._rows_to_ask(x), top)

    def equation(self, digits: int = 4) -> str:
        """Return the hyperplane that separates two classes as an equation w.x + b = 0."""
        return self._fitted().equation(digits)

    # Learned attributes

    @property
    def coef_(self) -> np.ndarray:
        """The weights: one row for two classes, otherwise one row per class.

        With `keep="vote"`, the averaged weights.
        """
        return self._fitted().coef

    @property
    def intercept_(self) -> np.ndarray:
        """The biases."""
        return self._fitted().intercept

    # Internals

    def _rows_to_ask(self, X: Any) -> Rows:
        model = self._fitted()
        if model.by_name:
            raise ValueError("this learner was trained on dicts: use predict_one")
        if isinstance(X, Rows):
            return X
        if not is_valid(self, X):
            X = validate_data(
                self,
                X,
                reset=False,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                order="C",
                ensure_all_finite=False,
            )
        return Rows.of(X, bias=model.bias, dtype=model.state.W.dtype)
