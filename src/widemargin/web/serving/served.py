"""Served models: loading them from files, and detecting replaced files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from widemargin.data.encode.registry import sole_text
from widemargin.errors import DataError, ModelFileError
from widemargin.modelfile.files import read_model_file, restore
from widemargin.models.linear import model_of
from widemargin.structured.registry import SENTENCE_LEARNERS, TASK_LEARNER
from widemargin.web.serving.predictor import Predictor
from widemargin.web.serving.raw_text_models import AnnotatorPredictor, TokenizerPredictor
from widemargin.web.serving.rows_model import RowsModel
from widemargin.web.serving.sentence_models import ParserPredictor, TaggerPredictor
from widemargin.web.serving.table_models import TableModel
from widemargin.web.serving.text_models import StringsModel, TextModel, VwModel
from widemargin.web.serving.vector_models import NamedModel, VectorsModel

#: The last bytes of a model file are the digest of all others.
_DIGEST_BYTES = 32
#: How models of sentences are served.
_PREDICTORS: dict[str, Callable[[Any], Predictor]] = {
    "Tagger": TaggerPredictor,
    "Parser": ParserPredictor,
    "Tokenizer": TokenizerPredictor,
    "Annotator": AnnotatorPredictor,
}


@dataclass(frozen=True)
class Served:
    """A served model.

    It never changes: a replaced file becomes another object.

    Attributes
    ----------
    name : str
        The name for clients: that of the file without its extension.
    path : str
        The file.
    digest : str
        The SHA-256 of the file's content in hexadecimal digits, as stored in the file itself.
    version : tuple
        The version of the file, to detect that it was replaced.
    predictor : Predictor
        The model.
    """

    name: str
    path: str
    digest: str
    version: tuple[int, ...]
    predictor: Predictor

    def describe(self) -> dict[str, Any]:
        """Describe the model for clients."""
        return {"name": self.name, "digest": self.digest, **self.predictor.describe()}


def version_of(path: str) -> tuple[int, ...]:
    """A tuple that changes when a file is replaced or written to; () if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def name_of(path: str) -> str:
    """The name of the model of a file for clients.

    >>> name_of("models/spam.v2.wm")
    'spam.v2'
    """
    return os.path.splitext(os.path.basename(path))[0]


def load_served(path: str, name: str) -> Served:
    """Load a model and warm it up, so that the first request is fast."""
    version = version_of(path)
    arrays, about = read_model_file(path)
    with open(path, "rb") as file:
        file.seek(-_DIGEST_BYTES, os.SEEK_END)
        digest = file.read().hex()
    if version_of(path) != version:
        raise ModelFileError(f"{path}: was replaced while it was read; it will be read again")
    served = Served(name, path, digest, version, make_predictor(path, arrays, about))
    served.predictor.warm_up()
    return served


def make_predictor(path: str, arrays: dict[str, Any], about: dict[str, Any]) -> Predictor:
    """Restore the model from a file's content and wrap it for serving."""
    learner = str(about.get("learner"))
    if learner in SENTENCE_LEARNERS:
        known = SENTENCE_LEARNERS[learner]
        if learner not in _PREDICTORS:
            raise DataError(
                f"{path}: {known.called} cannot be served, as it needs tags: serve an annotator"
            )
        return _PREDICTORS[learner](restore(path, arrays, about, known.load_model().of))
    if learner == TASK_LEARNER:
        raise DataError(f"{path}: is a model of a task written in Python: load it in Python")
    return _make_row_predictor(path, model_of(path, arrays, about))


def _make_row_predictor(path: str, model: Any) -> RowsModel:
    """Wrap a model of rows for serving, by the kind of its examples."""
    encoder: Any = model.encoder
    kernel = getattr(model, "kernel", None)
    if kernel is not None and kernel.on_objects:
        if kernel.function is None:
            raise DataError(
                f"{path}: its kernel is the function {kernel.called!r}, which a file cannot store:"
                " use the model in Python"
            )
        return StringsModel(model)
    if model.by_name:
        return NamedModel(model)
    if encoder is None or encoder.kind == "numbers":
        return VectorsModel(model)
    if encoder.kind == "table":
        column = sole_text(encoder)
        if column is None:
            return TableModel(model)
        return TextModel(replace(model, encoder=encoder.text), column)
    return TextModel(model) if encoder.kind == "text" else VwModel(model)


def named_paths(paths: Sequence[str]) -> dict[str, str]:
    """The files by the names of their models; duplicate names are refused."""
    found: dict[str, str] = {}
    for path in paths:
        name = name_of(path)
        if name in found:
            raise DataError(
                f"{found[name]} and {path} would both be called {name}; rename one of them"
            )
        found[name] = path
    return found
