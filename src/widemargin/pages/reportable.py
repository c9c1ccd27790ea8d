"""What a report can say about a model of any kind.

Support for a new kind of model belongs here and nowhere else: `Reportable` lists what a report
asks for. Everything but `history` is optional; the report leaves out what a model does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from widemargin.errors import DataError
from widemargin.models.threshold import say_threshold
from widemargin.separability.linear_trainings import begin_run
from widemargin.training.history import History

#: Longer descriptions are cut.
_LETTERS = 200


class Reportable(Protocol):
    """What a model may offer to a report.

    Optional: `learner` (its name), `params` (its parameters), `classes`, `certificate`
    (with a readable `str`), `top_features(n)` (by class, names and weights), `explain(x, top)`,
    `decision_function` and `predict` (for evaluation), and `facts()`, which gives more lines
    (name, value) for the table of what was trained: kernels, budgets, templates, tag sets.
    """

    history: History


@dataclass
class Subject:
    """A model as a report sees it.

    Attributes
    ----------
    name : str
        A short name of what was trained.
    learner : str
        The class that trained it.
    params : dict
        Its parameters.
    facts : list of (str, value)
        More lines for the table.
    history : History
    classes : list or None
    certificate : object or None
    top : dict or None
        The strongest features of each class.
    model : object
        The model itself, for evaluation.
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


def subject_of(fitted: Any, top: int = 10) -> Subject:
    """Collect what a report can say about an estimator or a model."""
    model = getattr(fitted, "model_", fitted)
    if hasattr(model, "models"):
        raise DataError(
            "a model of several labels per row has no report: report each of its estimators_"
        )
    history = getattr(model, "history", getattr(fitted, "history_", None))
    if not isinstance(history, History):
        raise DataError(
            f"a report needs the history of a training, which {type(fitted).__name__} does not have"
        )
    learner = str(getattr(model, "learner", type(fitted).__name__))
    params = getattr(model, "params", None)
    if params is None:
        params = fitted.get_params(deep=False) if hasattr(fitted, "get_params") else {}
    classes = getattr(model, "classes", getattr(model, "tags", getattr(fitted, "classes_", None)))
    if isinstance(classes, str):  # where a parser's tags come from
        classes = None
    linear = hasattr(model, "state") and hasattr(model, "coef")
    more = list(model.facts()) if hasattr(model, "facts") else []
    if getattr(model, "threshold", 0.0):
        more.append(("threshold", say_threshold(model)))
    certificate = getattr(model, "certificate", None)
    if certificate is None:
        certificate = begin_run(model) if linear else getattr(fitted, "certificate_", None)
    return Subject(
        name=_linear_name(model) if linear else learner,
        learner=learner,
        params=params,
        facts=[*(_linear_facts(model) if linear else []), *more],
        history=history,
        classes=None if classes is None else np.asarray(classes).tolist(),
        certificate=certificate,
        top=_by_class(model.top_features(top)) if hasattr(model, "top_features") else None,
        model=model,
    )


def _by_class(found: Any) -> Mapping[Any, list[tuple[str, float]]]:
    """Strongest features of each class; a tagger lists (feature, tag, weight)."""
    if isinstance(found, Mapping):
        return found
    top: dict[Any, list[tuple[str, float]]] = {}
    for feature, tag, weight in found:
        top.setdefault(tag, []).append((feature, weight))
    return top


def encoder_story(model: Any) -> str:
    """A phrase that says where the features of a linear model come from."""
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
        ("features", f"{state.width:,}, {encoder_story(model)}; {used:,} have a weight"),
        ("weights", weights),
        ("bias", bias + (", …" if model.bias and len(model.intercept) > 12 else "")),
        ("rule", model.rule),
    ]
    if state.log is not None:
        found.append(("mistake log", f"{len(state.log):,} corrections kept"))
    if len(state.W) == 1 and state.width <= 12:
        found.append(("hyperplane", model.equation()))
    return found
