"""An encoder and a learner in one model: the common base of table and text classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from widemargin.data.reading import matrix_of
from widemargin.data.rows import Rows
from widemargin.errors import DataWarning
from widemargin.estimators.fitted import FittedClassifier
from widemargin.estimators.linear_svm import LinearSVM
from widemargin.estimators.passive_aggressive import PassiveAggressive
from widemargin.estimators.perceptron import Perceptron
from widemargin.models.text_defaults import (
    ONLINE_NOTICE,
    PIECEWISE,
    PIECEWISE_NOTICE,
    WHOLE,
    TextDefault,
    make_online,
)
from widemargin.parameters.effects import Use, changed, refuse_unused

#: The default learners.
_LEARNERS: dict[str, Any] = {
    learner.__name__: learner for learner in (LinearSVM, PassiveAggressive, Perceptron)
}


def has_probabilities(classifier: EncodedClassifier) -> bool:
    """Whether `predict_proba` is available: only if the learner has it."""
    learner = classifier._current_learner()
    if not hasattr(type(learner), "predict_proba"):
        raise AttributeError(
            f"{type(learner).__name__} has no probabilities: give the learner OnlineLogistic(), or"
            " calibrate the scores with scikit-learn's CalibratedClassifierCV"
        )
    return callable(learner.predict_proba)  # may raise an error that says what it needs


def is_linear(classifier: EncodedClassifier) -> bool:
    """Whether the learner of a classifier has weights."""
    return hasattr(type(classifier._current_learner()), "coef_")


def can_go_on(classifier: EncodedClassifier) -> bool:
    """Whether `partial_fit` is available; with texts only, even an SVM can continue."""
    learner = classifier._current_learner()
    texts = classifier._default() is WHOLE and isinstance(learner, LinearSVM)
    return texts or hasattr(learner, "partial_fit")


class EncodedClassifier(FittedClassifier):
    """A classifier that encodes raw examples as rows and trains a learner on them.

    Subclasses have the parameters `learner` (None for a default), `n_jobs`, `random_state`,
    `class_weight` and `validation` (for the default); they read the examples and choose the
    default learner.

    Attributes
    ----------
    learner_ : estimator
        The fitted learner.
    encoder_ : TextEncoder or TableEncoder
        Converts raw examples to rows.
    """

    _learners: ClassVar[tuple[type, ...]] = (Perceptron, LinearSVM, PassiveAggressive)
    learner: Any
    class_weight: Any
    validation: float
    n_jobs: int | None
    random_state: Any
    learner_: Any
    encoder_: Any

    # Prediction

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of all examples, as the learner does."""
        return self._ask("decision_function", X)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of every example."""
        return self._ask("predict", X)

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of every class, if the learner supports it."""
        return self._ask("predict_proba", X)

    @available_if(is_linear)
    def top_features(self, n: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Return for each class the n features with the largest weights for it.

        A feature is a word or an n-gram of a text or, in a table, also a column of numbers or
        booleans, "column=value", or "column is missing". With two classes, the first has the
        weights of the second with opposite signs. A name with "~" shares its column with others; a
        column without a name is "#" and its number.
        """
        return self._fitted().top_features(n)

    # Learned attributes

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self)

    @property
    def model_(self) -> Any:
        """Encoder and weights as one model."""
        return replace(self.learner_.model_, encoder=self.encoder_)

    @property
    def certificate_(self) -> Any:
        """The certificate of the learner."""
        self._fitted()
        return self.learner_.certificate_

    def restore(self, model: Any) -> Self:
        """Adopt a model that was read from a file."""
        self.learner_ = clone(self.learner).restore(replace(model, encoder=None))
        self.encoder_ = model.encoder
        return self

    # Internals: learners

    def _default(self) -> TextDefault:
        """The default learner for all examples at once."""
        raise NotImplementedError

    def _rows_of(self, X: Any) -> Iterator[Rows]:
        """Encode examples to predict, one chunk after another."""
        raise NotImplementedError

    def _current_learner(self) -> Any:
        """The learner, fitted or not."""
        learner = vars(self).get("learner_", self.learner)
        return _LEARNERS[self._default().learner]() if learner is None else learner

    def _fresh_learner(self, default: TextDefault) -> Any:
        """A new, unfitted learner: a copy of the one given, or else this default."""
        if self.learner is None:
            made = _LEARNERS[default.learner](
                **default.parameters,
                class_weight=self.class_weight,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
            )
            if self.validation:
                measured = {"validation": self.validation, "patience": None}
                made.set_params(**{k: v for k, v in measured.items() if hasattr(made, k)})
            return made
        if not isinstance(self.learner, FittedClassifier):
            raise TypeError(
                f"learner={self.learner!r} must be a learner of widemargin; for others encode the"
                " columns with scikit-learn's make_column_transformer, or texts with HashedText"
            )
        own = Use(False, "if a learner is given", "without one; set it on the learner")
        unused = ("random_state", "class_weight", "validation")
        refuse_unused(changed(self), dict.fromkeys(unused, own))
        return clone(self.learner)

    def _learn(
        self, learner: Any, encoder: Any, rows: Rows, labels: Any, sample_weight: Any
    ) -> Self:
        """Train a new learner on all examples, which the encoder has converted to rows."""
        # scikit-learn's calibration takes matrices.
        taken = matrix_of(rows) if getattr(learner, "probability", False) else rows
        try:
            learner.fit(taken, labels, sample_weight)
        finally:
            if learner.__sklearn_is_fitted__():  # also after Ctrl-C, but not if nothing was learned
                self.learner_, self.encoder_ = learner, encoder
        return self

    def _piecewise(self, default: TextDefault) -> TextDefault:
        """The default for the first call of `partial_fit`; warns if it differs from `fit`'s."""
        if self.learner is not None:
            if not hasattr(self.learner, "partial_fit"):
                name = type(self.learner).__name__
                raise ValueError(f"{name} needs all documents at once: call fit first")
            return default
        if self.validation:
            raise ValueError(
                f"validation={self.validation!r} needs all examples at once: call fit instead"
            )
        if not hasattr(_LEARNERS[default.learner], "partial_fit"):
            warnings.warn(
                f"partial_fit has only some of the documents: {PIECEWISE_NOTICE}; fit takes all",
                DataWarning,
                stacklevel=3,
            )
            return PIECEWISE
        return default

    def _learner_to_continue(self) -> Any:
        """The learner; instead of an SVM, which needs all texts, a passive-aggressive one."""
        if not isinstance(self.learner_, LinearSVM):
            return self.learner_
        warnings.warn(ONLINE_NOTICE, DataWarning, stacklevel=3)
        model = make_online(self.learner_.model_)
        return PassiveAggressive(**model.params).restore(model)

    def _ask(self, method: str, X: Any) -> np.ndarray:
        """Call a method of the learner on all examples."""
        self._fitted()
        as_matrix = method == "predict_proba" and getattr(self.learner_, "probability", False)
        ask = getattr(self.learner_, method)
        found = [ask(matrix_of(rows) if as_matrix else rows) for rows in self._rows_of(X)]
        return found[0] if len(found) == 1 else np.concatenate(found)
