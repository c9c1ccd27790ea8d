"""Several labels per row: one binary learner for each label, on rows that are read once.

The learner of a label learns, bit for bit, what a learner with the same parameters learns from the
same rows and the classes 0 (without the label) and 1 (with it).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from widemargin.data.encode.labels import join_classes
from widemargin.data.encode.multilabel import LabelSets, read_label_sets
from widemargin.data.rows import Rows
from widemargin.errors import DataError, DataWarning
from widemargin.estimators.validation import adopt_new_names, validate_data, validate_more
from widemargin.models.multilabel import MultilabelModel
from widemargin.threads import run_all, thread_count

#: The classes of each binary learner: without and with the label.
_CLASSES = np.array([0, 1])


def fit_multilabel(
    learner: Any, X: Any, labels: LabelSets, sample_weight: Any, X_val: Any, y_val: Any
) -> None:
    """Train a learner for every label."""
    if not len(labels.classes):
        raise DataError("no row has a label: there is nothing to learn")
    again = getattr(learner, "warm_start", False) and is_multilabel(learner)
    rows = _rows(learner, X, labels, reset=not again)
    each = list(learner._each) if again else []
    if again:
        _check_kind(learner, labels)
        labels = labels.among(learner.classes_)
    else:
        each = [_new(learner) for _ in labels.classes]
    asked: tuple[Rows, LabelSets] | None = None
    if X_val is not None or y_val is not None:
        asked = _held_out(learner, X_val, y_val, labels)
    _warn_of_constant_labels(labels)

    def work(code: int) -> None:
        held = {} if asked is None else {"X_val": asked[0], "y_val": asked[1].column(code)}
        each[code]._fit(rows, labels.column(code), sample_weight, classes=_CLASSES, **held)

    run_all(work, range(len(each)), thread_count(learner.n_jobs))
    _adopt(learner, X, labels, each)


def partial_fit_multilabel(
    learner: Any, X: Any, labels: LabelSets, classes: Any, sample_weight: Any
) -> None:
    """Continue the training of every label; new labels start from zero weights."""
    first = not learner.__sklearn_is_fitted__()
    if not first:
        _check_kind(learner, labels)
    rows = _rows(learner, X, labels, reset=first)
    if not first:  # new labels start with all features
        rows = rows.widened(max(rows.width, learner.n_features_in_))
    before = labels.classes[:0] if first else learner.classes_
    known = before
    for more in (labels.classes, None if classes is None else np.asarray(classes)):
        if more is not None and len(more):
            known = join_classes(known, more) if len(known) else np.unique(more)
    if not len(known):
        raise DataError("no row has a label so far: give classes= in the first call")
    if labels.kind.has_columns and len(known) != len(labels.classes):
        raise ValueError(f"classes= names {len(known)} labels, y has {len(labels.classes)} columns")
    labels = labels.among(known)
    each: list[Any] = [None] * len(known)
    for one, place in zip(
        [] if first else learner._each, np.searchsorted(known, before).tolist(), strict=True
    ):
        each[place] = one
    each = [_new(learner) if one is None else one for one in each]

    def work(code: int) -> None:
        column = labels.column(code)
        each[code].partial_fit(rows, column, classes=_CLASSES, sample_weight=sample_weight)

    run_all(work, range(len(each)), thread_count(learner.n_jobs))
    _adopt(learner, X, labels, each)


def is_multilabel(learner: Any) -> bool:
    """Whether a learner, or the learner in a classifier, has learned several labels per row."""
    learner = vars(learner).get("learner_", learner)
    return isinstance(vars(learner).get("model_"), MultilabelModel)


def refuse_single_labels(learner: Any) -> None:
    """Refuse to continue with one label per row after several."""
    if is_multilabel(learner):
        raise ValueError("this learner was trained on several labels per row: y has only one")


def refuse_several_labels(learner: Any, what: str) -> None:
    """Refuse an attribute that exists only for a single label."""
    if is_multilabel(learner):
        raise AttributeError(
            f"{what} is per label: use estimators_[j].{what}, where classes_[j] is the label"
        )


def restore_multilabel(learner: Any, model: MultilabelModel) -> None:
    """Adopt a model that was read from a file."""
    learner.model_ = model
    learner.n_features_in_ = model.width
    if model.feature_names is not None:
        learner.feature_names_in_ = np.array(model.feature_names, dtype=object)
    learner._each = [_new(learner).restore(one) for one in model.models]


def subset_accuracy(learner: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """The share of rows all of whose labels are predicted, and no others."""
    labels = read_label_sets(y)
    if labels is None:
        raise DataError("this learner predicts several labels per row: y has only one")
    known = labels.among(learner.classes_)
    scores = learner.decision_function(X)
    if len(scores) != labels.n:
        raise DataError(f"there are {len(scores):,} rows but {labels.n:,} rows of labels")
    right = np.all((scores >= 0.0) == known.matrix(), axis=1)
    if len(known.codes) < len(labels.codes):  # rows with labels unknown to the model are wrong
        strange = np.bincount(labels.rows, minlength=labels.n)
        right &= strange == np.bincount(known.rows, minlength=labels.n)
    return float(np.average(right, weights=sample_weight))


def _new(learner: Any) -> Any:
    """An untrained learner for one label."""
    one = clone(learner).set_params(progress=False)
    names = getattr(learner, "feature_names_in_", None)
    if names is not None:
        one.feature_names_in_ = names
    return one


def _rows(learner: Any, X: Any, labels: LabelSets, reset: bool) -> Rows:
    """The examples, checked and read once for all labels."""
    if not isinstance(X, Rows):
        X = validate_data(learner, X) if reset else validate_more(learner, X)
    rows = Rows.of(X)
    if rows.n != labels.n:
        raise DataError(f"found {rows.n} examples, but {labels.n} rows of labels")
    return rows


def _held_out(learner: Any, X: Any, y: Any, labels: LabelSets) -> tuple[Rows, LabelSets]:
    """Held-out examples, and those of their labels that are learned."""
    held = None if y is None else read_label_sets(y)
    if X is None or held is None:
        raise ValueError("give both X_val and y_val, with several labels per row, or neither")
    return _rows(learner, X, held, reset=False), held.among(labels.classes)


def _check_kind(learner: Any, labels: LabelSets) -> None:
    """Refuse to continue with labels of another kind."""
    if not is_multilabel(learner):
        raise ValueError("this learner was trained on one label per row: y has several")
    kind = learner.model_.kind
    if kind.has_columns != labels.kind.has_columns:
        was = "an indicator matrix" if kind.has_columns else "collections of labels"
        raise ValueError(f"this learner was trained on {was}: give y in the same way")


def _warn_of_constant_labels(labels: LabelSets) -> None:
    """Warn about labels that no row or every row has."""
    sizes = np.bincount(labels.codes, minlength=len(labels.classes))
    for size, where in ((0, "no row"), (labels.n, "every row")):
        found = labels.classes[sizes == size].tolist()
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            warnings.warn(
                f"label {found[0]!r}{more} is in {where}: there is nothing to learn from",
                DataWarning,
                stacklevel=4,
            )


def _adopt(learner: Any, X: Any, labels: LabelSets, each: list[Any]) -> None:
    """Store the models that were trained on X."""
    learner._each = each
    learner.n_features_in_ = each[0].n_features_in_
    adopt_new_names(learner, X)
    learner.model_ = MultilabelModel(
        classes=labels.classes,
        models=tuple(one.model_ for one in each),
        kind=labels.kind,
        learner=type(learner).__name__,
        params=learner.get_params(deep=False),
        feature_names=learner._names_in(),
    )
