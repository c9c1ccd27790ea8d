"""Time and peak memory for a pipe larger than memory: `python -m benchmarks.pipe [GIGABYTES]`."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from benchmarks.zipf import write_svmlight, zipf_text


def main(gigabytes: float = 10.0) -> None:
    """Send svmlight text through a pipe into `widemargin train -` and measure memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.svm")
        X, y = zipf_text(20_000, 262_144, 66, seed=0)
        write_svmlight(path, X, y)
        block = path.read_bytes()
        times = int(gigabytes * 1e9) // len(block)
        began = time.monotonic()
        arguments = ["train", "-", "--quiet", "--model", os.path.join(folder, "m.wm")]
        program = subprocess.Popen(
            [sys.executable, "-m", "widemargin", *arguments], stdin=subprocess.PIPE
        )
        assert program.stdin is not None
        for _ in range(times):
            program.stdin.write(block)
        program.stdin.close()
        _, status, used = os.wait4(program.pid, 0)
        seconds = time.monotonic() - began
        print(
            f"{times * len(block) / 1e9:.2f} GB, {times * X.nnz / 1e6:.0f} M values through a pipe:"
            f" exit {os.waitstatus_to_exitcode(status)}, {seconds:.1f} s,"
            f" {times * len(block) / 1e6 / seconds:.0f} MB/s,"
            f" peak memory {used.ru_maxrss / 1024:.0f} MB"
        )


if __name__ == "__main__":
    main(*(float(word) for word in sys.argv[1:]))
