"""From what a user asks for to a learned state: settings, start, held-out part, class weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.online.early_stopping import HeldOut
from widemargin.online.learn import Course, InMemory, Watch, learn
from widemargin.online.orders import SHUFFLES, Shuffle
from widemargin.online.plan import Plan
from widemargin.online.rules import Eta, make_rule, uses_of_rule
from widemargin.online.state import KEEPS, State
from widemargin.parameters import (
    Use,
    check_choice,
    check_constant,
    check_fraction,
    check_not_negative,
    check_seconds,
    check_whole,
    uses_of_held_out,
)
from widemargin.threads import thread_count
from widemargin.training.history import History


@dataclass(frozen=True)
class Settings:
    """All that a linear learner can be told. The names and defaults are those of the estimators."""

    rule: str = "perceptron"
    keep: str = "average"
    epochs: int = 10
    eta: Eta = 1.0
    C: float = 1.0
    target: float = 1.0
    l2: float = 0.0
    batch: int | str = 1
    shuffle: Shuffle = True
    ties: str = "mistake"
    start: Any = "zero"
    tol: float = 0.0
    validation: float = 0.0
    patience: int = 5
    max_seconds: float | None = None
    class_weight: Mapping[Any, float] | str | None = None
    fit_intercept: bool | float | str = True
    multiclass: str = "joint"
    n_jobs: int | None = None

    def plan(self) -> Plan:
        """The settings as the driver takes them, or an error that names the one that is wrong."""
        check_choice("keep", self.keep, KEEPS)
        check_choice("multiclass", self.multiclass, ("joint", "ovr"))
        check_choice("shuffle", self.shuffle, SHUFFLES)
        check_whole("epochs", self.epochs, least=1)
        check_whole("patience", self.patience, least=1)
        check_fraction("validation", self.validation)
        check_not_negative("tol", self.tol, infinite=True)
        check_seconds("max_seconds", self.max_seconds)
        if self.batch != "full":
            check_whole("batch", self.batch, least=1, other="'full'")
        batch = 0 if self.batch == "full" else int(self.batch)
        check_constant("fit_intercept", self.fit_intercept, "auto")
        if self.keep == "vote" and self.l2 > 0.0:
            raise ValueError(
                "keep='vote' needs l2=0: a penalty changes the weights without a mistake"
            )
        return Plan(
            rule=make_rule(
                self.rule, eta=self.eta, C=self.C, target=self.target, l2=self.l2, ties=self.ties
            ),
            keep=self.keep,
            epochs=int(self.epochs),
            shuffle=self.shuffle,
            batch=batch,
            tol=float(self.tol),
            patience=int(self.patience),
            max_seconds=math.inf if self.max_seconds is None else float(self.max_seconds),
            threads=thread_count(self.n_jobs),
        )

    def uses(self, held_out: bool) -> dict[str, Use]:
        """Which settings have an effect, given whether there are examples to score besides."""
        return uses_of_rule(self.rule) | uses_of_held_out(self.validation, held_out)

    def extend(self, rows: Rows, before: float | None = None) -> Rows:
        """Give the rows the constant feature whose weight is the bias.

        "auto" makes it as large as the values in the rows typically are; who goes on learning
        keeps what it was `before`.
        """
        if self.fit_intercept != "auto":
            return rows.with_bias(float(self.fit_intercept))
        return rows.with_bias(rows.typical_value() if before is None else before)

    @property
    def joint(self) -> bool:
        """Whether all classes are learned together."""
        return self.multiclass == "joint"


def begin(rows: Rows, classes: int, settings: Settings, rng: np.random.Generator) -> State:
    """The state before the first example: zero, random, or given weights."""
    vectors = 1 if classes <= 2 else classes
    W = np.zeros((vectors, rows.width + 1), rows.dtype)
    start = settings.start
    if isinstance(start, str):
        check_choice("start", start, ("zero", "random"))
        if start == "random":
            W[:] = rng.standard_normal(W.shape)
    else:
        try:
            coef, intercept = start if isinstance(start, tuple) else (start, 0.0)
            W[:, :-1] = np.reshape(coef, (-1, rows.width))
            W[:, -1] = np.ravel(intercept) / (rows.bias or 1.0)
        except (ValueError, TypeError):
            raise ValueError(
                f"start must be 'zero', 'random' or weights of shape ({vectors}, {rows.width}),"
                " alone or in a tuple with the biases"
            ) from None
        if not np.all(np.isfinite(W)):
            raise ValueError("start must hold finite numbers")
    if not settings.fit_intercept:
        W[:, -1] = 0.0
    return State.begin(W, settings.keep, settings.joint)


def make_room(
    state: State,
    before: np.ndarray,
    classes: np.ndarray,
    rows: Rows,
    settings: Settings,
    rng: np.random.Generator,
) -> None:
    """Let a state that knows the classes `before` take in more classes, and rows such as these."""
    if settings.keep == "vote" and state.log is None:
        raise ValueError("keep='vote' cannot go on from a training that kept no log")
    if settings.keep == "average" and not len(state.U):
        raise ValueError("keep='average' cannot go on from a training that kept no average")
    if rows.dtype != state.W.dtype:
        state.W = state.W.astype(np.promote_types(rows.dtype, state.W.dtype))
    if len(before) == 1 and len(classes) > 2:  # nothing was learned yet
        seen = state.seen
        wide = rows.widened(max(rows.width, state.width))
        vars(state).update(vars(begin(wide, len(classes), settings, rng)))
        state.pass_over(seen)
    elif len(classes) > max(2, len(before)):
        halved = settings.rule == "logistic" and settings.joint
        state.rearrange(
            len(classes), np.searchsorted(classes, before), spread=0.5 if halved else 1.0
        )
    if rows.width > state.width:
        state.widen(rows.width)


def fit_linear(
    rows: Rows,
    classes: np.ndarray,
    codes: np.ndarray,
    settings: Settings,
    rng: np.random.Generator,
    *,
    state: State | None = None,
    sample_weight: np.ndarray | None = None,
    held_out: HeldOut | None = None,
    first_row: int = 0,
    course: Course | None = None,
    watch: Watch | None = None,
) -> tuple[State, History]:
    """Learn from rows whose labels are classes[codes], from the start or from a given state.

    With a `course` it goes on from where an interrupted run with the same arguments had come, whose
    state it is given.
    """
    plan = settings.plan()
    price = prices(classes, codes, settings.class_weight, sample_weight)
    which = rows.everything
    if held_out is None and settings.validation > 0.0:
        train, kept_back = split(codes, settings.validation, rng)
        which, held_out = frozen(train), HeldOut(rows, frozen(kept_back), codes[kept_back])
    if price is not None and not np.all(price[which] > 0.0):
        which = frozen(which[price[which] > 0.0])  # no weight: as if it were not there
    if len(which) == 0:
        raise DataError("there are no examples to learn from")
    if state is None:
        state = begin(rows, len(classes), settings, rng)
    examples = InMemory(rows, codes, plan.shuffle, which, price, first_row)
    history = learn(examples, state, plan, rng, held_out=held_out, course=course, watch=watch)
    return state, history


def check_classes(classes: np.ndarray) -> None:
    """Raise an error if there is nothing to tell apart."""
    if len(classes) < 2:
        raise DataError(
            f"only one class ({classes.tolist()[0]!r}) is present: at least two are needed to learn"
        )


def prices(
    classes: np.ndarray,
    codes: np.ndarray,
    class_weight: Mapping[Any, float] | str | None,
    sample_weight: np.ndarray | None,
) -> np.ndarray | None:
    """What an error on each row costs, from class and sample weights; None if all cost 1."""
    if class_weight is None and sample_weight is None:
        return None
    price = np.ones(len(codes)) if sample_weight is None else np.array(sample_weight, np.float64)
    if price.shape != codes.shape:
        raise DataError(f"sample_weight has shape {price.shape}, expected {codes.shape}")
    if not np.all(np.isfinite(price)):
        raise DataError("sample_weight contains NaN or infinity")
    if np.any(price < 0.0):
        raise DataError("sample_weight contains a negative weight")
    if class_weight is None:
        return price
    if isinstance(class_weight, str):
        check_choice("class_weight", class_weight, ("balanced",), other="a dict")
        sizes = np.bincount(codes, weights=price, minlength=len(classes))
        present = np.count_nonzero(sizes)
        weight_of = np.divide(
            price.sum(), present * sizes, out=np.zeros(len(classes)), where=sizes > 0.0
        )
    else:
        known = set(classes.tolist())
        strange = [label for label in class_weight if label not in known]
        if strange:
            raise ValueError(f"class_weight names {strange[0]!r}, which is no class")
        weight_of = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
        if not np.all(np.isfinite(weight_of)) or np.any(weight_of < 0.0):
            raise ValueError("class_weight must hold finite numbers that are not negative")
    return price * weight_of[codes]


def split(
    codes: np.ndarray, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and rows to hold out, the same fraction of every class, each ascending."""
    order = rng.permutation(len(codes))
    by_class = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    place = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    held = place < np.rint(fraction * sizes)[codes[by_class]]
    if not np.any(held) or np.all(held):
        raise DataError(
            f"validation={fraction:g} of {len(codes)} examples leaves nothing to hold out,"
            " or nothing to learn from"
        )
    return np.sort(by_class[~held]).astype(np.uint64), np.sort(by_class[held]).astype(np.uint64)
