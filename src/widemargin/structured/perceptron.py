"""The structured perceptron: learns from its mistakes to predict anything with an argmax."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.certificates.theorem import STEPS
from widemargin.errors import DataError
from widemargin.modelfile.files import restore
from widemargin.modelfile.packing import pack_value, unpack_value
from widemargin.online.orders import SHUFFLES, EpochOrders, Shuffle
from widemargin.online.rules import Eta, make_rule, uses_of_rule
from widemargin.online.state import KEEPS
from widemargin.parameters.effects import Use, changed, refuse_unused, uses_of_held_out
from widemargin.parameters.values import (
    check_choice,
    check_fraction,
    check_patience,
    check_seconds,
    check_whole,
    make_generator,
    seconds_limit,
)
from widemargin.structured.answers import Answers
from widemargin.structured.beam import UPDATES
from widemargin.structured.estimator import StructuredEstimator
from widemargin.structured.mistake_bound import certify_run
from widemargin.structured.task import Score, Task, count_features
from widemargin.structured.task_file import read_task_model, write_task_model
from widemargin.structured.training import StructuredSettings, StructuredTraining
from widemargin.structured.weights import StructuredCorrection, Weights
from widemargin.training.checkpoints import Checkpoints, as_text, digest_of, open_checkpoints
from widemargin.training.history import History
from widemargin.training.progress import watched
from widemargin.training.run import Run, Stops

RULES = ("perceptron", "pa", "pa1", "pa2")
#: Inputs, and the right answer to each.
_Examples = tuple[list[Any], list[Any]]


@dataclass(eq=False, repr=False)
class StructuredPerceptron(StructuredEstimator):
    """Learn to score answers so that the right one scores best (Collins 2002).

        for each example (x, y):
            y* = argmax of the score of f(x, y')
            if y* != y:  w += eta (f(x, y) - f(x, y*))

    Parameters
    ----------
    task : Task
        What to predict: its features and its argmax.
    keep : {"last", "average", "vote"}
        What to predict with: the last weights, their average, or a vote of all weights.
    rule : {"perceptron", "pa", "pa1", "pa2"}
        "perceptron" takes steps of eta. The others (MIRA) step just far enough for the right
        answer to lead by the cost of the wrong one: uncapped, capped at C, softened by 1/2C.
    C : float
        The aggressiveness of pa1 and pa2.
    eta : float or (float, float)
        Step size, or (eta0, power): eta0 / t ** power at example t.
    epochs : int
        Maximum number of passes over the examples.
    shuffle : bool, "once", "rows" or "draw"
        Whether to visit the examples in a new order in every epoch (True or "rows"), to shuffle
        them once, or to draw them with replacement.
    cost_augmented : bool
        Search for the answer with the best score plus cost, and so also learn from right answers
        that lead by too little. The task must have `argmax_with_cost` or `candidates`.
    beam : int
        Width of the beam search; 0 uses the task's argmax.
    update : {"max-violation", "early", "whole"}
        What to update after a beam search: the part of the answer where the right one is furthest
        behind, the part up to where it fell off the beam, or the whole answer.
    validation : float
        Share of the examples to hold out if `fit` is given no held-out examples.
    patience : int or None
        Stop when the held-out score has not improved for this many epochs; with None it is only
        measured.
    max_seconds : float or None
        Stop after this many seconds.
    log : bool
        Record every correction, for the certificate; keep="vote" always does.
    random_state : int, Generator or None
        Seed of the random generator, or the generator itself.
    progress : bool or None
        Show a progress line; None shows it if standard error is a terminal.

    Attributes
    ----------
    history_ : History
        What happened in each epoch.
    log_ : list of StructuredCorrection
        Every correction: the example, the feature difference and the step size.

    Examples
    --------
    >>> class Sentiment(Task):
    ...     def features(self, x, y):
    ...         return [f"{word} {y}" for word in x.split()]
    ...     def candidates(self, x):
    ...         return ["bad", "good"]
    >>> model = StructuredPerceptron(Sentiment(), keep="last", shuffle=False)
    >>> model = model.fit(["what fun", "no fun"], ["good", "bad"])
    >>> model.predict(["what", "no"]), model["no bad"]
    (['good', 'bad'], 1.0)

    References
    ----------
    Collins (2002), Discriminative training methods for hidden Markov models; Crammer et al. (2006),
    Online passive-aggressive algorithms; Huang, Fayong and Guo (2012), Structured perceptron with
    inexact search.
    """

    task: Task
    _: KW_ONLY
    keep: str = "average"
    rule: str = "perceptron"
    C: float = 1.0
    eta: Eta = 1.0
    epochs: int = 10
    shuffle: Shuffle = True
    cost_augmented: bool = False
    beam: int = 0
    update: str = "max-violation"
    validation: float = 0.0
    patience: int | None = 5
    max_seconds: float | None = None
    log: bool = False
    random_state: Any = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        self.history_ = History()
        self._weights = Weights()
        self._answers: Answers | None = None
        self._rng: np.random.Generator | None = None
        self._longest = 0.0
        self._seen = 0
        self._eta: Eta = self.eta

    def __sklearn_is_fitted__(self) -> bool:
        return self._seen > 0 or bool(self._weights.start)

    def _check(self) -> None:
        for name, value, known in (
            ("keep", self.keep, KEEPS),
            ("rule", self.rule, RULES),
            ("shuffle", self.shuffle, SHUFFLES),
            ("update", self.update, UPDATES),
        ):
            check_choice(name, value, known)
        check_whole("epochs", self.epochs, least=1)
        check_patience(self.patience)
        check_whole("beam", self.beam, least=0)
        check_fraction("validation", self.validation)
        check_seconds("max_seconds", self.max_seconds)
        if self.cost_augmented and self.beam:
            raise ValueError(
                "cost_augmented=True searches with argmax, not with a beam: use beam=0"
            )

    def _uses(self, held_out: bool) -> dict[str, Use]:
        """Which parameters have an effect, given whether there are held-out examples."""
        return {
            **uses_of_rule(self.rule, RULES),
            **uses_of_held_out(self.validation, held_out),
            "update": Use(self.beam > 0, "with beam=0", "with a beam"),
        }

    # Learning

    def fit(
        self,
        X: Sequence[Any],
        Y: Sequence[Any],
        X_val: Any = None,
        Y_val: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from examples, starting from weights that were set by hand, if any.

        Parameters
        ----------
        X, Y : sequences of the same length
            The inputs and the right answers.
        X_val, Y_val : sequences
            Held-out examples, scored after every epoch; the best weights are kept.
        checkpoint : path, optional
            A folder where the training is saved regularly. An interrupted run of the same training
            is resumed from there, with bit-for-bit the same result.
        """
        settings = self._settings()
        refuse_unused(changed(self), self._uses(held_out=X_val is not None))
        examples = _paired(X, Y)
        self._rng = make_generator(self.random_state)
        which, held_out = self._hold_out(examples, X_val, Y_val)
        start = {name: weight for name, weight in self._weights.start.items() if weight}
        self._weights = Weights(dict(start), start=start)
        self.history_, self._longest, self._seen = History(), 0.0, 0
        task = partial(self._task, examples, which, held_out)
        with open_checkpoints(checkpoint, task) as checkpoints:
            return self._learn(settings, examples, which, held_out, self.epochs, checkpoints)

    def _task(
        self, examples: _Examples, which: np.ndarray, held_out: _Examples | None
    ) -> dict[str, Any]:
        """Identify the training, so that only its own checkpoints are resumed."""
        params = as_text(self._settable())
        parts = (*examples, which, *(held_out or ()))
        return {"learner": ["StructuredPerceptron", params], "examples": digest_of(*parts)}

    def _settable(self) -> dict[str, Any]:
        """All parameters except the task."""
        params = self.get_params(deep=False)
        del params["task"]
        return params

    def partial_fit(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """Continue learning with one epoch over more examples."""
        settings, examples = self._settings(), _paired(X, Y)
        if self._rng is None:
            self._rng = make_generator(self.random_state)
        return self._learn(settings, examples, _all_of(examples), None, 1)

    def _hold_out(
        self, examples: _Examples, X_val: Any, Y_val: Any
    ) -> tuple[np.ndarray, _Examples | None]:
        """The places of the examples to learn from, and the held-out examples, if any."""
        which = _all_of(examples)
        if (X_val is None) != (Y_val is None):
            raise ValueError("give both X_val and Y_val, or neither")
        if X_val is not None:
            return which, _paired(X_val, Y_val)
        if not self.validation:
            return which, None
        assert self._rng is not None
        chosen = self._rng.permutation(len(which))[: max(1, round(self.validation * len(which)))]
        which = np.setdiff1d(which, chosen.astype(np.uint64))
        if not len(which):
            raise DataError("all examples are held out: there are none to learn from")
        X, Y = examples
        return which, ([X[i] for i in chosen], [Y[i] for i in chosen])

    def _learn(
        self,
        settings: StructuredSettings,
        examples: _Examples,
        which: np.ndarray,
        held_out: _Examples | None,
        epochs: int,
        checkpoints: Checkpoints | None = None,
    ) -> Self:
        """Learn from examples, continuing from the weights so far."""
        assert self._rng is not None
        self.history_.depart(self._without_bound())
        if self._seen and self._eta != self.eta:
            self.history_.depart(STEPS)
        self._eta = self.eta
        orders = EpochOrders(which, self.shuffle, self._rng)
        training = StructuredTraining(
            self.task, self._weights, settings, examples, orders, held_out
        )
        training.longest = self._longest
        stops = Stops(epochs, self.patience, max_seconds=seconds_limit(self.max_seconds))
        with watched(self.progress, epochs) as watch:
            run = Run(
                training,
                stops,
                held_out=held_out is not None,
                watch=watch,
                checkpoints=checkpoints,
            )
            found = run.finish()
        if len(self.history_):  # an earlier call
            self.history_.extend_by_call(found)
        else:
            self.history_.extend(found)
        self._weights, self._longest = training.weights, training.longest
        self._seen += run.position.seen
        self._answers = None
        if watch.interrupted:
            raise KeyboardInterrupt
        return self

    def _settings(self) -> StructuredSettings:
        """Check the parameters, and convert them to the form that the training takes."""
        self._check()
        rule = make_rule(self.rule, eta=self.eta, C=self.C)
        return StructuredSettings(
            rule, self.keep, self.log, self.cost_augmented, self.beam, self.update
        )

    # Answers

    def predict(self, X: Sequence[Any]) -> list[Any]:
        """The best answer for each x."""
        return [self.predict_one(x) for x in X]

    def predict_one(self, x: Any) -> Any:
        """The best answer for one x."""
        return self._asked.best(x)

    @property
    def _asked(self) -> Answers:
        """The current predictor; rebuilt when the weights have changed."""
        if self._answers is None:
            self._answers = Answers(self.task, self._weights, self.keep, self.beam)
        return self._answers

    def rank(self, x: Any) -> list[tuple[float, Any]]:
        """All candidates with their scores, best first; the task must list its candidates."""
        score = Score(self.weights_)
        scored = [(score(self.task.features(x, y)), y) for y in self.task.candidates(x)]
        return sorted(scored, key=lambda one: -one[0])

    def explain(self, x: Any, y: Any = None) -> list[tuple[str, float, float]]:
        """The features of an answer (default: the predicted one) as (name, value, weight).

        The strongest come first.
        """
        weights = self.weights_
        features = count_features(self.task.features(x, self.predict_one(x) if y is None else y))
        found = [(name, value, weights.get(name, 0.0)) for name, value in features.items()]
        return sorted(found, key=lambda one: -abs(one[1] * one[2]))

    def score(self, X: Sequence[Any], Y: Sequence[Any]) -> float:
        """The mean quality of the answers: accuracy, unless the task defines another quality."""
        return self._asked.quality(*_paired(X, Y, "score"))

    # Weights by name

    @property
    def weights_(self) -> dict[str, float]:
        """The weights used to predict, by feature name; with keep="vote", the average."""
        return self._asked.weights

    @property
    def last_weights_(self) -> dict[str, float]:
        """The last weights."""
        return dict(self._weights.last)

    @property
    def log_(self) -> list[StructuredCorrection]:
        """Every correction, in order; empty unless corrections are recorded."""
        return self._weights.log

    def __getitem__(self, name: str) -> float:
        """The weight of a feature; 0 if it has none."""
        return self.weights_.get(name, 0.0)

    def __setitem__(self, name: str, weight: float) -> None:
        """Set the weight of a feature by hand."""
        if self.keep == "vote" and self._weights.log:
            raise ValueError("weights cannot be set with keep='vote'; use 'last' or 'average'")
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is not a feature name: feature names are strings")
        self._weights.put(name, weight)
        self._answers = None

    def set_weights(self, weights: Mapping[str, float]) -> Self:
        """Set weights by hand; others stay as they are."""
        for name, weight in weights.items():
            self[name] = weight
        return self

    def top_features(self, n: int = 10) -> list[tuple[str, float]]:
        """The features with the largest absolute weights."""
        return sorted(self.weights_.items(), key=lambda one: (-abs(one[1]), one[0]))[:n]

    # Trust

    def certificate(
        self,
        separator: Mapping[str, float] | None = None,
        X: Sequence[Any] = (),
        Y: Sequence[Any] = (),
    ) -> RunCertificate:
        """The number of mistakes and its bound (R / gamma)^2; R: the longest feature difference.

        Parameters
        ----------
        separator : dict of str to float
            Weights known to rank every right answer first; by default the last weights.
        X, Y : sequences
            The training examples. With them, and a task that lists its candidates, the margin is
            measured over all wrong answers; otherwise only over those that were corrected
            (`log=True`), which is all that the theorem needs. A beam needs `log=True` in any case.
        """
        examples = list(zip(*_paired(X, Y), strict=True)) if len(X) or len(Y) else []
        no_bound = self.history_.no_bound or self._without_bound()
        if self.beam and len(self.log_) < self.history_.mistakes:
            no_bound = no_bound or "a beam compares parts of answers, not all of which are logged"
        return certify_run(
            self.task,
            self._weights,
            self.history_,
            self._longest,
            no_bound,
            separator,
            examples,
        )

    @property
    def certificate_(self) -> RunCertificate:
        """What the training alone proves; `certificate(separator, X, Y)` can prove more."""
        return self.certificate()

    def _without_bound(self) -> str:
        """Why the theorem does not apply to this training; empty if it does."""
        if self.rule != "perceptron":
            return f"the rule {self.rule} takes steps of different lengths"
        if isinstance(self.eta, tuple):
            return "the step size changes"
        if self.cost_augmented:
            return "it also learns from right answers whose lead is small"
        if self.beam and self.update == "whole":
            return "with a beam, an update of whole answers may be made without a violation"
        if any(self._weights.start.values()):
            return "it did not start from zero weights"
        return ""

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a file, which names the task but does not store it."""
        self._settings()  # an error now, rather than a file that cannot be loaded
        params, rng = self._settable(), self._rng
        about = {
            "longest": self._longest,
            "seen": self._seen,
            "count": self._weights.count,
            "generator": None if rng is None else pack_value(rng.bit_generator.state),
            "eta": pack_value(self._eta),
        }
        write_task_model(path, self.task, self._weights, params, self.history_, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], task: Task | None = None) -> Self:
        """Read a model.

        Parameters
        ----------
        path : path
            A file that `save` wrote.
        task : Task
            The task. By default it is created from the class named in the file, with its saved
            parameters; that class must be part of widemargin, or its module already imported.
        """
        task, weights, params, history, about = read_task_model(path, task)

        def make(*_: Any) -> Any:
            model = cls(task, **params)
            model._settings()  # an error if they cannot be learned with
            model._eta = unpack_value(about["eta"]) if "eta" in about else model.eta
            return model

        model: Self = restore(path, {}, about, make)
        model._weights, model.history_ = weights, history
        model._longest, model._seen = about["longest"], about["seen"]
        model._rng = about["generator"]
        return model


def _paired(X: Sequence[Any], Y: Sequence[Any], purpose: str = "learn from") -> _Examples:
    """The inputs and the answers as lists; an error if they do not fit each other."""
    for name, given in (("X", X), ("Y", Y)):
        if not isinstance(given, Iterable):
            what = "the inputs" if name == "X" else "the right answers"
            raise DataError(f"{name}={given!r:.40} must be a sequence of {what}")
    X, Y = list(X), list(Y)
    if len(X) != len(Y):
        raise DataError(f"{len(X)} examples, but {len(Y)} answers")
    if not X:
        raise DataError(f"there are no examples to {purpose}")
    return X, Y


def _all_of(examples: _Examples) -> np.ndarray:
    """The places of all examples."""
    return np.arange(len(examples[0]), dtype=np.uint64)
