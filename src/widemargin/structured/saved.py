"""Files of structured models: models within models, and one reader for all kinds."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any, Protocol, TypeVar

import numpy as np

from widemargin.errors import ModelFileError
from widemargin.modelfile import Contents, read_model_file, restore

Model = TypeVar("Model", covariant=True)


class Cacheless:
    """A dataclass whose cached values are not pickled; they are recomputed on demand."""

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]


class _Readable(Protocol[Model]):
    def of(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Model: ...


def read_model(
    path: str | os.PathLike[str], learner: str, called: str, kind: _Readable[Model]
) -> Model:
    """Read a model from a file written by this learner; `called` is its name with an article."""
    arrays, about = read_model_file(path)
    if about.get("learner") != learner:
        raise ModelFileError(f"{path}: is not {called} but a {about.get('learner')}")
    return restore(path, arrays, about, kind.of)


def join_parts(contents: dict[str, Contents]) -> Contents:
    """Join the contents of parts into those of one model."""
    arrays = {
        f"{name}.{key}": array for name, (its, _) in contents.items() for key, array in its.items()
    }
    return arrays, {name: described for name, (_, described) in contents.items()}


def part_of(name: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of one part, undoing `join_parts`."""
    start = f"{name}."
    return {key.removeprefix(start): one for key, one in arrays.items() if key.startswith(start)}
