"""P1: from an svmlight file to a model, one averaged epoch."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np

from benchmarks.commands import VW_COMMAND, run_command, vw_lines, vw_train
from benchmarks.harness import Comparison, Side, faster
from benchmarks.zipf import write_svmlight, zipf_text


def compare(toy: bool, scratch: pathlib.Path) -> Comparison:
    """Read a file that is in the page cache, learn once from every row, save the model."""
    rows, width = (1_000, 4_096) if toy else (100_000, 262_144)
    X, y = zipf_text(rows, width, 66, seed=0)
    text, vw = scratch / "rows.svm", scratch / "rows.vw"
    write_svmlight(text, X, y, digits=5)
    vw_lines(text, vw)
    values, size = X.nnz, text.stat().st_size
    del X, y
    arguments = ["train", str(text), "--epochs", "1", "--shuffle", "no", "--quiet"]
    arguments += ["--model", str(scratch / "ours.wm")]
    peer = ["-d", str(vw), "--loss_function", "hinge", "-f", str(scratch / "vw.model"), "--quiet"]
    shown = "widemargin train FILE --epochs 1 --shuffle no --model MODEL"

    def scikit_learn(repeat: int) -> object:
        from sklearn.datasets import load_svmlight_file

        from benchmarks.epoch import averaged_sgd

        X, y = load_svmlight_file(str(text))
        # SGDClassifier takes only what it calls small indices.
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return averaged_sgd(repeat).fit(X, y)

    return Comparison(
        title="from an svmlight file to a model (P1)",
        data=f"{rows} Zipf-like rows, {values} values, {size / 1e6:.0f} MB of text",
        sides=(
            Side("ours", shown, lambda repeat: run_command(arguments), threads=2),
            Side(
                "ours, whole command",
                shown,
                lambda repeat: subprocess.run(
                    [sys.executable, "-m", "widemargin", *arguments], check=True
                ),
                threads=None,
            ),
            Side(
                "Vowpal Wabbit",
                "-d FILE.vw --loss_function hinge -f MODEL",
                lambda repeat: vw_train(f"-d {vw} --loss_function hinge -f {scratch / 'vw.model'}"),
                package="vowpalwabbit",
                threads=None,
            ),
            Side(
                "Vowpal Wabbit, whole command",
                "a Python program of its library's driver alone, -d FILE.vw"
                " --loss_function hinge -f MODEL",
                lambda repeat: subprocess.run(
                    [sys.executable, "-c", VW_COMMAND, *peer], check=True
                ),
                package="vowpalwabbit",
                threads=None,
            ),
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
            faster("ours, whole command", "Vowpal Wabbit, whole command", 1.0),
        ),
    )
