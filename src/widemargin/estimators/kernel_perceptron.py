"""The perceptron in feature space."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from widemargin.certificates.certificate import RunCertificate
from widemargin.data.encode.labels import check_labels, codes_of, encode_labels, join_classes
from widemargin.errors import DataError
from widemargin.estimators.kernel_answers import KernelAnswers
from widemargin.kernel_machines.perceptron.continued import check_going_on
from widemargin.kernel_machines.perceptron.fit import HeldOutPoints, fit_kernel_perceptron
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernels.points import len_of
from widemargin.models.kernel import KernelModel
from widemargin.online.fit import check_classes
from widemargin.online.mistake_log import Correction
from widemargin.online.orders import Shuffle
from widemargin.online.rules import Eta
from widemargin.parameters import changed, refuse_unused
from widemargin.separability.kernel_trainings import begin_kernel_run
from widemargin.training.checkpoints import digest_of, open_checkpoints
from widemargin.training.progress import watched


def _has_no_budget(learner: KernelPerceptron) -> bool:
    """Let scikit-learn see `partial_fit` only where it works.

    (A model does not keep how the examples within a budget depend on each other.)
    """
    if learner.budget is not None:
        raise AttributeError("within a budget all examples must come at once: use fit")
    return True


class KernelPerceptron(KernelAnswers):
    """The perceptron in feature space: the examples that were mistakes are the model.

        for each example (x, y):
            if y sum_j a_j K(x_j, x) <= 0:
                store x with a = eta y

    It makes the same mistakes, in the same order, as a perceptron that is given all features of the
    kernel's space one by one. There is no bias: for "poly" `coef0` serves as one.

    Parameters
    ----------
    kernel : str or callable
        "rbf" exp(-gamma |x-z|^2), "poly" (gamma x.z + coef0)^degree, "linear", "laplace"
        exp(-gamma |x-z|), "laplacian" exp(-gamma sum |x_j-z_j|), "ngrams" (of strings),
        "precomputed" (X is the matrix of kernel values), or a function of two examples: vectors,
        or any objects.
    degree, gamma, coef0, sigma
        The kernel's numbers, see `widemargin.kernels.kernel.make_kernel`. gamma may be "scale" or
        "auto"; sigma instead of gamma means gamma = 1 / (2 sigma^2).
    rule : {"perceptron", "margin", "pa", "pa1", "pa2"}
        When to step and how far, as for `Perceptron`.
    keep : {"average", "last", "vote"}
        What answers. "vote" keeps the log of mistakes and can answer as all three (`using`).
    epochs : float
        Passes over the examples at the most; 0.1 is the first tenth of them.
    eta, C, target, shuffle, ties, validation, patience, max_seconds, class_weight, multiclass
        As for `Perceptron`.
    budget : int or None
        Store at most so many examples.
    forget : {"projectron", "forgetron", "random"}
        What happens when the budget is used up: a new example is projected on those that are stored
        (Projectron++); the oldest is forgotten, all fade (Forgetron); one drawn at random is
        replaced. The last two can only keep "last".
    max_memory : int or str
        Bytes for kernel values. If all of them fit, and there are enough epochs for it to pay, they
        are computed once.
    n_jobs : int or None
        Threads for what is not a matrix product (these have the threads of BLAS).
    random_state, progress
        As for `Perceptron`.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_
        The labels; the rows that were learned from, the examples in them, and what they add.
    mistakes_, n_iter_, history_, kernel_
        Mistakes made, epochs run, a table with a row an epoch, the kernel with its numbers.

    Examples
    --------
    >>> from widemargin import KernelPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> p = KernelPerceptron(kernel="poly", degree=2, keep="last", shuffle=False).fit(X, y)
    >>> p.predict(X)
    array([0, 1, 1, 0])

    References
    ----------
    M. Aizerman, E. Braverman, L. Rozonoer (1964). Y. Freund and R. E. Schapire (1999), Large margin
    classification using the perceptron algorithm, Machine Learning 37.
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str | None = None,
        coef0: float = 1.0,
        sigma: float | None = None,
        rule: str = "perceptron",
        keep: str = "average",
        epochs: float = 10,
        eta: Eta = 1.0,
        C: float = 1.0,
        target: float = 1.0,
        shuffle: Shuffle = True,
        ties: str = "mistake",
        validation: float = 0.0,
        patience: int = 5,
        max_seconds: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        multiclass: str = "joint",
        budget: int | None = None,
        forget: str = "projectron",
        max_memory: int | str = "2GB",
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.sigma = sigma
        self.rule = rule
        self.keep = keep
        self.epochs = epochs
        self.eta = eta
        self.C = C
        self.target = target
        self.shuffle = shuffle
        self.ties = ties
        self.validation = validation
        self.patience = patience
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.multiclass = multiclass
        self.budget = budget
        self.forget = forget
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from examples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a list of n objects
            The examples; with kernel="precomputed" their Gram matrix, of shape (n, n).
        y : array of n labels
            Their classes: whole numbers or strings.
        sample_weight : array of n numbers, optional
            What an error on each example costs; an example that costs 0 is not looked at.
        X_val, y_val : optional
            Examples to score after each epoch instead of a part of X; the hypothesis with the best
            score is given back.
        checkpoint : path, optional
            A folder where the training is saved now and then. If the same training was interrupted
            there before, it goes on to the same bits.

        Returns
        -------
        self
            Also after Ctrl-C, which raises KeyboardInterrupt once what was learned is in place.
        """
        settings = self._settings()
        refuse_unused(changed(settings), settings.uses(held_out=X_val is not None))
        X, y = self._validate(X, y)
        classes, codes = encode_labels(y)
        check_classes(classes)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        self._rng = self._generator()
        held_out = None
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: give both or neither")
        if X_val is not None:
            held_out = HeldOutPoints(self._more(X_val), codes_of(y_val, classes))
        with (
            watched(self.progress, max(1, round(settings.epochs))) as watch,
            open_checkpoints(checkpoint, lambda: self._task(X, codes, X_val)) as checkpoints,
        ):
            model = fit_kernel_perceptron(
                X,
                classes,
                codes,
                settings,
                self._rng,
                sample_weight=sample_weight,
                held_out=held_out,
                watch=watch,
                checkpoints=checkpoints,
            )
        self._adopt(model)
        if watch.interrupted:
            raise KeyboardInterrupt
        return self

    @available_if(_has_no_budget)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning: one epoch over more examples.

        Rows in `support_` and `log_` are counted over all examples seen. The kernel is that of the
        first call, whose examples also decide what gamma="scale" means.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. Labels that were never seen before make new classes.
        classes : array, optional
            At the first call: all labels that will come, if they are known.
        """
        settings = replace(self._settings(), epochs=1, validation=0.0)
        if isinstance(settings.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all examples at once; give partial_fit a dict"
            )
        first = "model_" not in vars(self)
        if first:
            refuse_unused(changed(settings), settings.uses(held_out=True))
        check_going_on(None if first else self.model_, settings)
        if first:
            X, y = self._validate(X, y)
            known = encode_labels(y if classes is None else classes)[0]
        else:
            X, y = self._more(X), check_labels(column_or_1d(y, warn=True))
            known = join_classes(self.model_.classes, y, classes)
        if len(y) != len_of(X):
            raise DataError(f"found {len_of(X)} examples, but {len(y)} labels")
        codes = codes_of(y, known)
        if np.any(codes < 0):
            raise DataError(f"label {y[np.argmin(codes)]!r} is not among `classes`")
        check_classes(known)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        if first or "_rng" not in vars(self):
            self._rng = self._generator()
        model = fit_kernel_perceptron(
            X,
            known,
            codes,
            settings,
            self._rng,
            sample_weight=sample_weight,
            before=None if first else self.model_,
        )
        self._adopt(model)
        return self

    def _adopt(self, model: KernelModel) -> None:
        """Take over what was learned."""
        names = getattr(self, "feature_names_in_", None)
        self.model_ = replace(
            model,
            learner=type(self).__name__,
            params=self.get_params(deep=False),
            feature_names=None if names is None else list(names),
        )

    def _task(self, X: Any, codes: np.ndarray, X_val: Any) -> dict[str, Any]:
        """What a checkpoint must be of to go on from."""
        params = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        parts = [codes]
        for given in (X, X_val):
            if scipy.sparse.issparse(given):
                parts += [given.data, given.indices, given.indptr]
            elif given is not None:
                parts.append(given)
        return {"learner": [type(self).__name__, params], "examples": digest_of(*parts)}

    def using(self, keep: str) -> Self:
        """The same training, answering as another perceptron: "last", "average" or "vote"."""
        other = copy.copy(self)
        other.keep = keep
        other.model_ = self._fitted().using(keep)
        return other

    def restore(self, model: KernelModel) -> Self:
        """Take over a model that was read from a file."""
        self.model_ = model
        if not model.kernel.on_objects:
            self.n_features_in_ = model.width
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return self

    @property
    def mistakes_(self) -> int:
        """Mistakes made while learning, in all epochs."""
        return self._fitted().history.mistakes

    @property
    def certificate_(self) -> RunCertificate:
        """What the fit alone tells; `widemargin.certify(learner, X, y)` tells the rest."""
        return begin_kernel_run(self._fitted())

    @property
    def log_(self) -> list[Correction]:
        """Every correction in order, if the log was kept (`keep="vote"`)."""
        model = self._fitted()
        if model.log is None:
            raise AttributeError("the mistake log was not kept: train with keep='vote'")
        index = model.support.index
        return [
            Correction(int(index[e]), int(label), float(amount), float(count))
            for e, label, amount, count in zip(*model.log, strict=True)
        ]

    def _settings(self) -> KernelSettings:
        """The parameters as settings, checked."""
        names = {field.name for field in fields(KernelSettings)}
        params = self.get_params(deep=False)
        settings = KernelSettings(**{name: params[name] for name in params if name in names})
        settings.check()
        return settings
