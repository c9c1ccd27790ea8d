"""Store what widemargin learns as arrays, to check that a code change keeps it bit for bit.

    python -m benchmarks.fingerprints write before.npz --models before-models
    (change the code)
    python -m benchmarks.fingerprints write after.npz
    python -m benchmarks.fingerprints compare before.npz after.npz
    python -m benchmarks.fingerprints models before-models

`write` fits a wide range of learners with the installed widemargin and stores coefficients,
predictions, counts and certificates. `compare` lists which of them differ. `models` loads model
files that another version wrote and repeats their predictions. Only public names are used, and no
times or messages are stored.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from benchmarks.fingerprints.differences import tell_differences
from benchmarks.fingerprints.notes import DATA, Arrays
from benchmarks.fingerprints.old_models import ask_models, write_models
from benchmarks.fingerprints.sections import SECTIONS, run_section


def write(path: pathlib.Path, data: pathlib.Path, only: Sequence[str], jobs: int) -> None:
    """Fit everything in separate processes, and store the arrays."""
    arrays: Arrays = {}
    chosen = [name for name in SECTIONS if not only or name in only]
    began = time.perf_counter()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(run_section, name, data) for name in chosen]:
            name, found, seconds, used = done.result()
            print(
                f"{name:<20}{len(found):>7} arrays{seconds:>8.1f} s{used:>8.1f} s of CPU",
                flush=True,
            )
            arrays.update(found)
    np.savez_compressed(path, **dict(sorted(arrays.items())))
    errors = sum(name.endswith("/error") for name in arrays)
    print(
        f"{path}: {len(arrays)} arrays, {errors} cases with errors,"
        f" {time.perf_counter() - began:.0f} s"
    )


def read(path: pathlib.Path) -> Arrays:
    """The arrays of a file."""
    with np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def main() -> int:
    """Run a command; return exit code 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("write", help="Fit everything and store the results.")
    one.add_argument("path", type=pathlib.Path, metavar="OUT.npz")
    one.add_argument("--models", type=pathlib.Path, help="Folder for a model of every kind.")
    one.add_argument("--data", type=pathlib.Path, default=DATA, help="Public data sets.")
    one.add_argument("--only", action="append", choices=SECTIONS, default=[], help="A section.")
    one.add_argument("--jobs", type=int, default=2, help="Processes (2).")
    two = commands.add_parser("compare", help="List what differs between two files.")
    two.add_argument("before", type=pathlib.Path)
    two.add_argument("after", type=pathlib.Path)
    two.add_argument("--all", action="store_true", help="Also list what is equal.")
    three = commands.add_parser("models", help="Run models that another version wrote.")
    three.add_argument("folder", type=pathlib.Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.command == "write":
        write(given.path, given.data.resolve(), given.only, given.jobs)
        if given.models is not None:
            write_models(given.models.resolve())
        return 0
    if given.command == "compare":
        return int(tell_differences(read(given.before), read(given.after), given.all) > 0)
    folder = given.folder.resolve()
    return int(tell_differences(read(folder / "answers.npz"), ask_models(folder)) > 0)


if __name__ == "__main__":
    sys.exit(main())
