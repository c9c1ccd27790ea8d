"""Scores, predictions and attributes of every estimator with a linear model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from widemargin.data.rows import Rows
from widemargin.estimators.fitted import FittedClassifier
from widemargin.estimators.multilabel import (
    is_multilabel,
    refuse_several_labels,
    restore_multilabel,
)
from widemargin.estimators.validation import as_matrix, is_valid, validate_data
from widemargin.models.explanation import Explanation
from widemargin.models.linear import LinearModel
from widemargin.models.multilabel import MultilabelModel
from widemargin.threads import thread_count


class LinearAnswers(FittedClassifier):
    """Scores, predictions and explanations of a fitted linear model, `model_`."""

    model_: LinearModel
    _each: list[Any]

    def restore(self, model: LinearModel) -> Self:
        """Adopt a model that was read from a file."""
        if isinstance(model, MultilabelModel):
            restore_multilabel(self, model)
            return self
        self.model_ = model
        self.n_features_in_ = model.state.width
        if model.feature_names is not None and not model.by_name:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return self

    # Prediction

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of all rows.

        Two classes: one score per row, positive for the second class. More: one score per row and
        class. With `keep="vote"`, a score is the mean vote of all hypotheses, from -1 to 1, or the
        share of the votes for each class. With several labels per row: one score per row and label;
        a label is predicted if its score is 0 or more.
        """
        return self._fitted().decision_function(self._rows_to_ask(X), thread_count(self.n_jobs))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of every row, or its labels in the form used for training."""
        return self._fitted().predict(self._rows_to_ask(X), thread_count(self.n_jobs))

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Return the features that decided the prediction for one example, strongest first.

        If the mistake log was kept, also the rows whose mistakes produced their weights.
        """
        refuse_several_labels(self, "explain")
        return self._fitted().explain(self._rows_to_ask(as_matrix(x)), top)

    def equation(self, digits: int = 4) -> str:
        """Return the boundary between two classes as an equation w.x + b = 0.

        With `keep="vote"`, it is that of the average: the boundary of a vote is no hyperplane.
        """
        refuse_several_labels(self, "equation")
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

    @property
    def estimators_(self) -> list[Any]:
        """With several labels per row: the binary learner of each label, in order of `classes_`."""
        self._fitted()
        if not is_multilabel(self):
            raise AttributeError("there is one learner, because every row has one label")
        return list(self._each)

    # Internals

    def _rows_to_ask(self, X: Any) -> Rows:
        model = self._fitted()
        if isinstance(X, Rows):
            return X
        if not is_valid(self, X):
            X = validate_data(self, X, reset=False)
        return Rows.of(X, bias=model.bias, dtype=model.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
