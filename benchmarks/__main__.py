"""`python -m benchmarks [names...] [--toy] [--repeats N]`, from the root of the repository.

A long benchmark has cases, which are run and saved one by one: `python -m benchmarks NAME --case
TEXT` runs those whose names contain the text, and leaves the results of the others unchanged.
"""

from __future__ import annotations

import argparse
import importlib
import pathlib
import tempfile
import time
from collections.abc import Callable
from functools import partial

from benchmarks.harness import Comparison, LeftOut, measure
from benchmarks.limits import processor_seconds
from benchmarks.report import machine, section, tables, update, update_case

#: The modules with a comparison, in the order of the results file.
BENCHMARKS = (
    "files",
    "large_file",
    "epoch",
    "multiclass",
    "text",
    "text_defaults",
    "many_classes",
    "linear_svm",
    "dense_svm",
    "mnist_svm",
    "joint_svm",
    "large_c",
    "tuning",
    "kernel_svm",
    "kernel_small",
    "kernel_perceptron",
    "freund_schapire",
    "chunking",
    "pos",
    "sequences",
    "tokenizing",
    "parsing",
    "pipeline",
    "separability",
    "mnist_pairs",
    "startup",
    "growth",
    "online",
    "scale",
    "scale_svm",
    "serving",
)


def main() -> None:
    """Run the named benchmarks, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--toy", action="store_true", help="Run once on tiny data; save nothing.")
    parser.add_argument("--repeats", type=int, help="Runs per side (5; toy: 1).")
    parser.add_argument("--case", default="", help="Run only cases whose names contain this.")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    repeats = asked.repeats if asked.repeats is not None else (1 if asked.toy else 5)
    if repeats < 1:
        parser.error("--repeats must be at least 1")
    print(machine() + (": toy size, figures are meaningless" if asked.toy else ""))
    for name in asked.names or BENCHMARKS:
        module = importlib.import_module(f"benchmarks.{name}")
        if not hasattr(module, "cases"):
            run(name, None, module.compare, asked.toy, repeats)
            continue
        for case in module.cases(asked.toy):
            if asked.case in case:
                run(name, case, partial(module.compare, case), asked.toy, repeats)


def run(
    name: str,
    case: str | None,
    compare: Callable[[bool, pathlib.Path], Comparison],
    toy: bool,
    repeats: int,
) -> None:
    """Run one benchmark or a case of it, print its tables, and save them except at toy size."""
    told = name if case is None else f"{name}, {case}"
    with tempfile.TemporaryDirectory() as scratch:
        try:
            comparison = compare(toy, pathlib.Path(scratch))
        except LeftOut as reason:
            print(f"\n{told}: skipped: {reason}")
            return
        repeats = 1 if comparison.once else repeats
        clock = processor_seconds if comparison.processor else time.perf_counter
        warm_up = not (toy or comparison.once)
        outcomes = measure(comparison.sides, repeats, warm_up, clock)
    if not toy:
        text = section(name, comparison, outcomes, repeats, case)
        if case is None:
            update(name, text, BENCHMARKS)
        else:
            update_case(name, comparison.title, case, text, BENCHMARKS)
    print(f"\n{told}: {comparison.title}\n\n{tables(comparison, outcomes)}", flush=True)


if __name__ == "__main__":
    main()
