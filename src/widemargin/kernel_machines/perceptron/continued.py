"""Continue training a kernel perceptron by joining an earlier model with a later one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.data.rows import Rows, stacked
from widemargin.errors import DataError
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernels.points import Points
from widemargin.loops.linear.passes import Log
from widemargin.models.kernel import KernelModel, combine
from widemargin.models.threshold import kept_threshold
from widemargin.online.fit import check_same_multiclass

#: Number of examples scored together.
_TOGETHER = 512


def check_going_on(model: KernelModel | None, settings: KernelSettings) -> None:
    """Raise an error if learning cannot continue with these settings, from this model if any."""
    if isinstance(settings.kernel, str) and settings.kernel == "precomputed":
        raise DataError("a precomputed matrix covers all examples at once; use fit")
    if model is None:
        return
    if settings.keep == "vote" and model.log is None:
        raise ValueError("keep='vote' cannot continue a training that kept no log")
    if settings.keep == "average" and not len(model.summed) and len(model.coef):
        raise ValueError("keep='average' cannot continue a training that kept no average")
    check_same_multiclass(settings.multiclass, settings.joint, model.joint)


def with_classes(model: KernelModel, classes: np.ndarray) -> KernelModel:
    """The same model with room for more classes.

    The score s of two classes becomes the two scores -s and s; new classes start at zero.
    """
    k = 1 if len(classes) <= 2 else len(classes)
    if k == model.coef.shape[1]:
        return replace(model, classes=classes)
    places = np.searchsorted(classes, model.classes)

    def moved(array: np.ndarray) -> np.ndarray:
        found = np.zeros((len(array), k))
        found[:, places] = np.hstack([-array, array]) if array.shape[1] == 1 else array
        return found

    log = model.log
    if log is not None and model.coef.shape[1] == 1:
        log = Log(*(np.repeat(column, 2) for column in log))
        log.label[::2], log.label[1::2] = places
        log.amount[::2] *= -1.0
    elif log is not None:
        log = log._replace(label=places[log.label.astype(np.int64)].astype(log.label.dtype))
    return replace(
        model,
        classes=classes,
        coef=moved(model.coef),
        summed=moved(model.summed),
        intercept=np.zeros(k),
        log=log,
        threshold=kept_threshold(model, classes),
    )


def scores_so_far(model: KernelModel, points: Points, threads: int) -> np.ndarray:
    """The scores (k, examples) of the last hypothesis."""
    found = np.zeros((model.coef.shape[1], points.n))
    for begin in range(0, points.n, _TOGETHER):
        which = slice(begin, begin + _TOGETHER)
        part = points.take(which)
        found[:, which] = combine(model.kernel, model.coef, model.support, part, threads)
    return found


def joined(before: KernelModel, after: KernelModel) -> KernelModel:
    """Join two models, the second of which was learned after the first on the same clock."""
    history = before.history.copy()
    first = history.number_rows(after.history.rows, int(before.count) - 1)
    support = _one_below_the_other(before.support, after.support, first)
    history.extend_by_call(after.history)
    log = None
    if after.log is not None and before.log is not None:
        later = after.log._replace(example=after.log.example + np.uint64(before.support.n))
        log = Log(*(np.concatenate(pair) for pair in zip(before.log, later, strict=True)))
    summed = after.summed
    if after.keep != "last":  # the earlier coefficients counted in every later hypothesis
        old = before.summed + (after.count - before.count) * before.coef
        summed = np.vstack([old, after.summed])
    return replace(
        after,
        support=support,
        coef=np.vstack([before.coef, after.coef]),
        summed=summed,
        log=log,
        history=history,
        R=max(before.R, after.R),
        threshold=before.threshold,
    )


def _one_below_the_other(first: Points, second: Points, number: int) -> Points:
    """Both sets of points, with the indices of the second starting at `number`."""
    index = np.concatenate([first.index, second.index + number])
    if first.rows is None or second.rows is None:
        assert first.objects is not None
        assert second.objects is not None
        return Points(len(index), None, first.objects + second.objects, index)
    dtype = np.promote_types(first.dtype, second.dtype)
    rows = stacked([_in_form(side.rows, first.rows.is_sparse, dtype) for side in (first, second)])
    return Points(len(index), rows, None, index)


def _in_form(rows: Any, sparse: bool, dtype: np.dtype) -> Rows:
    """Rows of one type, sparse or dense."""
    if rows.is_sparse == sparse and rows.dtype == dtype:
        return rows
    matrix = rows.to_matrix()
    if rows.is_sparse and not sparse:
        matrix = matrix.toarray()
    elif sparse and not rows.is_sparse:
        import scipy.sparse

        matrix = scipy.sparse.csr_matrix(matrix)
    return Rows.of(matrix, bias=0.0, dtype=dtype)
