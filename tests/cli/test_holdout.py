"""`train` measures itself on examples that it holds out, and Python holds out the same ones."""

import json
import pathlib
import re

import numpy as np
import pytest
from noisy_files import noisy_vectors, write_noisy_files
from shell import run

import widemargin
from widemargin import (
    KernelPerceptron,
    KernelSVM,
    LinearSVM,
    OnlineLogistic,
    Parser,
    PassiveAggressive,
    Perceptron,
    Tagger,
    load,
)
from widemargin.online.fit import split
from widemargin.online.held_out import usual_part
from widemargin.training.run import Run

#: What each learner of rows is in Python, with the shell's defaults.
AUTO = {"fit_intercept": "auto", "patience": None}
LEARNERS = {
    "perceptron": Perceptron(**AUTO),
    "pa": PassiveAggressive(**AUTO),
    "logistic": OnlineLogistic(**AUTO),
    "svm": LinearSVM(),
    "kernel-perceptron": KernelPerceptron(patience=None),
    "kernel-svm": KernelSVM(),
}
each_learner = pytest.mark.parametrize("name", LEARNERS)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_noisy_files(tmp_path, rows=150, sentences=120)
    return tmp_path


def train(*words):
    return json.loads(run("train", *words, "--json").stdout)


@each_learner
def test_python_holds_out_the_same_rows(name):
    told = train("f.svm", "--learner", name, "--seed", 3)
    X, y = widemargin.read("f.svm", dtype=np.float32)
    own = LEARNERS[name].set_params(validation=0.1, random_state=3).fit(X, y)
    shell = load("model.wm")
    np.testing.assert_array_equal(shell.decision_function(X), own.decision_function(X))
    assert told["accuracy"] == own.history_["held_out"][-1]
    assert (told["rows"], told["held_out_rows"]) == (150, 15)
    codes = np.searchsorted(own.classes_, y)
    _, held_out = split(codes, 0.1, np.random.default_rng(3))
    which = held_out.astype(int)
    assert told["accuracy"] == np.mean(own.predict(X[which]) == y[which])
    # What is loaded can be fitted anew, to the same model.
    again = type(shell)(**shell.get_params()).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), shell.decision_function(X))


@each_learner
def test_held_out_rows_have_no_influence(name):
    """Held-out rows that point the other way lead to the same model."""
    X, y = widemargin.read("f.svm", dtype=np.float32)
    _, held_out = split((y > 0).astype(np.int64), 0.1, np.random.default_rng(0))
    learner = LEARNERS[name].set_params(validation=0.1, random_state=0)
    before = learner.fit(X, y).decision_function(X)
    other = X.toarray()
    which = held_out.astype(int)
    other[which] = -other[which]  # as long as before, so that the kernel's scale stays
    after = learner.fit(type(X)(other), y).decision_function(X)
    if name.startswith("kernel"):  # gamma is that of all rows
        np.testing.assert_allclose(after, before, rtol=0.05, atol=0.05)
    else:
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("tagger", Tagger(C=0.03, bits=8, epochs=2, patience=None, random_state=0)),
        ("parser", Parser(bits=8, epochs=2, tags="upos", patience=None, random_state=0)),
    ],
)
def test_python_holds_out_the_same_sentences(name, own):
    words = ["--bits", 8, "--epochs", 2, *(["--tags", "upos"] if name == "parser" else [])]
    told = train("f.conllu", "--learner", name, *words)
    own.set_params(validation=0.1).fit("f.conllu")
    assert (told["sentences"], told["held_out_sentences"]) == (120, 12)
    own.save("own.wm")  # files of parsers hold rounded weights
    np.testing.assert_array_equal(load("model.wm").model_.W, load("own.wm").model_.W)
    assert own.history_.best is None
    score = own.history_["held_out"][-1]
    assert told["uas" if name == "parser" else "accuracy"] == pytest.approx(score)


def test_the_report_says_what_was_held_out_and_ends_with_the_accuracy():
    lines = run("train", "f.svm").stdout.splitlines()
    assert lines[:2] == ["f.svm: 150 rows, 5 features, 2 classes", "held out: 15 of 150 rows"]
    assert lines[-1].startswith("held-out accuracy: 0.")
    assert lines[-1].endswith(")")
    lines = run("train", "f.conllu", "--learner", "tagger", "--bits", 8).stdout.splitlines()
    assert lines[1] == "held out: 12 of 120 sentences"


@pytest.mark.parametrize("words", [["f.svm"], ["f.conllu", "--learner", "tagger", "--bits", 8]])
def test_without_a_held_out_part_no_accuracy_is_claimed(words):
    ran = run("train", *words, "--no-holdout")
    assert "held out" not in ran.stdout
    assert "accuracy" not in ran.stdout
    told = train(*words, "--no-holdout")
    assert "accuracy" not in told
    assert "validation" not in load("model.wm").model_.params or not load("model.wm").validation


