"""Tuning of estimators: the search of `widemargin train --tune`, for data in memory and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from widemargin.data.datasets import Classes, Encoded, read_all
from widemargin.data.encode.labels import check_label_count, check_labels, encode_labels
from widemargin.data.encode.text import TextEncoder, texts_of
from widemargin.data.pool import Pool
from widemargin.data.rows import Rows, Stack
from widemargin.estimators.encoded import EncodedClassifier
from widemargin.estimators.kernel_perceptron import KernelPerceptron
from widemargin.estimators.kernel_svm import KernelSVM
from widemargin.estimators.linear import LinearLearner
from widemargin.estimators.linear_svm import LinearSVM
from widemargin.estimators.table import TableClassifier
from widemargin.estimators.text import TextClassifier
from widemargin.estimators.validation import validate_data
from widemargin.kernel_machines.svm.fit import KernelSVMSettings
from widemargin.linear_svm.fit import SVMSettings
from widemargin.models.text_defaults import WHOLE
from widemargin.online.fit import check_classes
from widemargin.parameters.settings import settings_from
from widemargin.parameters.values import check_positive, check_whole
from widemargin.threads import thread_count
from widemargin.tuning.estimation import tune_pool
from widemargin.tuning.learning import AnySettings
from widemargin.tuning.results import Tuning
from widemargin.tuning.search import SearchSpace

_SVMS: dict[type, Any] = {LinearSVM: SVMSettings, KernelSVM: KernelSVMSettings}


def tune(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    C: Sequence[float] | str | None = "auto",
    epochs: Sequence[int] | str | None = "auto",
    folds: int = 5,
    nested: bool = False,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Tuning:
    """Find the best C and number of epochs by cross-validation, and estimate their accuracy.

    `widemargin train --tune` makes the same choice and the same model. Values of C are tried from
    small to large; a kernel SVM starts from its solution for the previous value. Learners that
    learn from mistakes are scored after every epoch of one training run. The mean accuracy of the
    chosen candidate is too optimistic, because it was chosen for it; so the estimate comes from
    rows that took no part in the search. What encoders learn (scaling, categories, document
    frequencies) is learned anew from the training rows of every fold.

    Parameters
    ----------
    estimator : LinearSVM, KernelSVM, Perceptron, PassiveAggressive, OnlineLogistic, \
