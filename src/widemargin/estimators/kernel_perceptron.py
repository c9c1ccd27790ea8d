"""The kernel perceptron."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight

from widemargin.certificates.certificate import RunCertificate
from widemargin.certificates.theorem import departure_between
from widemargin.data.encode.labels import check_covers, codes_of, encode_labels, join_classes
from widemargin.errors import DataError
from widemargin.estimators.kernel_answers import KernelAnswers
from widemargin.estimators.validation import validate_labels
from widemargin.kernel_machines.perceptron.continued import check_going_on
from widemargin.kernel_machines.perceptron.fit import HeldOutPoints, fit_kernel_perceptron
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernels.points import len_of
from widemargin.markup.reprs import brief
from widemargin.models.kernel import KernelModel
from widemargin.online.fit import check_classes
from widemargin.online.label_runs import warn_of_runs
from widemargin.online.mistake_log import Correction
from widemargin.online.orders import Shuffle, generator_of
from widemargin.online.rules import Eta
from widemargin.parameters.effects import changed, refuse_unused
from widemargin.parameters.settings import settings_from
from widemargin.separability.kernel_trainings import begin_kernel_run
from widemargin.training.checkpoints import open_checkpoints
from widemargin.training.progress import watched


def _has_no_budget(learner: KernelPerceptron) -> bool:
    """Whether `partial_fit` is available: only without a budget.

    A model does not store the linear dependencies among the examples within a budget.
    """
    if learner.budget is not None:
        raise AttributeError("partial_fit does not support a budget: use fit on all examples")
    return True


@dataclass(eq=False, repr=False, kw_only=True)
class KernelPerceptron(KernelAnswers):
    """Kernel perceptron: a perceptron whose model is the set of examples it got wrong.

        for each example (x, y):
            if y sum_j a_j K(x_j, x) <= 0:
                store x with a = eta y

    It makes the same mistakes, in the same order, as a linear perceptron on the explicit features
    of the kernel. There is no bias; for "poly", `coef0` acts as one.

    Parameters
    ----------
    kernel : str or callable
        "rbf" exp(-gamma |x-z|^2), "poly" (gamma x.z + coef0)^degree, "linear", "laplace"
        exp(-gamma |x-z|), "laplacian" exp(-gamma sum |x_j-z_j|), "ngrams" (of strings),
        "precomputed" (X is the matrix of kernel values), or a function of two examples, which may
        be vectors or any other objects.
    degree, gamma, coef0, sigma
        Parameters of the kernel, see `widemargin.kernels.kernel.make_kernel`. gamma may be "scale"
        or "auto"; sigma can be given instead of gamma and means gamma = 1 / (2 sigma^2). Unlike
        KernelSVM, for "poly" the defaults are gamma 1 and coef0 1.
    rule : {"perceptron", "margin", "pa", "pa1", "pa2"}
        When to update and by how much, as for `Perceptron`.
    keep : {"average", "last", "vote"}
        Which hypothesis predicts. "vote" stores the mistake log and can predict as any of the three
        (see `using`).
    epochs : float
        Maximum number of passes over the examples; 0.1 means the first tenth of them.
    eta, C, target, shuffle, ties, validation, patience, max_seconds, class_weight, multiclass
        As for `Perceptron`.
    budget : int or None
        Maximum number of examples to store.
    forget : {"projectron", "forgetron", "random"}
        What to do when the budget is used up: project a new example onto the stored ones
        (Projectron++); shrink all coefficients and drop the oldest example (Forgetron); or replace
        a randomly chosen example. The last two require keep="last".
    max_memory : int or str
        Memory for kernel values in bytes. If all of them fit, and there are enough epochs to make
        it worthwhile, they are computed once.
    n_jobs : int or None
        Threads for everything except matrix products, which use the threads of BLAS.
    random_state, progress
        As for `Perceptron`.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_
        The labels; the indices of the support vectors, the vectors, and their coefficients.
    mistakes_, n_iter_, history_, kernel_
        Mistakes made, epochs run, a table with one row per epoch, the kernel with its parameters.

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

    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str | None = None
    coef0: float = 1.0
    sigma: float | None = None
    rule: str = "perceptron"
    keep: str = "average"
    epochs: float = 10
    eta: Eta = 1.0
    C: float = 1.0
    target: float = 1.0
    shuffle: Shuffle = True
    ties: str = "mistake"
    validation: float = 0.0
    patience: int | None = 5
    max_seconds: float | None = None
    class_weight: Mapping[Any, float] | str | None = None
    multiclass: str = "joint"
    budget: int | None = None
    forget: str = "projectron"
    max_memory: int | str = "2GB"
    n_jobs: int | None = None
    random_state: Any = None
    progress: bool | None = None

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
        """Train on examples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a list of n objects
            The examples; with kernel="precomputed" their Gram matrix, of shape (n, n).
        y : array of n labels
            Their labels: integers or strings.
        sample_weight : array of n numbers, optional
            Cost of an error on each example; examples with weight 0 are skipped.
        X_val, y_val : optional
            Held-out examples to score after each epoch, instead of a part of X; the hypothesis with
            the best score is returned.
        checkpoint : path, optional
            Folder for periodic checkpoints. If it contains a checkpoint of the same training,
            training resumes from it and gives exactly the same result as without the interruption.

        Returns
        -------
        self
            After Ctrl-C, the model learned so far is stored before KeyboardInterrupt is raised.
        """
        settings = self._settings()
        refuse_unused(changed(settings), settings.uses(held_out=X_val is not None))
        X, y = self._validate(X, y)
        classes, codes = encode_labels(y)
        check_classes(classes)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        rng, held_out = self._generator(), None
        if (X_val is None) != (y_val is None):
            raise ValueError("give both X_val and y_val, or neither")
        warn_of_runs(settings, codes, classes)
        if X_val is not None:
            X_val, y_val = self._more_labelled(X_val, y_val)
            held_out = HeldOutPoints(X_val, codes_of(y_val, classes))
        with (
            watched(self.progress, max(1, round(settings.epochs))) as watch,
            open_checkpoints(
                checkpoint, lambda: self._task(X, codes, *(held_out or ()), sample_weight)
            ) as checkpoints,
        ):
            model = fit_kernel_perceptron(
                X,
                classes,
                codes,
                settings,
                rng,
                sample_weight=sample_weight,
                held_out=held_out,
                watch=watch,
                checkpoints=checkpoints,
            )
        self._adopt(model, rng)
        if watch.interrupted:
            raise KeyboardInterrupt
        return self

    @available_if(_has_no_budget)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one epoch over more examples.

        Row numbers in `support_` and `log_` count all examples seen so far. The kernel is that of
        the first call, whose examples also determine gamma="scale".

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. New labels create new classes.
        classes : array, optional
            In the first call: all labels that will occur, if known.
        """
        settings = replace(self._settings(), epochs=1, validation=0.0)
        if isinstance(settings.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all examples at once; use a dict with partial_fit"
            )
        first = "model_" not in vars(self)
        if first:
            refuse_unused(changed(settings), settings.uses(held_out=True))
        check_going_on(None if first else self.model_, settings)
        if first:
            X, y = self._validate(X, y)
            known = encode_labels(y if classes is None else classes)[0]
        else:
            X, y = self._more_labelled(X, y)
            check_covers(classes, self.classes_)
            known = join_classes(self.model_.classes, y, classes)
        codes = codes_of(y, known)
        if np.any(codes < 0):
            raise DataError(f"label {brief(y[np.argmin(codes)])} is not among `classes`")
        check_classes(known)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        rng = self._generator() if first or "_rng" not in vars(self) else self._rng
        before = None if first else self.model_
        model = fit_kernel_perceptron(
            X, known, codes, settings, rng, sample_weight=sample_weight, before=before
        )
        if before is not None:
            now = self.get_params(deep=False)
            model.history.depart(departure_between(before.rule, before.params, now))
        self._adopt(model, rng)
        return self

    def restore(self, model: KernelModel) -> Self:
        """Adopt a model that was read from a file."""
        super().restore(model)
        if model.generator_state is not None:
            self._rng = generator_of(model.generator_state)
        return self

    def _more_labelled(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Validate further examples and their labels."""
        X = self._more(X)
        return X, validate_labels(y, len_of(X))

    def _adopt(self, model: KernelModel, rng: np.random.Generator) -> None:
        """Store the trained model."""
        self._rng = rng
        self.model_ = replace(
            model,
            learner=type(self).__name__,
            params=self.get_params(deep=False),
            feature_names=self._names_in(),
            generator_state=rng.bit_generator.state,
        )

    def using(self, keep: str) -> Self:
        """Return the same learner with another `keep`: "last", "average" or "vote"."""
        other = self._sharer()
        other.keep = keep
        other.model_ = self._fitted().using(keep)
        return other

    @property
    def mistakes_(self) -> int:
        """Mistakes made during training, over all epochs."""
        return self._fitted().history.mistakes

    @property
    def certificate_(self) -> RunCertificate:
        """What the fit alone proves; `widemargin.certify(learner, X, y)` proves the rest."""
        return begin_kernel_run(self._fitted())

    @property
    def log_(self) -> list[Correction]:
        """All corrections in order, if the mistake log was kept (`keep="vote"`)."""
        model = self._fitted()
        if model.log is None:
            raise AttributeError("the mistake log was not kept: train with keep='vote'")
        index = model.support.index
        return [
            Correction(int(index[e]), int(label), float(amount), float(count))
            for e, label, amount, count in zip(*model.log, strict=True)
        ]

    def _settings(self) -> KernelSettings:
        """The parameters as validated settings."""
        return settings_from(KernelSettings, self.get_params(deep=False))
