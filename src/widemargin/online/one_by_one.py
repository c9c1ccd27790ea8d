"""Learning from single examples without the setup cost of a fit for each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from widemargin.data.encode.named import UNUSUAL, NamedFeatures
from widemargin.data.rows import Rows, frozen
from widemargin.loops.jit import resolve
from widemargin.loops.linear.one_example import (
    LEARNED,
    NEW_NAMES,
    answer_and_learn_jointly,
    answer_and_learn_separately,
    learn_jointly,
    learn_separately,
    predict_jointly,
    predict_separately,
)
from widemargin.loops.linear.passes import Tally
from widemargin.loops.storage import Sparse
from widemargin.online.fit import class_weights
from widemargin.online.passes import ReadyRows, explain_bad_score
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.training.history import Epoch, History


class OneByOne:
    """A linear learner that keeps no log, ready for single examples as dicts.

    Everything that does not depend on the example is done once, here: the settings become numbers
    for the loops, the labels a dict, and the arrays are those that the loops change. Names may be
    new; for a new label the caller makes room, and then a new object.

    Parameters
    ----------
    features : NamedFeatures
        The names so far; new ones are added.
    classes : array
        The labels, at least two.
    state : State
        The state, which this object owns from now on.
    settings : Settings
        How to learn.
    bias : float
        The value of the constant feature.
    history : History
        The history so far, which has one row for all examples.
    threshold : float
        The lowest score for which the second of two classes is predicted.

    Attributes
    ----------
    ahead : bool
        Whether anything was learned since the history was last updated.
    """

    def __init__(
        self,
        features: NamedFeatures,
        classes: np.ndarray,
        state: State,
        settings: Settings,
        bias: float,
        history: History,
        threshold: float = 0.0,
    ) -> None:
        self.features, self.state, self._history, self.ahead = features, state, history, False
        self._names, self._known = features.names, len(features.names)
        self._bias, self._labels = bias, classes.tolist()
        # Maps a loop's answer to a label; -1, the last entry, means that no score is finite.
        self._answers = [*self._labels, None]
        # A label of another type may change the type of the classes: the caller handles this as
        # well.
        self._codes: dict[type, dict[Any, int]] = {}
        for labels in (self._labels, classes):
            for code, label in enumerate(labels):
                self._codes.setdefault(type(label), {})[label] = code
        assert not isinstance(settings.class_weight, str)
        self._prices = class_weights(self._labels, settings.class_weight or {}).tolist()
        self._numbers = numbers_of(settings.resolved(state), bias, threshold)
        row = history.epochs[-1] if history.epochs else Epoch(1, 0, 0, 0.0, None, None, 0.0)
        self._row = row
        self._totals = np.array([row.mistakes, row.updates, row.loss], np.float64)
        self._layout = self._nothing = features.layout(())
        self._learn: Callable[..., int] = self._learn_first
        self._predict: Callable[..., int] = self._predict_first
        self._hold()

    def _hold(self) -> None:
        """Hold the arrays of the state in the form that the loops take."""
        state = self.state
        state.lay_out(sparse=True)
        self._W, self._U, self._clock = state.W, state.U, state.clock
        if self._jointly:
            self._W, self._U = state.W.T, state.U.T

    @property
    def _jointly(self) -> bool:
        """Whether there are more than two classes, which are learned together."""
        return self.state.joint and len(self.state.W) > 1

    def _learn_first(self, *arguments: Any) -> int:
        """Learn from the first example, and look up the machine code for all others."""
        self._learn = resolve(learn_jointly if self._jointly else learn_separately, *arguments)
        return self._learn(*arguments)

    def _predict_first(self, *arguments: Any) -> int:
        """Predict the first example, and look up the machine code for all others."""
        loop = predict_jointly if self._jointly else predict_separately
        self._predict = resolve(loop, *arguments)
        return self._predict(*arguments)

    def _make_room(self) -> None:
        """Extend the weights to new names, doubling them: growing then costs less than learning."""
        self._known = len(self._names)
        self._layout = self._nothing  # a name in it may have a column by now
        if self._known > self.state.width:
            self.state.widen(2 * self._known)
            self._hold()

    def learn(self, x: Mapping[str, Any], y: Any) -> bool:
        """Learn from one example, and return whether it has new names.

        Raises
        ------
        KeyError or TypeError
            If the label is new. Nothing has changed then.
        """
        code = self._codes[type(y)][y]
        price = self._prices[code]
        if price == 0.0:
            return False  # as `fit` does: such examples are skipped
        self.ahead = True
        try:
            names, (known, columns, pack) = tuple(x), self._layout
            if names == known:
                packed = pack(*x.values())
            else:
                packed, self._layout = self.features.layout_of(x, names)
                columns = self._layout[1]
        except UNUSUAL:
            packed, columns = self._convert(x, learn=True)
        new_names = len(self._names) > self._known
        if new_names:
            self._make_room()
        # Written out, because unpacking a tuple of arguments takes longer.
        done = self._learn(
            packed,
            columns,
            code,
            price,
            self._numbers,
            self._W,
            self._U,
            self._clock,
            self._totals,
        )
        if done == NEW_NAMES:
            new_names, columns = True, self._add_names(x)
            held = self._numbers, self._W, self._U, self._clock, self._totals
            done = self._learn(packed, columns, code, price, *held)
        if done != LEARNED:
            values, found = self.features.convert(x)  # an error if a value is not finite
            explain_bad_score(one_row(values, found, self._bias, self.state.width), 0)
        return new_names

    def _add_names(self, x: Mapping[str, Any]) -> bytes:
        """Make room for the new names of an example with numeric values; returns its columns."""
        if not math.isfinite(sum(x.values())):
            self.features.convert(x)  # an error if a value is not finite
        self.features.add_all(x)
        self._make_room()
        self._layout = self.features.layout(tuple(x))
        return self._layout[1]

    def _convert(self, x: Mapping[str, Any], learn: bool = False) -> tuple[bytes, bytes]:
        """The values and columns of any example as bytes."""
        values, columns = self.features.convert(x, learn)
        return values.tobytes(), columns.tobytes()

    def predict(self, x: Mapping[str, Any]) -> Any:
        """The label of one example; None if a number in its scores is not finite."""
        try:
            names, (known, columns, pack) = tuple(x), self._layout
            if names != known:
                self._layout = _, columns, pack = self.features.layout(names)
            packed = pack(*x.values())
        except UNUSUAL:
            packed, columns = self._convert(x)
        code = self._predict(packed, columns, self._numbers, self._W, self._U, self._clock)
        return self._answers[code]

    def remember(self, y: Any) -> None:
        """Recognise a label that equals a class but has another type."""
        self._codes.setdefault(type(y), {}).setdefault(y, self._labels.index(y))

    def update_history(self) -> None:
        """Bring the history up to date with what was learned."""
        mistakes, updates, loss = self._totals.tolist()
        row = self._row._replace(
            mistakes=int(mistakes), updates=int(updates), loss=loss, examples=self.state.seen
        )
        self._history.epochs[-1:] = [row]
        self.ahead = False


def numbers_of(settings: Settings, bias: float, threshold: float) -> np.ndarray:
    """The settings as the numbers that the loops for single examples take."""
    return np.array([*map(float, settings.step), bias, settings.keep == "average", threshold])


class AnswerThenLearn:
    """Predicts the class of each row, and learns from it before predicting the next.

    The result is bit-identical to that of one pass over the rows in this order.

    Parameters
    ----------
    rows : Rows
        The examples.
    state : State
        The state, which keeps no log; it is changed in place.
    settings : Settings
        How to learn, one example at a time.
    """

    def __init__(self, rows: Rows, state: State, settings: Settings) -> None:
        rows.check_finite()
        rows.check_scale()
        self._rows, self._state, self._ready = rows, state, ReadyRows()
        self._settings = settings.resolved(state)

    def run(
        self, which: slice, codes: np.ndarray, price: np.ndarray | None, threshold: float
    ) -> tuple[np.ndarray, Tally]:
        """Go through some of the rows.

        Parameters
        ----------
        which : slice
            Consecutive rows.
        codes : array
            The classes of all rows; -1 for those that are only predicted.
        price : array or None
            The cost of an error on each row; None: 1.
        threshold : float
            The lowest score for which the second of two classes is predicted.

        Returns
        -------
        array, Tally
            The predicted classes, and the counts of what was learned.
        """
        rows, state, settings = self._rows, self._state, self._settings
        state.lay_out(rows.is_sparse)
        ready = self._ready.rows(rows, state, settings.step)
        order = rows.everything[which]
        answers = np.zeros(len(order), np.int64)
        jointly = state.joint and len(state.W) > 1
        loop = answer_and_learn_jointly if jointly else answer_and_learn_separately
        tally = loop(
            ready.stored,
            frozen(codes.astype(np.int64)),
            frozen(np.where(codes < 0, 0.0, 1.0 if price is None else price)),
            order,
            settings.step,
            numbers_of(settings, rows.bias, threshold),
            state.W,
            state.U,
            state.clock,
            answers,
        )
        if tally.bad >= 0 or np.any(answers < 0):
            unanswered = int(order[np.argmax(answers < 0)])
            explain_bad_score(rows, tally.bad if tally.bad >= 0 else unanswered)
        return answers, tally


def one_row(values: np.ndarray, columns: np.ndarray, bias: float, width: int) -> Rows:
    """One sparse example as rows."""
    starts = np.array([0, len(columns)], np.uint64)
    return Rows(Sparse(frozen(values), frozen(columns), frozen(starts), bias), 1, width)
