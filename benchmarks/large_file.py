"""P1b: from an svmlight file of a gigabyte to a model, command against command."""

from __future__ import annotations

import pathlib
import shutil

from benchmarks.files import OURS, PEER, whole_commands, write_rows
from benchmarks.harness import Comparison, faster

#: The rows of `files` this many times over.
_TIMES = 10


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Read a file that is in the page cache, learn once from every row, save the model."""
    *files, data = write_rows(toy, scratch)
    text, vw = (_repeat(file) for file in files)
    return Comparison(
        title="from a large svmlight file to a model (P1b)",
        data=f"{data}, all of it {_TIMES} times",
        sides=whole_commands(text, vw),
        targets=(faster(OURS, PEER, 3.0),),
    )


def _repeat(file: pathlib.Path) -> pathlib.Path:
    """A file with the content of another many times over."""
    large = file.with_stem("large")
    with open(large, "wb") as out:
        for _ in range(_TIMES):
            with open(file, "rb") as content:
                shutil.copyfileobj(content, out, 1 << 24)
    file.unlink()
    return large
