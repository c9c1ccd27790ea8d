"""P11: how long it takes until something happens, as whole commands."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

from benchmarks.harness import OURS, Comparison, Side, within


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Start a fresh Python for every run; a cold run finds an empty folder of compiled loops."""
    model = str(scratch / "digits.wm")
    train = ["-m", "widemargin", "train", "--quiet", "--model", model]
    shown = "python -m widemargin train --quiet --model FILE"

    def python(*arguments: str, cache: str | None = None) -> None:
        where = {} if cache is None else {"WIDEMARGIN_CACHE": cache}
        subprocess.run(
            [sys.executable, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=scratch,
            env={**os.environ, **where},
        )

    def side(name: str, settings: str, *arguments: str, package: str = OURS) -> Side:
        return Side(
            name, settings, lambda repeat: python(*arguments), package=package, threads=None
        )

    def empty_folder(repeat: int) -> str:
        return tempfile.mkdtemp(dir=scratch)

    cold = Side(
        "train, cold",
        f"WIDEMARGIN_CACHE=EMPTY {shown}",
        work=lambda cache: python(*train, cache=cache),
        prepare=empty_folder,
        threads=None,
    )
    sides = (
        side("--help", "python -m widemargin --help", "-m", "widemargin", "--help"),
        side("import", "python -c 'import widemargin'", "-c", "import widemargin"),
        side("train, warm", shown, *train),
        cold,
        side(
            "scikit-learn import",
            "python -c 'import sklearn.linear_model'",
            "-c",
            "import sklearn.linear_model",
            package="scikit-learn",
        ),
    )
    return Comparison(
        title="from the command to the first result (P11)",
        data="scikit-learn's digits, 1,797 x 64, embedded in the command",
        sides=sides,
        targets=(
            within("--help", 0.2),
            within("train, warm", 1.2),
            within("train, cold", 10),
        ),
    )
