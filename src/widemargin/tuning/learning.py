"""Train any learner on one part of the examples, and count right answers on another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.pool import Part, Split
from widemargin.data.rows import Rows
from widemargin.kernel_machines.perceptron.fit import HeldOutPoints, fit_kernel_perceptron
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings, fit_kernel_svm
from widemargin.linear_svm.fit import SVMSettings, fit_svm
from widemargin.models.kernel import KernelModel
from widemargin.online.fit import fit_linear
from widemargin.online.held_out import HeldOut
from widemargin.online.scores import state_answers
from widemargin.online.settings import Settings
from widemargin.training.history import History
from widemargin.training.run import Watch

#: The settings of any learner; their type says which learner it is.
AnySettings = Settings | SVMSettings | KernelSettings | KernelSVMSettings


class Outcome(NamedTuple):
    """The result of one training.

    Attributes
    ----------
    right : array of int
        The number of right answers on the test part: of the final hypothesis, or after each epoch.
    start : KernelDualStart or None
        A starting point for training the same kernel SVM with another C.
    """

    right: np.ndarray
    start: Any = None


def learn_and_test(
    split: Split,
    settings: AnySettings,
    rng: np.random.Generator,
    *,
    each_epoch: bool = False,
    start: Any = None,
    watch: Watch | None = None,
) -> Outcome:
    """Train on the training part of a split, and count the right answers on the test part.

    Parameters
    ----------
    split : Split
        The examples.
    settings : AnySettings
        The learner and its settings.
    rng : numpy Generator
        Random generator.
    each_epoch : bool
        Count after every epoch, for mistake-driven learners. The hypothesis after e epochs is that
        of a training with `epochs=e`.
    start : optional
        For kernel SVMs: `Outcome.start` of another C on the same split. (A linear SVM is solved in
        so few passes that starting from another C did not pay: a path of seven values took 0.9 to
        1.25 times as long with it on a9a, and 1.05 to 1.2 times on IMDB. With kernel SVMs on 4,000
        rows of a9a it took 0.75 times as long.)
    watch : callable, optional
        Training stops early when it returns True.
    """
    settings = replace(settings, class_weight=_present(settings.class_weight, split.classes))
    if isinstance(settings, SVMSettings):
        return _linear_svm(split, settings, rng, watch)
    if isinstance(settings, KernelSVMSettings):
        return _kernel_svm(split, settings, rng, start, watch)
    if each_epoch:  # the best epoch is chosen later, for all splits together
        settings = replace(settings, validation=0.0, patience=max(1, int(settings.epochs)))
    if isinstance(settings, KernelSettings):
        return _kernel_perceptron(split, settings, rng, each_epoch, watch)
    return _online(split, settings, rng, each_epoch, watch)


def _given(split: Split, rows: Rows) -> tuple[Rows, np.ndarray, np.ndarray]:
    """The arguments of all learners: rows, classes, and the class of each row."""
    return rows, split.classes, split.learned.codes


def _how(split: Split, watch: Any) -> dict[str, Any]:
    return {"sample_weight": split.learned.weights, "watch": watch}


def _online(
    split: Split, settings: Settings, rng: np.random.Generator, each_epoch: bool, watch: Any
) -> Outcome:
    learned, tested = split.learned, split.tested
    rows = settings.extend(learned.rows)
    asked = tested.rows.with_bias(rows.bias)
    held_out = HeldOut(asked, asked.everything, tested.codes) if each_epoch else None
    state, history = fit_linear(
        *_given(split, rows), settings, rng, **_how(split, watch), held_out=held_out
    )
    if each_epoch:
        return Outcome(_right_by_epoch(history, settings.epochs, tested))
    answers = state_answers(state, settings.keep, asked, settings.threads)
    return Outcome(_count(answers, tested))


def _linear_svm(
    split: Split, settings: SVMSettings, rng: np.random.Generator, watch: Any
) -> Outcome:
    learned, tested = split.learned, split.tested
    rows = learned.rows.with_bias(settings.constant)
    trained = fit_svm(*_given(split, rows), settings, rng, **_how(split, watch))
    asked = tested.rows.with_bias(1.0 if settings.free else settings.constant)
    return Outcome(_count(state_answers(trained.state, "last", asked), tested))


def _kernel_svm(
    split: Split, settings: KernelSVMSettings, rng: np.random.Generator, start: Any, watch: Any
) -> Outcome:
    given = _given(split, split.learned.rows.with_bias(0.0))
    trained = fit_kernel_svm(*given, settings, rng, **_how(split, watch), start=start)
    return Outcome(_ask_kernel(trained.model, split), trained.start)


def _kernel_perceptron(
    split: Split,
    settings: KernelSettings,
    rng: np.random.Generator,
    each_epoch: bool,
    watch: Any,
) -> Outcome:
    tested = split.tested
    given = _given(split, split.learned.rows.with_bias(0.0))
    asked = HeldOutPoints(tested.rows.with_bias(0.0), tested.codes) if each_epoch else None
    model = fit_kernel_perceptron(*given, settings, rng, **_how(split, watch), held_out=asked)
    if each_epoch:
        return Outcome(_right_by_epoch(model.history, int(settings.epochs), tested))
    return Outcome(_ask_kernel(model, split))


def _ask_kernel(model: KernelModel, split: Split) -> np.ndarray:
    """The number of right answers of a kernel model."""
    found = model.predict(split.tested.rows.with_bias(0.0))
    return _count(np.searchsorted(split.classes, found), split.tested)


def _count(answers: np.ndarray, tested: Part) -> np.ndarray:
    return np.array([np.count_nonzero(answers == tested.codes)])


def _right_by_epoch(history: History, epochs: int, tested: Part) -> np.ndarray:
    """Right answers after each epoch; a training that stopped early would not have changed."""
    right = np.rint(history["held_out"] * len(tested.codes)).astype(np.int64)
    return np.concatenate([right, np.repeat(right[-1:], max(0, epochs - len(right)))])


def _present(given: Mapping[Any, float] | str | None, classes: np.ndarray) -> Any:
    """Class weights without those of rare classes that a training part happens to lack."""
    if given is None or isinstance(given, str):
        return given
    return {label: weight for label, weight in given.items() if label in set(classes.tolist())}
