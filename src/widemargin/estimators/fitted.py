"""Attributes, files and reports that all fitted classifiers have."""

from __future__ import annotations

import copy
import os
from functools import cache
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import column_or_1d

from widemargin.data.encode.labels import check_labels
from widemargin.data.rows import Rows
from widemargin.estimators.multilabel import is_multilabel, subset_accuracy
from widemargin.evaluate.ranking import Choice, choose_threshold
from widemargin.evaluate.thresholds import Aim, read_aim
from widemargin.models.threshold import with_threshold
from widemargin.online.state import State
from widemargin.parameters.names import NamedParameters, refuse_unknown
from widemargin.parameters.values import make_generator
from widemargin.training.checkpoints import as_text, digest_of
from widemargin.training.history import History

#: How to allow more time, by the reason why the training of an SVM stopped.
_MORE_TIME = {"epochs": ", allow more epochs", "deadline": ", allow more seconds (max_seconds)"}


def advise(stopped: str) -> str:
    """What to do if an SVM stopped before it reached `tol`.

    Examples
    --------
    >>> advise("epochs")
    'scale the features, allow more epochs or try a smaller C'
    """
    return f"scale the features{_MORE_TIME.get(stopped, '')} or try a smaller C"


class FittedClassifier(NamedParameters, ClassifierMixin, BaseEstimator):
    """A classifier whose fit stores a model, `model_`."""

    model_: Any
    decision_function: Any
    _rng: np.random.Generator

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy on examples.

        With several labels per row, as in scikit-learn, the share of rows all of whose labels are
        predicted, and no others.
        """
        if is_multilabel(self):
            return subset_accuracy(self, X, y, sample_weight)
        return float(super().score(X, check_labels(column_or_1d(y)), sample_weight))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to one file; `widemargin.load` reads it back."""
        self._fitted().save(path)

    def report(
        self, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any
    ) -> None:
        """Write an HTML page about the model; see `widemargin.report`."""
        from widemargin.pages.reports import report

        refuse_unknown("report", options, ("X", "y", "certificate", "data", "title"))
        report(self, path, X, y, **options)

    def with_threshold(
        self, threshold: float | str, X: Any = None, y: Any = None, *, positive: Any = None
    ) -> Self:
        """Return the same classifier of two classes with a decision threshold.

        The second class is predicted where the score is at least the threshold. The threshold is
        subtracted from `decision_function`, whose sign is still the prediction, and is saved with
        the model; probabilities do not change. Nothing is retrained, and the model is shared, not
        copied. More training (`partial_fit`) keeps the threshold; a new `fit` starts without one.

        Parameters
        ----------
        threshold : float or str
            The threshold, or what to choose it for, on held-out examples: "f1" (the largest F1),
            "precision=0.95" (the largest recall at a precision of at least 0.95) or "recall=0.9"
            (the largest precision at a recall of at least 0.9).
        X, y : optional
            Held-out examples to choose it on; never use the training examples.
        positive : label, optional
            The class that precision and recall refer to. By default the rarer one in y.

        Returns
        -------
        classifier of the same kind
            `threshold_` is the threshold. If it was chosen, `threshold_choice_` has the criterion,
            the figures on X, and those to expect on other examples (`expected`).

        Examples
        --------
        >>> from widemargin import Perceptron
        >>> p = Perceptron(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        >>> eager = p.with_threshold("recall=1", [[0.5], [1.4], [1.2], [2.5]], [0, 0, 1, 1])
        >>> eager.predict([[1.2], [0.8]]).tolist(), eager.threshold_choice_.chosen.recall[1]
        ([1, 0], 1.0)
        """
        model, aim = self._fitted(), read_aim(threshold)
        choice: Choice | None = None
        if isinstance(aim, Aim):
            if X is None:
                raise ValueError(f"threshold='{aim}' is chosen on held-out examples: give X and y")
            scores, labels = self.with_threshold(0.0)._scores_and_labels(X, y)
            choice = choose_threshold(self.classes_, labels, scores, aim, positive)
            value = choice.threshold
        elif X is not None or y is not None or positive is not None:
            raise ValueError(f"threshold={aim:g} is a number: X, y and positive have no effect")
        else:
            value = aim
        other = self._sharer()
        if "learner_" in vars(self):
            other.learner_ = self.learner_.with_threshold(value)
        else:
            other.model_ = with_threshold(model, value)
        other._choice = choice
        return other

    def _scores_and_labels(self, X: Any, y: Any) -> tuple[np.ndarray, Any]:
        """The scores of examples, and their labels."""
        if y is None:
            raise ValueError("to choose a threshold on X, give y, too")
        return self.decision_function(X), y

    @property
    def threshold_(self) -> float:
        """The lowest score for which the second of two classes is predicted."""
        return self._fitted().threshold

    @property
    def threshold_choice_(self) -> Choice:
        """The criterion and figures of the threshold, if `with_threshold` chose it."""
        found = vars(self).get("_choice")
        if found is None or found.threshold != self.threshold_:
            raise AttributeError("no threshold was chosen by this classifier's with_threshold")
        return found

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._fitted().classes

    @property
    def history_(self) -> History:
        """The training history, one row per epoch."""
        return self._fitted().history

    @property
    def n_iter_(self) -> int:
        """Number of epochs run."""
        return self.history_.epochs_run

    def _fitted(self) -> Any:
        """The model, or an error if there is none yet."""
        if not self.__sklearn_is_fitted__():
            first = "fit, partial_fit or learn_one" if hasattr(self, "learn_one") else "fit"
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet: call {first} first"
            )
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters, cached because scikit-learn looks them up in every call."""
        return super()._get_param_names()

    def _html_repr(self) -> str:
        """HTML for notebooks: the parameters and, once fitted, the model."""
        diagram = super()._html_repr()
        shown = self.__sklearn_is_fitted__() and hasattr(self.model_, "_repr_html_")
        return diagram + self.model_._repr_html_() if shown else diagram

    def _sharer(self) -> Self:
        """A copy that shares what was learned; more training of one must not change the other."""
        other = copy.copy(self)
        if "_rng" in vars(other):
            other._rng = copy.deepcopy(other._rng)
        return other

    def _task(self, *given: Any) -> dict[str, Any]:
        """Describe the training, so that only a checkpoint of the same training is resumed.

        Parameters
        ----------
        *given : Rows, sparse matrix, array, list, State or None
            What it learns from and starts with.
        """
        parts: list[Any] = []
        for one in given:
            if isinstance(one, Rows):
                parts += [part for part in one.stored if isinstance(part, np.ndarray)]
            elif issparse(one):
                parts += [one.data, one.indices, one.indptr]
            elif one is not None:
                parts.append(one.W if isinstance(one, State) else one)
        params = as_text(self.get_params(deep=False))
        return {"learner": [type(self).__name__, params], "examples": digest_of(*parts)}

    def _names_in(self) -> list[str] | None:
        """The names of the columns learned from, if they had names."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _generator(self) -> np.random.Generator:
        """A random generator seeded by `random_state`."""
        return make_generator(self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
