"""The base class of learners that choose among candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self, TypeVar

from widemargin.data.readers.corpus import Corpus
from widemargin.parameters.values import (
    check_patience,
    check_positive,
    check_seconds,
    check_whole,
    make_generator,
    seconds_limit,
)
from widemargin.structured.choices.chooser import Chooser
from widemargin.structured.choices.training import ChoiceSettings, learn_choices
from widemargin.structured.estimator import SentenceEstimator, Trained
from widemargin.structured.sentences import corpus_of, hold_out
from widemargin.training.run import Stops, Watch

#: Weights below this are dropped.
_LEAST = 1e-3

Model = TypeVar("Model", bound=Trained)


class ChoiceEstimator(SentenceEstimator[Model]):
    """A learner that chooses among a few candidates out of many labels."""

    epochs: int
    C: float
    bits: int
    validation: Any
    patience: int | None
    max_seconds: float | None
    random_state: Any

    def fit(self, sentences: Any, y: None = None, *, watch: Watch | None = None) -> Self:
        """Learn from sentences.

        Parameters
        ----------
        sentences : Corpus, path or dict of columns
            The columns must include those to be learned, and `tags`.
        y : None
            Not used: the answers are columns of the sentences.
        watch : callable
            Called with the progress so far; return True to stop.
        """
        settings = self._settings()
        rng = make_generator(self.random_state)
        corpus, held_out = hold_out(self.validation, corpus_of(sentences), rng)
        learn = partial(learn_choices, settings=settings, rng=rng, watch=watch)
        self.model_ = self._learn(corpus, held_out, learn)
        return self

    def _learn(self, corpus: Corpus, held_out: Corpus | None, learn: Callable[..., Chooser]) -> Any:
        """The model of a corpus; `learn` takes a chooser, words, their labels, and the score."""
        raise NotImplementedError

    def _settings(self) -> ChoiceSettings:
        """The training settings, after checking the parameters."""
        check_whole("epochs", self.epochs, least=1)
        check_positive("C", self.C, infinite=True)
        check_whole("bits", self.bits, 8, 28)
        check_patience(self.patience)
        check_seconds("max_seconds", self.max_seconds)
        stops = Stops(self.epochs, self.patience, max_seconds=seconds_limit(self.max_seconds))
        return ChoiceSettings(self.C, self.bits, stops, _LEAST)


def find_columns(corpus: Corpus, **given: str | Sequence[str]) -> list[tuple[str, ...]]:
    """The names of the columns in each parameter: one or several, by their names or numbers."""
    for called, columns in given.items():
        _check_names(called, columns, _listed(columns))
    found = [tuple(map(corpus.name_of, _listed(columns))) for columns in given.values()]
    for (called, columns), names in zip(given.items(), found, strict=True):
        _check_names(called, columns, names)
    return found


def _listed(columns: Any) -> Sequence[Any]:
    """The columns in a parameter, which may be a single one."""
    return columns if isinstance(columns, (list, tuple)) else (columns,)


def _check_names(called: str, columns: Any, names: Sequence[Any]) -> None:
    """Raise an error unless a parameter has at least one name, and none twice."""
    if (
        not names
        or not all(isinstance(name, str) and name for name in names)
        or len(set(names)) < len(names)
    ):
        raise ValueError(f"{called}={columns!r:.60} must be a column or several different ones")
