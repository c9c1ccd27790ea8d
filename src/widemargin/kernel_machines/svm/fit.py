"""Kernel SVMs: from what a user asks for to machines and the certificate of what they are worth."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernel_machines.svm.memory_plan import allow
from widemargin.kernel_machines.svm.nystrom import fit_landmarks
from widemargin.kernel_machines.svm.problem import Problem
from widemargin.kernel_machines.svm.solve import Clock, Start, solve_all
from widemargin.kernels.check import check_gram, check_kernel
from widemargin.kernels.kernel import Kernel, make_kernel, uses_of_kernel
from widemargin.kernels.points import Points, points_of
from widemargin.models.kernel_svm import KernelSVMModel
from widemargin.online.fit import prices
from widemargin.parameters import (
    Use,
    check_choice,
    check_positive,
    check_seconds,
    check_whole,
    parse_bytes,
)
from widemargin.threads import one_blas_thread, thread_count
from widemargin.training.history import Epoch, History
from widemargin.training.run import Watch

#: A user's function is looked at on so many examples.
_LOOKED_AT = 60


@dataclass(frozen=True)
class KernelSVMSettings:
    """All that a kernel SVM can be told. The names and defaults are those of the estimator."""

    C: float = 1.0
    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str | None = "scale"
    coef0: float = 0.0
    sigma: float | None = None
    tol: float = 1e-3
    multiclass: str = "ovo"
    decision_function_shape: str = "ovr"
    class_weight: Mapping[Any, float] | str | None = None
    max_memory: int | str = "2GB"
    low_rank: int | None = None
    max_seconds: float | None = None
    n_jobs: int | None = None

    def check(self) -> None:
        """Raise an error that names the setting that is wrong."""
        for name in ("multiclass", "decision_function_shape"):
            check_choice(name, getattr(self, name), ("ovo", "ovr"))
        if self.decision_function_shape == "ovo" and self.multiclass == "ovr":
            raise ValueError("decision_function_shape='ovo' needs multiclass='ovo'")
        check_positive("C", self.C, infinite=True)
        check_positive("tol", self.tol)
        check_seconds("max_seconds", self.max_seconds)
        if self.low_rank is not None:
            check_whole("low_rank", self.low_rank, least=1, other="None")
        parse_bytes("max_memory", self.max_memory)
        thread_count(self.n_jobs)

    def uses(self) -> dict[str, Use]:
        """Which settings have an effect."""
        return uses_of_kernel(self.kernel)

    def make_kernel(self, X: Any) -> Kernel:
        """The kernel that is meant, for these examples."""
        # A gamma that is worked out from the data is nothing that the user has said.
        said = None if self.sigma is not None and isinstance(self.gamma, str) else self.gamma
        rows = X if isinstance(X, Rows) else None
        return make_kernel(
            self.kernel,
            degree=self.degree,
            gamma=said,
            coef0=self.coef0,
            sigma=self.sigma,
            rows=rows,
        )


class Trained(NamedTuple):
    """A model, where another fit can begin (None after landmarks), and SMO's steps by machine."""

    model: KernelSVMModel
    start: Start | None
    steps: np.ndarray


def fit_kernel_svm(
    X: Any,
    classes: np.ndarray,
    codes: np.ndarray,
    settings: KernelSVMSettings,
    *,
    sample_weight: np.ndarray | None = None,
    start: Start | None = None,
    watch: Watch | None = None,
) -> Trained:
    """Train on examples whose labels are classes[codes].

    Parameters
    ----------
    X : Rows, or a list of objects for a function
        The examples; for "precomputed" their Gram matrix.
    classes, codes : arrays
        The labels, and which of them every example has.
    settings : KernelSVMSettings
        What to train.
    sample_weight : array, optional
        What multiplies the cost of every example.
    start : Start, optional
        Dual values to begin with, of the same examples and machines.
    watch : callable, optional
        Told where training stands; stops it by answering True.
    """
    settings.check()
    began = time.monotonic()
    kernel = settings.make_kernel(X)
    points = points_of(kernel, X)
    _check_points(kernel, points)
    price = prices(classes, codes, settings.class_weight, sample_weight)
    price = np.ones(points.n) if price is None else price
    counted = np.flatnonzero(price > 0.0)  # no weight: as if it were not there
    if np.count_nonzero(np.bincount(codes[counted], minlength=1)) < 2:
        raise DataError("at least two classes need examples whose weight is not zero")
    order = counted[np.argsort(codes[counted], kind="stable")]
    if kernel.by_products and points.used is not None:
        ordered = points.keep(points.used, order)
    else:
        ordered = points if np.array_equal(order, np.arange(points.n)) else points.take(order)
    ordered.prepare(kernel)
    C = float(settings.C)
    problem = Problem(
        kernel,
        ordered,
        np.bincount(codes[order], minlength=len(classes)),
        np.full(len(order), math.inf) if math.isinf(C) else C * price[order],
        C,
        float(settings.tol),
        settings.multiclass == "ovo" and len(classes) > 2,
        thread_count(settings.n_jobs),
    )
    deadline = math.inf if settings.max_seconds is None else began + settings.max_seconds
    allowance = allow(problem, settings.max_memory, settings.low_rank)
    with one_blas_thread():
        if allowance.landmarks:
            solved = fit_landmarks(problem, allowance.landmarks, classes, deadline, watch)
            reason = solved.stopped
        else:
            clock = Clock(deadline, watch, len(problem.machines))
            given = None if start is None else Start(start.beta[order], start.C)
            solved = solve_all(problem, allowance, classes, clock, given)
            reason = clock.reason or solved.stopped
    history = History(stopped=reason)
    steps, worth = int(np.sum(solved.steps)), solved.certificate
    seconds = time.monotonic() - began
    history.add(Epoch(1, 0, steps, worth.primal, None, None, seconds, points.n, worth.gap))
    model = KernelSVMModel(
        classes=classes,
        kernel=kernel,
        support=points.take(order[solved.support]),
        coef=solved.coef,
        summed=np.empty((0, solved.coef.shape[1])),
        log=None,
        count=1.0,
        intercept=solved.intercept,
        keep="last",
        rule="hinge",
        learner="KernelSVM",
        history=history,
        R=math.sqrt(float(np.max(problem.diagonal))),
        width=0 if points.rows is None else points.rows.width,
        pairs=problem.pairs,
        support_sizes=np.bincount(codes[order[solved.support]], minlength=len(classes)),
        shape=settings.decision_function_shape,
        worth=worth,
    )
    if solved.beta is None:
        return Trained(model, None, solved.steps)
    beta = np.zeros((points.n, solved.coef.shape[1]))
    beta[order] = solved.beta
    return Trained(model, Start(beta, C), solved.steps)


def _check_points(kernel: Kernel, points: Points) -> None:
    """Raise an error if the kernel cannot be one on these examples."""
    if kernel.is_precomputed:
        check_gram(points)
    elif kernel.on_objects:
        said = check_kernel(kernel, points.objects, sample=_LOOKED_AT)
        if not said:
            raise DataError(f"the function {kernel.called} is no kernel: {said}")
    elif kernel.name in ("rbf", "laplace", "laplacian"):
        largest = math.sqrt(float(np.max(points.squares, initial=0.0)))
        far = 2.0 * largest * kernel.gamma
        if not math.isfinite(far if kernel.name == "laplace" else far * 2.0 * largest):
            raise DataError(
                f"gamma={kernel.gamma:.3g} times the distances of rows as long as {largest:.3g} is"
                " too large for a float; scale the features or gamma down"
            )
