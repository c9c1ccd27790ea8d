"""What every classifier with a model has, whatever the model: attributes, files and reports."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from widemargin.parameters import NamedParameters, refuse_unknown
from widemargin.training.history import History

#: What leaves more time, by the reason for which the training of an SVM stopped.
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
        return len(self.history_)

    def _fitted(self) -> Any:
        """The model, or an error if there is none yet."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters, which scikit-learn would look up anew in every call."""
        return super()._get_param_names()

    def _html_repr(self) -> str:
        """HTML for notebooks: the parameters and, once fitted, the model."""
        diagram = super()._html_repr()
        shown = self.__sklearn_is_fitted__() and hasattr(self.model_, "_repr_html_")
        return diagram + self.model_._repr_html_() if shown else diagram

    def _generator(self) -> np.random.Generator:
        """A random generator as `random_state` says."""
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**31)
        return np.random.default_rng(seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
