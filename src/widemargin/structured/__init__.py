"""Structured prediction: tags, trees and anything else with an argmax."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; when run, names load on first use
    from widemargin.data.readers.conll import read_conll
    from widemargin.data.readers.conll_writer import write_conll
    from widemargin.data.readers.corpus import Corpus
    from widemargin.structured.annotator.annotator import Annotator
    from widemargin.structured.annotator.model import load_annotator
    from widemargin.structured.lemmas.lemmatizer import Lemmatizer
    from widemargin.structured.lemmas.model import load_lemmatizer
    from widemargin.structured.morphology.model import load_morphologizer
    from widemargin.structured.morphology.morphologizer import Morphologizer
    from widemargin.structured.parser.model import load_parser
    from widemargin.structured.parser.parser import Parser
    from widemargin.structured.parser.trees import check_trees, heads_of, measure_trees
    from widemargin.structured.perceptron import StructuredPerceptron
    from widemargin.structured.spans import (
        convert_tags,
        find_illegal,
        find_spans,
        measure_spans,
        scheme_of,
    )
    from widemargin.structured.tagger.model import load_tagger
    from widemargin.structured.tagger.tagger import Tagger
    from widemargin.structured.task import Score, Task, check_decoder
    from widemargin.structured.tokenizer.model import load_tokenizer
    from widemargin.structured.tokenizer.tokenizer import Tokenizer

#: Public names, and the modules that they are loaded from when first used.
_HOMES = {
    "Annotator": "widemargin.structured.annotator.annotator",
    "Corpus": "widemargin.data.readers.corpus",
    "Lemmatizer": "widemargin.structured.lemmas.lemmatizer",
    "Morphologizer": "widemargin.structured.morphology.morphologizer",
    "Parser": "widemargin.structured.parser.parser",
    "Score": "widemargin.structured.task",
    "StructuredPerceptron": "widemargin.structured.perceptron",
    "Tagger": "widemargin.structured.tagger.tagger",
    "Task": "widemargin.structured.task",
    "Tokenizer": "widemargin.structured.tokenizer.tokenizer",
    "check_decoder": "widemargin.structured.task",
    "check_trees": "widemargin.structured.parser.trees",
    "convert_tags": "widemargin.structured.spans",
    "find_illegal": "widemargin.structured.spans",
    "find_spans": "widemargin.structured.spans",
    "heads_of": "widemargin.structured.parser.trees",
    "load_annotator": "widemargin.structured.annotator.model",
    "load_lemmatizer": "widemargin.structured.lemmas.model",
    "load_morphologizer": "widemargin.structured.morphology.model",
    "load_parser": "widemargin.structured.parser.model",
    "load_tagger": "widemargin.structured.tagger.model",
    "load_tokenizer": "widemargin.structured.tokenizer.model",
    "measure_spans": "widemargin.structured.spans",
    "measure_trees": "widemargin.structured.parser.trees",
    "read_conll": "widemargin.data.readers.conll",
    "scheme_of": "widemargin.structured.spans",
    "write_conll": "widemargin.data.readers.conll_writer",
}
__all__ = [
    "Annotator",
    "Corpus",
    "Lemmatizer",
    "Morphologizer",
    "Parser",
    "Score",
    "StructuredPerceptron",
    "Tagger",
    "Task",
    "Tokenizer",
    "check_decoder",
    "check_trees",
    "convert_tags",
    "find_illegal",
    "find_spans",
    "heads_of",
    "load_annotator",
    "load_lemmatizer",
    "load_morphologizer",
    "load_parser",
    "load_tagger",
    "load_tokenizer",
    "measure_spans",
    "measure_trees",
    "read_conll",
    "scheme_of",
    "write_conll",
]


if not TYPE_CHECKING:  # a type checker that saw this would accept misspelt names

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'widemargin.structured' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
