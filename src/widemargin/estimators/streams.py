"""Learning from dicts, one example at a time, with feature names instead of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from widemargin.data.encode.labels import encode_labels
from widemargin.data.encode.named import NamedFeatures, named_rows
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.estimators.linear import LinearLearner
from widemargin.loops.linear.passes import Tally
from widemargin.models.explanation import Explanation
from widemargin.models.linear import LinearModel
from widemargin.online.fit import begin, prices
from widemargin.online.learn import learn_once
from widemargin.online.one_by_one import OneByOne, one_row
from widemargin.online.passes import Window
from widemargin.online.scores import best_class, state_scores
from widemargin.parameters.effects import are_same, changed, refuse_unused
from widemargin.training.history import Epoch, History


class StreamLearner(LinearLearner):
    """A linear learner that also takes single examples, as dicts from feature name to value.

    A learner takes only one kind of input: dicts have their own vocabulary, which grows as new
    names appear, and cannot be mixed with arrays. Trained on dicts, it answers lists of them, too:
    `predict`, `predict_proba` and `decision_function`.
    """

    _features: NamedFeatures
    #: The learner prepared for the next dict; None if it has to be prepared first.
    _ready: OneByOne | None = None

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
        ready = self._ready
        if ready is not None:
            try:
                if ready.learn(x, y):  # set directly, because __setattr__ looks for parameters
                    self.__dict__["n_features_in_"] = len(ready.features.names)
                return self
            except (KeyError, TypeError, AttributeError):  # a new label, or not a label or dict
                pass
        known = len(self._features.names) if "_features" in vars(self) else 0
        try:
            self._learn_unprepared(x, y)
        except BaseException:
            if known:
                self._features.forget_from(known)
            raise
        self._ready = ready = self._prepare()
        if ready is not None:
            ready.remember(y)
        return self

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Predict the label of one example; unknown feature names are ignored."""
        ready = self._ready
        try:
            label = None if ready is None else ready.predict(x)
        except AttributeError:  # not a dict; checking first would slow down every call
            label = None
        return self._predict_carefully(x) if label is None else label

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Return the features that decided the prediction for one example, strongest first.

        If the mistake log was kept, also the examples whose mistakes produced their weights.
        """
        if isinstance(x, Mapping) and self._fitted().by_name:
            return self.model_.explain(self._row(x), top)
        return super().explain(x, top)

    # Internals

    @property
    def model_(self) -> LinearModel:
        """The model, as of the last example."""
        if "model_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} has no model yet")
        ready = self._ready
        if ready is not None and ready.ahead:
            ready.update_history()
            state = replace(ready.state)
            self.__dict__["model_"] = replace(vars(self)["model_"], state=state)
        return self.__dict__["model_"]

    @model_.setter
    def model_(self, model: LinearModel) -> None:
        self.__dict__["model_"] = model
        self._ready = None

    def _stop_sharing(self) -> None:
        if self._shared and self.model_.by_name:
            self._features = NamedFeatures(self._features.names)
        super()._stop_sharing()

    def _forget_preparations(self) -> None:
        super()._forget_preparations()
        if self._ready is not None:
            self.model_ = self.model_  # keeps what was learned, and resets `_ready`

    def __getstate__(self) -> dict[str, Any]:
        if "model_" in vars(self):
            _ = self.model_  # brings it up to date
        return super().__getstate__()

    def _prepare(self) -> OneByOne | None:
        """Prepare for the next dict; None if that needs more than one compiled call.

        So does the first dict after a change of parameters, which the model has to record.
        """
        model, settings = self.model_, self._settings()
        logs = model.state.log is not None
        if len(model.classes) == 1 or logs or self._shared or model.keep != settings.keep:
            return None
        if isinstance(settings.class_weight, str) or not are_same(model.params, self._params):
            return None
        state = replace(model.state)
        return OneByOne(
            self._features,
            model.classes,
            state,
            settings,
            model.bias,
            model.history,
            model.threshold,
        )

    def _learn_unprepared(self, x: Mapping[str, Any], y: Any) -> None:
        """Learn from the first example, one with a new label, or one that must be logged."""
        settings = self._settings()
        label = np.asarray([y])
        if "model_" not in vars(self):
            refuse_unused(changed(settings), settings.uses_of_rule())
            self._refuse_balanced("learn_one")
            classes, codes = encode_labels(label)
            self._features = NamedFeatures()
            rows = self._row(x, learn=True)
            rng, history = self._generator(), History()
            state = begin(rows, 1, settings, rng)
        elif not self.model_.by_name:
            raise ValueError("this learner was trained on arrays; continue with partial_fit")
        else:
            self._refuse_balanced("learn_one")
            self._stop_sharing()
            classes, codes = self._known_classes(label)
            rows = self._row(x, learn=True)
            rng, history = self._rng, self._history_to_extend()
            room = rows.width
            if room > self.model_.state.width:
                room *= 2  # so that the amortised cost of growing is no more than that of learning
            state = self._state_for(rows.widened(room), classes, settings)
        price = prices(classes, codes, settings.class_weight, None, in_stream=True)
        number = history.number_rows(1, state.seen)
        if len(classes) == 1:
            state.pass_over(1)
        elif price is None or price[0] > 0.0:  # examples with weight 0 are skipped
            window = Window(rows, codes, price, rows.everything, number)
            _count(history, learn_once(window, state, settings), state.seen)
        self.n_features_in_ = rows.width
        more = {
            "bias": rows.bias,
            "by_name": True,
            "feature_names": self._features.names,
            "threshold": self._kept_threshold(classes),
        }
        self._adopt(self._model(classes, state, history, settings, rng, **more), rng)

    def _predict_carefully(self, x: Mapping[str, Any]) -> Any:
        """Predict where the fast path cannot: the first time, by vote, or with bad numbers."""
        model = self._fitted()
        if not model.by_name:
            raise ValueError("this learner was trained on arrays: use predict")
        if len(model.classes) == 1:
            return model.classes.tolist()[0]
        if self._ready is None:
            self._ready = self._prepare()
        scores = state_scores(model.state, model.keep, self._row(x)) - model.threshold
        code = int(best_class(scores)[0])
        return model.classes[code : code + 1].tolist()[0]

    def _rows_to_ask(self, X: Any) -> Rows:
        """Rows to predict; a learner that was trained on dicts takes a list of them."""
        model = self._fitted()
        if not model.by_name:
            return super()._rows_to_ask(X)
        if isinstance(X, Mapping) or not all(isinstance(x, Mapping) for x in X):
            raise ValueError(
                "this learner was trained on dicts: pass a list of them, or one to predict_one"
            )
        return named_rows([self._features.convert(x) for x in X], model.bias, model.width)

    def _row(self, x: Mapping[str, Any], learn: bool = False) -> Rows:
        """Convert one example to a sparse row; with `learn`, new names get a column."""
        if not isinstance(x, Mapping):
            raise DataError(
                f"one example is a dict of names and values, found {type(x).__name__}; for rows of"
                " numbers, use partial_fit and predict"
            )
        values, columns = self._features.convert(x, learn)
        rows = one_row(values, columns, 0.0, len(self._features.names))
        if not learn:
            return rows.with_bias(self.model_.bias)
        before = self.model_.bias if "model_" in vars(self) else None
        return self._settings().extend(rows, before)


def _count(history: History, tallies: Sequence[Tally], seen: int) -> None:
    """Update the single row of a stream's history."""
    mistakes, updates = (sum(tally[k] for tally in tallies) for k in range(2))
    loss = sum(float(tally.loss) / len(tallies) for tally in tallies)
    so_far = history.epochs.pop() if history.epochs else Epoch(1, 0, 0, 0.0, None, None, 0.0)
    history.add(
        so_far._replace(
            mistakes=so_far.mistakes + int(mistakes),
            updates=so_far.updates + int(updates),
            loss=so_far.loss + (loss - so_far.loss) / seen,
            examples=seen,
        )
    )
