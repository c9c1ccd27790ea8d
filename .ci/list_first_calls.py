"""Write the loops of first calls to src/widemargin/loops/first_calls.json.

`loops/background_compiling.py` reads them.

    python .ci/list_first_calls.py

A change of the arguments of a loop asks for it; `tests/loops/test_background_compiling.py` says so.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.startup import FIRST_CALLS, note_loops  # noqa: E402

from widemargin.loops import background_compiling as background  # noqa: E402

#: Calls that need several seconds of compiling, by several loops.
CALLS = ("KernelSVM", "certify", "TextClassifier", "Tagger", "Parser")


def main() -> None:
    """Run each call in a process of its own and note its loops; time their compiling in another."""
    if sys.argv[1:]:
        call, *noted = sys.argv[1:]
        # The list may be wrong, so it is not used.
        with mock.patch.object(background, "_can_help", return_value=False):
            found = time_loops(json.loads(noted[0])) if noted else note_loops(FIRST_CALLS[call])
        print(json.dumps(found))
        return
    listed = {}
    for call in CALLS:
        with tempfile.TemporaryDirectory() as cache:
            listed[call] = _run(call, json.dumps(_run(call)), WIDEMARGIN_CACHE=cache)
    background.LIST.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


def time_loops(loops: list[list[str]]) -> list[list[str | float]]:
    """Compile loops; each with its cost, see `background.Listed`."""
    start = min(time_start() for _ in range(5))
    timed: list[list[str | float]] = []
    for module, name, kinds in loops:
        dispatcher = getattr(import_module(module), name).dispatcher
        begin = time.process_time()
        dispatcher.compile(background.types_of(kinds))
        cost = (time.process_time() - begin) / start
        timed.append([module, name, kinds, round(cost, 1)])
    return timed


def time_start() -> float:
    """How long starting Python with numba takes, in seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import numba"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(*arguments: str, **environment: str) -> list[list[str]]:
    """Run this program again; what it prints."""
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
