"""Files of structured models: models within models, and one reader for all kinds."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from widemargin.certificates.certificate import RunCertificate
from widemargin.errors import ModelFileError
from widemargin.modelfile.checks import check_counts, check_kinds
from widemargin.modelfile.files import Contents, SavedModel, read_model_file, restore
from widemargin.structured.registry import SENTENCE_LEARNERS
from widemargin.training.checkpoints import prefixed


class Cacheless:
    """A dataclass whose cached values are not pickled; they are recomputed on demand."""

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]


class SentenceModel(Cacheless, SavedModel):
    """The model of a learner of sentences."""

    #: The class that trains such models.
    learner: ClassVar[str]

    @property
    def called(self) -> str:
        """A short name for this kind of model."""
        return self.learner.lower()

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Self:
        """Undo `contents`."""
        raise NotImplementedError


Model = TypeVar("Model", bound=SentenceModel)


def read_model(path: str | os.PathLike[str], kind: type[Model]) -> Model:
    """Read a model of this class from its file."""
    arrays, about = read_model_file(path)
    learner = about.get("learner")
    if learner != kind.learner:
        called = {name: known.called for name, known in SENTENCE_LEARNERS.items()}
        found = called.get(str(learner), f"a {learner!s:.50}")
        raise ModelFileError(f"{path}: is not {called[kind.learner]} but {found}")
    return restore(path, arrays, about, kind.of)


def pack_certificate(
    certificate: RunCertificate | None, kept: Sequence[str]
) -> dict[str, Any] | None:
    """The fields of a certificate that a file keeps, for its description."""
    if certificate is None:
        return None
    return {name: getattr(certificate, name) for name in kept}


def certificate_of(found: dict[str, Any] | None) -> RunCertificate | None:
    """The certificate in a description, if there is one."""
    if found is None:
        return None
    certificate = RunCertificate(**found)
    check_counts(found, "mistakes", "epochs")
    check_kinds(vars(certificate), no_bound=str, n=int | None)
    numbers = ("R", "margin", "extended_margin", "bound", "hinge_bound", "weighted_mistakes")
    check_kinds(vars(certificate), **dict.fromkeys(numbers, float | None))
    check_kinds(vars(certificate), gamma=type(None), progress=type(None))
    if certificate.bound is not None and not math.isfinite(certificate.bound):
        raise ValueError(f"the bound on mistakes is {certificate.bound}")
    return certificate


def column_names(given: Any) -> tuple[str, ...]:
    """The column names in a file's description; a ValueError if they are not names."""
    if not isinstance(given, list) or not given or not all(isinstance(one, str) for one in given):
        raise ValueError(f"{given!r:.40} are not column names")
    return tuple(given)


def join_parts(contents: dict[str, Contents]) -> Contents:
    """Join the contents of parts, whose names become prefixes, into those of one model."""
    arrays: dict[str, np.ndarray] = {}
    for name, (its, _) in contents.items():
        arrays |= prefixed(name, its)
    return arrays, {name: described for name, (_, described) in contents.items()}
