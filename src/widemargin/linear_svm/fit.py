"""Fit a linear SVM: from settings and examples to weights, a history and a certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.gap import GapCertificate, together
from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.linear_svm.binary import rescale_start, solve
from widemargin.linear_svm.classes import (
    OneVsRest,
    easy,
    shareable,
    solve_classes,
    thinned,
)
from widemargin.linear_svm.driving import AnySolver, drive
from widemargin.linear_svm.interior_point import affordable
from widemargin.linear_svm.joint import solve_joint
from widemargin.linear_svm.problem import (
    BinarySVM,
    JointSVM,
    StopSignal,
)
from widemargin.linear_svm.side_by_side import in_groups, shared_rows, solve_beside
from widemargin.linear_svm.small import is_small, solve_each
from widemargin.markup.reprs import brief_repr
from widemargin.online.columns import Columns, columns_for
from widemargin.online.fit import prices, split
from widemargin.online.held_out import HeldOut, HeldOutScore
from widemargin.online.rules import use_of_class_weight
from widemargin.online.state import State
from widemargin.parameters.effects import Use
from widemargin.parameters.values import (
    check_choice,
    check_constant,
    check_fraction,
    check_positive,
    check_seconds,
    check_whole,
    is_number,
    seconds_limit,
)
from widemargin.threads import one_blas_thread, thread_count
from widemargin.training.history import History
from widemargin.training.run import Watch

#: The number of bytes that solvers running at the same time may take.
_ROOM = 1 << 30
#: About how many 8-byte numbers a solver stores per example.
_NUMBERS = 8
#: The largest finite cost of an error: dual values reach it, and their squares are added up.
_MOST_COST = 1e150
LOSSES = ("hinge", "squared_hinge")
BIASES = ("regularised", "free")
MULTICLASS = ("ovr", "joint")


@dataclass(frozen=True)
class SVMSettings:
    """The settings of a linear SVM, with the names and defaults of the estimator."""

    C: float = 1.0
    loss: str | None = None
    tol: float = 1e-3
    fit_intercept: bool | float = True
    bias: str = "regularised"
    multiclass: str = "ovr"
    epochs: int = 1000
    max_seconds: float | None = None
    class_weight: Mapping[Any, float] | str | None = None
    validation: float = 0.0
    n_jobs: int | None = None

    def check(self) -> None:
        """Raise an error that names the first invalid setting."""
        check_choice("loss", self.loss, (None, *LOSSES))
        for name, choices in (("bias", BIASES), ("multiclass", MULTICLASS)):
            check_choice(name, getattr(self, name), choices)
        check_positive("C", self.C, infinite=True)
        if not is_number(self.tol) or not 0.0 < self.tol < 1.0:
            raise ValueError(f"tol={self.tol!r} must be a relative gap between 0 and 1")
        check_whole("epochs", self.epochs, least=1)
        check_seconds("max_seconds", self.max_seconds)
        check_constant("fit_intercept", self.fit_intercept)
        check_fraction("validation", self.validation)
        if self.multiclass == "joint" and (self.squared or self.free or math.isinf(self.C)):
            raise ValueError(
                "multiclass='joint' needs the hinge loss, a regularised bias and a finite C; use"
                " multiclass='ovr' for anything else"
            )
        thread_count(self.n_jobs)

    def uses(self) -> dict[str, Use]:
        """Which settings have an effect."""
        biased = Use(bool(self.fit_intercept), "with fit_intercept=False", "with a bias")
        finite = not math.isinf(self.C)
        weight = use_of_class_weight(self.class_weight, finite, "with C=inf", "with a finite C")
        loss = Use(finite, "with C=inf", "with a finite C")
        return {"bias": biased, "loss": loss, "class_weight": weight}

    @property
    def rule(self) -> str:
        """The loss; by default the hinge for all classes together, else the squared hinge."""
        return self.loss or ("hinge" if self.multiclass == "joint" else "squared_hinge")

    @property
    def squared(self) -> bool:
        """Whether the loss is the squared hinge."""
        return self.rule == "squared_hinge"

    @property
    def free(self) -> bool:
        """Whether the bias is not regularised."""
        return self.bias == "free" and bool(self.fit_intercept)

    @property
    def constant(self) -> float:
        """The constant feature of the rows during training; its weight is the bias."""
        return 0.0 if self.free else float(self.fit_intercept)

    @property
    def weighted(self) -> float:
        """The constant feature whose weight is the bias of the model."""
        return 1.0 if self.free else self.constant


class DualStart(NamedTuple):
    """The dual values of every problem and the C they were found with, to start another fit."""

    alphas: list[np.ndarray]
    C: float

    def __repr__(self) -> str:
        return brief_repr(self)


class TrainedSVM(NamedTuple):
    """The result of a fit: weights, history, certificate, and a start for another C."""

    state: State
    history: History
    certificate: GapCertificate
    start: DualStart

    def __repr__(self) -> str:
        return brief_repr(self)


def fit_svm(
    rows: Rows,
    classes: np.ndarray,
    codes: np.ndarray,
    settings: SVMSettings,
    rng: np.random.Generator,
    *,
    sample_weight: np.ndarray | None = None,
    start: DualStart | None = None,
    watch: Watch | None = None,
) -> TrainedSVM:
    """Train on rows whose labels are classes[codes].

    Parameters
    ----------
    rows : Rows
        The examples, with `settings.constant` as their constant feature.
    classes, codes : arrays
        The labels, and the index of each row's label among them.
    settings : SVMSettings
        The settings.
    rng : numpy Generator
        The source of all random choices.
    sample_weight : array, optional
        The weight of each row's loss. With `settings.validation`, held-out rows are not part of
        the problem; the accuracy on them is in the last row of the history.
    start : DualStart, optional
        The dual values to start from.
    watch : callable, optional
        Called with the progress; training stops when it returns True.
    """
    rows.check_scale()
    rows, held_out = rows.without_duplicates(in_order=False), None
    if settings.validation > 0.0:
        which, kept_back = split(codes, settings.validation, rng)
        held_out = HeldOut(rows.with_bias(settings.weighted), kept_back, codes[kept_back])
        rows, codes = rows.take(which), codes[which]
        sample_weight = None if sample_weight is None else sample_weight[which]
    given, columns = rows, _columns_of(rows, len(classes))
    if columns is not None:
        rows = columns.number(rows)
    price = prices(classes, codes, settings.class_weight, sample_weight)
    price = frozen(np.empty(0) if price is None else price)
    if len(price) and not np.any(price > 0.0):
        raise DataError("every example has weight zero; give at least one a positive weight")
    _check_costs(float(settings.C), price)
    signal = StopSignal()
    problems = _problems(rows, given.width, len(classes), codes, price, settings)
    threads = thread_count(settings.n_jobs)
    small = isinstance(problems, list) and is_small(problems[0])
    solvers = _solvers(problems, codes, settings, rng, signal, start)
    deadline = time.monotonic() + seconds_limit(settings.max_seconds)
    W = np.empty((1 if len(classes) == 2 else len(classes), rows.width + 1))
    each = -(-len(W) // len(solvers))  # classes per solver
    at_once = max(threads, _ROOM // (8 * each * (2 * rows.width + _NUMBERS * rows.n)))
    try:
        # The matrices are small: several threads would mostly wait.
        with nullcontext() if small else one_blas_thread():
            solutions, history = drive(solvers, W, signal, deadline, threads, at_once, watch)
    except DataError:
        given.check_finite()  # so that the error uses the user's column numbers
        raise
    state = State.begin(W, "last", joint=True, columns=columns, own=True)
    if held_out is not None:
        score = HeldOutScore(held_out, state, "last", threads).accuracy()
        history.epochs[-1] = history.epochs[-1]._replace(held_out=score)
    certificate = together([solution.certificate for solution in solutions], classes)
    if not history.stopped:
        reached = all(solution.reached for solution in solutions)
        early = "epochs" if len(history) >= settings.epochs else "no progress"
        history.stopped = "gap reached" if reached else early
        if certificate.separates is False:
            history.stopped = "not separable"
    return TrainedSVM(
        state,
        history,
        certificate,
        DualStart([solution.alpha for solution in solutions], float(settings.C)),
    )


def _check_costs(C: float, price: np.ndarray) -> None:
    """Raise an error if errors cost so much that objectives would overflow."""
    most = float(np.max(price)) if len(price) else 1.0
    if not math.isinf(C) and C * most > _MOST_COST:
        times = "" if most == 1.0 else f" times the weight {most:g}"
        raise ValueError(
            f"C={C!r}{times} is too large: the cost of an error must be at most {_MOST_COST:g};"
            " C=inf forbids errors"
        )


def _columns_of(rows: Rows, classes: int) -> Columns | None:
    """Number the columns that occur, if that is worthwhile.

    A small number of columns is left as it is: Newton steps and the interior-point method may then
    be used, and renumbering would change their rounding.
    """
    return (
        None if affordable(rows, rows.width) else columns_for(rows, 1 if classes == 2 else classes)
    )


def _problems(
    rows: Rows,
    features: int,
    classes: int,
    codes: np.ndarray,
    price: np.ndarray,
    settings: SVMSettings,
) -> list[BinarySVM] | JointSVM:
    """Return the problems to solve: one for every class, or one for all."""
    if classes > 2 and settings.multiclass == "joint":
        return JointSVM(
            rows,
            frozen(codes.astype(np.int64)),
            price,
            classes,
            C=float(settings.C),
            tol=float(settings.tol),
            epochs=int(settings.epochs),
        )
    return [
        BinarySVM(
            rows,
            frozen(np.where(codes == c, 1, -1).astype(np.int8)),
            price,
            C=float(settings.C),
            squared=settings.squared,
            free_bias=settings.free,
            tol=float(settings.tol),
            epochs=int(settings.epochs),
            features=features,
        )
        for c in ([1] if classes == 2 else range(classes))
    ]


def _solvers(
    problems: list[BinarySVM] | JointSVM,
    codes: np.ndarray,
    settings: SVMSettings,
    rng: np.random.Generator,
    signal: StopSignal,
    start: DualStart | None,
) -> Sequence[AnySolver]:
    """Return a solver for every problem, each with its own random generator, or one for all."""
    if isinstance(problems, JointSVM):
        first = None if start is None else start.alphas[0] * (settings.C / start.C)
        return [solve_joint(problems, rng, signal, first)]
    if is_small(problems[0]):
        starts = start and [*map(rescale_start, problems, start.alphas)]
        return solve_each(problems, rng, signal, starts)
    if shareable(problems[0], len(problems)):
        if not easy(problems[0]):
            starts = start and [*map(rescale_start, problems, start.alphas)]
            # With two classes, the second is the one that is separated from the rest.
            classes = codes if len(problems) > 1 else 1 - codes
            everything = OneVsRest(tuple(problems), frozen(classes.astype(np.int64)))
            threads = thread_count(settings.n_jobs)
            return [solve_classes(everything, rng, signal, starts, threads)]
        rows = thinned(problems[0].rows)
        problems = [replace(problem, rows=rows) for problem in problems]
    if start is None and (shared := shared_rows(problems[0], len(problems))) is not None:
        groups = in_groups(OneVsRest(tuple(problems), codes.astype(np.int64)))
        pairs = zip(groups, rng.spawn(len(groups)), strict=True)
        return [solve_beside(group, shared, own, signal) for group, own in pairs]
    solvers = []
    for number, own in enumerate(rng.spawn(len(problems))):
        problem = problems[number]
        first = None if start is None else rescale_start(problem, start.alphas[number])
        solvers.append(solve(problem, own, signal, first))
    return solvers
