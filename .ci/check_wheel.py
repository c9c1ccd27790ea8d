"""Use what is installed in the ways of a first day; fail if any loop had to be compiled.

Run with the Python of an environment in which a wheel with machine code was installed, with
WIDEMARGIN_CACHE pointing at an empty folder.
"""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile

import numpy as np
import scipy.sparse
from numba.core import event

import widemargin as wm
from widemargin.cli import main as shell

compiled: list[str] = []


class Watch(event.Listener):
    """Note every loop that is compiled; what comes from a folder of machine code is not."""

    def on_start(self, event: event.Event) -> None:
        """Note its name and types."""
        loop = event.data["dispatcher"].py_func
        compiled.append(f"{loop.__module__}.{loop.__qualname__}{event.data['args']}")

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""


def run_shell(*arguments: str) -> None:
    """Run a command of the shell program in this process."""
    sys.argv = ["widemargin", *arguments]
    try:
        shell()
    except SystemExit as stop:
        if stop.code:
            raise


def learn_vectors() -> None:
    """Linear and kernel machines on a few rows, dense and sparse, with two classes and three."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    two, three = (X[:, 0] + X[:, 1] > 0).astype(int), rng.integers(0, 3, 60)
    noise = rng.integers(0, 2, 60)
    for y in (two, three, noise):
        for rows in (X, X.astype(np.float32), scipy.sparse.csr_matrix(X)):
            for learner in (
                wm.Perceptron(),
                wm.Perceptron(keep="vote"),
                wm.PassiveAggressive(),
                wm.OnlineLogistic(),
                wm.LinearSVM(),
                wm.KernelSVM(),
                wm.KernelPerceptron(),
            ):
                learner.fit(rows, y).predict(rows)
    for y in (two, noise):
        wm.certify(X, y)
        wm.certify(scipy.sparse.csr_matrix(X), y)
    wm.certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])


def learn_words() -> None:
    """Texts and sentences."""
    texts = ["good film indeed", "bad film", "very good", "very bad plot"] * 5
    wm.TextClassifier().fit(texts, [1, 0, 1, 0] * 5).predict(texts)
    words = [["the", "dog", "barks"], ["a", "cat", "sees", "the", "dog"]] * 5
    tags = [["D", "N", "V"], ["D", "N", "V", "D", "N"]] * 5
    wm.Tagger().fit(words, tags).predict(words)
    for lines in ("1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n",):
        pathlib.Path("train.conllu").write_text(lines * 10)
    wm.Tagger().fit("train.conllu", column="upos")
    wm.Parser().fit("train.conllu").predict("train.conllu")


def use_shell() -> None:
    """The embedded data, and small files."""
    run_shell("train", "--quiet", "--model", "digits.wm")
    pathlib.Path("new.svm").write_text("1 1:0.5 3:2\n-1 2:1 3:0.25\n" * 10)
    run_shell("train", "new.svm", "--quiet", "--model", "new.wm")
    run_shell("predict", "new.wm", "new.svm")
    run_shell("certify", "new.svm")
    pathlib.Path("texts.tsv").write_text("good\ta fine film\nbad\ta dull one\n" * 10)
    run_shell("train", "texts.tsv", "--quiet", "--model", "texts.wm")


if __name__ == "__main__":
    event.register("numba:compile", Watch())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in (use_shell, learn_vectors, learn_words):
            before = len(compiled)
            part()
            print(f"{part.__name__}: {len(compiled) - before} loops compiled")
        os.chdir("/")
    print("\n".join(compiled))
    sys.exit(bool(compiled))
