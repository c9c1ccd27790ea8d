"""The kernel support vector machine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight

from widemargin.certificates.kernel_gap import KernelCertificate
from widemargin.data.encode.labels import encode_labels
from widemargin.data.rows import Rows
from widemargin.errors import DataError, NotSeparableWarning
from widemargin.estimators.fitted import advise
from widemargin.estimators.kernel_answers import KernelAnswers
from widemargin.kernel_machines.svm.fit import KernelSVMSettings, fit_kernel_svm
from widemargin.kernel_machines.svm.probabilities import PairSigmoids, fit_pair_sigmoids
from widemargin.kernel_machines.svm.solve import KernelDualStart
from widemargin.loops.background_compiling import compile_ahead
from widemargin.online.fit import check_classes
from widemargin.parameters.effects import changed, refuse_unused
from widemargin.parameters.settings import settings_from
from widemargin.threads import thread_count
from widemargin.training.progress import watched


def _wants_probabilities(svm: KernelSVM) -> bool:
    """Whether `predict_proba` is available: only with `probability=True`."""
    if not svm.probability:
        raise AttributeError("predict_proba needs probability=True, which fits on held-out folds")
    return True


@dataclass(eq=False, repr=False, kw_only=True)
class KernelSVM(KernelAnswers):
    """Kernel support vector machine, with a certificate of how close to optimal the solution is.

        min  1/2 |w|^2 + C sum_i max(0, 1 - y_i (w . phi(x_i) + b)),    phi(x) . phi(z) = K(x, z)

    The problem is solved in the dual, where every example has a value alpha from 0 to C: a working
    set grows by the worst violators and is solved by sequential minimal optimisation, until no
    violation is larger than `tol` (as defined in LIBSVM). Two classes are one problem; with more,
    each pair of classes is a problem, and pairs share the kernel values of their classes.

    Parameters
    ----------
    C : float
        Cost of an error. Infinity forbids errors (hard margin): the result is the separator with
        the largest margin in feature space, or a warning with an upper bound on any margin;
        `widemargin.certify(X, y, kernel=...)` then decides separability.
    kernel : str or callable
        "rbf" exp(-gamma |x-z|^2), "poly" (gamma x.z + coef0)^degree, "linear", "laplace"
        exp(-gamma |x-z|), "laplacian" exp(-gamma sum |x_j-z_j|), "ngrams" (of strings),
        "precomputed" (X is the matrix of kernel values), or a function of two examples, which may
        be vectors or any other objects. Functions and matrices that are not valid kernels (not
        symmetric, or with negative eigenvalues) are rejected.
    degree, gamma, coef0, sigma
        Parameters of the kernel. gamma may be "scale" (1 / (features x variance)) or "auto"
        (1 / features); sigma can be given instead of gamma and means gamma = 1 / (2 sigma^2).
        Unlike KernelPerceptron, the defaults are those of scikit-learn's SVC.
    tol : float
        Largest violation of the optimality conditions at which to stop.
    multiclass : {"ovo", "ovr"}
        More than two classes: one machine per pair of classes, or one per class against the rest.
    decision_function_shape : {"ovr", "ovo"}
        For pairs: whether `decision_function` returns the number of wins of each class, or the
        scores of the pairs (a, b), a < b, which are positive for a.
    class_weight : dict, "balanced" or None
        Factor that multiplies C for the examples of each class.
    validation : float
        Fraction of the examples to hold out, chosen by `random_state`. They only serve to measure:
        the accuracy on them is in `history_`.
    max_memory : int or str
        Memory for kernel values, such as "500MB". If all of them fit, each is computed at most
        once; otherwise the most recently used rows are cached. If not even a small working set
        fits, a low-rank approximation is used (see `low_rank`), and the certificate reports its
        error.
    low_rank : int or None
        Approximate the kernel with this many landmarks (Nystrom) and train linear machines. None:
        only if memory does not suffice otherwise.
    max_seconds : float or None
        Stop after this many seconds; the certificate then has the true gap of the solution found.
    warm_start : bool
        Start from the dual values of the last fit on the same examples and labels, to continue
        after a deadline or Ctrl-C, or with another C.
    probability : bool
        Whether to provide `predict_proba`, with sigmoids fitted to the scores of five held-out
        folds. With pairs of classes there is one for every pair, and the probabilities of the
        classes are those that agree best with them, as in LIBSVM.
    n_jobs : int or None
        Number of threads, each with one BLAS thread. The result does not depend on it.
    random_state : int, Generator or None
        Seed of the folds for `probability` and of `validation`. Landmarks are drawn with a fixed
        seed, so this does not change them.
    progress : bool or None
        Whether to show a progress line; None: only on a terminal.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_
        As in scikit-learn's SVC: support vectors are grouped by class; for pairs of k classes, the
        k - 1 values of a support vector belong to its machines against the other classes. (With
        `multiclass="ovr"`, one row per class. With `low_rank`, the support are the landmarks.)
    certificate_ : KernelCertificate
        Primal and dual objective, relative gap, largest violation and margin in feature space;
        `parts` has one certificate per machine. Kernel values are computed in the precision of the
        data: float64 for rows of float64.
    kernel_, history_, n_iter_
        The kernel with its parameters, a history of one row, and the number of steps of every
        machine.

    Examples
    --------
    >>> from widemargin import KernelSVM
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> svm = KernelSVM(C=10.0, gamma=1.0).fit(X, y)
    >>> svm.predict(X)
    array([0, 1, 1, 0])
    >>> svm.support_
    array([0, 3, 1, 2])

    References
    ----------
    B. E. Boser, I. M. Guyon and V. N. Vapnik (1992). C. Cortes and V. Vapnik (1995).
    R.-E. Fan, P.-H. Chen and C.-J. Lin (2005), Working set selection using second order
    information for training support vector machines, JMLR 6 (algorithm 2).
    """

    C: float = 1.0
    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    sigma: float | None = None
    tol: float = 1e-3
    multiclass: str = "ovo"
    decision_function_shape: str = "ovr"
    class_weight: Mapping[Any, float] | str | None = None
    validation: float = 0.0
    max_memory: int | str = "2GB"
    low_rank: int | None = None
    max_seconds: float | None = None
    warm_start: bool = False
    probability: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    progress: bool | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on examples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a list of n objects
            The examples; with kernel="precomputed" their Gram matrix, of shape (n, n).
        y : array of n labels
            Their labels: integers or strings.
        sample_weight : array of n numbers, optional
            Factor that multiplies C for each example; examples with weight 0 are skipped.

        Returns
        -------
        self
            After Ctrl-C, the solution found so far is stored before KeyboardInterrupt is raised.
        """
        params = self.get_params(deep=False)
        settings = settings_from(KernelSVMSettings, params)
        refuse_unused(changed(settings), settings.uses())
        X, y = self._validate(X, y)
        classes, codes = encode_labels(y)
        check_classes(classes)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        rng = self._generator()
        examples = X if self._takes_objects(X) or callable(self.kernel) else Rows.of(X, bias=0.0)
        if isinstance(X, np.ndarray) and self.kernel == "rbf" and len(classes) == 2:
            compile_ahead("KernelSVM")
        with watched(self.progress, 1) as watch:
            trained = fit_kernel_svm(
                examples,
                classes,
                codes,
                settings,
                rng if self.validation else None,
                sample_weight=sample_weight,
                start=self._start(classes, codes),
                watch=watch,
            )
        self.model_ = replace(
            trained.model,
            params=params,
            feature_names=self._names_in(),
        )
        self._last = (classes, codes, trained.start)
        self._steps = trained.steps
        self._calibrated: Any = None
        if watch.interrupted:
            raise KeyboardInterrupt
        self._warn()
        if self.probability:
            self._calibrate(X, y, sample_weight)
        return self

    @available_if(_wants_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of every class, calibrated on held-out folds.

        The most probable class may differ from that of `predict`, whose machine was trained on all
        examples.
        """
        self._fitted()
        if vars(self).get("_calibrated") is None:
            raise AttributeError("a loaded model has no probabilities: files do not store them")
        if isinstance(self._calibrated, PairSigmoids):
            model = self._fitted()
            scores = model.machine_scores(self._to_ask(X), thread_count(self.n_jobs))
            return self._calibrated.probabilities(scores, len(model.classes))
        return self._calibrated.predict_proba(X)

    @property
    def certificate_(self) -> KernelCertificate:
        """The certificate of the solution: objectives, duality gap and violations."""
        found = self._fitted().certificate
        if found is None:
            raise AttributeError("this model has no certificate")
        return found

    @property
    def intercept_(self) -> np.ndarray:
        """The bias of every machine, minus the threshold."""
        model = self._fitted()
        return model.intercept - model.threshold if model.threshold else model.intercept

    @property
    def n_iter_(self) -> Any:
        """Steps of every machine; a loaded model has only their sum."""
        whole = [epoch.updates for epoch in self._fitted().history]
        return vars(self).get("_steps", np.array(whole))

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors of every class."""
        return self._fitted().support_sizes

    @property
    def dual_coef_(self) -> np.ndarray:
        """The signed dual values of the support vectors (columns)."""
        return self._fitted().dual_coef

    def _start(self, classes: np.ndarray, codes: np.ndarray) -> KernelDualStart | None:
        """The dual values of the last fit, if this one can start from them."""
        if not self.warm_start or "_last" not in vars(self):
            return None
        before, labels, start = self._last
        same = np.array_equal(before, classes) and np.array_equal(labels, codes)
        pairs = len(classes) > 2 and self.multiclass == "ovo"
        if start is None or not same or self._fitted().pairs != pairs:
            return None
        return start

    def _warn(self) -> None:
        """Warn if the data are not separable, the kernel was approximated or `tol` not reached."""
        found, stopped = self.certificate_, self.model_.history.stopped
        if found.separates is False:
            warnings.warn(str(found).splitlines()[2], NotSeparableWarning, stacklevel=3)
        elif found.low_rank is not None and self.low_rank is None:
            warnings.warn(str(found).splitlines()[3], ConvergenceWarning, stacklevel=3)
        elif stopped not in ("converged", "gap reached"):
            warnings.warn(
                f"stopped ({stopped}) with a violation of {found.violation:.2g} and a relative gap"
                f" of {found.gap:.2g}: the optimum may be up to {100.0 * found.gap:.2g} % below the"
                f" objective {found.primal:.6g}; {advise(stopped)}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _calibrate(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Learn probabilities from the scores of held-out folds."""
        from sklearn.base import clone
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.model_selection import StratifiedKFold

        fewest = int(np.min(np.unique(y, return_counts=True)[1]))
        seed = self.random_state
        if isinstance(seed, np.random.Generator):
            seed = int(seed.integers(2**31))
        folds = StratifiedKFold(max(2, min(5, fewest)), shuffle=True, random_state=seed)
        alone = clone(self).set_params(probability=False, warm_start=False, progress=False)
        if self._fitted().pairs:
            self._calibrated = self._calibrate_pairs(alone, folds, X, y, sample_weight)
            return
        self._calibrated = CalibratedClassifierCV(alone, method="sigmoid", cv=folds, ensemble=False)
        self._calibrated.fit(X, y, sample_weight)

    def _calibrate_pairs(
        self, alone: Self, folds: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None
    ) -> PairSigmoids:
        """Fit a sigmoid for every pair of classes to the scores of held-out folds."""
        from sklearn.model_selection import cross_val_predict

        classes, codes = encode_labels(y)
        if np.min(np.bincount(codes)) < folds.get_n_splits():
            alone_in_it = classes[np.argmin(np.bincount(codes))]
            raise DataError(
                f"probability=True needs at least two examples of every class, found one of"
                f" {alone_in_it!r}; leave it out or set probability=False"
            )
        alone.set_params(decision_function_shape="ovo")
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        scores = cross_val_predict(
            alone,
            X,
            y,
            cv=folds,
            method="decision_function",
            params=None if sample_weight is None else {"sample_weight": sample_weight},
        )
        return fit_pair_sigmoids(scores, codes, weights, len(classes))
