"""The kernel support vector machine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight

from widemargin.certificates.kernel_gap import KernelCertificate
from widemargin.data.encode.labels import encode_labels
from widemargin.data.rows import Rows
from widemargin.errors import NotSeparableWarning
from widemargin.estimators.kernel_answers import KernelAnswers
from widemargin.kernel_machines.svm.fit import KernelSVMSettings, fit_kernel_svm
from widemargin.kernel_machines.svm.solve import KernelDualStart
from widemargin.models.kernel_svm import KernelSVMModel
from widemargin.online.fit import check_classes
from widemargin.parameters import changed, refuse_unused
from widemargin.training.progress import watched


def _wants_probabilities(svm: KernelSVM) -> bool:
    """Let scikit-learn see `predict_proba` only where it was asked for."""
    if not svm.probability:
        raise AttributeError("probabilities need probability=True, which fits on held-out folds")
    return True


class KernelSVM(KernelAnswers):
    """The widest margin in feature space, errors allowed at a price, with the proof of its worth.

        min  1/2 |w|^2 + C sum_i max(0, 1 - y_i (w . phi(x_i) + b)),    phi(x) . phi(z) = K(x, z)

    It is solved in the dual, where every example has a value alpha from 0 to C: a working set grows
    by the worst violators and is solved by sequential minimal optimisation, until no violation is
    larger than `tol` (as LIBSVM means it). Two classes are one problem; of more, every pair of
    classes is one, and pairs share the kernel values of their classes.

    Parameters
    ----------
    C : float
        What an error costs. Infinity forbids errors (the hard margin): the answer is the separator
        with the largest margin in feature space, or a warning with a bound on the margin that there
        can be; `widemargin.certify(X, y, kernel=...)` then decides.
    kernel : str or callable
        "rbf" exp(-gamma |x-z|^2), "poly" (gamma x.z + coef0)^degree, "linear", "laplace"
        exp(-gamma |x-z|), "laplacian" exp(-gamma sum |x_j-z_j|), "ngrams" (of strings),
        "precomputed" (X is the matrix of kernel values), or a function of two examples: vectors,
        or any objects. What is no kernel (not symmetric, negative eigenvalues) is refused.
    degree, gamma, coef0, sigma
        The kernel's numbers. gamma may be "scale" (1 / (features x variance)) or "auto"
        (1 / features); sigma instead of a number for gamma means gamma = 1 / (2 sigma^2).
    tol : float
        The largest violation of the optimality conditions that is left.
    multiclass : {"ovo", "ovr"}
        More than two classes: a machine for every two, or one for each against the rest.
    decision_function_shape : {"ovr", "ovo"}
        Of pairs: whether `decision_function` counts wins for every class, or gives the scores of
        the pairs (a, b), a < b, which are positive for a.
    class_weight : dict, "balanced" or None
        What multiplies C for the examples of each class.
    max_memory : int or str
        Bytes for kernel values, such as "500MB". If all fit they are computed at most once; else
        the rows used last are kept. If not even a small working set fits, landmarks stand for the
        examples (`low_rank`), and the certificate tells what they miss.
    low_rank : int or None
        Use so many landmarks (Nystrom) and linear machines whatever fits. None: only if it must be.
    max_seconds : float or None
        Stop after so much time, with the true gap of what was found.
    warm_start : bool
        Begin with the dual values of the last fit, on the same examples and labels: after a
        deadline or Ctrl-C to go on, or with another C.
    probability : bool
        Whether `predict_proba` is there: scikit-learn's sigmoid calibration on five held-out folds.
    n_jobs : int or None
        Threads; BLAS gets one in each. The result is the same.
    random_state : int, Generator or None
        Nothing in the fit is random; the folds of `probability` are.
    progress : bool or None
        Show a progress line; None: on a terminal.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_
        As scikit-learn's SVC has them: support vectors class by class; for pairs, of k classes, the
        k - 1 values of a support vector are those of its machines with the other classes. (With
        `multiclass="ovr"` one row a class. After `low_rank` the support are the landmarks.)
    certificate_ : KernelCertificate
        Primal, dual, relative gap, largest violation, margin in feature space; `parts` has one for
        each machine. The figures are about the kernel values in the precision of the data: rows of
        float64 are computed in float64.
    kernel_, history_, n_iter_
        The kernel with its numbers, one row of figures, and the steps of every machine.

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

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        sigma: float | None = None,
        tol: float = 1e-3,
        multiclass: str = "ovo",
        decision_function_shape: str = "ovr",
        class_weight: Mapping[Any, float] | str | None = None,
        max_memory: int | str = "2GB",
        low_rank: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        probability: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.sigma = sigma
        self.tol = tol
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
        self.max_memory = max_memory
        self.low_rank = low_rank
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.probability = probability
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on examples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a list of n objects
            The examples; with kernel="precomputed" their Gram matrix, of shape (n, n).
        y : array of n labels
            Their classes: whole numbers or strings.
        sample_weight : array of n numbers, optional
            What multiplies C for every example; one of weight 0 is not looked at.

        Returns
        -------
        self
            Also after Ctrl-C, which raises KeyboardInterrupt once what was found is in place.
        """
        params = self.get_params(deep=False)
        known = {field.name for field in fields(KernelSVMSettings)}
        settings = KernelSVMSettings(**{name: params[name] for name in params if name in known})
        settings.check()
        refuse_unused(changed(settings), settings.uses())
        X, y = self._validate(X, y)
        classes, codes = encode_labels(y)
        check_classes(classes)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        examples = X if self._takes_objects(X) or callable(self.kernel) else Rows.of(X, bias=0.0)
        with watched(self.progress, 1) as watch:
            trained = fit_kernel_svm(
                examples,
                classes,
                codes,
                settings,
                sample_weight=sample_weight,
                start=self._start(classes, codes),
                watch=watch,
            )
        names = getattr(self, "feature_names_in_", None)
        self.model_ = replace(
            trained.model,
            params=params,
            feature_names=None if names is None else list(names),
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
        """The probability of every class, calibrated on folds that were held out.

        Its largest may be another class than `predict` says, whose machine was trained on all.
        """
        self._fitted()
        if vars(self).get("_calibrated") is None:
            raise AttributeError("a model from a file has no probabilities: they are not kept")
        return self._calibrated.predict_proba(X)

    @property
    def certificate_(self) -> KernelCertificate:
        """What the machines are worth."""
        found = self._fitted().certificate
        if found is None:
            raise AttributeError("this model has no certificate")
        return found

    @property
    def intercept_(self) -> np.ndarray:
        """The bias of every machine."""
        return self._fitted().intercept

    @property
    def n_iter_(self) -> Any:
        """Steps of every machine; a model from a file knows only their sum."""
        whole = [epoch.updates for epoch in self._fitted().history]
        return vars(self).get("_steps", np.array(whole))

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of every class."""
        return self._fitted().support_sizes

    @property
    def dual_coef_(self) -> np.ndarray:
        """The signed dual values of the support vectors (columns)."""
        return self._fitted().dual_coef

    def restore(self, model: KernelSVMModel) -> Self:
        """Take over a model that was read from a file."""
        self.model_ = model
        if not model.kernel.on_objects:
            self.n_features_in_ = model.width
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return self

    def _start(self, classes: np.ndarray, codes: np.ndarray) -> KernelDualStart | None:
        """Where the last fit ended, if this one is to begin there."""
        if not self.warm_start or "_last" not in vars(self):
            return None
        before, labels, start = self._last
        same = np.array_equal(before, classes) and np.array_equal(labels, codes)
        pairs = len(classes) > 2 and self.multiclass == "ovo"
        if start is None or not same or self._fitted().pairs != pairs:
            return None
        return start

    def _warn(self) -> None:
        """Say what is true of the model if it is not what was asked for."""
        found, stopped = self.certificate_, self.model_.history.stopped
        if found.separates is False:
            warnings.warn(str(found).splitlines()[2], NotSeparableWarning, stacklevel=3)
        elif found.low_rank is not None and self.low_rank is None:
            warnings.warn(str(found).splitlines()[3], ConvergenceWarning, stacklevel=3)
        elif stopped not in ("converged", "gap reached"):
            warnings.warn(
                f"stopped ({stopped}) with a violation of {found.violation:.2g} and a relative gap"
                f" of {found.gap:.2g}: the objective {found.primal:.6g} may be so much above the"
                " least",
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
        self._calibrated = CalibratedClassifierCV(alone, method="sigmoid", cv=folds, ensemble=False)
        self._calibrated.fit(X, y, sample_weight)
