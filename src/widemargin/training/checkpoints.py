"""Checkpoints: an unfinished training and its position, in one file with a digest.

A training resumed from a checkpoint with the same examples and settings gives exactly the same
result as an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from widemargin.errors import ModelFileError
from widemargin.modelfile.files import (
    describe_newer,
    description_of,
    one_line,
    read_model_file,
    write_model_file,
)
from widemargin.stores.addresses import is_address

#: Written to every checkpoint, and increased when the data needed to resume a run change.
_FORMAT = 3
#: The next checkpoint is due after this many times the time that the last one took to write, so
#: that checkpoints take at most 2 % of the time.
_PATIENCE = 50

Contents = tuple[dict[str, np.ndarray], dict[str, Any]]


class Checkpoints:
    """Writes periodic checkpoints, and reads the last one back.

    Parameters
    ----------
    folder : path
        The folder to write to; it is created if it does not exist.
    task : dict
        A description of the training, as JSON; a checkpoint can be resumed only by the same task.
    every : float
        Minimum number of seconds between checkpoints.
    resume : bool
        Whether to resume from the last checkpoint, which `saved` then holds.
    name : str
        The name of the file, without its extension.

    Attributes
    ----------
    describe : callable, optional
        Given the training and its history so far, returns additional arrays and a description to
        store, such as a model.
    saved : (arrays, description) or None
        The contents of the checkpoint to resume from.
    interrupted : bool
        Whether a run saved here was stopped before it finished.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        task: dict[str, Any],
        every: float = 30.0,
        *,
        resume: bool = False,
        name: str = "checkpoint",
    ) -> None:
        if is_address(folder):
            raise ValueError(f"checkpoint={os.fspath(folder)!r} must be a folder on this machine")
        os.makedirs(folder, exist_ok=True)
        self.folder, self.name, self.task, self.every = os.fspath(folder), name, task, every
        self.path = os.path.join(folder, f"{name}.wm")
        self.describe: Callable[[Any, Any], Contents] | None = None
        self.resume, self.interrupted = resume, False
        if not resume and os.path.exists(self.path) and not _is_checkpoint(self.path):
            raise ModelFileError(f"{self.path}: is not a checkpoint; use another folder")
        self.saved = self._read() if resume else None
        self._last, self._cost = time.monotonic(), 0.0

    def part(self, name: str) -> Checkpoints:
        """Checkpoints of one part of the same task, in a separate file."""
        return Checkpoints(
            self.folder, self.task, self.every, resume=self.resume, name=f"{self.name}-{name}"
        )

    def due(self) -> bool:
        """Whether it is time to write a checkpoint."""
        return time.monotonic() - self._last >= max(self.every, _PATIENCE * self._cost)

    def write(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Write a checkpoint."""
        began = time.monotonic()
        write_model_file(self.path, arrays, {**about, "checkpoint": _FORMAT, "task": self.task})
        self._last = time.monotonic()
        self._cost = self._last - began

    def _read(self) -> Contents | None:
        """Read the last checkpoint; None if there is none."""
        if not os.path.exists(self.path):
            return None
        arrays, about = read_model_file(self.path)
        if "task" not in about:
            raise ModelFileError(f"{self.path}: is a model, not a checkpoint; use another folder")
        if about.get("task") != self.task:
            before = about["task"] if isinstance(about["task"], dict) else {}
            other = [name for name in self.task if before.get(name) != self.task[name]]
            raise ModelFileError(
                f"{self.path}: is a checkpoint of another training ({', '.join(other)} differ);"
                " use the same files and options, or another folder"
            )
        self._check_format(about)
        return arrays, about

    def _check_format(self, about: dict[str, Any]) -> None:
        """Reject checkpoints of other versions: the result might not be exactly the same."""
        form = about.get("checkpoint", 1)
        if type(form) is not int:
            raise ModelFileError(f"{self.path}: is a damaged checkpoint (format {form!r:.50})")
        if form > _FORMAT:
            raise ModelFileError(f"{self.path}: {describe_newer(form, _FORMAT, about)}")
        if form < _FORMAT:
            version = one_line(about.get("widemargin", "0.1"), 20)
            raise ModelFileError(
                f"{self.path}: is a checkpoint of widemargin {version}, which this version cannot"
                " resume; finish with that version, or start again in another folder"
            )

    def remove(self) -> None:
        """Delete the checkpoint and those of its parts, once the task is done."""
        mine = re.compile(rf"{re.escape(self.name)}(-.*)?\.wm(\.[0-9a-f]+\.tmp)?")
        for file in os.listdir(self.folder):
            path = os.path.join(self.folder, file)
            # A process that was killed may also have left a temporary file.
            if mine.fullmatch(file) and (file.endswith(".tmp") or _is_checkpoint(path)):
                os.unlink(path)


def _is_checkpoint(path: str) -> bool:
    """Whether a file is a checkpoint; a model of the same name is not."""
    return os.path.isfile(path) and "task" in description_of(path)


@contextmanager
def open_checkpoints(
    given: str | os.PathLike[str] | Checkpoints | None, task: Callable[[], dict[str, Any]]
) -> Iterator[Checkpoints | None]:
    """Open the checkpoints of a fit, given a folder or `Checkpoints`; None if neither is given.

    If a folder holds a checkpoint of the same task, the fit resumes from it. The checkpoint is
    deleted when the fit is done, but not after Ctrl-C or an error. `Checkpoints` passed in are left
    to the caller.
    """
    if given is None or isinstance(given, Checkpoints):
        yield given
        return
    checkpoints = Checkpoints(given, task(), resume=True)
    yield checkpoints
    if not checkpoints.interrupted:
        checkpoints.remove()


def digest_of(*parts: np.ndarray | Sequence[Any]) -> str:
    """Compute a fingerprint of arrays and lists, to detect whether examples are the same.

    Examples
    --------
    >>> digest_of(np.arange(3), ["a", "b"]) == digest_of(np.arange(3), ["a", "b"])
    True
    >>> digest_of(["ab"]) == digest_of(["a", "b"])
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
        else:
            digest.update(json.dumps(list(part), default=repr).encode())
    return digest.hexdigest()


def as_text(params: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a training as text: the same for the same training in another process.

    Examples
    --------
    >>> makers = np.random.default_rng, np.random.RandomState
    >>> one, other = (as_text({"random_state": [make(3) for make in makers]}) for _ in range(2))
    >>> one == other
    True
    """
    return {name: _value_as_text(value) for name, value in params.items()}


def _value_as_text(value: Any) -> str:
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        value = value.get_state()
    if isinstance(value, list | tuple):
        return repr([_value_as_text(one) for one in value])
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return digest_of(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def prefixed(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Add a prefix to the names of arrays, so that they can be stored with others."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Undo `prefixed`: select the arrays with the prefix, and remove it."""
    return {
        name.removeprefix(f"{prefix}."): array
        for name, array in arrays.items()
        if name.startswith(f"{prefix}.")
    }


def check_alike(arrays: Mapping[str, np.ndarray], mine: Mapping[str, np.ndarray]) -> None:
    """Raise a ValueError unless arrays have the shapes and types of these, by name."""
    for name, array in mine.items():
        if (arrays[name].shape, arrays[name].dtype) != (array.shape, array.dtype):
            found = arrays[name]
            raise ValueError(f"{name} has the shape {found.shape} and the type {found.dtype}")
