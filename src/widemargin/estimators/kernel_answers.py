"""What every estimator with a kernel model can be asked, however it was trained."""

from __future__ import annotations

import copy
import os
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import column_or_1d, validate_data

from widemargin.data.encode.labels import check_labels
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.points import len_of
from widemargin.models.kernel import KernelModel
from widemargin.threads import thread_count
from widemargin.training.history import History


class KernelAnswers(ClassifierMixin, BaseEstimator):
    """Scores and predictions of a fitted kernel model, `model_`."""

    model_: KernelModel

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of every example: positive for the second of two classes, else one a class.

        With `keep="vote"` the mean vote of all hypotheses, from -1 to 1, or each class's share.
        For a precomputed kernel X holds the values of these examples (rows) with all training
        examples (columns).
        """
        return self._fitted().decision_function(self._to_ask(X), thread_count(self.n_jobs))

    def predict(self, X: Any) -> np.ndarray:
        """The label of every example."""
        return self._fitted().predict(self._to_ask(X), thread_count(self.n_jobs))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned into one file; `widemargin.load` reads it back.

        Of a kernel that is a function of yours only the name is kept: give it back to the learner
        that `load` returns with `with_kernel`.
        """
        self._fitted().save(path)

    def with_kernel(self, function: Any) -> Self:
        """The same learner with a function for its kernel, which a file cannot hold."""
        other = copy.copy(self)
        other.kernel = function
        other.model_ = self._fitted().with_kernel(function)
        return other

    # What was learned

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._fitted().classes

    @property
    def support_(self) -> np.ndarray:
        """The rows of the training data that the model is made of."""
        return self._fitted().support.index

    @property
    def support_vectors_(self) -> Any:
        """The examples that the model is made of: a matrix, or a list of objects."""
        support = self._fitted().support
        return support.objects if support.rows is None else support.rows.to_matrix()

    @property
    def dual_coef_(self) -> np.ndarray:
        """What each of them adds to the score: one row for two classes, else one a class.

        (Of what answers; for a vote, of the last hypothesis.)
        """
        model = self._fitted()
        return (model.summed / model.count if model.keep == "average" else model.coef).T

    @property
    def kernel_(self) -> Kernel:
        """The kernel with its numbers."""
        return self._fitted().kernel

    @property
    def history_(self) -> History:
        """What happened in each epoch."""
        return self._fitted().history

    @property
    def n_iter_(self) -> int:
        """Epochs that were run."""
        return len(self._fitted().history)

    # Within

    def _fitted(self) -> Any:
        if "model_" not in vars(self):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.model_

    def _validate(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Training examples and labels, as scikit-learn checks them; objects as they are."""
        if isinstance(X, Rows) or self._takes_objects(X):
            y = check_labels(column_or_1d(y, warn=True))
            if len(y) != len_of(X):
                raise DataError(f"found {len_of(X)} examples, but {len(y)} labels")
            return X, y
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"
        )
        return X, check_labels(column_or_1d(y, warn=True))

    def _to_ask(self, X: Any) -> Any:
        """Examples to answer on."""
        self._fitted()
        return self._more(X)

    def _more(self, X: Any) -> Any:
        """Other examples than those of the training, which must look like them."""
        if isinstance(X, Rows) or self._takes_objects(X):
            return X
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"
        )

    def _takes_objects(self, X: Any) -> bool:
        """Whether examples are no vectors, of which scikit-learn would know nothing."""
        if not (callable(self.kernel) or self.kernel == "ngrams"):
            return False
        if hasattr(X, "tocsr"):
            return False
        if hasattr(X, "dtype") and hasattr(X, "ndim"):
            return X.dtype.kind in "OUS" and X.ndim == 1
        return isinstance(X, (list, tuple)) and not _is_vector(X)

    def _generator(self) -> np.random.Generator:
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**31)
        return np.random.default_rng(seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
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
