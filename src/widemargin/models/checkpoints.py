"""Checkpoints: a model in the making and how far its course has come, in one model file.

Whoever goes on from a checkpoint with the same examples learns the same bits as if nothing had
happened. A checkpoint can also be loaded as a model, with what was learned so far.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from widemargin.errors import ModelFileError
from widemargin.loops.linear.passes import Log
from widemargin.modelfile import (
    pack_value,
    read_model_file,
    say_newer,
    unpack_value,
    write_model_file,
)
from widemargin.models.linear import LinearModel, model_of, read_state, state_arrays
from widemargin.online.cycles import Past
from widemargin.online.early_stopping import Best
from widemargin.online.learn import Course
from widemargin.training.history import History

#: Written into every checkpoint, and raised when what a course needs to go on changes.
_FORMAT = 2
#: A checkpoint is written when so many times as long as the last one took has passed since.
_PATIENCE = 50
_COUNTS = ("epoch", "begun", "window", "rows", "done", "examples", "mistakes", "updates", "loss")


class Checkpoints:
    """Writes a checkpoint now and then, at most a fiftieth of the time.

    Parameters
    ----------
    folder : path
        Where to; it is made if it is not there.
    task : dict
        What is being done, as JSON can hold it; only the same can go on from it.
    every : float
        Seconds between checkpoints at the least.
    """

    def __init__(self, folder: str | os.PathLike[str], task: dict[str, Any], every: float) -> None:
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "checkpoint.wm")
        self.task, self.every = task, every
        self._last, self._cost = time.monotonic(), 0.0

    def due(self) -> bool:
        """Whether it is time to write one."""
        return time.monotonic() - self._last >= max(self.every, _PATIENCE * self._cost)

    def write(self, model: LinearModel, course: Course, seconds: float) -> None:
        """Write one."""
        began = time.monotonic()
        arrays, about = model.contents()
        course_arrays, course_about = _pack(course)
        course_about["seconds"] = seconds
        arrays |= {f"course.{name}": array for name, array in course_arrays.items()}
        about |= {"checkpoint": _FORMAT, "course": course_about, "task": self.task}
        write_model_file(self.path, arrays, about)
        self._last = time.monotonic()
        self._cost = self._last - began

    def read(self) -> tuple[LinearModel, Course] | None:
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
        model = model_of(self.path, arrays, about)
        mine = {
            name.removeprefix("course."): array
            for name, array in arrays.items()
            if name.startswith("course.")
        }
        return model, _unpack(mine, about["course"], model)

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
        """Forget the checkpoint: what it was for is done."""
        if os.path.exists(self.path):
            os.unlink(self.path)


def _pack(course: Course) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    arrays: dict[str, np.ndarray] = {}
    about: dict[str, Any] = {name: getattr(course, name) for name in _COUNTS}
    about["history"] = course.history.to_dict()
    about["chance"] = pack_value(course.chance)
    about["logs"] = [[len(log.example) for log in epoch] for epoch in course.logs]
    if course.before is not None:
        arrays["before"] = course.before
    flat = [log for epoch in course.logs for log in epoch]
    if flat:
        for name, columns in zip(Log._fields, zip(*flat, strict=True), strict=True):
            arrays[f"log.{name}"] = np.concatenate(columns)
    if course.past is not None:
        about["past"] = [course.past.epochs, course.past.largest, course.past.most_updates]
    if course.best is not None:
        best = course.best
        about["best"] = [best.epoch, best.score, best.state.joint, best.state.log is not None]
        arrays |= {f"best.{name}": part for name, part in state_arrays(best.state).items()}
    return arrays, about


def _unpack(arrays: dict[str, np.ndarray], about: dict[str, Any], model: LinearModel) -> Course:
    course = Course(
        history=History.from_dict(about["history"]),
        chance=unpack_value(about["chance"]),
        before=arrays.get("before"),
        seconds=about["seconds"],
        **{name: about[name] for name in _COUNTS},
    )
    place = 0
    for lengths in about["logs"]:
        course.logs.append([])
        for length in lengths:
            piece = slice(place, place + length)
            course.logs[-1].append(Log(*(arrays[f"log.{name}"][piece] for name in Log._fields)))
            place += length
    if "past" in about:
        course.past = Past(*about["past"])
    if "best" in about:
        epoch, score, joint, logged = about["best"]
        mine = {
            name.removeprefix("best."): array
            for name, array in arrays.items()
            if name.startswith("best.")
        }
        course.best = Best(read_state(mine, model.bias, joint, logged), epoch, score)
    return course
