"""Load saved estimators from model files."""

from __future__ import annotations

import os
from typing import Any

from widemargin.data.encode.registry import sole_text
from widemargin.data.encode.table import TableEncoder
from widemargin.data.encode.text import TextEncoder
from widemargin.errors import ModelFileError
from widemargin.estimators.answers import LinearAnswers
from widemargin.estimators.kernel_answers import KernelAnswers
from widemargin.estimators.kernel_perceptron import KernelPerceptron
from widemargin.estimators.kernel_svm import KernelSVM
from widemargin.estimators.linear_svm import LinearSVM
from widemargin.estimators.online_logistic import OnlineLogistic
from widemargin.estimators.passive_aggressive import PassiveAggressive
from widemargin.estimators.perceptron import Perceptron
from widemargin.estimators.table import TableClassifier
from widemargin.estimators.text import TextClassifier
from widemargin.modelfile.files import read_model_file, restore
from widemargin.models.linear import model_of
from widemargin.structured.annotator.annotator import Annotator
from widemargin.structured.lemmas.lemmatizer import Lemmatizer
from widemargin.structured.morphology.morphologizer import Morphologizer
from widemargin.structured.parser.parser import Parser
from widemargin.structured.perceptron import StructuredPerceptron
from widemargin.structured.registry import SENTENCE_LEARNERS, TASK_LEARNER
from widemargin.structured.tagger.tagger import Tagger
from widemargin.structured.tokenizer.tokenizer import Tokenizer

_LEARNERS: dict[str, Any] = {
    learner.__name__: learner
    for learner in (
        Perceptron,
        PassiveAggressive,
        OnlineLogistic,
        LinearSVM,
        KernelPerceptron,
        KernelSVM,
    )
}


def load(
    path: str | os.PathLike[str],
) -> (
    LinearAnswers
    | KernelAnswers
    | TableClassifier
    | TextClassifier
    | Tagger
    | Parser
    | Tokenizer
    | Lemmatizer
    | Morphologizer
    | Annotator
    | StructuredPerceptron
):
    """Load a trained learner from a file written by `save` or by the shell program.

    It predicts exactly as the saved learner did; online learners can continue training. A model for
    tables becomes a `TableClassifier`; one for texts becomes a `TextClassifier`, which takes
    strings, and if the shell program trained it on a column of a table, also tables with that
    column; a model that the shell program trained on other files takes rows as returned by
    `widemargin.read`.

    Raises
    ------
    ModelFileError
        If the file is not a model, is truncated or modified, or was written by a newer version.

    Examples
    --------
    >>> import widemargin
    >>> widemargin.Perceptron(random_state=0).fit([[0, 1], [1, 0]], ["a", "b"]).save("small.wm")
    >>> learner = widemargin.load("small.wm")
    >>> learner.predict([[2, 0]]).tolist()
    ['b']
    """
    arrays, about = read_model_file(path)
    learner = str(about.get("learner"))
    if learner == TASK_LEARNER:
        return StructuredPerceptron.load(path)
    if learner in SENTENCE_LEARNERS:
        return restore(path, arrays, about, _sentence_learner)
    model = model_of(path, arrays, about)
    if model.learner not in _LEARNERS:
        raise ModelFileError(f"{path}: made by the unknown learner {model.learner!r:.50}")
    return restore(path, arrays, about, lambda *_: estimator_of(model))


def _sentence_learner(arrays: dict[str, Any], about: dict[str, Any]) -> Any:
    """Restore a learner of sentences from the content of a file."""
    kind = SENTENCE_LEARNERS[about["learner"]].load_model()
    return estimator_of(kind.of(arrays, about))


def estimator_of(model: Any) -> Any:
    """Make the estimator of a model: a learner of rows, tables, texts or sentences."""
    if model.learner in SENTENCE_LEARNERS:
        estimator = SENTENCE_LEARNERS[model.learner].load_estimator()
        return estimator(**model.params).restore(model)
    params = model.params
    if model.learner == LinearSVM.__name__:  # the shell stores what was given, not the defaults
        params = {"loss": model.rule, **params}
    learner = _LEARNERS[model.learner](**params)
    encoder: Any = model.encoder
    if isinstance(encoder, TableEncoder):
        if sole_text(encoder) is None:
            return TableClassifier.of(learner, encoder).restore(model)
        encoder = encoder.text
    if isinstance(encoder, TextEncoder):
        return TextClassifier(learner, **encoder.options).restore(model)
    return learner.restore(model)