KernelPerceptron, TextClassifier or TableClassifier
        The estimator to tune. It is not changed.
    X, y
        The examples and their labels, as for `fit`.
    C : "auto", sequence of float, or None
        The values to try. "auto" tries 0.1, 1 and 10, continues if the best is at an end, and then
        tries values in between; None keeps the estimator's. (Has an effect only on SVMs and on the
        rules pa1 and pa2.)
    epochs : "auto", sequence of int, or None
        The numbers to try. "auto" tries eight from 1 to 20, and 30 and 50 if 20 is the best; None
        keeps the estimator's. (Has no effect on SVMs, which stop when they are solved.)
    folds : int
        Number of stratified folds of the search.
    nested : bool
        Estimate with as many outer folds, with a separate search in each, instead of on a held-out
        tenth of the rows (at most 10,000). This uses every row, and takes `folds` times as long.
    sample_weight : array of n numbers, optional
        Cost of an error on each example, in training. The accuracies count all rows alike.
    n_jobs : int or None
        Number of folds to train in parallel; the result does not depend on it.
    random_state : int
        Seed of the folds. Training uses the seed of the estimator.

    Returns
    -------
    Tuning
        `best_`, `estimate_`, `trials_`, `notes_`, and `estimator_`, trained on all rows with the
        best settings. Printed, it is a table.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import LinearSVM, TableClassifier, tune
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = tune(TableClassifier(LinearSVM(random_state=0)), X, y, C=[0.01, 0.1, 1])
    >>> found.best_
    {'C': 0.01}
    >>> round(found.estimate_.accuracy, 2), [round(edge, 2) for edge in found.estimate_.interval]
    (0.93, [0.83, 0.97])
    """
    space = SearchSpace(_candidates("C", C), _candidates("epochs", epochs))
    learner = _learner_of(estimator)
    settings = _settings_of(learner)
    searched = space.for_settings(settings)
    if searched.C is None and searched.epochs is None:
        raise ValueError(
            f"there is nothing to tune: {type(learner).__name__} has no C or epochs with an effect,"
            " or they are None"
        )
    _check_unsearched(space, searched, learner)
    stopped_by = getattr(settings, "validation", None)
    if searched.epochs is not None and stopped_by:
        raise ValueError(
            f"validation={stopped_by!r} already chooses the epochs: give epochs=None, or an"
            " estimator with validation=0"
        )
    pool = _pool(estimator, X, y, sample_weight)
    check_classes(pool.classes)
    found = tune_pool(
        pool,
        settings,
        searched,
        learner._generator,
        folds=folds,
        nested=nested,
        seed=random_state,
        threads=thread_count(n_jobs),
    )
    found.estimator_ = _with(estimator, learner, found.best_).fit(X, y, sample_weight)
    return found


def _candidates(name: str, given: Any) -> Any:
    """The values to try: a tuple, empty for the default; None for no search."""
    if given is None or (isinstance(given, str) and given == "auto"):
        return None if given is None else ()
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)) or not len(given):
        raise ValueError(f"{name}={given!r} must be 'auto', a list of values to try, or None")
    for value in given:
        if name == "C":
            check_positive(name, value)
        else:
            check_whole(name, value, least=1)
    as_given: Any = float if name == "C" else int
    return tuple(sorted({as_given(value) for value in given}))


def _check_unsearched(given: SearchSpace, searched: SearchSpace, learner: Any) -> None:
    """Refuse a list of values that has no effect."""
    for name in ("C", "epochs"):
        if getattr(given, name) and getattr(searched, name) is None:
            raise ValueError(f"{name} cannot be tuned for this {type(learner).__name__}")


def _learner_of(estimator: Any) -> Any:
    """A fresh copy of the estimator, or of the learner inside it."""
    if isinstance(estimator, EncodedClassifier):
        return estimator._fresh_learner(estimator._default())
    return clone(estimator)


def _settings_of(learner: Any) -> AnySettings:
    if isinstance(learner, (LinearLearner, KernelPerceptron)):
        found: AnySettings = learner._settings()
        return found
    kind = _SVMS.get(type(learner))
    if kind is None:
        raise TypeError(
            f"tune takes widemargin's learners of rows, texts and tables, not"
            f" {type(learner).__name__}; for others use scikit-learn's GridSearchCV"
        )
    return settings_from(kind, learner.get_params(deep=False))


def _with(estimator: Any, learner: Any, best: dict[str, Any]) -> Any:
    """A new estimator with the chosen settings; a default learner becomes an explicit one."""
    tuned = clone(learner).set_params(**best)
    if not isinstance(estimator, EncodedClassifier):
        return tuned
    own = {"random_state": None, "class_weight": None, "validation": 0.0}
    whole = clone(estimator).set_params(learner=tuned, **own)
    encoder = estimator._encoder(estimator._default())
    text = encoder if isinstance(encoder, TextEncoder) else encoder.text
    if text is not None:  # with an explicit learner, their defaults would be different
        whole.set_params(**{name: text.options[name] for name in ("ngrams", "idf")})
    return whole


def _pool(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Pool:
    """Read the examples into a pool that can be split into folds."""
    threads = thread_count(estimator.n_jobs)
    if isinstance(estimator, TableClassifier):
        encoder, classes = estimator._encoder(estimator._default()), Classes()
        source = estimator._source(X, y)
        data = read_all(source, encoder, classes, learn=True, keep=True)
        assert data is not None
        given = estimator._weights(data.weights, sample_weight)
        if given is not None:
            data.weights = _check_sample_weight(given, data.codes, dtype=np.float64)
        return Pool(data, classes.values, encoder, threads)
    text, kept = None, None
    if isinstance(estimator, TextClassifier):
        text = estimator._encoder(WHOLE)
        stack = Stack(1)
        text.encode_first(texts_of(X), stack, threads)
        rows = stack.rows(text.width)
        kept = rows.stored.values.copy() if text.options["idf"] else None
        y = check_labels(column_or_1d(y, warn=True))
    else:
        rows, y = _rows(estimator, X, y)
    check_label_count(rows.n, len(y))
    labels, codes = encode_labels(y)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, codes, dtype=np.float64)
    data = Encoded(rows, codes, sample_weight, np.arange(rows.n), [("X", rows.n)], kept)
    return Pool(data, labels, text, threads)


def _rows(estimator: Any, X: Any, y: Any) -> tuple[Rows, np.ndarray]:
    """A matrix and its labels, validated as in `fit`."""
    kernel = getattr(estimator, "kernel", "linear")
    if callable(kernel) or kernel in ("precomputed", "ngrams"):
        raise ValueError(
            f"tune needs vectors, which kernel={kernel!r} does not take: use scikit-learn's"
            " GridSearchCV"
        )
    X, y = validate_data(clone(estimator), X, y)
    rows = Rows.of(X, bias=0.0)
    rows.check_finite()
    return rows, check_labels(column_or_1d(y, warn=True))
