"""Collecting what a report says about a model of any kind.

Support for a new kind of model belongs here and nowhere else: `Reportable` lists what a report
uses. Everything but `history` is optional; the report leaves out what a model does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from widemargin.data.encode.registry import sole_text
from widemargin.data.encode.text import TextEncoder
from widemargin.errors import DataError
from widemargin.evaluate.predictions import Exam, examine
from widemargin.models.threshold import describe_threshold
from widemargin.separability.linear_trainings import begin_run
from widemargin.structured.annotator.model import AnnotatorModel
from widemargin.structured.examination import SentenceExam, examine_sentences
from widemargin.structured.parser.model import ParserModel
from widemargin.structured.sentences import corpus_of
from widemargin.structured.tagger.model import TaggerModel
from widemargin.training.history import History

#: The largest number of tags whose features are collected.
_TAGS = 24
#: Number of features to show for each class, or of rows of a kernel model.
_SHOWN = 10
#: The length at which descriptions are cut.
_LETTERS = 200


class Reportable(Protocol):
    """The attributes and methods of a model that a report uses.

    Optional: `learner` (its name), `params` (its parameters), `classes`, `certificate`
    (with a readable `str`), `top_features(n)` (names and weights by class) or, for a kernel model,
    `top_rows(n, first)`, `explain(x, top)`, `decision_function` and `predict` (for evaluation), and
    `facts()`, which returns more lines (name, value) for the table of what was trained: kernels,
    budgets, templates, tag sets. Taggers and parsers are evaluated by `examine_sentences`.
    """

    history: History


@dataclass
class Subject:
    """A model as a report sees it.

    Attributes
    ----------
    name : str
        A short name of the model.
    learner : str
        The class that trained it.
    params : dict
        The parameters of the learner.
    facts : list of (str, value)
        More lines for the table.
    history : History
    classes : list or None
    certificate : object or None
    top : dict or None
        The strongest features of each class.
    model : object
        The model itself, for evaluation.
    class_word : str
        The word for its classes, such as "tags".
    top_words : str
        A sentence that describes the strongest features.
    """

    name: str
    learner: str
    params: Mapping[str, Any]
    facts: Sequence[tuple[str, Any]]
    history: History
    classes: list[Any] | None
    certificate: Any
    top: Mapping[Any, list[tuple[str, float]]] | None
    model: Any = field(repr=False, default=None)
    class_word: str = "classes"
    top_words: str = "The features with the largest weights for each class."

    @property
    def learns_from(self) -> str:
        """The word for what the learner learns from."""
        return "sentence" if self.learner in ("Tagger", "Parser", "Annotator") else "example"


def subject_of(fitted: Any, first: int = 0) -> Subject:
    """Collect the content of a report about an estimator or a model.

    Parameters
    ----------
    fitted : estimator or model
    first : int
        The number of the first row of the training data.
    """
    model = getattr(fitted, "model_", fitted)
    if hasattr(model, "models"):
        raise DataError(
            "a model of several labels per row has no report: report each of its estimators_"
        )
    history = getattr(model, "history", getattr(fitted, "history_", None))
    if not isinstance(history, History):
        raise DataError(
            f"a report needs a training history, which {type(fitted).__name__} does not have"
        )
    learner = str(getattr(model, "learner", type(fitted).__name__))
    params = getattr(model, "params", None)
    if params is None:
        params = fitted.get_params(deep=False) if hasattr(fitted, "get_params") else {}
    classes, word = _classes_of(fitted, model)
    linear = hasattr(model, "state") and hasattr(type(model), "coef")
    more = list(model.facts()) if hasattr(model, "facts") else []
    if getattr(model, "threshold", 0.0):
        more.append(("threshold", describe_threshold(model)))
    certificate = getattr(model, "certificate", None)
    if certificate is None:
        certificate = begin_run(model) if linear else getattr(fitted, "certificate_", None)
    return Subject(
        name=_linear_name(model) if linear else str(getattr(model, "called", learner)),
        learner=learner,
        params=params,
        facts=[*(_linear_facts(model) if linear else []), *more],
        history=history,
        classes=None if classes is None else np.asarray(classes).tolist(),
        certificate=certificate,
        top=_strongest(model, first),
        model=model,
        class_word=word,
        top_words=_TOP_ROWS if hasattr(model, "top_rows") else Subject.top_words,
    )


_TOP_ROWS = "The rows of the training data with the largest coefficients for each class."


def _classes_of(fitted: Any, model: Any) -> tuple[Any, str]:
    """The classes of a model, and the word for them."""
    if isinstance(model, TaggerModel):
        return model.shown_tags, "tags"
    if isinstance(model, ParserModel):
        return model.labels, "labels of arcs"
    return getattr(model, "classes", getattr(fitted, "classes_", None)), "classes"


def _strongest(model: Any, first: int) -> Mapping[Any, list[tuple[str, float]]] | None:
    """The strongest features of each class, or rows of a kernel model; None without names."""
    if isinstance(model, TaggerModel):
        if model.names is None:
            return None
        found = {tag: model.top_features(_SHOWN, tag) for tag in model.tags[:_TAGS]}
        return {tag: [(one.feature, one.weight) for one in some] for tag, some in found.items()}
    if hasattr(model, "top_rows"):
        return model.top_rows(_SHOWN, first)
    return model.top_features(_SHOWN) if hasattr(model, "top_features") else None


def exam_of(fitted: Any, X: Any, y: Any = None) -> Exam | SentenceExam:
    """Evaluate an estimator or a model on labelled examples, or on sentences.

    Parameters
    ----------
    fitted : estimator or model
    X, y
        The examples and their labels; for a tagger, sentences and tags, which may be a column of
        the sentences; for a parser, sentences with trees.
    """
    model = getattr(fitted, "model_", fitted)
    if isinstance(model, TaggerModel):
        corpus = model.read_sentences(X, y)
        return examine_sentences(model, corpus, None if y is None else "tag")
    if isinstance(model, (ParserModel, AnnotatorModel)):
        if y is not None:
            raise DataError("the trees are columns of the sentences: leave out y")
        return examine_sentences(model, corpus_of(X))
    if y is None:
        raise DataError("to evaluate the model a report needs both X and y")
    return examine(model if hasattr(model, "decision_function") else fitted, X, y)


def describe_encoder(model: Any) -> str:
    """A phrase that describes where the features of a model come from."""
    encoder = model.encoder
    if encoder is None:
        return "from arrays"
    if encoder.kind == "numbers":
        return f"numbered from {encoder.first}"
    if encoder.kind == "text":
        low, high = encoder.options["ngrams"]
        grams = f"{low}-grams" if low == high else f"{low}- to {high}-grams"
        return f"hashed from texts ({encoder.options['analyzer']}, {grams})"
    return "from the columns of a table" if encoder.kind == "table" else "hashed from names"


def given_params(params: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a learner as text; long values are cut."""
    told = {}
    for name, value in params.items():
        if value is not None:
            text = " ".join(repr(value).split())
            told[name] = text if len(text) <= _LETTERS else text[:_LETTERS] + "…"
    return told


