"""Scores, predictions and attributes of every estimator with a linear model."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from widemargin.data.rows import Rows
from widemargin.models.explanation import Explanation
from widemargin.models.linear import LinearModel
from widemargin.threads import thread_count
from widemargin.training.history import History


def html_of(estimator: Any, diagram: str) -> str:
    """An estimator's diagram with its model below, if it is fitted."""
    model = estimator.model_ if estimator.__sklearn_is_fitted__() else None
    return diagram if model is None else diagram + model._repr_html_()


class LinearAnswers(ClassifierMixin, BaseEstimator):
    """Scores, predictions and explanations of a fitted linear model, `model_`."""

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to one file; `widemargin.load` reads it back."""
        self._fitted().save(path)

    def report(
        self, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any
    ) -> None:
        """Write an HTML page about the model; see `widemargin.report`."""
        from widemargin.pages.reports import report

        report(self, path, X, y, **options)

    def _html_repr(self) -> str:
        """HTML for notebooks: the parameters and, once fitted, the model."""
        return html_of(self, super()._html_repr())

    # Learned attributes

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._fitted().classes

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

    @property
    def history_(self) -> History:
        """The training history, one row per epoch."""
        return self._fitted().history

    @property
    def n_iter_(self) -> int:
        """Number of epochs run."""
        return len(self._fitted().history)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def _fitted(self) -> LinearModel:
        if "model_" not in vars(self):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.model_

    def _rows_to_ask(self, X: Any) -> Rows:
        model = self._fitted()
        if model.by_name:
            raise ValueError("this learner was trained on dicts: use predict_one")
        if isinstance(X, Rows):
            return X
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

    def _generator(self) -> np.random.Generator:
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**31)
        return np.random.default_rng(seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
