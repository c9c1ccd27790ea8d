"""Learning from dicts, one example at a time, with feature names instead of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from widemargin.data.encode.labels import encode_labels
from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.estimators.linear import LinearLearner
from widemargin.loops.linear.passes import Tally
from widemargin.loops.storage import Sparse
from widemargin.models.explanation import Explanation
from widemargin.online.fit import begin
from widemargin.online.learn import learn_stream
from widemargin.online.rules import uses_of_rule
from widemargin.online.scores import best_class, state_scores
from widemargin.parameters import changed, refuse_unused
from widemargin.training.history import Epoch, History


class StreamLearner(LinearLearner):
    """A linear learner that also takes single examples, as dicts from feature name to value.

    One learner takes one kind of input: dicts have a vocabulary of their own, which grows as names
    appear, and cannot be mixed with arrays.
    """

    def learn_one(self, x: Mapping[str, Any], y: Any) -> Self:
        """Learn from one example.

        Parameters
        ----------
        x : dict
            Maps feature names to numbers; features not named are zero. A string value stands for
            the feature "name=value" with value 1, True for the feature "name" with value 1.
        y : label
            An integer or a string; new labels create new classes.
        """
        settings = self._settings()
        label = np.asarray([y])
        if "model_" not in vars(self):
            refuse_unused(changed(settings), uses_of_rule(settings.rule))
            self._columns: dict[str, int] = {}
            self._names: list[str] = []
            rows = self._row(x, learn=True)
            classes, codes = encode_labels(label)
            rng, history = self._generator(), History()
            state = begin(rows.widened(len(self._names)), 1, settings, rng)
        elif not self.model_.by_name:
            raise ValueError("this learner was trained on arrays; continue with partial_fit")
        else:
            rows = self._row(x, learn=True)
            classes, codes = self._known_classes(label)
            rng, history = self._rng, self.model_.history
            room = len(self._names)
            if room > self.model_.state.width:
                room *= 2  # amortised: growing costs no more than learning
            state = self._state_for(rows.widened(room), classes, settings)
        if len(classes) > 1:
            _count(history, learn_stream(rows, codes, state, settings), state.seen)
        else:
            state.pass_over(1)
        self.n_features_in_ = len(self._names)
        more = {
            "bias": rows.bias,
            "by_name": True,
            "feature_names": self._names,
            "threshold": self._kept_threshold(classes),
        }
        self._adopt(self._model(classes, state, history, settings, rng, **more), rng)
        return self

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Predict the label of one example; unknown feature names are ignored."""
        model = self._fitted()
        if not model.by_name:
            raise ValueError("this learner was trained on arrays: use predict")
        code = 0
        if len(model.classes) > 1:
            found = state_scores(model.state, model.keep, self._row(x)) - model.threshold
            code = int(best_class(found)[0])
        return model.classes[code : code + 1].tolist()[0]

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Return the features that decided the prediction for one example, strongest first.

        If the mistake log was kept, also the examples whose mistakes produced their weights.
        """
        if isinstance(x, Mapping) and self._fitted().by_name:
            return self.model_.explain(self._row(x), top)
        return super().explain(x, top)

    def _row(self, x: Mapping[str, Any], learn: bool = False) -> Rows:
        """Convert one example to a sparse row; with `learn`, new names get a column."""
        columns, values = [], []
        for name, value in x.items():
            if isinstance(value, str):
                name, value = f"{name}={value}", 1.0
            value = float(value)
            if not math.isfinite(value):
                raise DataError(
                    f"feature {name!r} is {value}: only finite numbers can be learned from"
                )
            column = self._columns.get(name)
            if column is None and learn:
                column = self._columns[name] = len(self._names)
                self._names.append(name)
            if column is not None:
                columns.append(column)
                values.append(value)
        stored = Sparse(
            frozen(np.array(values, np.float64)),
            frozen(np.array(columns, np.uint32)),
            frozen(np.array([0, len(columns)], np.uint64)),
            0.0,
        )
        rows = Rows(stored, 1, len(self._names))
        before = self.model_.bias if "model_" in vars(self) else None
        return self._settings().extend(rows, before)


def _count(history: History, tally: Tally, seen: int) -> None:
    """Update the single row of a stream's history."""
    so_far = history.epochs.pop() if history.epochs else Epoch(1, 0, 0, 0.0, None, None, 0.0)
    history.add(
        so_far._replace(
            mistakes=so_far.mistakes + tally.mistakes,
            updates=so_far.updates + tally.updates,
            loss=so_far.loss + (tally.loss - so_far.loss) / seen,
        )
    )
