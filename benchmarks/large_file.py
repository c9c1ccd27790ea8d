"""From a one-gigabyte svmlight file to a model, comparing whole commands."""

from __future__ import annotations

import pathlib
import shutil

from benchmarks.files import OURS, PEER, whole_commands, write_rows
from benchmarks.harness import Comparison, faster

#: How often the rows of `files` are repeated.
_TIMES = 10


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Read a file from the page cache, learn once from every row, and save the model."""
    *files, data = write_rows(toy, scratch)
    text, vw = (_repeat(file) for file in files)
    return Comparison(
        title="from a large svmlight file to a model",
        data=f"{data}, all of it {_TIMES} times",
        sides=whole_commands(text, vw),
        targets=(faster(OURS, PEER, 3.0),),
    )


def _repeat(file: pathlib.Path) -> pathlib.Path:
    """A file with the content of another, repeated many times."""
    large = file.with_stem("large")
    with open(large, "wb") as out:
        for _ in range(_TIMES):
            with open(file, "rb") as content:
                shutil.copyfileobj(content, out, 1 << 24)
    file.unlink()
    return large
