"""The work, in pieces of about the same length, each for a separate process."""

from __future__ import annotations

import os
import pathlib
import time
import warnings
from collections.abc import Callable

from benchmarks.fingerprints.kernels import kernel_perceptron, kernel_svm
from benchmarks.fingerprints.linear import (
    linear_going_on,
    linear_others,
    linear_special,
    linear_svm,
    linear_variants,
)
from benchmarks.fingerprints.notes import Arrays, Notes
from benchmarks.fingerprints.proofs import proofs, small_things
from benchmarks.fingerprints.sentences import parsers, taggers
from benchmarks.fingerprints.shell import shell_going_on, shell_trainings
from benchmarks.fingerprints.structured import structured
from benchmarks.fingerprints.texts import texts

#: The longest come first.
SECTIONS: dict[str, Callable[[Notes, pathlib.Path], None]] = {
    "shell-trainings": shell_trainings,
    "shell-going-on": shell_going_on,
    "taggers": taggers,
    "parsers": parsers,
    "linear-variants": linear_variants,
    "kernel-svm": kernel_svm,
    "kernel-perceptron": kernel_perceptron,
    "proofs": proofs,
    "linear-svm": linear_svm,
    "texts": texts,
    "linear-special": linear_special,
    "linear-others": linear_others,
    "linear-going-on": linear_going_on,
    "structured": structured,
    "small-things": small_things,
}


def run_section(name: str, data: pathlib.Path) -> tuple[str, Arrays, float, float]:
    """The notes of a section, with its wall-clock and processor seconds."""
    warnings.simplefilter("ignore")
    notes, began, used = Notes(), time.perf_counter(), sum(os.times()[:4])
    SECTIONS[name](notes, data)
    return name, notes.arrays, time.perf_counter() - began, sum(os.times()[:4]) - used
