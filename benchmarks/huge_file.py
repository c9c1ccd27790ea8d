"""`python -m benchmarks.huge_file [GIGABYTES [FOLDER]]`: a file beyond 4 GB and 2^31 values, once.

The file repeats a block of svmlight text and is removed afterwards. It is streamed with 256 MB of
memory; the model must see every row, and an error in the last line must name that line.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.readers.sources import Range
from widemargin.errors import DataError
from widemargin.modelfile.files import read_model_file
from widemargin.online.state import State

#: Values per row, and rows per block.
_VALUES, _ROWS = 90, 40_000
#: An offset and a count that exceed 32-bit integers.
_FAR, _MANY = 1 << 32, 1 << 31


def block() -> bytes:
    """Rows of short values, with labels that are noisily linear."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 10, (_ROWS, _VALUES))
    score = X @ rng.normal(size=_VALUES)
    y = np.where(score + 20 * rng.normal(size=_ROWS) > np.median(score), 1, 2)
    rows = (
        f"{label} " + " ".join(f"{j}:{x}" for j, x in enumerate(row, 1))
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    )
    return ("\n".join(rows) + "\n").encode()


def write(path: pathlib.Path, part: bytes, times: int) -> None:
    """Write the block this many times, and then a line that cannot be read."""
    with open(path, "wb") as file:
        for _ in range(times):
            file.write(part)
        file.write(b"1 1:x\n")


def last_error(path: pathlib.Path) -> str:
    """The error message about the last line."""
    size = path.stat().st_size
    files = Files(str(path), ReadOptions(format="svmlight"))
    try:
        list(files.read([Range(str(path), size - 3, size), Range(str(path), size - 1000, size)]))
    except DataError as error:
        return str(error)
    return "nothing"


def main(gigabytes: float = 11.0, folder: str | None = None) -> None:
    """Write the file, train on it, and check the result."""
    part = block()
    times = int(gigabytes * 1e9) // len(part) + 1
    rows, values = times * _ROWS, times * _ROWS * _VALUES
    work = pathlib.Path(tempfile.mkdtemp(dir=folder))
    try:
        path, model = work / "huge.svm", work / "m.wm"
        write(path, part, times)
        size = path.stat().st_size
        said = last_error(path)
        with open(path, "r+b") as file:
            file.truncate(size - len(b"1 1:x\n"))
        began = time.monotonic()
        words = [str(path), "--stream", "--memory", "256MB", "--epochs", "1", "--quiet"]
        program = subprocess.Popen(
            [sys.executable, "-m", "widemargin", "train", *words, "--model", str(model)]
        )
        _, status, used = os.wait4(program.pid, 0)
        seconds = time.monotonic() - began
        arrays, about = read_model_file(model)
        seen = State.of(arrays, about["bias"], about["joint"], about["logged"]).seen
    finally:
        shutil.rmtree(work)
    fine = seen == rows and f":{rows + 1}:" in said and os.waitstatus_to_exitcode(status) == 0
    print(
        f"{size / 1e9:.2f} GB ({'beyond' if size > _FAR else 'BELOW'} 2^32 bytes),"
        f" {values:,} values"
        f" ({'beyond' if values > _MANY else 'BELOW'} 2^31): {seen:,} of {rows:,} rows seen,"
        f" {seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time, peak memory"
        f" {used.ru_maxrss / 1024:.0f} MB; the last line: {said!r}: "
        + ("all is well" if fine else "WRONG")
    )
    if not fine:
        sys.exit(1)


if __name__ == "__main__":
    main(*(kind(word) for kind, word in zip((float, str), sys.argv[1:], strict=False)))
