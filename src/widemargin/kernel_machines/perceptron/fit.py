"""Fit a kernel perceptron: from the user's settings to a model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.theorem import WEIGHTED
from widemargin.data.encode.labels import check_label_count
from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.kernel_machines.perceptron.continued import joined, scores_so_far, with_classes
from widemargin.kernel_machines.perceptron.online import KernelTask, Online
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.perceptron.training import KernelTraining, join_logs, support_of
from widemargin.kernels.blocks import refuse_underflow
from widemargin.kernels.check import check_gram
from widemargin.kernels.kernel import Kernel, make_kernel
from widemargin.kernels.points import Points, points_of
from widemargin.loops.linear.passes import Log
from widemargin.models.kernel import KernelModel
from widemargin.online.fit import prices, split
from widemargin.online.passes import are_weighted
from widemargin.threads import thread_count
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.run import Run, Watch


class HeldOutPoints(NamedTuple):
    """Examples that are scored after every epoch and never learned from."""

    X: Any
    y: np.ndarray  # their class codes; -1 for an unknown label


def kernel_for(X: Any, settings: KernelSettings) -> tuple[Kernel, Points]:
    """The kernel, and the examples in the form that it reads, checked."""
    vectors = settings.kernel != "ngrams" and not callable(settings.kernel)
    rows = Rows.of(X, bias=0.0) if vectors else None
    kernel = make_kernel(**settings.kernel_params, rows=rows)
    points = points_of(kernel, X if rows is None else rows)
    if kernel.is_precomputed:
        check_gram(points)
    return kernel, points


def fit_kernel_perceptron(
    X: Any,
    classes: np.ndarray,
    codes: np.ndarray,
    settings: KernelSettings,
    rng: np.random.Generator,
    *,
    sample_weight: np.ndarray | None = None,
    held_out: HeldOutPoints | None = None,
    before: KernelModel | None = None,
    watch: Watch | None = None,
    checkpoints: Checkpoints | None = None,
) -> KernelModel:
    """Learn from examples whose labels are classes[codes].

        w = 0
        for each example (x, y):
            if y w.phi(x) <= 0:
                w += eta y phi(x)

    where w.phi(x) = sum_j a_j K(x_j, x), the sum over the mistakes so far (L26).

    Parameters
    ----------
    X : array, sparse matrix, Rows, or a list of objects
        The examples, or their Gram matrix.
    classes, codes
        The labels.
    settings : KernelSettings
    rng : numpy Generator
        Random generator.
    sample_weight : array, optional
        The cost of an error on each example.
    held_out : HeldOutPoints, optional
        Examples to score after each epoch; the best hypothesis is kept instead of the last.
    before : KernelModel, optional
        A model trained on earlier examples to continue from, with its kernel, clock and scores.
    watch, checkpoints
        See `widemargin.training.run.Run`.
    """
    settings.check()
    if before is None:
        kernel, points = kernel_for(X, settings)
        refuse_underflow(kernel, points)
    else:
        before = with_classes(before, classes)
        kernel, points = before.kernel, before.points(X)
    check_label_count(points.n, len(codes))
    price = prices(classes, codes, settings.class_weight, sample_weight)
    which = np.arange(points.n, dtype=np.uint64)
    asked: tuple[Points, np.ndarray] | None = None
    if held_out is not None:
        asked = points_of(kernel, held_out.X), held_out.y
    elif settings.validation > 0.0:
        which, kept_back = split(codes, settings.validation, rng)
        asked = points.take(kept_back), codes[kept_back]
    if price is not None and not np.all(price[which] > 0.0):
        which = which[price[which] > 0.0]  # an example without weight is ignored
    if not len(which):
        raise DataError("there are no examples to learn from")
    task = KernelTask(
        kernel,
        points,
        np.asarray(codes, np.int64),
        np.empty(0) if price is None else price,
        settings.make_rule(),
        1 if len(classes) <= 2 else len(classes),
        settings.joint,
        thread_count(settings.n_jobs),
    )
    training = KernelTraining(task, settings, frozen(which), rng, asked)
    if before is not None:
        assert isinstance(training.learner, Online)
        training.learner.continue_from(scores_so_far(before, points, task.threads), before.count)
    run = Run(
        training,
        settings.stops,
        held_out=asked is not None,
        watch=watch,
        checkpoints=checkpoints,
    )
    history = run.finish()
    history.rows = points.n
    history.depart(WEIGHTED if are_weighted(price, which) else "")
    model = _model_of(training, classes, settings, history)
    return model if before is None else joined(before, model)


def _model_of(
    training: KernelTraining, classes: np.ndarray, settings: KernelSettings, history: History
) -> KernelModel:
    """The model that was learned."""
    learner, task = training.learner, training.task
    log: Log | None
    if isinstance(learner, Online):
        support, log = support_of(task.points, join_logs(learner.logs))
        coef, u = np.zeros((2, support.n, task.k))
        np.add.at(coef, (log.example, log.label), log.amount)
        np.add.at(u, (log.example, log.label), log.amount * log.count)
        summed = learner.count * coef - u
    else:
        support, coef, summed, log = learner.result()
    if task.kernel.is_precomputed:
        support = support.without_values()
    rows = task.points.rows
    return KernelModel(
        classes=classes,
        kernel=task.kernel,
        support=support,
        coef=coef,
        summed=summed if settings.keep != "last" else np.empty((0, task.k)),
        log=log if settings.keep == "vote" else None,
        count=learner.count,
        intercept=np.zeros(task.k),
        joint=task.joint,
        keep=settings.keep,
        rule=settings.rule,
        history=history,
        R=training.R,
        width=0 if rows is None else rows.width,
    )