def test_few_rows_are_all_learned_from(folder):
    (folder / "few.svm").write_text(noisy_vectors(99))
    assert "held_out_rows" not in train("few.svm")


def test_held_out_rows_stop_nothing_unless_asked():
    assert train("f.svm", "--epochs", 30)["epochs"] == 30
    assert load("model.wm").history_.best is None
    stopped = train("f.svm", "--epochs", 30, "--patience", 2)
    assert stopped["epochs"] < 30
    assert load("model.wm").history_.best is not None
    assert stopped["held_out_rows"] == 15
    told = run("train", "f.svm", "--epochs", 30, "--patience", 2).stdout
    assert told.rstrip().endswith("; these rows also chose the best epoch")
    fraction = train("f.svm", "--epochs", 30, "--valid", 0.1, "--patience", 2)
    assert fraction["epochs"] == stopped["epochs"]


@pytest.mark.parametrize("words", [[], ["--stream"], ["--stream", "--memory", "20kB"]])
def test_all_rows_are_counted_after_early_stopping(words, folder):
    (folder / "v.svm").write_text(noisy_vectors(50))
    how = ["--epochs", 30, "--valid", "v.svm", "--patience", 4]
    figures = train("f.svm", *how, *words)
    history = load("model.wm").history_
    assert history.went_back
    assert figures["epochs"] == history.epochs_run < 30
    assert figures["rows"] == history.examples_per_epoch == 150


def test_rows_of_the_first_epoch_are_counted_if_time_runs_out_in_a_later_one(monkeypatch):
    pieces = []

    def give_up(run, part):
        pieces.append(part)
        return "deadline" if len(pieces) == 7 else ""

    monkeypatch.setattr(Run, "_reason_to_break_off", give_up)
    figures = train("f.svm", "--stream", "--memory", "4kB", "--epochs", 5, "--keep", "last")
    history = load("model.wm").history_
    assert history.stopped == "deadline"
    assert 0 < history["examples"][-1] < 150
    assert figures["epochs"] == history.epochs_run > 1
    assert figures["rows"] == 150
    first = history.epochs[0].mistakes
    assert figures["progressive_accuracy"] == pytest.approx(1 - first / 150)


@pytest.mark.parametrize("name", ["svm", "kernel-svm"])
def test_a_fraction_is_held_out_by_svms_too(name):
    assert train("f.svm", "--learner", name, "--valid", 0.2)["held_out_rows"] == 30


@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        ([99], 0),
        ([100], 10),
        ([50_000, 50_000], 10_000),
        ([10**6, 3, 10**6], 10_000),
        ([4] * 50, 0),
    ],
)
def test_a_tenth_is_held_out_and_at_most_ten_thousand(sizes, rows):
    sizes = np.array(sizes)
    part = usual_part(sizes)
    held = int(np.sum(np.rint(part * sizes)))
    assert rows - len(sizes) <= held <= rows
    assert np.sum(np.rint(usual_part(sizes, keep="vote") * sizes)) <= min(rows, 500)


def test_a_file_of_another_kind_is_refused(tmp_path):
    lines = "".join(f"{'spam' if i % 3 else 'ham'}\tword{i} other{i % 5}\n" for i in range(40))
    (tmp_path / "a.tsv").write_text(lines)
    (tmp_path / "v.csv").write_text("a,b\n1,2\n")
    told = run("train", "a.tsv", "--valid", "v.csv", code=1).stderr
    assert told == "widemargin: v.csv: is csv, where fasttext or labelled-text is needed\n"


@pytest.mark.parametrize("learned", ["f.svm", "f.vw", "f.csv", "f.txt"])
def test_held_out_files_have_a_format_that_the_model_reads(learned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "f.svm": "1 1:1\n0 2:1\n",
        "f.vw": "1 |n a\n0 |n b\n",
        "f.csv": "a,b,label\n1,2,x\n3,4,y\n",
        "f.txt": "x\tone two\ny\tthree four\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    for name in files:
        done = run("train", learned, "--valid", name, "--quiet", code=int(name != learned))
        if name != learned:
            assert re.fullmatch(rf"widemargin: {name}: is .*, where .* is needed\n", done.stderr)


def test_held_out_examples_of_other_classes_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("f.csv").write_text("x,y\n" + "1,<=50K\n2,>50K\n" * 5)
    pathlib.Path("v.csv").write_text("x,y\n1,<=50K.\n2,>50K.\n")
    told = run("train", "f.csv", "--valid", "v.csv", code=1).stderr
    assert told == (
        "widemargin: v.csv: none of its labels occurs in the examples to learn from, whose classes"
        " are '<=50K', '>50K'\n"
    )
