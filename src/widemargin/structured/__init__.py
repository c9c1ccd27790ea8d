"""Structured prediction: tags, trees and whatever else an argmax can find."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Public names, and the modules that they are loaded from when first used.
_HOMES = {
    "Corpus": "widemargin.data.readers.corpus",
    "Parser": "widemargin.structured.parser.parser",
    "Score": "widemargin.structured.task",
    "StructuredPerceptron": "widemargin.structured.perceptron",
    "Tagger": "widemargin.structured.tagger.tagger",
    "Task": "widemargin.structured.task",
    "check_decoder": "widemargin.structured.task",
    "check_trees": "widemargin.structured.parser.trees",
    "convert_tags": "widemargin.structured.spans",
    "find_illegal": "widemargin.structured.spans",
    "find_spans": "widemargin.structured.spans",
    "heads_of": "widemargin.structured.parser.trees",
    "load_parser": "widemargin.structured.parser.model",
    "load_tagger": "widemargin.structured.tagger.model",
    "measure_spans": "widemargin.structured.spans",
    "measure_trees": "widemargin.structured.parser.trees",
    "read_conll": "widemargin.data.readers.conll",
    "scheme_of": "widemargin.structured.spans",
    "write_conll": "widemargin.data.readers.conllout",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'widemargin.structured' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
