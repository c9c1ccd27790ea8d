"""Files of structured models, without pickle: they store the weights, and only name the task."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from widemargin.errors import ModelFileError
from widemargin.modelfile.checks import check_counts, check_kinds
from widemargin.modelfile.files import one_line, read_model_file, restore, write_model_file
from widemargin.modelfile.packing import pack_value, unpack_params, unpack_value
from widemargin.online.orders import SHUFFLES, generator_of
from widemargin.structured.task import Task
from widemargin.structured.weights import Weights
from widemargin.training.history import History

LEARNER = "StructuredPerceptron"
#: A file can only cause tasks from this package to be imported.
_SHIPPED = "widemargin.structured.tasks."
#: Parameters that version 0.1 called otherwise.
_NEW_NAMES = {"augmented": "cost_augmented"}


def write_task_model(
    path: str | os.PathLike[str],
    task: Task,
    weights: Weights,
    params: dict[str, Any],
    history: History,
    about: dict[str, Any],
) -> None:
    """Write a model."""
    kind = type(task)
    write_model_file(
        path,
        weights.pack(),
        {
            "learner": LEARNER,
            "task": f"{kind.__module__}:{kind.__qualname__}",
            "task_params": pack_value(task.params()),
            "params": pack_value(params),
            "history": history.to_dict(),
            **about,
        },
    )


def read_task_model(
    path: str | os.PathLike[str], task: Task | None
) -> tuple[Task, Weights, dict[str, Any], History, dict[str, Any]]:
    """Read a model back: its task, weights, parameters, history, and what else was saved.

    Among the latter is the random generator, "generator": None if it has not been used.
    """
    arrays, about = read_model_file(path)
    if about.get("learner") != LEARNER:
        raise ModelFileError(f"{path}: holds a model of {about.get('learner')}, not of a task")

    def make(arrays: dict[str, Any], about: dict[str, Any]) -> Any:
        known = task
        if known is None:
            known = _find_task(os.fspath(path), about["task"], unpack_value(about["task_params"]))
        name, given = about["task"].partition(":")[2], type(known).__qualname__
        if given != name and type(known) is not Task:  # its module may have moved
            raise ModelFileError(
                f"{path}: was trained for the task {name}, but the task given is {given}; give one"
                f" of class {name}, or none"
            )
        check_counts(about, "seen")
        check_kinds(about, longest=float)
        weights = Weights.unpack(arrays, about["count"])
        params = _renamed(unpack_params(dict(about["params"]["dict"])))
        state, history = about.get("generator"), History.from_dict(about["history"])
        rng = None if state is None else generator_of(unpack_value(state))
        return known, weights, params, history, {**about, "generator": rng}

    found: tuple[Task, Weights, dict[str, Any], History, dict[str, Any]]
    found = restore(path, arrays, about, make)
    return found


def task_named_in(path: str | os.PathLike[str]) -> str:
    """The module and class of the task named in a model file."""
    return str(read_model_file(path)[1]["task"])


def _renamed(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of any version by their present names, with their present values."""
    found = {_NEW_NAMES.get(name, name): value for name, value in params.items()}
    if found.get("update") == "standard":
        found["update"] = "whole"
    shuffle = found.get("shuffle", True)
    if not isinstance(shuffle, str | bool) or shuffle not in SHUFFLES:
        found["shuffle"] = False  # what it meant before it was validated
    return found


def _find_task(path: str, named: str, params: dict[str, Any]) -> Task:
    """The task that a file names; a file must not cause arbitrary modules to be imported."""
    module, _, name = named.partition(":")
    if module.startswith(_SHIPPED):
        with contextlib.suppress(ImportError):  # reported below
            import_module(module)
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ModelFileError(
            f"{path}: its task is {one_line(named)}, which is not imported: import it first,"
            " or load with task=..."
        )
    return found(**params)
