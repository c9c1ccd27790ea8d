"""`Trainer`: the interface between `widemargin train` and a learner."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import click
import numpy as np

from widemargin.cli.learners import LEARNERS
from widemargin.cli.options import read_gamma
from widemargin.cli.targets import MODEL, check_output
from widemargin.data.readers.sources import find_files, is_seekable
from widemargin.parameters.effects import Use
from widemargin.parameters.values import parse_bytes
from widemargin.stores.addresses import stamp_of
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.progress import Watcher

#: The default number of seconds between checkpoints.
_EVERY = 30.0
_SHUFFLES = {"blocks": True, "no": False}
#: Options that do not change what is learned, so a checkpoint stays valid if they change.
_INDIFFERENT = {
    *("path", "checkpoint", "checkpoint_every", "resume", "cache", "threads", "as_json", "quiet"),
    *("learner", "valid", "force", "threshold", "positive", "calibrate", "dask"),
}


@dataclass(frozen=True)
class Job:
    """What `train` is to do, apart from how to learn.

    Attributes
    ----------
    model : str
        Where to save the model.
    files : tuple of str
        The files to learn from; none for the embedded data set.
    valid : str or None
        A file of held-out examples.
    validation : float or None
        The fraction of the examples to hold out instead.
    measures : bool
        Whether to hold out the default part of the examples, to measure the model.
    memory : int
        Bytes that examples may take; if they need more, they are read again in every epoch.
    stream : bool
        Read the examples again in every epoch in any case.
    checkpoint : str or None
        The folder for checkpoints.
    every : float
        The smallest number of seconds between checkpoints.
    resume : bool
        Continue from the last checkpoint.
    cache : bool
        Save the parsed examples next to the first file, for the next run.
    force : bool
        Overwrite a file that is not a model.
    as_json, quiet : bool
        What to print.
    """

    model: str
    files: tuple[str, ...] = ()
    valid: str | None = None
    validation: float | None = None
    measures: bool = False
    memory: int = 1 << 31
    stream: bool = False
    checkpoint: str | None = None
    every: float = _EVERY
    resume: bool = False
    cache: bool = False
    force: bool = False
    as_json: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, files: Sequence[str], given: Mapping[str, Any]) -> Job:
        """The job that the options describe."""
        valid, validation = _read_valid(given["valid"])
        usual = "model.wm" if files else "digits.wm"
        on_folds = given["folds"] or given["tune"]  # the model then learns from all rows
        job = cls(
            model=usual if given["path"] is None else given["path"],
            files=tuple(files),
            valid=valid,
            validation=validation,
            measures=given["valid"] is None and not (given["no_holdout"] or on_folds),
            memory=parse_bytes("--memory", given["memory"]),
            stream=given["stream"],
            checkpoint=given["checkpoint"],
            every=_EVERY if given["checkpoint_every"] is None else given["checkpoint_every"],
            resume=given["resume"],
            cache=given["cache"],
            force=given["force"],
            as_json=given["as_json"],
            quiet=given["quiet"],
        )
        check_output(job.model, MODEL, job.force)
        if job.resume and job.checkpoint is None:
            raise click.UsageError("--resume needs --checkpoint, the folder to continue from")
        if given["checkpoint_every"] is not None and job.checkpoint is None:
            raise click.UsageError("--checkpoint-every has no effect without --checkpoint")
        if given["valid"] is not None and given["no_holdout"]:
            raise click.UsageError("--no-holdout has no effect with --valid")
        if on_folds and given["no_holdout"]:
            raise click.UsageError("--no-holdout has no effect with --folds and --tune")
        if job.valid is not None and not files:
            raise click.UsageError("--valid FILE has no effect without FILES to learn from")
        return job


def _read_valid(given: str | None) -> tuple[str | None, float | None]:
    """Read `--valid` as a file or a fraction; the other one is None."""
    if given is None:
        return None, None
    if re.fullmatch(r"0?\.\d+|0", given):
        return None, float(given)
    if re.fullmatch(r"[-+]?\d*\.?\d+%?", given) and not os.path.exists(given):
        raise click.UsageError(f"--valid {given}: expected a file, or a fraction such as 0.1")
    return given, None


class Section(NamedTuple):
    """A section of the report: figures for programs, and lines for people."""

    figures: Mapping[str, Any]
    lines: Sequence[str]

    def joined(self, other: Section) -> Section:
        """Append another section."""
        return Section({**self.figures, **other.figures}, [*self.lines, *other.lines])


#: An empty section.
NOTHING = Section({}, ())


class Trainer:
    """Base of trainers, one per learner. `train` calls the methods in this order.

    Parameters
    ----------
    learner : str
        The name of the learner, as in `--learner`.
    given : dict
        The options by name; those that were not given may be missing or None.
    job : Job
        What to do apart from learning.

    Attributes
    ----------
    params : dict
        The parameters of the estimator that were given.
    rng : numpy Generator
        The source of random numbers.
    """

    #: Whether the report shows the table of epochs, and the number of mistakes.
    shows_history = shows_mistakes = True
    #: Whether it shows the size of the file, as for models that can be made smaller.
    shows_size = False

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        self.learner, self.given, self.job = learner, given, job
        self.params = _read_parameters(LEARNERS[learner].parameters, given)
        if job.validation is not None:
            self.params["validation"] = job.validation
        self.rng = np.random.default_rng(self.seed)

    @property
    def seed(self) -> int:
        """The random seed."""
        return int(self.given.get("seed") or 0)

    @property
    def estimator(self) -> str:
        """The name of the learner in Python."""
        return LEARNERS[self.learner].estimator

    def hold_out(self, part: float, what: str) -> dict[str, Any]:
        """Hold out this fraction of the examples, and return the parameters that change.

        Held-out examples only measure the model, unless `--patience` makes them stop the training.
        """
        if not part:
            if self.params.get("patience") is not None:
                raise click.UsageError(
                    f"--patience has no effect without held-out {what}, and there are too few to"
                    " hold any out: give --valid FILE"
                )
            return {}
        held_out: dict[str, Any] = {"validation": part}
        if "patience" in LEARNERS[self.learner].parameters:
            held_out["patience"] = self.params.get("patience")
        self.params |= held_out
        return held_out

    def uses(self) -> dict[str, Use]:
        """Which parameters have an effect, given the values of the others."""
        return {}

    @property
    def epochs(self) -> int:
        """The largest number of epochs."""
        raise NotImplementedError

    def read(self) -> None:
        """Read the examples to learn from, and those to measure on."""
        raise NotImplementedError

    def task(self) -> dict[str, Any]:
        """What must be the same to resume from a checkpoint: files, learner and options."""
        options = {
            f"--{name.replace('_', '-')}": repr(value)
            for name, value in self.given.items()
            if name not in _INDIFFERENT
        }
        files = [path for pattern in self.job.files for path in find_files(pattern)]
        valid = [] if self.job.valid is None else find_files(self.job.valid)
        return {
            "learner": self.learner,
            "files": _stamps(files),
            "--valid": [self.job.validation, _stamps(valid)],
            **options,
        }

    def cross_validate(self, folds: int) -> Section:
        """Test the learner on folds of the examples, before it learns from all of them."""
        raise NotImplementedError

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> Any:
        """Learn, and return the model."""
        raise NotImplementedError

    def describe_data(self, model: Any) -> Section:
        """The data that the model was trained on."""
        raise NotImplementedError

    def describe_learner(self, model: Any) -> Section:
        """The learner and its settings."""
        raise NotImplementedError

    def describe_result(self, model: Any) -> Section:
        """The result, apart from the history."""
        raise NotImplementedError

    def measure(self, model: Any) -> Section:
        """The results on held-out examples, if there are any."""
        raise NotImplementedError


def _stamps(paths: Sequence[str]) -> list[list[Any]]:
    """The sizes and times of files, which show whether they have changed."""
    return [stamp_of(path) for path in paths if is_seekable(path)]


def _read_parameters(names: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the estimator that were given, converted to the values it takes."""
    found = {name: given[name] for name in names if given.get(name) not in (None, ())}
    if "shuffle" in found:
        found["shuffle"] = _SHUFFLES.get(found["shuffle"], found["shuffle"])
    if "batch" in found:
        batch = found["batch"]
        found["batch"] = int(batch) if batch.lstrip("-").isdecimal() else batch
    if "gamma" in found:
        found["gamma"] = read_gamma(found["gamma"])
    power = found.pop("power", 0.0)
    if power:
        found["eta"] = (found.get("eta", 1.0), power)
    return found
