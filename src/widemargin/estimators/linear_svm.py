"""The linear support vector machine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from widemargin.certificates.gap import GapCertificate
from widemargin.data.encode.labels import check_labels, classes_and_codes
from widemargin.data.encode.multilabel import read_label_sets
from widemargin.data.rows import Rows
from widemargin.errors import NotSeparableWarning
from widemargin.estimators.answers import LinearAnswers
from widemargin.estimators.fitted import advise
from widemargin.estimators.multilabel import (
    fit_multilabel,
    refuse_several_labels,
)
from widemargin.estimators.validation import accept_plain, validate_data, validate_labels
from widemargin.linear_svm.fit import DualStart, SVMSettings, TrainedSVM, fit_svm
from widemargin.markup.words import several
from widemargin.models.linear import LinearModel
from widemargin.online.fit import check_classes
from widemargin.parameters.effects import changed, refuse_unused
from widemargin.parameters.settings import settings_from
from widemargin.training.history import History
from widemargin.training.progress import watched


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVM(LinearAnswers):
    """Linear support vector machine, with a certificate of how close to optimal the solution is.

        min  1/2 w.w + C sum_i loss(1 - y_i (w.x_i + b)),      loss(s) = max(0, s) or max(0, s)^2

    The solver is dual coordinate ascent: the step of `PassiveAggressive` on one example at a time,
    where each example also has a dual value. Where that would take many passes and there are few
    features, Newton steps on w take over, for all classes together if rows are not sparse. Training
    stops when the duality gap is at most `tol` times the objective: no weights can then be better
    by more than that.

    Parameters
    ----------
    C : float
        Cost of an error. Infinity forbids errors (hard margin): the result is the separator with
        the largest margin, or a warning with an upper bound on any margin.
    loss : {"hinge", "squared_hinge"} or None
        Loss of an example that falls short of its margin by s: s or s^2, times C. None means the
        squared hinge, or with multiclass="joint" the hinge, which is the only loss supported there.
    tol : float
        Relative duality gap at which to stop.
    fit_intercept : bool or float
        Whether to fit a bias b. A number is the value of the constant feature of a regularised bias
        (True means 1).
    bias : {"regularised", "free"}
        Regularised: b = B v, where v is the weight of a constant feature B (`fit_intercept`) and
        is penalised by 1/2 v^2 like the other weights, so b is penalised by 1/2 (b/B)^2 (B is
        intercept_scaling in scikit-learn's LinearSVC). Free: b is not penalised, as in LIBSVM,
        regardless of B.
    multiclass : {"ovr", "joint"}
        More than two classes: each against the rest, or all together (Crammer and Singer: the
        correct class must lead the others by 1, with the same C as in LIBLINEAR). Two classes are
        always one problem.
    epochs : int
        Maximum number of passes over the examples; a Newton step counts as one pass. With
        multiclass="joint", passes over a few examples and classes count as one until they add up
        to half a pass.
    max_seconds : float or None
        Stop after this many seconds; the certificate then has the true gap of the solution found.
    class_weight : dict, "balanced" or None
        Factor that multiplies C for the examples of each class.
    validation : float
        Fraction of the examples to hold out, chosen by `random_state`. They only serve to measure:
        the accuracy on them is in the last row of `history_`.
    n_jobs : int or None
        Threads for one-vs-rest problems; the result does not depend on it.
    random_state : int, Generator or None
        Seed of the random order of the examples.
    progress : bool or None
        Whether to show a progress line; None: only on a terminal.

    Attributes
    ----------
    certificate_ : GapCertificate
        Primal and dual objective, relative gap, number of support vectors and largest violation,
        recomputed from scratch in float64.
    history_ : History
        One row per epoch; `loss` is the primal objective and `gap` the relative gap as estimated
        during the pass.

    Examples
    --------
    >>> from widemargin import LinearSVM
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], ["no", "yes", "yes"]
    >>> svm = LinearSVM(random_state=0).fit(X, y)
    >>> svm.predict([[3.0, 0.0]])
    array(['yes'], dtype='<U3')
    >>> bool(svm.certificate_.gap <= 1e-3)
    True

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan (2008), A dual
    coordinate descent method for large-scale linear SVM, ICML (algorithm 3).
    K. Crammer and Y. Singer (2001), On the algorithmic implementation of multiclass kernel-based
    vector machines, JMLR 2.
    O. Chapelle (2007), Training a support vector machine in the primal, Neural Computation 19.
    """

    C: float = 1.0
    loss: str | None = None
    tol: float = 1e-3
    fit_intercept: bool | float = True
    bias: str = "regularised"
    multiclass: str = "ovr"
    epochs: int = 1000
    max_seconds: float | None = None
    class_weight: Mapping[Any, float] | str | None = None
    validation: float = 0.0
    n_jobs: int | None = None
    random_state: Any = None
    progress: bool | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on examples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The examples, one per row. float32 is not copied to float64.
        y : array of n labels, or several labels per row
            Their labels: integers or strings; several labels per row are given as for `Perceptron`.
        sample_weight : array of n numbers, optional
            Factor that multiplies C for each example.

        Returns
        -------
        self
            After Ctrl-C, the solution found so far is stored before KeyboardInterrupt is raised.
        """
        labels = read_label_sets(y)
        if labels is None:
            self._fit(X, y, sample_weight)
        else:
            fit_multilabel(self, X, labels, sample_weight, None, None)
        return self

    def path(
        self, X: Any, y: Any, Cs: Sequence[float], sample_weight: Any = None
    ) -> list[LinearSVM]:
        """Train for several values of C, each starting from the solution of the previous one.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        Cs : sequence of float
            Ascending values are fastest.

        Returns
        -------
        list of LinearSVM
            One fitted estimator per C, each with its own certificate. This estimator is not
            changed.
        """
        fitted, start = [], None
        for C in Cs:
            one = clone(self).set_params(C=C)
            start = one._fit(X, y, sample_weight, start).start
            fitted.append(one)
        return fitted

    @property
    def certificate_(self) -> GapCertificate:
        """The certificate of the solution: objectives, duality gap and violations."""
        refuse_several_labels(self, "certificate_")
        found = self._fitted().certificate
        if found is None:
            raise AttributeError("this model has no certificate")
        return found

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        start: DualStart | None = None,
        *,
        classes: np.ndarray | None = None,
    ) -> TrainedSVM:
        """Fit with one label per row, starting from the dual values of another C if given.

        `classes` are all labels, if some may not occur.
        """
        params, settings = self.get_params(deep=False), self._settings()
        X, y = self._validated(X, y)
        classes, codes = classes_and_codes(y, classes)
        check_classes(classes)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        with watched(self.progress, settings.epochs) as watch:
            trained = fit_svm(
                Rows.of(X, bias=settings.constant),
                classes,
                codes,
                settings,
                self._generator(),
                sample_weight=sample_weight,
                start=start,
                watch=watch,
            )
        self.model_ = LinearModel(
            classes=classes,
            state=trained.state,
            keep="last",
            rule=settings.rule,
            bias=settings.weighted,
            learner=type(self).__name__,
            params=params,
            history=trained.history,
            feature_names=self._names_in(),
            certificate=trained.certificate,
        )
        if watch.interrupted:
            raise KeyboardInterrupt
        warn_of_gap(trained.certificate, trained.history)
        return trained

    def _settings(self) -> SVMSettings:
        """The parameters as validated settings."""
        settings = settings_from(SVMSettings, self.get_params(deep=False))
        refuse_unused(changed(settings), settings.uses())
        return settings

    def _validated(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Validate X (rows, an array or a CSR matrix) and y as scikit-learn does."""
        if isinstance(X, Rows):  # already checked by one of our encoders
            y = validate_labels(y, X.n)
            self.n_features_in_ = X.width
            return X, y
        if accept_plain(self, X, y):
            return X, check_labels(y)
        X, y = validate_data(self, X, y)
        return X, check_labels(column_or_1d(y, warn=True))


def warn_of_gap(certificate: GapCertificate, history: History) -> None:
    """Warn if the data are not separable or the requested gap was not reached."""
    if certificate.separates is False:
        warnings.warn(str(certificate).splitlines()[2], NotSeparableWarning, stacklevel=4)
    elif history.stopped in ("epochs", "no progress", "deadline"):
        epochs = several(len(history), "epoch")
        warnings.warn(
            f"relative gap {certificate.gap:.2g} after {epochs}: the optimum may be up to"
            f" {100.0 * certificate.gap:.2g} % below the objective {certificate.primal:.6g};"
            f" {advise(history.stopped)}",
            ConvergenceWarning,
            stacklevel=4,
        )
