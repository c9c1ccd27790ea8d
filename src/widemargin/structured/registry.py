"""The learners of sentences by name: their classes, and how the shell applies and tests them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class SentenceLearner(NamedTuple):
    """A learner of sentences. Classes and functions are named here, and imported when loaded.

    Attributes
    ----------
    name : str
        The name in model files, that of the estimator.
    estimator, model : str
        Their classes, as "module:class" within `widemargin.structured`.
    command : str
        The command of the shell that applies a model.
    called : str
        Its name with an article, for messages.
    measure : str
        A function of `structured.report` that compares a model with the right answers.
    """

    name: str
    estimator: str
    model: str
    command: str
    called: str
    measure: str

    def load_estimator(self) -> Any:
        """The class of the estimator."""
        return _load(self.estimator)

    def load_model(self) -> Any:
        """The class of the model."""
        return _load(self.model)

    def load_measure(self) -> Any:
        """The function that measures a model: of a model, a corpus, and the number of threads."""
        return _load(f"report:{self.measure}")


#: All learners of sentences.
SENTENCE_LEARNERS = {
    learner.name: learner
    for learner in (
        SentenceLearner(
            "Tagger",
            "tagger.tagger:Tagger",
            "tagger.model:TaggerModel",
            "tag",
            "a tagger",
            "measure_tagger",
        ),
        SentenceLearner(
            "Parser",
            "parser.parser:Parser",
            "parser.model:ParserModel",
            "parse",
            "a parser",
            "measure_parser",
        ),
        SentenceLearner(
            "Tokenizer",
            "tokenizer.tokenizer:Tokenizer",
            "tokenizer.model:TokenizerModel",
            "tokenize",
            "a tokenizer",
            "measure_tokenizer",
        ),
        SentenceLearner(
            "Lemmatizer",
            "lemmas.lemmatizer:Lemmatizer",
            "lemmas.model:LemmatizerModel",
            "tag",
            "a lemmatizer",
            "measure_columns",
        ),
        SentenceLearner(
            "Morphologizer",
            "morphology.morphologizer:Morphologizer",
            "morphology.model:MorphologizerModel",
            "tag",
            "a morphologizer",
            "measure_columns",
        ),
        SentenceLearner(
            "Annotator",
            "annotator.annotator:Annotator",
            "annotator.model:AnnotatorModel",
            "parse",
            "an annotator",
            "measure_annotator",
        ),
    )
}
#: The learner for tasks that users write in Python.
TASK_LEARNER = "StructuredPerceptron"


def _load(named: str) -> Any:
    """Import what a name such as "module:class" within `widemargin.structured` stands for."""
    module, name = named.split(":")
    return getattr(import_module(f"widemargin.structured.{module}"), name)
