"""Checkpoints: a training in the making, and how far it has come, in one sealed file.

Whoever goes on from a checkpoint with the same examples and settings learns the same bits as if
nothing had happened.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from widemargin.errors import ModelFileError
from widemargin.modelfile import read_model_file, say_newer, write_model_file

#: Written into every checkpoint, and raised when what a run needs to go on changes.
_FORMAT = 2
#: A checkpoint is due when this many times as long as the last one took to write has passed, so
#: that checkpoints take at most a fiftieth of the time.
_PATIENCE = 50

Contents = tuple[dict[str, np.ndarray], dict[str, Any]]


class Checkpoints:
    """Writes a checkpoint now and then, and reads the last one back.

    Parameters
    ----------
    folder : path
        Where to; it is made if it is not there.
    task : dict
        What is being done, as JSON can hold it; only the same task can go on from it.
    every : float
        Seconds between checkpoints at the least.
    resume : bool
        Whether to go on from what was saved last; `saved` then holds it.
    name : str
        What the file is called, without its ending.

    Attributes
    ----------
    describe : callable, optional
        From the training and its history so far, what else to store, such as a model: arrays and a
        description.
    saved : (arrays, description) or None
        What there is to go on from.
    interrupted : bool
        Whether a run that was saved here was stopped before its end.
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
        os.makedirs(folder, exist_ok=True)
        self.folder, self.name, self.task, self.every = os.fspath(folder), name, task, every
        self.path = os.path.join(folder, f"{name}.wm")
        self.describe: Callable[[Any, Any], Contents] | None = None
        self.resume, self.interrupted = resume, False
        self.saved = self._read() if resume else None
        self._last, self._cost = time.monotonic(), 0.0

    def part(self, name: str) -> Checkpoints:
        """Checkpoints of one part of the same task, in a file of its own."""
        return Checkpoints(
            self.folder, self.task, self.every, resume=self.resume, name=f"{self.name}-{name}"
        )

    def due(self) -> bool:
        """Whether it is time to write one."""
        return time.monotonic() - self._last >= max(self.every, _PATIENCE * self._cost)

    def write(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Write one."""
        began = time.monotonic()
        write_model_file(self.path, arrays, {**about, "checkpoint": _FORMAT, "task": self.task})
        self._last = time.monotonic()
        self._cost = self._last - began

    def _read(self) -> Contents | None:
        """What was written last, or None if nothing was."""
        if not os.path.exists(self.path):
            return None
        arrays, about = read_model_file(self.path)
        self._check_format(about)
        if about.get("task") != self.task:
            before = about.get("task") or {}
            other = [name for name in self.task if before.get(name) != self.task[name]]
            raise ModelFileError(
                f"{self.path}: is a checkpoint of another training ({', '.join(other)} differ);"
                " give the same files and options, or another folder"
            )
        return arrays, about

    def _check_format(self, about: dict[str, Any]) -> None:
        """Refuse to go on from what another version wrote: the bits might not be the same."""
        form = about.get("checkpoint", 1)
        if form > _FORMAT:
            raise ModelFileError(f"{self.path}: {say_newer(form, _FORMAT, about)}")
        if form < _FORMAT:
            version = about.get("widemargin", "0.1")
            raise ModelFileError(
                f"{self.path}: is a checkpoint of widemargin {version}, which this version cannot"
                " resume; finish with that version, or start again in another folder"
            )

    def remove(self) -> None:
        """Forget the checkpoint and those of its parts: what they were for is done."""
        for file in os.listdir(self.folder):
            if file == f"{self.name}.wm" or (
                file.startswith(f"{self.name}-") and file.endswith(".wm")
            ):
                os.unlink(os.path.join(self.folder, file))


@contextmanager
def open_checkpoints(
    given: str | os.PathLike[str] | Checkpoints | None, task: Callable[[], dict[str, Any]]
) -> Iterator[Checkpoints | None]:
    """The checkpoints of a fit, from what a user gave; None if nothing was given.

    A folder is gone on from if it holds a checkpoint of the same task. It is emptied when the fit
    is over, but not after Ctrl-C or an error. Who gives `Checkpoints` looks after them.
    """
    if given is None or isinstance(given, Checkpoints):
        yield given
        return
    checkpoints = Checkpoints(given, task(), resume=True)
    yield checkpoints
    if not checkpoints.interrupted:
        checkpoints.remove()


def digest_of(*parts: np.ndarray | Sequence[Any]) -> str:
    """A fingerprint of arrays and of lists, to tell whether examples are the same.

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


def prefixed(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays with a prefix to their names, to stand beside others."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Undo `prefixed`: those with the prefix, without it."""
    return {
        name.removeprefix(f"{prefix}."): array
        for name, array in arrays.items()
        if name.startswith(f"{prefix}.")
    }
