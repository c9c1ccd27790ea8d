"""Training of all linear online learners: fit, partial_fit, using."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from widemargin.certificates.certificate import RunCertificate
from widemargin.certificates.theorem import STARTED, departure_between
from widemargin.data.encode.labels import (
    check_covers,
    check_labels,
    classes_and_codes,
    codes_of,
    encode_labels,
    join_classes,
)
from widemargin.data.encode.multilabel import read_label_sets
from widemargin.data.encode.named import NamedFeatures
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.estimators.answers import LinearAnswers
from widemargin.estimators.multilabel import (
    fit_multilabel,
    is_multilabel,
    partial_fit_multilabel,
    refuse_several_labels,
    refuse_single_labels,
)
from widemargin.estimators.validation import (
    adopt_new_names,
    are_valid_labels,
    is_valid,
    validate_data,
    validate_labels,
    validate_more,
)
from widemargin.markup.reprs import brief
from widemargin.models.linear import LinearModel, model_of
from widemargin.models.threshold import kept_threshold
from widemargin.online.fit import begin, check_classes, fit_linear, fit_more, make_room
from widemargin.online.held_out import HeldOut
from widemargin.online.label_runs import warn_of_runs
from widemargin.online.mistake_log import Correction
from widemargin.online.orders import generator_of
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.parameters.effects import changed, refuse_unused
from widemargin.parameters.settings import settings_from
from widemargin.parameters.values import check_choice
from widemargin.separability.linear_trainings import begin_run
from widemargin.threads import thread_count
from widemargin.training.checkpoints import open_checkpoints
from widemargin.training.history import History
from widemargin.training.progress import watched


def _has_probabilities(learner: LinearLearner) -> bool:
    """Whether `predict_proba` is available: only if the model is logistic."""
    rule = getattr(learner, "rule", learner._rules[0])
    if rule != "logistic":
        raise AttributeError(
            f"predict_proba needs the logistic rule, not {rule!r}; to calibrate the scores of"
            " another rule use scikit-learn's CalibratedClassifierCV"
        )
    if learner.keep == "vote":
        raise AttributeError(
            "predict_proba needs keep='last' or 'average': votes are not probabilities"
        )
    return True


class LinearLearner(LinearAnswers):
    """Base of linear classifiers that learn from mistakes; subclasses choose the rules."""

    #: The rules that a subclass offers; exactly one if it has no parameter `rule`.
    _rules: tuple[str, ...] = ()
    #: The settings, if no parameter was changed since they were validated, and the parameters.
    _checked: Settings | None = None
    #: Whether another learner may share what was learned, see `using` and `with_threshold`.
    _shared: bool = False
    _params: dict[str, Any]

    # Training

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on examples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The examples, one per row.
        y : array of n labels, or several labels per row
            Their labels: integers or strings. Several labels per row are an indicator matrix (n, k)
            of 0 and 1, dense or sparse, or a list of n sets, lists or tuples of labels; `predict`
            returns the same kind. One binary learner is then trained per label, see
            `estimators_`.
        sample_weight : array of n numbers, optional
            Cost of an error on each example; examples with weight 0 are skipped.
        X_val, y_val : optional
            Held-out examples to score after each epoch, instead of a part of X; the weights with
            the best score are returned.
        checkpoint : path, optional
            Folder for periodic checkpoints. If it contains a checkpoint of the same training,
            training resumes from it and gives exactly the same result as without the interruption.

        Returns
        -------
        self
            After Ctrl-C, the model learned so far is stored before KeyboardInterrupt is raised
            (with several labels per row, only once all labels were learned).
        """
        labels = read_label_sets(y)
        if labels is None:
            return self._fit(X, y, sample_weight, X_val=X_val, y_val=y_val, checkpoint=checkpoint)
        if checkpoint is not None:
            raise ValueError("checkpoints are not available with several labels per row")
        fit_multilabel(self, X, labels, sample_weight, X_val, y_val)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        classes: np.ndarray | None = None,
    ) -> Self:
        """Train with one label per row; `classes` are all labels, if some may not occur."""
        settings = self._settings()
        refuse_unused(changed(settings), settings.uses(held_out=X_val is not None))
        again = self.warm_start and hasattr(self, "model_")
        if again:
            refuse_single_labels(self)
            self._refuse_after_dicts()
        given, (X, y) = X, self._validate(X, y, reset=not again)
        classes, codes = classes_and_codes(y, classes)
        rows = settings.extend(Rows.of(X), self.model_.bias if again else None)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        rng, state = self._rng if again else self._generator(), None
        if again:
            classes, codes = self._known_classes(y)
            state = self._state_for(rows, classes, settings).copy()
        else:
            warn_of_runs(settings, codes, classes)
        check_classes(classes)
        held_out = self._held_out(X_val, y_val, classes, rows.bias)
        task = partial(self._task, rows, codes, sample_weight, *(held_out or ()), state)
        with (
            watched(self.progress, settings.epochs) as watch,
            open_checkpoints(checkpoint, task) as checkpoints,
        ):
            if checkpoints is not None:
                checkpoints.describe = lambda training, history: self._model(
                    classes, training.state, history, settings, rng, bias=rows.bias
                ).contents()
                if checkpoints.saved is not None:
                    state = model_of(checkpoints.path, *checkpoints.saved).state
            state, history = fit_linear(
                rows,
                classes,
                codes,
                settings,
                rng,
                state=state,
                sample_weight=sample_weight,
                held_out=held_out,
                watch=watch,
                checkpoints=checkpoints,
            )
        more = {"bias": rows.bias, "threshold": self._kept_threshold(classes) if again else 0.0}
        history.depart(STARTED if again else "")
        self._widen(given, state.width)
        self._adopt(self._model(classes, state, history, settings, rng, **more), rng)
        if watch.interrupted:
            raise KeyboardInterrupt
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one epoch over more examples.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. New labels create new classes. With `grow=True`, rows may have more
            features than before; new features start with weight zero.
        classes : array, optional
            In the first call: all labels that will occur, if known.
        """
        labels = read_label_sets(y)
        if labels is not None:
            partial_fit_multilabel(self, X, labels, classes, sample_weight)
            return self
        refuse_single_labels(self)
        settings = self._settings()
        first = not hasattr(self, "model_")
        if first:
            refuse_unused(changed(settings), settings.uses_of_rule())
        else:
            self._refuse_after_dicts()
        self._refuse_balanced("partial_fit")
        if not first:
            self._stop_sharing()
        given, (X, y) = X, self._validate(X, y, reset=first)
        rows = settings.extend(Rows.of(X), None if first else self.model_.bias)
        rows.check_finite()
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if first:
            known = encode_labels(y)[0] if classes is None else encode_labels(classes)[0]
            codes = codes_of(y, known)
            if np.any(codes < 0):
                raise DataError(f"label {brief(y[np.argmin(codes)])} is not among `classes`")
            rng = self._generator()
            state, history = begin(rows, len(known), settings, rng), History()
        else:
            check_covers(classes, self.classes_)
            known, codes = self._known_classes(y, also=classes)
            history = self._history_to_extend()
            rng = self._rng
            state = self._state_for(rows, known, settings)
            rows = rows.widened(state.width)
        number = history.number_rows(rows.n, state.seen)
        if len(known) > 1:
            learned = fit_more(
                rows,
                known,
                codes,
                settings,
                rng,
                state=state,
                sample_weight=sample_weight,
                first_row=number,
            )
            history.extend_by_call(learned)
        else:
            state.pass_over(rows.n)
        self._widen(given, state.width)
        more = {"bias": rows.bias, "threshold": self._kept_threshold(known)}
        self._adopt(self._model(known, state, history, settings, rng, **more), rng)
        return self

    # Prediction

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of every class, in the order of `classes_`.

        Only the logistic rule learns probabilities. For the others, scikit-learn's
        `CalibratedClassifierCV(learner)` calibrates the scores on held-out folds.
        """
        return self._fitted().predict_proba(self._rows_to_ask(X), thread_count(self.n_jobs))

    # Other hypotheses of the same run

    def using(self, keep: str) -> Self:
        """Return the same learner with another `keep`: "last", "average" or "vote".

        The model is shared, not copied, and nothing is retrained. A learner trained with
        `keep="vote"` can predict as any of the three.
        """
        other = self._sharer()
        other.keep = keep
        other.model_ = self._fitted().using(keep)
        if is_multilabel(self):
            other._each = [one.using(keep) for one in self._each]
        return other

    def restore(self, model: LinearModel) -> Self:
        """Adopt a model that was read from a file."""
        super().restore(model)
        if is_multilabel(self):
            return self
        self._rng = self._generator()
        if model.generator_state is not None:
            self._rng = generator_of(model.generator_state)
        if model.by_name:
            self._features = NamedFeatures(model.feature_names or [])
            self.n_features_in_ = len(self._features.names)
        return self

    # Learned attributes

    @property
    def mistakes_(self) -> int:
        """Mistakes made during training, over all epochs."""
        return self._fitted().history.mistakes

    @property
    def certificate_(self) -> RunCertificate:
        """What the fit alone proves; `widemargin.certify(learner, X, y)` proves the rest."""
        refuse_several_labels(self, "certificate_")
        return begin_run(self._fitted())

    @property
    def log_(self) -> list[Correction]:
        """All corrections in order, if the mistake log was kept (`keep="vote"`)."""
        refuse_several_labels(self, "log_")
        log = self._fitted().state.log
        if log is None:
            raise AttributeError("the mistake log was not kept: train with keep='vote'")
        return list(log)

    # Internals

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._get_param_names():
            self._forget_preparations()
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle and copy, without what can be recreated when needed."""
        state = dict(super().__getstate__())
        for name in ("_checked", "_params", "_ready"):
            state.pop(name, None)
        return state

    def _settings(self) -> Settings:
        """The parameters as settings, which are validated again only if one has changed."""
        if self._checked is None:
            self._params = params = self.get_params(deep=False)
            rule = params.get("rule", self._rules[0])
            check_choice("rule", rule, self._rules)
            self._checked = settings_from(Settings, params, rule=rule)
        return self._checked

    def _forget_preparations(self) -> None:
        """Discard what was derived from the parameters, because one of them changes."""
        if self._checked is not None:
            self._checked = None

    def _refuse_balanced(self, method: str) -> None:
        """Raise an error if the class weights depend on all examples."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight='balanced' needs all examples at once; use a dict with {method}"
            )

    def _refuse_after_dicts(self) -> None:
        """Raise an error if this learner has learned from dicts."""
        if self.model_.by_name:
            raise ValueError("this learner was trained on dicts; continue with learn_one")

    def _sharer(self) -> Self:
        self._forget_preparations()
        self._shared = True
        return super()._sharer()

    def _stop_sharing(self) -> None:
        """Copy what more training changes in place, if another learner may share it.

        Always copying it would make each call more expensive than the one before.
        """
        if self._shared:
            model = self.model_
            self.model_ = replace(model, state=model.state.copy(), history=model.history.copy())
            self._shared = False

    def _history_to_extend(self) -> History:
        """The history of the model, which says if the parameters have changed since."""
        model = self.model_
        if model.params is not self._params:
            model.history.depart(departure_between(model.rule, model.params, self._params))
        return model.history

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        """Validate X (an array or CSR matrix) and y (an array) as scikit-learn does."""
        if isinstance(X, Rows):  # already checked by one of our encoders
            y = validate_labels(y, X.n)
            self.n_features_in_ = X.width
            return X, y
        if not reset and is_valid(self, X) and are_valid_labels(y, X.shape[0]):
            return X, np.asarray(y)
        X, y = validate_data(self, X, y) if reset else validate_more(self, X, y)
        return X, check_labels(column_or_1d(y, warn=True))

    def _widen(self, X: Any, width: int) -> None:
        """Remember the number of features, and the names of new ones (`grow=True`)."""
        self.n_features_in_ = width
        adopt_new_names(self, X)

    def _known_classes(self, y: np.ndarray, also: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """The known classes extended by those of y, and the codes of y."""
        known = self.model_.classes
        if also is None and y.dtype == known.dtype:
            codes = codes_of(y, known)
            if codes.min(initial=0) >= 0:
                return known, codes
        known = join_classes(known, y, also)
        return known, codes_of(y, known)

    def _state_for(self, rows: Rows, classes: np.ndarray, settings: Settings) -> State:
        """The current state, with room for these classes and features.

        The learner's own state object is not changed, but training continues in the same arrays.
        """
        state, eta = replace(self.model_.state), self.model_.params.get("eta", "auto")
        if settings.measures_eta and "auto" not in (eta if isinstance(eta, tuple) else (eta,)):
            raise ValueError(f"eta='auto' cannot continue a training with eta={eta!r}")
        make_room(state, self.model_.classes, classes, rows, settings, self._rng)
        return state

    def _kept_threshold(self, classes: np.ndarray) -> float:
        """The current threshold; 0 if there are new classes."""
        before = vars(self).get("model_")
        return 0.0 if before is None else kept_threshold(before, classes)

    def _held_out(self, X_val: Any, y_val: Any, classes: np.ndarray, bias: float) -> HeldOut | None:
        """The user's held-out examples."""
        if X_val is None and y_val is None:
            return None
        if X_val is None or y_val is None:
            raise ValueError("give both X_val and y_val, or neither")
        X_val, y_val = self._validate(X_val, y_val, reset=False)
        rows = Rows.of(X_val, bias=bias)
        rows.check_finite()
        return HeldOut(rows, rows.everything, codes_of(y_val, classes))

    def _model(
        self,
        classes: np.ndarray,
        state: State,
        history: History,
        settings: Settings,
        rng: np.random.Generator,
        **more: Any,
    ) -> LinearModel:
        """Build the model from the trained state."""
        given = {
            "classes": classes,
            "state": state,
            "keep": settings.keep,
            "rule": settings.rule,
            "learner": type(self).__name__,
            "params": self._params,
            "history": history,
            "feature_names": self._names_in(),
            "generator_state": rng.bit_generator.state,
        }
        return LinearModel(**{**given, **more})

    def _adopt(self, model: LinearModel, rng: np.random.Generator) -> None:
        """Store the trained model, which is shared with no other learner."""
        self.model_, self._rng, self._shared = model, rng, False
