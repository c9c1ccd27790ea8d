"""Kernel machines of tables and texts: why they answer as they do."""

import re

import numpy as np
import pytest
from shell import run_shell

from widemargin import load


@pytest.mark.parametrize(
    "learner", [pytest.param("kernel-perceptron", marks=pytest.mark.exhaustive), "kernel-svm"]
)
def test_kernel_machines_of_tables_and_texts_are_explained_and_reported(tmp_path, learner):
    rng = np.random.default_rng(0)
    with open(tmp_path / "f.csv", "w") as table, open(tmp_path / "f.txt", "w") as texts:
        table.write("size,colour,kind\n")
        for size in rng.normal(size=40):
            kind = "big" if size > 0 else "small"
            table.write(f"{size:.4f},{rng.choice(['red', 'blue'])},{kind}\n")
            texts.write(f"{kind}\t{'huge' if size > 0 else 'tiny'} thing {rng.integers(9)}\n")
    for name in ("f.csv", "f.txt"):
        run_shell(tmp_path, "train", name, "--learner", learner, "--model", "m.wm", "--quiet")
        told = run_shell(tmp_path, "explain", "m.wm", name, "--row", "1").stdout
        assert re.search(r"^row \d+ \((big|small)\) ", told, re.MULTILINE)
        run_shell(tmp_path, "report", "m.wm", name, "-o", "page.html")
        assert "row " in (tmp_path / "page.html").read_text(encoding="utf-8")
    model = load(tmp_path / "m.wm")
    score = model.decision_function(["huge thing 1"])
    assert model.explain("huge thing 1").score == pytest.approx(abs(float(score[0])), rel=1e-5)
