"""Fit a kernel SVM: from settings and examples to a model with its certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernel_machines.svm.memory_plan import plan_memory
from widemargin.kernel_machines.svm.nystrom import fit_landmarks
from widemargin.kernel_machines.svm.problem import KernelSVMProblem, Solved
from widemargin.kernel_machines.svm.solve import Clock, KernelDualStart, solve_all
from widemargin.kernels.blocks import refuse_underflow
from widemargin.kernels.check import check_gram, check_kernel
from widemargin.kernels.kernel import Kernel, make_kernel, uses_of_kernel
from widemargin.kernels.points import Points, points_of
from widemargin.markup.reprs import brief_repr
from widemargin.models.kernel_svm import KernelSVMModel
from widemargin.online.fit import prices, split
from widemargin.online.rules import use_of_class_weight
from widemargin.parameters.effects import Use
from widemargin.parameters.values import (
    check_choice,
    check_fraction,
    check_positive,
    check_seconds,
    check_whole,
    parse_bytes,
    seconds_limit,
)
from widemargin.threads import one_blas_thread, thread_count
from widemargin.training.history import Epoch, History
from widemargin.training.run import Watch

#: A user's function is checked on this many examples, with 1,830 calls. Chosen by hand.
_CHECKED_EXAMPLES = 60


@dataclass(frozen=True)
class KernelSVMSettings:
    """The settings of a kernel SVM, with the names and defaults of the estimator."""

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
    validation: float = 0.0
    max_memory: int | str = "2GB"
    low_rank: int | None = None
    max_seconds: float | None = None
    n_jobs: int | None = None

    def check(self) -> None:
        """Raise an error that names the first invalid setting."""
        for name in ("multiclass", "decision_function_shape"):
            check_choice(name, getattr(self, name), ("ovo", "ovr"))
        if self.decision_function_shape == "ovo" and self.multiclass == "ovr":
            raise ValueError("decision_function_shape='ovo' needs multiclass='ovo'")
        check_positive("C", self.C, infinite=True)
        check_positive("tol", self.tol)
        check_fraction("validation", self.validation)
        check_seconds("max_seconds", self.max_seconds)
        if self.low_rank is not None:
            check_whole("low_rank", self.low_rank, least=1, other="None")
        parse_bytes("max_memory", self.max_memory)
        thread_count(self.n_jobs)

    def uses(self) -> dict[str, Use]:
        """Which settings have an effect."""
        finite = not math.isinf(self.C)
        weight = use_of_class_weight(self.class_weight, finite, "with C=inf", "with a finite C")
        return {**uses_of_kernel(self.kernel), "class_weight": weight}

    def make_kernel(self, X: Any) -> Kernel:
        """Return the kernel for these examples."""
        # If sigma is given, the default gamma (a string) does not conflict with it.
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


class TrainedKernelSVM(NamedTuple):
    """A model, a start for another fit (None after landmarks), and the SMO steps per machine."""

    model: KernelSVMModel
    start: KernelDualStart | None
    steps: np.ndarray

    def __repr__(self) -> str:
        return brief_repr(self)


def fit_kernel_svm(
    X: Any,
    classes: np.ndarray,
    codes: np.ndarray,
    settings: KernelSVMSettings,
    rng: np.random.Generator | None = None,
    *,
    sample_weight: np.ndarray | None = None,
    start: KernelDualStart | None = None,
    watch: Watch | None = None,
) -> TrainedKernelSVM:
    """Train on examples whose labels are classes[codes].

    Parameters
    ----------
    X : Rows, or a list of objects for a function
        The examples; for "precomputed" their Gram matrix.
    classes, codes : arrays
        The labels, and the index of each example's label among them.
    settings : KernelSVMSettings
        The settings.
    rng : numpy Generator, optional
        Chooses the examples that `settings.validation` holds out. Landmarks are drawn with a fixed
        seed, so this does not change them.
    sample_weight : array, optional
        The weight of each example's loss. Held-out examples have weight 0; the accuracy on them is
        in the history.
    start : KernelDualStart, optional
        Dual values to start from, for the same examples and machines.
    watch : callable, optional
        Called with the progress; training stops when it returns True.
    """
    settings.check()
    began = time.monotonic()
    kernel = settings.make_kernel(X)
    points = points_of(kernel, X)
    _check_points(kernel, points)
    refuse_underflow(kernel, points)
    kept_back = _hold_out(codes, settings.validation, rng)
    if len(kept_back):
        sample_weight = np.ones(points.n) if sample_weight is None else np.array(sample_weight)
        sample_weight[kept_back] = 0.0
    price = prices(classes, codes, settings.class_weight, sample_weight)
    price = np.ones(points.n) if price is None else price
    order = _order_by_class(codes, price)
    problem = _make_problem(kernel, points, codes, len(classes), price, order, settings)
    deadline = began + seconds_limit(settings.max_seconds)
    given = None if start is None else _start_in_order(start, order)
    solved, reason = _solve(problem, settings, classes, deadline, given, watch)
    history = History(stopped=reason)
    steps, certificate = int(np.sum(solved.steps)), solved.certificate
    seconds = time.monotonic() - began
    found = certificate.primal, None, None, seconds, len(order), certificate.gap
    history.add(Epoch(1, 0, steps, *found))
    support = points.take(order[solved.support])
    model = KernelSVMModel(
        classes=classes,
        kernel=kernel,
        support=support.without_values() if kernel.is_precomputed else support,
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
        certificate=certificate,
    )
    if len(kept_back):
        score = _accuracy(model, points.take(kept_back), classes[codes[kept_back]])
        history.epochs[-1] = history.epochs[-1]._replace(held_out=score)
    return TrainedKernelSVM(model, _next_start(solved, order, points.n, problem.C), solved.steps)


def _solve(
    problem: KernelSVMProblem,
    settings: KernelSVMSettings,
    classes: np.ndarray,
    deadline: float,
    start: KernelDualStart | None,
    watch: Watch | None,
) -> tuple[Solved, str]:
    """Solve all machines within the memory limit; also return why the solver stopped."""
    plan = plan_memory(problem, settings.max_memory, settings.low_rank)
    with one_blas_thread():
        if plan.landmarks:
            solved = fit_landmarks(problem, plan.landmarks, classes, deadline, watch)
            return solved, solved.stopped
        clock = Clock(deadline, watch, len(problem.machines))
        solved = solve_all(problem, plan, classes, clock, start)
        return solved, clock.reason or solved.stopped


def _hold_out(codes: np.ndarray, part: float, rng: np.random.Generator | None) -> np.ndarray:
    """Return the examples to hold out."""
    if part == 0.0:
        return np.empty(0, np.uint64)
    return split(codes, part, np.random.default_rng(rng))[1]


def _accuracy(model: KernelSVMModel, asked: Points, labels: np.ndarray) -> float:
    """Return the fraction of examples that a model gets right."""
    found = model.predict(asked.rows if asked.objects is None else asked.objects)
    return float(np.mean(found == labels))


def _order_by_class(codes: np.ndarray, price: np.ndarray) -> np.ndarray:
    """Return the examples with nonzero weight, ordered by class."""
    counted = np.flatnonzero(price > 0.0)
    if np.count_nonzero(np.bincount(codes[counted], minlength=1)) < 2:
        raise DataError("at least two classes need examples with nonzero weight")
    return counted[np.argsort(codes[counted], kind="stable")]


def _make_problem(
    kernel: Kernel,
    points: Points,
    codes: np.ndarray,
    classes: int,
    price: np.ndarray,
    order: np.ndarray,
    settings: KernelSVMSettings,
) -> KernelSVMProblem:
    """Return the problem with its examples in the given order."""
    if kernel.by_products and points.used is not None:
        ordered = points.keep(points.used, order)
    else:
        ordered = points if np.array_equal(order, np.arange(points.n)) else points.take(order)
    ordered.prepare(kernel)
    C = float(settings.C)
    return KernelSVMProblem(
        kernel,
        ordered,
        np.bincount(codes[order], minlength=classes),
        np.full(len(order), math.inf) if math.isinf(C) else C * price[order],
        C,
        float(settings.tol),
        settings.multiclass == "ovo" and classes > 2,
        thread_count(settings.n_jobs),
    )


def _start_in_order(start: KernelDualStart, order: np.ndarray) -> KernelDualStart:
    """Return the dual values to start from, in the order of the problem.

    Those of a machine sum to zero. If one of its support vectors is no longer among the examples,
    the rest do not, and the machine starts from zero.
    """
    absent = np.ones(len(start.beta), bool)
    absent[order] = False
    beta = start.beta[order]
    beta[:, np.any(start.beta[absent] != 0.0, axis=0)] = 0.0
    return KernelDualStart(beta, start.C)


def _next_start(solved: Solved, order: np.ndarray, n: int, C: float) -> KernelDualStart | None:
    """Return the dual values in the original order of the examples, if they are known."""
    if solved.beta is None:
        return None
    beta = np.zeros((n, solved.beta.shape[1]))
    beta[order] = solved.beta
    return KernelDualStart(beta, C)


def _check_points(kernel: Kernel, points: Points) -> None:
    """Raise an error if the kernel is not valid on these examples."""
    if kernel.is_precomputed:
        check_gram(points)
    elif kernel.on_objects:
        said = check_kernel(kernel, points.objects, sample=_CHECKED_EXAMPLES)
        if not said:
            raise DataError(f"the function {kernel.called} is not a kernel: {said}")
    elif kernel.name in ("rbf", "laplace", "laplacian"):
        largest = math.sqrt(float(np.max(points.squares, initial=0.0)))
        far = 2.0 * largest * kernel.gamma
        if not math.isfinite(far if kernel.name == "laplace" else far * 2.0 * largest):
            raise DataError(
                f"gamma={kernel.gamma:.3g} times the distances of rows as long as {largest:.3g} is"
                " too large for a float; scale the features or gamma down"
            )
