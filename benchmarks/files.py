"""From an svmlight file to a model, one averaged epoch."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np

from benchmarks.commands import VW_COMMAND, run_command, vw_lines, vw_train
from benchmarks.harness import Comparison, Side, faster
from benchmarks.zipf import write_svmlight, zipf_text

OURS, PEER = "ours, whole command", "Vowpal Wabbit, whole command"
_SHOWN = "widemargin train FILE --epochs 1 --shuffle no --model MODEL"


def write_rows(toy: bool, scratch: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path, str]:
    """Write the same rows for us and for Vowpal Wabbit; also return a description."""
    rows, width = (1_000, 4_096) if toy else (100_000, 262_144)
    X, y = zipf_text(rows, width, 66, seed=0)
    text, vw = scratch / "rows.svm", scratch / "rows.vw"
    write_svmlight(text, X, y, digits=5)
    vw_lines(text, vw)
    size = text.stat().st_size
    return text, vw, f"{rows} Zipf-like rows, {X.nnz} values, {size / 1e6:.0f} MB of text"


def our_arguments(text: pathlib.Path) -> list[str]:
    """The arguments of our command."""
    arguments = ["train", str(text), "--epochs", "1", "--shuffle", "no", "--quiet"]
    return [*arguments, "--model", str(text.parent / "ours.wm")]


def whole_commands(text: pathlib.Path, vw: pathlib.Path) -> tuple[Side, Side]:
    """Our command and Vowpal Wabbit's, including their startup."""
    peer = ["-d", str(vw), "--loss_function", "hinge", "-f", str(vw.parent / "vw.model")]

    def ours(repeat: int) -> None:
        command = [sys.executable, "-m", "widemargin", *our_arguments(text)]
        subprocess.run(command, check=True)

    def theirs(repeat: int) -> None:
        subprocess.run([sys.executable, "-c", VW_COMMAND, *peer, "--quiet"], check=True)

    shown = "a Python program of its library's driver alone, -d FILE.vw --loss_function hinge"
    return (
        Side(OURS, _SHOWN, ours, threads=None),
        Side(PEER, f"{shown} -f MODEL", theirs, package="vowpalwabbit", threads=None),
    )


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Read a file from the page cache, learn once from every row, and save the model."""
    text, vw, data = write_rows(toy, scratch)
    ours, theirs = whole_commands(text, vw)

    def scikit_learn(repeat: int) -> object:
        from sklearn.datasets import load_svmlight_file

        from benchmarks.epoch import averaged_sgd

        X, y = load_svmlight_file(str(text))
        # SGDClassifier accepts only 32-bit indices.
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return averaged_sgd(repeat).fit(X, y)

    return Comparison(
        title="from an svmlight file to a model",
        data=data,
        sides=(
            Side("ours", _SHOWN, lambda repeat: run_command(our_arguments(text)), threads=2),
            ours,
            Side(
                "Vowpal Wabbit",
                "-d FILE.vw --loss_function hinge -f MODEL",
                lambda repeat: vw_train(f"-d {vw} --loss_function hinge -f {scratch / 'vw.model'}"),
                package="vowpalwabbit",
                threads=None,
            ),
            theirs,
            Side(
                "scikit-learn",
                "load_svmlight_file, SGDClassifier(loss='perceptron', penalty=None,"
                " learning_rate='constant', eta0=1.0, average=True, max_iter=1, tol=None)",
                scikit_learn,
                package="scikit-learn",
            ),
        ),
        targets=(
            faster("ours", "Vowpal Wabbit", 3.0),
            faster("ours", "scikit-learn", 25.0),
            faster(OURS, PEER, 1.0),
        ),
    )
