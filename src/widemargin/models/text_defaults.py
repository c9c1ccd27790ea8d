"""Default learners for texts and tables, in Python and in the shell.

If texts are the only features, the default is `WHOLE`, or `PIECEWISE` if not all of them are
available at once; in all other cases it is `BESIDE`. The defaults for texts were chosen on held-out
training documents of twelve sets (IMDB, Rotten Tomatoes, SMS spam, ATIS intents and groups of the
20 newsgroups): see `docs/guide/text.md`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from widemargin.models.linear import LinearModel
from widemargin.online.state import State
from widemargin.training.history import History

#: Words and pairs of words.
NGRAMS = 2


class TextDefault(NamedTuple):
    """A learner, its parameters, and how texts are encoded for it."""

    learner: str  # its name in Python
    parameters: dict[str, Any]
    idf: bool | str  # whether rare words have more weight
    ngrams: int = NGRAMS


#: For documents that are all available at once.
WHOLE = TextDefault("LinearSVM", {"C": 2.0, "loss": "squared_hinge"}, "seen")
#: For documents that come in pieces, whose frequencies are not known in advance.
PIECEWISE = TextDefault(
    "PassiveAggressive", {"rule": "pa2", "C": 0.5, "epochs": 5, "fit_intercept": "auto"}, False
)
#: For tables with columns other than texts.
BESIDE = TextDefault("Perceptron", {"fit_intercept": "auto"}, False, 1)
#: The warning when documents are learned in pieces although all at once would be better.
PIECEWISE_NOTICE = "a passive-aggressive learner without idf is used instead of an SVM"
#: The warning when an SVM continues to learn.
ONLINE_NOTICE = (
    "an SVM needs all documents at once: it continues with passive-aggressive steps; train it"
    " again on all documents for the best model"
)


def make_online(model: LinearModel) -> LinearModel:
    """Convert an SVM to a passive-aggressive learner that starts from its weights.

    An SVM of several classes scores -1 where an example is not of a class and +1 where it is. The
    passive-aggressive learner wants the correct class to lead by 2, and a new class starts with the
    score 0; so all scores are raised by 1, which does not change predictions.
    """
    weights, columns = model.state.last(), model.state.columns
    if len(weights) > 1 and model.bias:
        weights[:, -1] += weights.dtype.type(1.0 / model.bias)
    parameters = {**PIECEWISE.parameters, "fit_intercept": model.bias}
    if model.params.get("class_weight") is not None:
        parameters["class_weight"] = model.params["class_weight"]
    return replace(
        model,
        state=State.begin(
            weights, "average", joint=True, columns=None if columns is None else columns.copy()
        ),
        keep="average",
        rule=parameters["rule"],
        learner=PIECEWISE.learner,
        params={**parameters, "random_state": model.params.get("random_state")},
        history=History(),
        certificate=None,
    )
