"""Build a wheel that carries the machine code of all loops, so that nothing waits for a compiler.

    python .ci/build_wheel.py FOLDER

It is for the Python that runs this, for the installed versions of numba, llvmlite and numpy, and
for every processor of `loops/processor.py`. Elsewhere the same wheel compiles on first use.
"""

from __future__ import annotations

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))


def start_compiling(name: str, features: str, folder: pathlib.Path) -> subprocess.Popen[bytes]:
    """Compile all loops for a processor in a process of their own, into a folder."""
    environment = {
        "PYTHONPATH": str(ROOT / "src"),
        "WIDEMARGIN_CACHE": str(folder),
        "NUMBA_CPU_NAME": name,
        "NUMBA_CPU_FEATURES": features,
    }
    command = [sys.executable, "-m", "widemargin", "warmup", "--quiet"]
    return subprocess.Popen(command, env={**os.environ, **environment})


def collect(kept: pathlib.Path, compiled: pathlib.Path) -> None:
    """Put what was compiled together, and say in a line what it is for."""
    import llvmlite
    import numba
    import numpy

    for folder in kept.glob("*/[0-9a-f]*"):
        shutil.copytree(folder, compiled / folder.name, ignore=shutil.ignore_patterns("lock"))
    made_with = (
        f"numba {numba.__version__}, llvmlite {llvmlite.__version__}, numpy {numpy.__version__}"
        " and x86-64 processors"
    )
    (compiled / "made_with.txt").write_text(made_with + "\n", encoding="utf-8")
    from widemargin.loops.cache_folders import FITS, describe_fits
    from widemargin.loops.processor import RELEASED

    folders = {
        folder.name: one.features
        for one in RELEASED
        for folder in (kept / one.name).glob("[0-9a-f]*")
    }
    versions = {one.__name__: one.__version__ for one in (numba, llvmlite, numpy)}
    (compiled / FITS).write_text(describe_fits(folders, versions), encoding="utf-8")


def main() -> int:
    """Compile for all processors at once, and build the wheel."""
    if len(sys.argv) != 2:
        print("usage: python .ci/build_wheel.py FOLDER", file=sys.stderr)
        return 2
    if platform.machine() != "x86_64" or sys.platform != "linux":
        print("a wheel with machine code is built on Linux and x86-64 only", file=sys.stderr)
        return 1
    from widemargin.loops.processor import RELEASED, this_processor

    for processor in RELEASED:
        if not this_processor().runs(processor):
            print(f"this processor cannot run code for {processor.name}", file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory() as work:
        kept, compiled = pathlib.Path(work, "kept"), pathlib.Path(work, "compiled")
        compiled.mkdir()
        running = [start_compiling(*one, kept / one.name) for one in RELEASED]
        codes = [process.wait() for process in running]
        if any(codes):
            return 1
        collect(kept, compiled)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        command += ["--wheel-dir", sys.argv[1], str(ROOT)]
        built = subprocess.run(command, env={**os.environ, "WIDEMARGIN_COMPILED": str(compiled)})
        return built.returncode


if __name__ == "__main__":
    sys.exit(main())
