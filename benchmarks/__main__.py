"""`python -m benchmarks [names...] [--toy] [--repeats N]`, from the root of the repository."""

from __future__ import annotations

import argparse
import importlib
import pathlib
import tempfile

from benchmarks.harness import LeftOut, measure
from benchmarks.report import machine, section, tables, update

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
    """Run the benchmarks that were named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--toy", action="store_true", help="tiny, once, nothing written")
    parser.add_argument("--repeats", type=int, help="runs of every side (5; toy: 1)")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    repeats = asked.repeats if asked.repeats is not None else (1 if asked.toy else 5)
    if repeats < 1:
        parser.error("--repeats must be at least 1")
    print(machine() + (": toy size, the figures mean nothing" if asked.toy else ""))
    for name in asked.names or BENCHMARKS:
        run(name, asked.toy, repeats)


def run(name: str, toy: bool, repeats: int) -> None:
    """Run one benchmark, keep its tables unless it is a toy, and show them."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            comparison = importlib.import_module(f"benchmarks.{name}").compare(
                toy, pathlib.Path(scratch)
            )
        except LeftOut as reason:
            print(f"\n{name}: left out: {reason}")
            return
        repeats = 1 if comparison.once else repeats
        outcomes = measure(comparison.sides, repeats, warm_up=not (toy or comparison.once))
    if not toy:
        update(name, section(name, comparison, outcomes, repeats), BENCHMARKS)
    print(f"\n{name}: {comparison.title}\n\n{tables(comparison, outcomes)}")


if __name__ == "__main__":
    main()
