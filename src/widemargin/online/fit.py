"""From rows and labels to a learned state: initial weights, held-out split, class weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.markup.reprs import brief
from widemargin.online.columns import columns_for
from widemargin.online.examples import InMemory
from widemargin.online.held_out import HeldOut
from widemargin.online.learn import learn, learn_few
from widemargin.online.orders import orders
from widemargin.online.passes import Window
from widemargin.online.rules import step_size
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.parameters.values import check_choice
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.run import Watch

#: With fewer numbers to read than this, learning takes no longer than the epoch driver's overhead.
_FEW_NUMBERS = 100_000


def begin(
    rows: Rows,
    classes: int,
    settings: Settings,
    rng: np.random.Generator,
    which: np.ndarray | None = None,
    price: np.ndarray | None = None,
) -> State:
    """The state before the first example: zero, random, or given weights.

    The step size of `eta="auto"` is measured on the rows `which` (None: all), of which an error on
    some costs more than on others.
    """
    vectors = 1 if classes <= 2 else classes
    start = settings.start
    columns = columns_for(rows, vectors) if isinstance(start, str) and start == "zero" else None
    W = np.zeros((vectors, (rows.width if columns is None else columns.count) + 1), rows.dtype)
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
    eta = 1.0
    if settings.measures_eta:
        which = rows.everything if which is None else which
        mean = 1.0 if price is None else float(np.mean(price[which]))
        eta = step_size(rows.log2_squared_length(which) + math.log2(mean))
    return State.begin(W, settings.keep, settings.joint, columns, own=True, eta=eta)


def make_room(
    state: State,
    before: np.ndarray,
    classes: np.ndarray,
    rows: Rows,
    settings: Settings,
    rng: np.random.Generator,
) -> None:
    """Extend a state whose classes were `before` to more classes and to the width of these rows."""
    _check_continues(state, settings)
    if rows.dtype != state.W.dtype:
        kind = np.promote_types(rows.dtype, state.W.dtype)
        state.W, state.start = state.W.astype(kind), state.start.astype(kind)
    if len(before) == 1 and len(classes) > 2:  # nothing was learned yet
        seen = state.seen
        wide = rows.widened(max(rows.width, state.width))
        state.become(begin(wide, len(classes), settings, rng))
        state.pass_over(seen)
    elif len(classes) > max(2, len(before)):
        halved = settings.rule == "logistic" and settings.joint
        state.rearrange(
            len(classes), np.searchsorted(classes, before), spread=0.5 if halved else 1.0
        )
    if rows.width > state.width:
        state.widen(rows.width)


def _check_continues(state: State, settings: Settings) -> None:
    """Raise an error if a training cannot continue from this state with these settings."""
    if settings.keep == "vote" and state.log is None:
        raise ValueError("keep='vote' cannot continue a training that kept no log")
    if settings.keep == "average" and not len(state.U):
        raise ValueError("keep='average' cannot continue a training that kept no average")
    if settings.l2 > 0.0 and state.log is not None:
        raise ValueError(
            f"l2={settings.l2:g} cannot continue a training that kept a log (keep='vote'):"
            " a penalty changes the weights without a mistake"
        )
    check_same_multiclass(settings.multiclass, settings.joint, state.joint)


def check_same_multiclass(multiclass: str, joint: bool, was_joint: bool) -> None:
    """Raise an error unless classes are learned together, or one by one, as they were before."""
    if joint != was_joint:
        raise ValueError(f"multiclass={multiclass!r} cannot continue a training with another value")


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
    watch: Watch | None = None,
    checkpoints: Checkpoints | None = None,
) -> tuple[State, History]:
    """Train on rows whose labels are classes[codes], from scratch or from a given state.

    With `checkpoints`, it resumes an interrupted run with the same arguments; `state` is then the
    state saved by that run.
    """
    price = prices(classes, codes, settings.class_weight, sample_weight)
    which = rows.everything
    if held_out is None and settings.validation > 0.0:
        train, kept_back = split(codes, settings.validation, rng)
        which, held_out = frozen(train), HeldOut(rows, frozen(kept_back), codes[kept_back])
    which = to_learn_from(which, price)
    if state is None:
        state = begin(rows, len(classes), settings, rng, which, price)
    elif (state.width, len(state.W)) != (rows.width, 1 if len(classes) <= 2 else len(classes)):
        raise DataError(f"weights of {state.width} features do not fit rows of {rows.width}")
    examples = InMemory(rows, codes, settings.shuffle, which, price, first_row)
    history = learn(
        examples,
        state,
        settings,
        rng,
        held_out=held_out,
        watch=watch,
        checkpoints=checkpoints,
    )
    return state, history


def to_learn_from(which: np.ndarray, price: np.ndarray | None) -> np.ndarray:
    """The rows to learn from: those with weight 0 are skipped."""
    if price is not None and not np.all(price[which] > 0.0):
        which = frozen(which[price[which] > 0.0])
    if len(which) == 0:
        raise DataError("there are no examples to learn from")
    return which


def fit_more(
    rows: Rows,
    classes: np.ndarray,
    codes: np.ndarray,
    settings: Settings,
    rng: np.random.Generator,
    *,
    state: State,
    sample_weight: np.ndarray | None = None,
    first_row: int = 0,
) -> History:
    """Continue a training with one epoch over more rows, which changes `state` in place.

    The result is that of `fit_linear`. A few rows, as in streams, are learned from without the
    epoch driver, whose overhead would exceed the work.
    """
    price = prices(classes, codes, settings.class_weight, sample_weight, in_stream=True)
    numbers = rows.stored_values * len(state.W)
    if numbers > _FEW_NUMBERS or settings.max_seconds is not None or settings.shuffle == "draw":
        once = replace(settings, epochs=1, validation=0.0, start="zero", class_weight=None)
        return fit_linear(
            rows,
            classes,
            codes,
            once,
            rng,
            state=state,
            sample_weight=price,
            first_row=first_row,
        )[1]
    which = to_learn_from(rows.everything, price)
    rows.check_scale()
    order = which if len(which) == 1 else next(orders(which, settings.shuffle, rng))
    return learn_few(Window(rows, codes, price, order, first_row), state, settings)


def check_classes(classes: np.ndarray) -> None:
    """Raise an error if there are fewer than two classes."""
    if len(classes) < 2:
        raise DataError(
            f"only one class ({classes.tolist()[0]!r}) is present: at least two are needed to learn"
        )


def prices(
    classes: np.ndarray,
    codes: np.ndarray,
    class_weight: Mapping[Any, float] | str | None,
    sample_weight: np.ndarray | None,
    in_stream: bool = False,
) -> np.ndarray | None:
    """Cost of an error on each row, from class and sample weights; None if all are 1.

    In a stream, class weights may name classes that have not occurred yet.
    """
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
        weight_of = class_weights(classes.tolist(), class_weight)
        known = set(classes.tolist())
        strange = [label for label in class_weight if label not in known]
        if strange and not in_stream:
            raise ValueError(f"class_weight names {brief(strange[0])}, which is not a class")
    return price * weight_of[codes]


def class_weights(labels: Sequence[Any], class_weight: Mapping[Any, float]) -> np.ndarray:
    """The weight of each label; 1 unless the dict names it."""
    try:
        weight_of = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise ValueError(
            f"class_weight={class_weight!r:.50} must be a dict of numbers, 'balanced' or None"
        ) from None
    if not np.all(np.isfinite(weight_of)) or np.any(weight_of < 0.0):
        raise ValueError("class_weight must hold finite, nonnegative numbers")
    return weight_of


def split(
    codes: np.ndarray, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Split rows into training and held-out rows, stratified by class, each in ascending order."""
    order = rng.permutation(len(codes))
    by_class = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    place = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    held = place < np.rint(fraction * sizes)[codes[by_class]]
    if not np.any(held) or np.all(held):
        raise DataError(
            f"validation={fraction:g} of {len(codes)} examples leaves none to hold out,"
            " or none to learn from"
        )
    return np.sort(by_class[~held]).astype(np.uint64), np.sort(by_class[held]).astype(np.uint64)