def training_code(subject: Subject) -> str:
    """A program that trains the same learner on the same kind of data."""
    learner = subject.learner
    call = _call(learner, given_params(subject.params))
    encoder = getattr(subject.model, "encoder", None)
    if subject.learns_from == "sentence":
        return f"from widemargin import {learner}\n\nmodel = {call}.fit(sentences)"
    if getattr(subject.model, "by_name", False):
        steps = "for x, label in examples:\n    model.learn_one(x, label)"
        return f"from widemargin import {learner}\n\nmodel = {call}\n{steps}"
    if encoder is None or encoder.kind not in ("text", "table"):
        return f"from widemargin import {learner}\n\nmodel = {call}.fit(X, y)"
    table = encoder.kind == "table" and sole_text(encoder) is None
    outer, given = ("TableClassifier", "table") if table else ("TextClassifier", "texts, labels")
    whole = _call(outer, given_params(_encoding(encoder, table)), call)
    return f"from widemargin import {learner}, {outer}\n\nmodel = {whole}.fit({given})"


def _call(name: str, params: Mapping[str, str], *first: str) -> str:
    return f"{name}({', '.join([*first, *(f'{key}={value}' for key, value in params.items())])})"


def _encoding(encoder: Any, table: bool) -> dict[str, Any]:
    """The parameters with which a classifier of texts or tables encodes in the same way."""
    if not table:
        options = (encoder if encoder.kind == "text" else encoder.text).options
        usual = TextEncoder().options
        return {
            name: value
            for name, value in options.items()
            if name in ("ngrams", "idf") or value != usual[name]
        }
    columns = encoder.schema.columns
    return {
        "label": encoder.schema.label,
        "text": encoder.text_columns or None,
        "columns": tuple(column.name for column in columns if column.kind != "text"),
        "categories": tuple(column.name for column in columns if column.kind == "category") or None,
        "scale": encoder.scale,
        "interactions": tuple(encoder.products.pairs) or None,
    }


def _linear_name(model: Any) -> str:
    names = {
        "Perceptron": "perceptron",
        "PassiveAggressive": "passive-aggressive classifier",
        "OnlineLogistic": "online logistic regression",
        "LinearSVM": "linear SVM",
    }
    keeps = {"last": "", "average": "averaged ", "vote": "voted "}
    return keeps[model.keep] + names.get(model.learner, model.learner)


def _linear_facts(model: Any) -> list[tuple[str, Any]]:
    state = model.state
    weights = f"{state.W.shape[0]} × {state.width:,}, {state.W.dtype}"
    used = int(np.count_nonzero(np.any(model.stored_weights[:, :-1] != 0.0, axis=0)))
    bias = ", ".join(f"{b:.4g}" for b in model.intercept[:12]) if model.bias else "none"
    found = [
        ("features", f"{state.width:,}, {describe_encoder(model)}; {used:,} have a weight"),
        ("weights", weights),
        ("bias", bias + (", …" if model.bias and len(model.intercept) > 12 else "")),
        ("rule", model.rule),
    ]
    if state.log is not None:
        found.append(("mistake log", f"{len(state.log):,} corrections kept"))
    if len(state.W) == 1 and state.width <= 12:
        found.append(("hyperplane", model.equation()))
    return found
