"""Run one target in a separate process: `python -m fuzz.child TARGET MODE RUN OPTIONS`.

The options are libFuzzer's. In the mode "lines", each file of a corpus is run once, and the lines
reached in the target's modules are counted.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fuzz.targets import TARGETS, Target


def main(name: str, mode: str, run: int, options: list[str]) -> None:
    """Fuzz until libFuzzer's options end the run."""
    target = TARGETS[name]
    warnings.simplefilter("ignore")
    if mode == "lines":
        print(json.dumps(reached_lines(target, options)))
        return
    import atheris

    # The source of compiled loops must not be instrumented.
    excluded = [] if mode == "interpreted" else list(loops())
    with atheris.instrument_imports(include=["widemargin"], exclude=excluded):
        function = target.function()
        if mode == "guarded":
            from fuzz.guarded import guard

            guard(run)
        for seed in target.seeds:  # so that late imports happen now
            function(seed)

    def once(data: bytes) -> None:
        function(data)

    atheris.Setup([sys.argv[0], *options], once)
    atheris.Fuzz()


def loops() -> Iterator[str]:
    """The names of all modules of compiled loops."""
    (package,) = find_spec("widemargin").submodule_search_locations  # type: ignore[union-attr]
    for path in pathlib.Path(package, "loops").rglob("*.py"):
        parts = path.relative_to(pathlib.Path(package).parent).with_suffix("").parts
        yield ".".join(parts).removesuffix(".__init__")


def reached_lines(target: Target, folders: list[str]) -> dict[str, Any]:
    """How many lines of functions the files of a corpus reach, and how many there are."""
    reached: dict[str, set[int]] = {}

    def trace(frame: types.FrameType, event: str, _: Any) -> Any:
        lines = reached.get(frame.f_code.co_filename)
        if lines is None:
            return None

        def inside(frame: types.FrameType, event: str, _: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return inside

        lines.add(frame.f_lineno)
        return inside

    function = target.function()
    for seed in target.seeds:
        function(seed)
    modules = [import_module(f"widemargin.{name}") for name in target.modules]
    sources = [str(module.__file__) for module in modules]
    reached.update({source: set() for source in sources})
    threading.settrace(trace)
    sys.settrace(trace)
    for folder in folders:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            with open(entry.path, "rb") as file:
                function(file.read())
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    there = {source: executable_lines(source) for source in sources}
    counts = [
        (len(reached[source] & there[source]), len(there[source])) for source in sorted(there)
    ]
    return {"reached": sum(a for a, _ in counts), "lines": sum(b for _, b in counts)}


def executable_lines(source: str) -> set[int]:
    """The lines within the functions of a module."""
    with open(source, encoding="utf-8") as file:
        code = compile(file.read(), source, "exec")
    found: set[int] = set()

    def gather(code: types.CodeType, inside: bool) -> None:
        if inside:
            found.update(line for _, _, line in code.co_lines() if line is not None)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                # The body of a class runs at import.
                gather(constant, bool(constant.co_flags & 0x2))

    gather(code, False)
    return found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
